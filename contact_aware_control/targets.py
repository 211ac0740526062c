"""Targets that somebody streams, and the goals the control loop is given of them.

A target is a place of the joints or of the tool, or a velocity of either. Places have a velocity
as well: that of the sender, from two of them and their stamps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_aware_control.config import ControllerConfig
from contact_aware_control.loop_state import LoopState
from contact_aware_control.reference import Goal, JointStream, PoseStream
from contact_aware_control.reference.base import (
    ArmReach,
    check_joint_positions,
    check_joint_speeds,
)
from contact_aware_control.reference.stream import MotionBounds, bounds_of
from contact_aware_control.safety.command_guard import WorkspaceLimits
from contact_aware_control.safety.status import FOLLOWING
from contact_core.base.config import parameter
from contact_core.base.errors import TrajectoryError
from contact_core.robot.robot import Robot

FORGOTTEN = 1.0
"""A stream that has stopped is held, and named, for so long; then nothing is followed [s]."""


@dataclass(frozen=True)
class StreamConfig:
    """How fast the arm follows targets that are streamed, if they are far away or jump."""

    joint_speed: float = parameter(
        0.35,
        "largest speed of a joint towards a streamed target; never above its share of the "
        "joint's limit",
        unit="rad/s",
        above=0.0,
        high=10.0,
    )
    joint_acceleration: float = parameter(
        4.0,
        "largest acceleration of a joint towards a streamed target",
        unit="rad/s^2",
        above=0.0,
        high=100.0,
    )
    joint_jerk: float = parameter(
        80.0,
        "largest jerk of a joint towards a streamed target",
        unit="rad/s^3",
        above=0.0,
        high=1e4,
    )
    speed: float = parameter(
        0.25,
        "largest speed of the tool towards a streamed target",
        unit="m/s",
        above=0.0,
        high=10.0,
    )
    acceleration: float = parameter(
        2.0,
        "largest acceleration of the tool towards a streamed target",
        unit="m/s^2",
        above=0.0,
        high=100.0,
    )
    jerk: float = parameter(
        40.0,
        "largest jerk of the tool towards a streamed target",
        unit="m/s^3",
        above=0.0,
        high=1e4,
    )
    turn_speed: float = parameter(
        0.5,
        "largest angular speed of the tool towards a streamed target",
        unit="rad/s",
        above=0.0,
        high=10.0,
    )
    turn_acceleration: float = parameter(
        4.0,
        "largest angular acceleration of the tool towards a streamed target",
        unit="rad/s^2",
        above=0.0,
        high=100.0,
    )
    turn_jerk: float = parameter(
        80.0,
        "largest angular jerk of the tool towards a streamed target",
        unit="rad/s^3",
        above=0.0,
        high=1e4,
    )


@dataclass(frozen=True, eq=False)
class JointTarget:
    """Where the joints are to be, or how fast.

    Attributes:
        stamp: When it was sent, by the sender's clock [s].
        place: (n) [rad]; None: a velocity is all that is wanted.
        velocity: (n) [rad/s]; None: as the targets move.
    """

    stamp: float
    place: np.ndarray | None = None
    velocity: np.ndarray | None = None

    def check(self, limits: TargetLimits) -> None:
        """Check it.

        Args:
            limits: Of the arm.

        Raises:
            TrajectoryError: If it is not the arm's, not finite, or beyond a limit of the arm.
        """
        robot = limits.robot
        _check({"position": self.place, "velocity": self.velocity}, robot.n)
        if self.place is not None:
            check_joint_positions(self.place[None], robot, "the target")
        if self.velocity is not None:
            check_joint_speeds(np.abs(self.velocity), robot, "the target")


@dataclass(frozen=True, eq=False)
class PoseTarget:
    """Where the tool is to be, or how fast.

    Attributes:
        stamp: When it was sent, by the sender's clock [s].
        place: Pose, world frame; None: a velocity is all that is wanted.
        velocity: (6) linear [m/s] and angular [rad/s], world frame; None: as the targets move.
        in_tool: Whether the velocity is in the frame of the tool.
    """

    stamp: float
    place: pin.SE3 | None = None
    velocity: np.ndarray | None = None
    in_tool: bool = False

    def check(self, limits: TargetLimits) -> None:
        """Check it, see :meth:`JointTarget.check`."""
        if self.place is not None:
            if not np.isfinite(self.place.homogeneous).all():
                raise TrajectoryError("the target's pose is not finite (a quaternion of zero?)")
            limits.check_place(self.place.translation)
        if self.place is None or self.velocity is not None:
            _check({"velocity": self.velocity}, 6)
        if self.velocity is not None:
            limits.check_twist(self.velocity)


Target = JointTarget | PoseTarget


class TargetLimits:
    """What no target may be beyond, for the arm could not get there, or may not.

    Attributes:
        robot: The arm.
    """

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Take the limits.

        Args:
            robot: The arm; it is updated.
            config: The controller's parameters.
        """
        self.robot = robot
        self._reach = ArmReach(robot)
        self._workspace = WorkspaceLimits(config.workspace)
        # A tool turns about as fast as the fastest joint; degrees per second are far beyond.
        self._fastest = {
            "moves": (config.limits.tool_speed, "m/s"),
            "turns": (float(robot.velocity_limits.max()), "rad/s"),
        }

    def check_place(self, place: np.ndarray) -> None:
        """Check where the tool (3) is to be, world frame [m].

        Raises:
            TrajectoryError: If it is out of reach or outside the workspace.
        """
        self._reach.check(place, f"the target at ({', '.join(f'{x:.3f}' for x in place)}) m")
        outside = -self._workspace.clearance_at(place)
        if outside > 0.0:
            raise TrajectoryError(f"the target is {outside:.3f} m outside the workspace")

    def check_twist(self, velocity: np.ndarray) -> None:
        """Check how fast the tool (6) is to be [m/s, rad/s].

        Raises:
            TrajectoryError: If it is faster than a tool can be.
        """
        parts = velocity[:3], velocity[3:]
        for part, (does, (most, unit)) in zip(parts, self._fastest.items(), strict=True):
            speed = float(np.linalg.norm(part))
            if speed > most:
                raise TrajectoryError(
                    f"the target {does} at {speed:.3f} {unit} (valid: <= {most:.3f} {unit})"
                )


HURRIED = 0.2
"""Targets whose stamps are nearer than this share of the time between them have wrong stamps."""


class StreamedTargets:
    """Turns targets into goals of the control loop.

    Attributes:
        tool_bounds: Of the tool's motion.
    """

    def __init__(self, robot: Robot, config: ControllerConfig, stream: StreamConfig) -> None:
        """Take bounds.

        Args:
            robot: The arm; it is updated.
            config: The controller's parameters.
            stream: Bounds of the motion.
        """
        self._robot = robot
        self._limits = TargetLimits(robot, config)
        fastest = config.limits.velocity_fraction * robot.velocity_limits
        self._joints = MotionBounds(
            np.minimum(stream.joint_speed, fastest),
            np.full(robot.n, stream.joint_acceleration),
            np.full(robot.n, stream.joint_jerk),
        )
        shift = bounds_of(3, (stream.speed, stream.acceleration, stream.jerk))
        turn = bounds_of(3, (stream.turn_speed, stream.turn_acceleration, stream.turn_jerk))
        self.tool_bounds = MotionBounds(
            *(np.concatenate(pair) for pair in zip(shift, turn, strict=True))
        )
        self._timeout = config.safety.reference_timeout
        self._last: Target | None = None
        self._before: Target | None = None
        self._is_new = False
        self._arrival = 0
        self._waited = 0.0  # for the last target [s]
        self._goal: Goal | None = None

    def put(self, target: Target, now: int) -> None:
        """Take a target.

        Args:
            target: The target.
            now: Time of the loop [ns].

        Raises:
            TrajectoryError: If it is not the arm's, not finite, or beyond a limit of the arm; it
                is not followed, nor are those before it any longer than their time-out.
        """
        target.check(self._limits)
        self._before, self._last = self._last, target
        self._waited = 1e-9 * (now - self._arrival)
        self._arrival, self._is_new = now, True

    def drop(self) -> None:
        """Forget the stream, because something else is followed."""
        self._before = self._last = self._goal = None
        self._is_new = False

    def goal(self, state: LoopState, now: int) -> Goal | None:
        """Return what the loop is to follow in its next tick.

        Args:
            state: What the loop remembers.
            now: Time of that tick [ns].

        Returns:
            The goal; None without a stream, or while there is no command.
        """
        if now - self._arrival > FORGOTTEN * 1e9:
            self.drop()
        if self._is_new and state.command is not None:
            self._is_new = False
            try:
                self._goal = Goal(self._reference(state), refreshed=self._arrival)
            except TrajectoryError:
                # No motion was found: the last one goes on until it is too old.
                return self._goal
        return self._goal

    def _reference(self, state: LoopState) -> JointStream | PoseStream:
        """Return the way to the last target from where the reference is."""
        target, before, time = self._last, None, 0.0
        if self._goal is not None and state.goal is self._goal and state.mode in FOLLOWING:
            before, time = self._goal.reference, state.reference_time
        interval = self._interval()
        assert state.command is not None
        if isinstance(target, JointTarget):
            if not isinstance(before, JointStream):
                before, time = JointStream.at_rest(state.command, self._joints), 0.0
            velocity = target.velocity
            if velocity is None:
                velocity = self._moved() / interval if interval else np.zeros(self._robot.n)
            return before.towards(time, target.place, velocity, interval)
        assert target is not None
        if not isinstance(before, PoseStream):
            self._robot.update(state.command)
            before, time = PoseStream.at_rest(self._robot.tool_pose(), self.tool_bounds), 0.0
        velocity = target.velocity
        if velocity is None:
            velocity = self._moved() / interval if interval else np.zeros(6)
        else:
            rotation = before.sample(time).rotation
            linear, angular = velocity[:3], velocity[3:]
            if target.in_tool:
                linear = rotation @ linear
            else:
                angular = rotation.T @ angular
            velocity = np.concatenate((linear, angular))
        return before.towards(time, target.place, velocity, interval)

    def _interval(self) -> float:
        """Return the time between the last two targets [s]; 0 if it is not known."""
        if self._before is None or type(self._before) is not type(self._last):
            return 0.0
        assert self._last is not None
        if (self._before.place is None) != (self._last.place is None):
            return 0.0
        interval = self._last.stamp - self._before.stamp
        if interval < HURRIED * self._waited:
            interval = self._waited  # no sender is so fast: its stamps are wrong
        return interval if 0.0 < interval <= self._timeout else 0.0

    def _moved(self) -> np.ndarray:
        """Return how far the last target is from the one before; a turn in the tool's frame."""
        assert self._before is not None
        assert self._last is not None
        before, now = self._before.place, self._last.place
        if isinstance(before, pin.SE3):
            assert isinstance(now, pin.SE3)
            turn = pin.log3(before.rotation.T @ now.rotation)
            return np.concatenate((now.translation - before.translation, turn))
        assert before is not None
        assert isinstance(now, np.ndarray)
        return now - before


def _check(values: dict[str, np.ndarray | None], n: int) -> None:
    """Check the numbers of a target."""
    if all(value is None for value in values.values()):
        raise TrajectoryError("a target needs a place or a velocity")
    for name, value in values.items():
        if value is not None and value.shape != (n,):
            raise TrajectoryError(f"the target's {name} has {value.size} numbers (valid: {n})")
        if value is not None and not np.isfinite(value).all():
            raise TrajectoryError(f"the target's {name} is not finite")
