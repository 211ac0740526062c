"""Goals of the two trajectory actions, translated: what they ask for, what a client is told."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin
from contact_stack_msgs.action import FollowPoseTrajectory
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from trajectory_msgs.msg import JointTrajectoryPoint

from contact_aware_control.config import StartTolerance
from contact_aware_control.contact import ContactEstimate, ContactReport
from contact_aware_control.node.config import GoalConfig
from contact_aware_control.reference import Goal, JointTrajectory, PoseTrajectory
from contact_aware_control.reference.stream import MAX_MOTION
from contact_core.base.errors import TrajectoryError, choices
from contact_core.robot.robot import Robot
from contact_ros.geometry import BaseFrames, checked_pose, to_pose
from contact_ros.stamps import to_duration, to_nanoseconds, to_time
from contact_ros.validation import MAX_POSITION

JointResult = FollowJointTrajectory.Result
PoseResult = FollowPoseTrajectory.Result

MAX_POINTS = 5000
"""Most points of a joint trajectory."""

MAX_POSES = 500
"""Most poses of a tool trajectory; each needs inverse kinematics twenty times."""

ARRIVED = 2e-3
"""How near its end the command has to be for a motion to have arrived [rad, m]."""

STILL = 1e-3
"""Fastest joint at the last point of a trajectory that ends at rest [rad/s]."""

NEARLY = 1e-9
"""Poses that differ by less are the same."""

NOT_CHECKED = -1.0
"""A tolerance of joints that asks for no limit."""

NOTEWORTHY = 0.01
"""Error at the end that a successful result mentions if something held the arm [rad]."""


@dataclass(frozen=True)
class GoalProgress:
    """Where the arm is while it follows a goal.

    Attributes:
        stamp: Time of the joint state [ns].
        position: (n) measured joint positions q [rad].
        reference_time: Time since the start of the reference [s].
        max_force: Largest contact force reported since the start of the goal [N].
        report: The last contacts; None if there are none, or not any more.
        command: (n) present command q_cmd [rad]; None while there is none.
        followed: Whether the reference is followed; False while the arm is held.
    """

    stamp: int
    position: np.ndarray
    reference_time: float
    max_force: float
    report: ContactReport | None = None
    command: np.ndarray | None = None
    followed: bool = True

    @property
    def torque(self) -> np.ndarray | None:
        """External torque without bias and payload (n) [Nm]; None: it is not known."""
        return None if self.report is None else self.report.free_torque

    @property
    def contacts(self) -> Sequence[ContactEstimate]:
        """Those that are estimated."""
        return () if self.report is None else self.report.contacts


class Awaited:
    """A goal that has not begun: nothing is followed, streamed targets no more than the goal."""


@dataclass(frozen=True)
class Violation:
    """A tolerance that is not met.

    Attributes:
        code: The action's error code.
        text: The offending value and the tolerance.
    """

    code: int
    text: str


class ActionGoal(ABC):
    """One goal of an action that moves the arm, translated.

    Attributes:
        goal: What the control loop follows.
        start: When the motion begins [ns]; 0 = now.
        patience: How much later than planned the goal may be reached [s].
        codes: The error codes the server itself uses: ``invalid``, ``fault``, ``late``.
    """

    goal: Goal
    start: int
    patience: float
    codes: ClassVar[Mapping[str, int]]

    @abstractmethod
    def begin(self, command: np.ndarray, speed: np.ndarray | None) -> None:
        """Begin where the arm is commanded to be by now, and as fast as it moves.

        Args:
            command: (n) commanded joint positions [rad].
            speed: (n) how fast they change [rad/s]; None: the arm is at rest.
        """

    @abstractmethod
    def check_start(self, command: np.ndarray, tolerance: StartTolerance) -> None:
        """Check once more that the motion begins near the arm, which may have gone on.

        Args:
            command: (n) commanded joint positions by now [rad].
            tolerance: How far from there it may begin.

        Raises:
            TrajectoryError: If it begins too far away.
        """

    @abstractmethod
    def advance(self, progress: GoalProgress) -> Violation | None:
        """Go on for a tick: lead a reference on that depends on what is felt, and judge the path.

        Args:
            progress: Where the arm is.
        """

    @abstractmethod
    def goal_violation(self, progress: GoalProgress) -> Violation | None:
        """Return the goal tolerance that is not met at the end, if any.

        Args:
            progress: Where the arm is.
        """

    def reached(self, progress: GoalProgress) -> bool:
        """Tell whether the goal is reached: by default at the end of the motion, as it asks.

        Args:
            progress: Where the arm is.
        """
        ended = progress.reference_time >= self.goal.reference.duration
        return ended and self.goal_violation(progress) is None

    def shortfall(self) -> Violation | None:
        """Return what a goal that has ended as planned is short of all the same, if anything."""
        return None

    def arrived(self, progress: GoalProgress) -> bool:
        """Tell whether the command is where the motion ends, if it ends anywhere.

        A motion that begins beside the arm may end, within its tolerance, before the arm has moved.

        Args:
            progress: Where the arm is.
        """
        return True

    @abstractmethod
    def feedback(self, progress: GoalProgress) -> Any:
        """Return the action's feedback message.

        Args:
            progress: Where the arm is.
        """

    @abstractmethod
    def result(self, progress: GoalProgress, violation: Violation | None, note: str) -> Any:
        """Return the action's result message.

        Args:
            progress: Where the arm is.
            violation: Why the goal failed; None on success.
            note: What held the arm back, for a person; mostly empty.
        """

    def asked_for(self, requested: float, default: float) -> float:
        """Return a tolerance, where 0 asks for our default and a negative one for no limit.

        Raises:
            TrajectoryError: If it is NaN.
        """
        if math.isnan(requested):
            raise TrajectoryError("a tolerance is NaN: 0 asks for the default, -1 for no limit")
        if requested == 0.0:
            return default
        return requested if requested > 0.0 else math.inf


class JointGoal(ActionGoal):
    """A motion of the joints.

    Tolerances follow the action's convention: 0 is our default, which for the path is not to
    check, and -1 is not to check. That of the path ends with the motion, as with the
    joint_trajectory_controller: what comes late is judged by that of the goal.
    """

    codes: ClassVar[Mapping[str, int]] = {
        "invalid": JointResult.INVALID_GOAL,
        "fault": JointResult.PATH_TOLERANCE_VIOLATED,
        "late": JointResult.GOAL_TOLERANCE_VIOLATED,
    }

    def __init__(
        self,
        request: FollowJointTrajectory.Goal,
        joint_names: Sequence[str],
        command: np.ndarray,
        defaults: GoalConfig | None = None,
        speed: np.ndarray | None = None,
    ) -> None:
        """Translate a goal.

        Args:
            request: The goal; its joints may be in any order.
            joint_names: The driver's names of the arm's joints, base to wrist.
            command: (n) commanded joint positions now, where the motion begins if the
                first point of the trajectory lies in the future [rad].
            defaults: What holds where the goal does not say it.
            speed: See :meth:`begin`.

        Raises:
            TrajectoryError: If the joints are not the arm's, the points make no
                trajectory, or it does not end at rest.
        """
        defaults = defaults or GoalConfig()
        trajectory = request.trajectory
        order = joint_order(trajectory.joint_names, joint_names)
        points = trajectory.points
        times = _times(points, MAX_POINTS)
        self._names = tuple(joint_names)
        self._path_tolerance = _tolerances(request.path_tolerance, joint_names, math.inf)
        self._goal_tolerance = _tolerances(request.goal_tolerance, joint_names, defaults.joint)
        velocities = _optional([point.velocities for point in points], order, "velocities")
        self._given = JointTrajectory(
            times,
            _rows([point.positions for point in points], order, "positions"),
            velocities,
            _optional([point.accelerations for point in points], order, "accelerations"),
        )
        if velocities is not None:
            _check_end(velocities[-1], joint_names)
        self._reference, self._began = self._given, command
        self._begin(command, speed)
        self.start = to_nanoseconds(trajectory.header.stamp)
        self.patience = _tolerance(
            1e-9 * to_nanoseconds(request.goal_time_tolerance),
            "goal_time_tolerance",
            defaults.patience,
        )

    def begin(self, command: np.ndarray, speed: np.ndarray | None) -> None:
        """Begin where the arm is by now; see :class:`ActionGoal`."""
        if speed is not None or not np.array_equal(command, self._began):
            self._begin(command, speed)

    def check_start(self, command: np.ndarray, tolerance: StartTolerance) -> None:
        """Check a first point at time 0; see :class:`ActionGoal`."""
        if not self._given.times[0] > 0.0:
            self._given.check_start(self._names, command, tolerance)

    def _begin(self, command: np.ndarray, speed: np.ndarray | None) -> None:
        self._reference, self._began = self._given.begun(command, speed), command
        self.goal = Goal(self._reference)

    def advance(self, progress: GoalProgress) -> Violation | None:
        """Return the path tolerance that is violated; see :class:`ActionGoal`."""
        if progress.reference_time >= self._reference.duration:
            return None
        return self._violation(
            progress, self._path_tolerance, JointResult.PATH_TOLERANCE_VIOLATED, "its path"
        )

    def goal_violation(self, progress: GoalProgress) -> Violation | None:
        """Return the goal tolerance that is not met; see :class:`ActionGoal`."""
        return self._violation(
            progress, self._goal_tolerance, JointResult.GOAL_TOLERANCE_VIOLATED, "the goal"
        )

    def arrived(self, progress: GoalProgress) -> bool:
        """Tell whether the command is at the last point; see :class:`ActionGoal`."""
        if progress.command is None:
            return True
        return bool(np.abs(self._given.positions[-1] - progress.command).max() <= ARRIVED)

    def feedback(self, progress: GoalProgress) -> Any:
        """Return the feedback message; see :class:`ActionGoal`."""
        time_from_start = to_duration(round(1e9 * progress.reference_time))
        desired = self._reference.sample(progress.reference_time)

        def point(positions: np.ndarray) -> JointTrajectoryPoint:
            return JointTrajectoryPoint(
                positions=positions.tolist(), time_from_start=time_from_start
            )

        feedback = FollowJointTrajectory.Feedback(
            joint_names=list(self._names),
            desired=point(desired),
            actual=point(progress.position),
            error=point(desired - progress.position),
        )
        feedback.header.stamp = to_time(progress.stamp)
        return feedback

    def result(self, progress: GoalProgress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`ActionGoal`."""
        if violation is not None:
            return JointResult(error_code=violation.code, error_string=f"{violation.text}{note}")
        error = np.abs(self._reference.sample(progress.reference_time) - progress.position)
        joint = int(np.argmax(error))
        if not note or error[joint] < NOTEWORTHY:
            return JointResult(error_code=JointResult.SUCCESSFUL)
        text = f"joint {self._names[joint]} ended {error[joint]:.3f} rad from the goal{note}"
        return JointResult(error_code=JointResult.SUCCESSFUL, error_string=text)

    def _violation(
        self, progress: GoalProgress, tolerance: np.ndarray, code: int, place: str
    ) -> Violation | None:
        error = np.abs(self._reference.sample(progress.reference_time) - progress.position)
        joint = int(np.argmax(error - tolerance))
        if error[joint] <= tolerance[joint]:
            return None
        return Violation(
            code,
            f"joint {self._names[joint]} is {error[joint]:.3f} rad from {place} "
            f"(tolerance {tolerance[joint]:g} rad)",
        )


class PoseGoal(ActionGoal):
    """A motion of the tool."""

    codes: ClassVar[Mapping[str, int]] = {
        "invalid": PoseResult.INVALID_GOAL,
        "fault": PoseResult.FAULT,
        "late": PoseResult.GOAL_TOLERANCE_VIOLATED,
    }

    def __init__(
        self,
        request: FollowPoseTrajectory.Goal,
        robot: Robot,
        tool: pin.SE3,
        frames: BaseFrames,
        defaults: GoalConfig | None = None,
        twist: np.ndarray | None = None,
    ) -> None:
        """Translate a goal.

        Args:
            request: The goal.
            robot: The arm, for this goal to measure with.
            tool: The commanded tool pose now, where the motion begins if the first pose
                of the trajectory lies in the future.
            frames: Those that poses may be given in.
            defaults: What holds where the goal does not say it.
            twist: (6) how fast the commanded tool moves, tool frame [m/s, rad/s]; None: it is
                at rest.

        Raises:
            MessageError: If the frame is unknown, or a pose is none.
            TrajectoryError: If a name is unknown, or the points make no trajectory.
        """
        defaults = defaults or GoalConfig()
        if request.tool_frame not in ("", robot.tool_link):
            raise TrajectoryError(
                f"unknown tool frame '{request.tool_frame}' (valid: {robot.tool_link})"
            )
        points = request.trajectory.points
        times = _times(points, MAX_POSES)
        frame = frames.pose(request.trajectory.header.frame_id)
        poses = [
            frame * checked_pose(point.pose, f"pose {i}", MAX_POSITION)
            for i, point in enumerate(points)
        ]
        self._given = PoseTrajectory(times, poses)
        self._reference = self._given.begun(tool, twist)
        self._robot = robot
        self._limits = {limit.link: limit.force_limit for limit in request.planned_contact}
        self._posture = np.array(request.posture) if len(request.posture) else None
        self._tolerance = (
            self.asked_for(request.position_tolerance, defaults.position),
            self.asked_for(request.rotation_tolerance, defaults.rotation),
        )
        self.goal = Goal(self._reference, self._limits, posture=self._posture)
        self.start = to_nanoseconds(request.trajectory.header.stamp)
        self.patience = self.asked_for(
            1e-9 * to_nanoseconds(request.goal_time_tolerance), defaults.patience
        )

    def begin(self, command: np.ndarray, speed: np.ndarray | None) -> None:
        """Begin where the tool is by now; see :class:`ActionGoal`."""
        self._robot.update(command)
        tool = self._robot.tool_pose()
        twist = None if speed is None else self._robot.tool_jacobian() @ speed
        if twist is not None or not tool.isApprox(self._reference.poses[0], NEARLY):
            self._reference = self._given.begun(tool, twist)
            self.goal = Goal(self._reference, self._limits, posture=self._posture)

    def check_start(self, command: np.ndarray, tolerance: StartTolerance) -> None:
        """Check a first pose at time 0; see :class:`ActionGoal`."""
        if not self._given.times[0] > 0.0:
            self._robot.update(command)
            self._given.check_start(self._robot.tool_pose(), tolerance)

    def arrived(self, progress: GoalProgress) -> bool:
        """Tell whether the commanded tool is at the last pose; see :class:`ActionGoal`."""
        if progress.command is None:
            return True
        self._robot.update(progress.command)
        error = self._robot.tool_pose().actInv(self._given.poses[-1])
        shift, turn = np.linalg.norm(error.translation), np.linalg.norm(pin.log3(error.rotation))
        return bool(max(shift, turn) <= ARRIVED)

    def advance(self, progress: GoalProgress) -> Violation | None:
        """The action has no path tolerance: contact may hold the tool off its path."""
        return None

    def goal_violation(self, progress: GoalProgress) -> Violation | None:
        """Return the goal tolerance that is not met; see :class:`ActionGoal`."""
        errors = self._errors(progress)
        for error, allowed, unit in zip(errors, self._tolerance, ("m", "rad"), strict=True):
            if error > allowed:
                return Violation(
                    PoseResult.GOAL_TOLERANCE_VIOLATED,
                    f"the tool is {error:.3f} {unit} from the goal (tolerance {allowed:g} {unit})",
                )
        return None

    def feedback(self, progress: GoalProgress) -> Any:
        """Return the feedback message; see :class:`ActionGoal`."""
        position_error, rotation_error = self._errors(progress)
        feedback = FollowPoseTrajectory.Feedback(
            desired=to_pose(self._reference.sample(progress.reference_time)),
            actual=to_pose(self._robot.tool_pose()),
            position_error=position_error,
            rotation_error=rotation_error,
            progress=min(1.0, progress.reference_time / self._reference.duration),
            max_contact_force=progress.max_force,
        )
        feedback.header.stamp = to_time(progress.stamp)
        return feedback

    def result(self, progress: GoalProgress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`ActionGoal`."""
        position_error, rotation_error = self._errors(progress)
        return PoseResult(
            error_code=violation.code if violation else PoseResult.SUCCESSFUL,
            error_string=f"{violation.text}{note}" if violation else "",
            position_error=position_error,
            rotation_error=rotation_error,
        )

    def _errors(self, progress: GoalProgress) -> tuple[float, float]:
        """Return distance [m] and angle [rad] between the measured tool and the reference."""
        self._robot.update(progress.position)
        error = self._robot.tool_pose().actInv(self._reference.sample(progress.reference_time))
        return (
            float(np.linalg.norm(error.translation)),
            float(np.linalg.norm(pin.log3(error.rotation))),
        )


class JointNamesError(TrajectoryError):
    """The joints of a trajectory are not those of the arm.

    Give every joint of the arm once, by the names that the message lists.
    """


def joint_order(given: Sequence[str], expected: Sequence[str]) -> list[int]:
    """Return where each joint of the arm stands in a trajectory.

    Args:
        given: The joint names of the trajectory.
        expected: Those of the arm.

    Returns:
        For each joint of the arm its index in ``given``.

    Raises:
        JointNamesError: If the two do not hold the same names.
    """
    if sorted(given) != sorted(expected):
        raise JointNamesError(f"joint names {list(given)} are not the arm's ({choices(expected)})")
    return [list(given).index(name) for name in expected]


def _times(points: Sequence[Any], most: int) -> list[float]:
    """Return the times of the points [s]; what takes too long to check is refused."""
    if len(points) > most:
        raise TrajectoryError(f"the trajectory has {len(points)} points (valid: at most {most})")
    times = [1e-9 * to_nanoseconds(point.time_from_start) for point in points]
    if times and max(times) > MAX_MOTION:
        raise TrajectoryError(
            f"the trajectory takes {max(times):g} s (valid: at most {MAX_MOTION:g} s)"
        )
    return times


def _rows(values: Sequence[array[float]], order: list[int], name: str) -> np.ndarray:
    """Return (points, n) in the order of the arm."""
    for i, row in enumerate(values):
        if len(row) != len(order):
            raise TrajectoryError(f"point {i} has {len(row)} {name} instead of {len(order)}")
    # All at once: other threads wait for the interpreter.
    numbers = np.frombuffer(b"".join(memoryview(row) for row in values))
    return numbers.reshape(len(values), len(order))[:, order]


def _optional(values: Sequence[array[float]], order: list[int], name: str) -> np.ndarray | None:
    """Return (points, n), or None if no point has any."""
    if not any(len(row) for row in values):
        return None
    return _rows(values, order, name)


def _check_end(velocity: np.ndarray, names: Sequence[str]) -> None:
    """Refuse a last point with a velocity (n) [rad/s]: there is nothing to go on to."""
    joint = int(np.argmax(np.abs(velocity)))
    if abs(velocity[joint]) > STILL:
        raise TrajectoryError(
            f"joint {names[joint]} moves at {velocity[joint]:g} rad/s at the last point (valid: 0)"
        )


def _tolerances(
    tolerances: Sequence[JointTolerance], names: Sequence[str], default: float
) -> np.ndarray:
    """Return (n) position tolerances [rad], infinite where nothing is to be checked."""
    values = np.full(len(names), default)
    for tolerance in tolerances:
        if tolerance.name not in names:
            raise JointNamesError(f"tolerance of '{tolerance.name}' ({choices(names)})")
        if tolerance.velocity > 0.0 or tolerance.acceleration > 0.0:
            raise TrajectoryError(
                f"tolerance of '{tolerance.name}': only positions are checked, leave velocity and "
                "acceleration 0"
            )
        values[list(names).index(tolerance.name)] = _tolerance(
            tolerance.position, f"tolerance of '{tolerance.name}'", default
        )
    return values


def _tolerance(requested: float, what: str, default: float) -> float:
    """Return a tolerance of joints, infinite where nothing is to be checked."""
    if requested == 0.0:
        return default
    if requested == NOT_CHECKED:
        return math.inf
    if not requested > 0.0:
        said = "NaN" if math.isnan(requested) else f"{requested:g}"
        raise TrajectoryError(f"{what} is {said}: 0 asks for the default, -1 for no limit")
    return requested
