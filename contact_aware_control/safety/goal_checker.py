"""Whether a goal can be followed: checked before the arm moves; it takes longer than a tick."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pinocchio as pin

from contact_aware_control.chain import chain_of, place
from contact_aware_control.config import ControllerConfig
from contact_aware_control.reference.base import (
    Goal,
    Guidance,
    LetTickRun,
    PoseReference,
    Reference,
    run_to_end,
)
from contact_aware_control.reference.joint_trajectory import JointTrajectory
from contact_aware_control.reference.pose_trajectory import reached
from contact_aware_control.safety.command_guard import SelfCollision, WorkspaceLimits, reach_of
from contact_core.base.errors import TrajectoryError, choices
from contact_core.base.kernel import kernel
from contact_core.robot.inverse_kinematics import InverseKinematics
from contact_core.robot.robot import Robot

MAX_FORCE = 500.0
"""More than that nobody presses on purpose [N]."""
CHECK_STEP = 0.05
"""A goal's clearances are checked on a grid this fine [s]."""


class GoalChecker:
    """Checks goals.

    With a robot of its own it may work beside a running control loop.

    Attributes:
        start_tolerance: How far from the arm a goal may begin.
        contacts_timeout: Contacts that are older tell a goal nothing [s].
    """

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Take the limits.

        Args:
            robot: The arm; its configuration changes.
            config: Every parameter.

        Raises:
            ConfigError: If a limit does not fit the arm.
        """
        self._robot = robot
        self.start_tolerance = config.safety.start
        self.contacts_timeout = config.safety.contacts_timeout
        self._workspace = WorkspaceLimits(config.workspace)
        self._self_collision = SelfCollision(robot, config.self_collision)
        self._chain = chain_of(robot)
        tool = robot.model.frames[robot.model.getFrameId(robot.tool_link, pin.FrameType.BODY)]
        distance = float(np.linalg.norm(tool.placement.translation))
        reach = reach_of(robot, tool.parentJoint, distance)
        self._reach = np.maximum(self._self_collision.reach, reach)

    def check(self, goal: Goal, command: np.ndarray, let_tick_run: LetTickRun = run_to_end) -> None:
        """Check a goal.

        Args:
            goal: The goal.
            command: (n) commanded joint positions now [rad].
            let_tick_run: Called often, so that a check in Python delays no tick.

        Raises:
            TrajectoryError: If the reference starts too far away or violates a limit, or a
                force limit names an unknown link or is not a force.
        """
        for link, limit in goal.force_limits.items():
            if link not in self._robot.link_names:
                raise TrajectoryError(
                    f"planned contact of unknown link '{link}' ({choices(self._robot.link_names)})"
                )
            if not 0.0 <= limit <= MAX_FORCE:
                raise TrajectoryError(
                    f"planned contact of '{link}': force limit {limit:g} N (valid: 0 to "
                    f"{MAX_FORCE:g})"
                )
        if goal.posture is not None:
            self._check_posture(goal.posture)
        goal.reference.check(self._robot, command, self.start_tolerance, let_tick_run)
        if not isinstance(goal.reference, Guidance):
            self.check_space(goal.reference, let_tick_run)
        self._check_later(goal.later, command, let_tick_run)

    def check_space(self, reference: Reference, let_tick_run: LetTickRun = run_to_end) -> None:
        """Check the limits in space of a motion.

        Args:
            reference: The motion. Of a tool motion only the workspace is checked, the joint
                positions are not known yet.
            let_tick_run: Called often.

        Raises:
            TrajectoryError: If it leaves the workspace, or links would be too close.
        """
        times = np.arange(0.0, reference.duration + CHECK_STEP, CHECK_STEP)
        if isinstance(reference, JointTrajectory):
            self._check_joints(times, reference.samples(times), let_tick_run)
        elif isinstance(reference, PoseReference):
            for time in times:
                let_tick_run()
                at = reference.sample(time).translation
                _refuse_outside(f"at {time:.2f} s", self._workspace.clearance_at(at))

    def _check_later(
        self, ways: Sequence[Iterable[pin.SE3]], command: np.ndarray, let_tick_run: LetTickRun
    ) -> None:
        """Check that reach and workspace leave a way from the command (n) [rad]."""
        refusals = []
        for way in ways:
            try:
                self._check_way(way, command, let_tick_run)
                return
            except TrajectoryError as error:
                refusals.append(error)
        if refusals:
            raise refusals[0]

    def _check_way(
        self, way: Iterable[pin.SE3], command: np.ndarray, let_tick_run: LetTickRun
    ) -> None:
        search, q = InverseKinematics(self._robot), command
        for pose in way:
            let_tick_run()
            x, y, z = pose.translation
            what = f"later, at {x:.3f} {y:.3f} {z:.3f} m"
            q = reached(search, pose, q, self.start_tolerance, what)
            _refuse_outside("later", self._workspace.clearance_at(pose.translation))

    def _check_joints(self, times: np.ndarray, path: np.ndarray, let_tick_run: LetTickRun) -> None:
        """Check joint positions (m, n) [rad] at m times [s].

        What has not moved farther than it has clearance need not be measured again.
        """
        at = 0
        while at < len(path):
            let_tick_run()
            time, q = times[at], path[at]
            inside = self._workspace.clearance_at(place(self._chain, q).translation)
            clearance = self._self_collision.clearance(q)
            if clearance < 0.0:
                raise TrajectoryError(
                    f"at {time:.2f} s two links of the arm would be "
                    f"{-clearance:.3f} m closer than self_collision.distance"
                )
            _refuse_outside(f"at {time:.2f} s", inside)
            at = _next_beyond(path, at, self._reach, min(inside, clearance))

    def _check_posture(self, posture: np.ndarray) -> None:
        """Check joint positions (n) [rad] that the arm is to stay near."""
        low, high = self._robot.position_limits
        if posture.shape != (self._robot.n,):
            raise TrajectoryError(f"a posture of {posture.size} joints (valid: {self._robot.n})")
        for name, value, least, most in zip(
            self._robot.joint_names, posture, low, high, strict=True
        ):
            if not least <= value <= most:
                raise TrajectoryError(
                    f"posture of {name}: {value:.3f} rad (valid: {least:.3f} to {most:.3f} rad)"
                )


def _refuse_outside(when: str, clearance: float) -> None:
    """Refuse a tool that is outside of the workspace then, by its clearance [m]."""
    if clearance < 0.0:
        raise TrajectoryError(f"{when} the tool would be {-clearance:.3f} m outside the workspace")


@kernel
def _next_beyond(path: np.ndarray, start: int, reach: np.ndarray, distance: float) -> int:
    """Return the first configuration after one that may have moved a link farther than a distance.

    Args:
        path: (m, n) configurations [rad].
        start: Index of the one that distances count from.
        reach: (n) how far each joint moves any point of a link at most [m/rad].
        distance: The distance [m].

    Returns:
        Its index; m if there is none.
    """
    for i in range(start + 1, len(path)):
        moved = 0.0
        for joint in range(len(reach)):
            moved += reach[joint] * abs(path[i, joint] - path[start, joint])
        if moved > distance:
            return i
    return len(path)
