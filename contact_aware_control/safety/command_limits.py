"""The limits in space of every goal and every step of a controller: workspace, self, tool speed.

An arm that floats with what presses on it, or relaxes its springs, is limited by the gate alone.

Where a clearance shrinks, the whole change of the command is shortened: between no change
and the one the controller asked for, every linear force bound that holds at both ends
holds as well. A correction of single joints could press the arm into a contact instead.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from contact_aware_control.chain import ArmPlace, chain_of, place
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
from contact_aware_control.safety.clearances import SelfCollision, WorkspaceLimits, reach_of
from contact_aware_control.safety.command_gate import BRAKING_RATE
from contact_aware_control.safety.status import Status
from contact_core.base.errors import TrajectoryError, choices
from contact_core.base.kernel import kernel
from contact_core.robot.robot import Robot

CHECK_STEP = 0.05
"""A goal's clearances are checked on a grid this fine [s]."""


class _Known(NamedTuple):
    """Where a command has the arm.

    Attributes:
        key: The command's bytes.
        place: Of joints and tool.
        workspace: Distance of the tool to the workspace's limits [m].
    """

    key: bytes
    place: ArmPlace
    workspace: float


class CommandGuard:
    """Slows the command down in front of a limit, and stops it there."""

    def __init__(self, robot: Robot, config: ControllerConfig, bounds_speed: bool = True) -> None:
        """Take the limits.

        Args:
            robot: The arm; it is updated.
            config: Workspace, self-collision and speed of tool and elbow.
            bounds_speed: False where the abrupt motion of a baseline is to be seen.

        Raises:
            ConfigError: If a parameter does not fit the arm.
        """
        self._workspace = WorkspaceLimits(config.workspace)
        self._self_collision = SelfCollision(robot, config.self_collision)
        self._braking = min(1.0, BRAKING_RATE * config.period)
        self._farthest = config.limits.tool_speed * config.period if bounds_speed else math.inf
        self._known: _Known | None = None
        self._chain = chain_of(robot)
        self._elbow = (robot.n - 1) // 2
        tool = robot.model.frames[robot.model.getFrameId(robot.tool_link, pin.FrameType.BODY)]
        self._reach = np.maximum(
            self._self_collision.reach,
            reach_of(robot, tool.parentJoint, float(np.linalg.norm(tool.placement.translation))),
        )

    def limit(
        self, command: np.ndarray, change: np.ndarray, yields: bool = False
    ) -> tuple[np.ndarray, Status]:
        """Shorten a change of the command as far as needed.

        A clearance may shrink by a share per tick, as towards a joint limit; one that is
        negative must not shrink at all.

        Args:
            command: (n) present command q_cmd [rad].
            change: (n) wanted q_cmd+ - q_cmd [rad].
            yields: Whether it gives way to a contact: then tool and elbow may be faster.

        Returns:
            (q_cmd+ (n) [rad]; WORKSPACE, SELF_COLLISION, or LIMIT_REACHED for the speed of tool
            or elbow if it was shortened, else OK).
        """
        wanted = command + change
        present, following = self._at(command), self._measure(wanted)
        share, status = 1.0, Status.OK
        farthest = math.inf if yields else self._farthest
        for point in (-1, self._elbow):
            distance = math.dist(following.place.origins[point], present.place.origins[point])
            if share * distance > farthest:
                share, status = farthest / distance, Status.LIMIT_REACHED
        braking = self._braking
        for now, lost, reason in (
            (present.workspace, present.workspace - following.workspace, Status.WORKSPACE),
            (*self._self_collision.approach(command, wanted, braking), Status.SELF_COLLISION),
        ):
            allowed = braking * max(now, 0.0)
            if lost > allowed and allowed < share * lost:
                share, status = allowed / lost, reason
        if status is Status.OK:
            self._known = following
            return wanted, status
        return command + share * change, status

    def place_of(self, command: np.ndarray) -> ArmPlace:
        """Return where a command has the arm; that of the present one is known.

        Args:
            command: (n) q_cmd [rad].
        """
        return self._at(command).place

    def check(self, reference: Reference, let_tick_run: LetTickRun = run_to_end) -> None:
        """Check a goal before the arm moves.

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
                _refuse_outside(time, self._workspace.clearance_at(at))

    def _check_joints(self, times: np.ndarray, path: np.ndarray, let_tick_run: LetTickRun) -> None:
        """Check joint positions (m, n) [rad] at m times [s].

        What has not moved farther than it has clearance need not be measured again.
        """
        at = 0
        while at < len(path):
            let_tick_run()
            time, q = times[at], path[at]
            inside, clearance = self._measure(q).workspace, self._self_collision.clearance(q)
            if clearance < 0.0:
                raise TrajectoryError(
                    f"at {time:.2f} s two links of the arm would be "
                    f"{-clearance:.3f} m closer than self_collision.distance"
                )
            _refuse_outside(time, inside)
            at = _next_beyond(path, at, self._reach, min(inside, clearance))

    def _at(self, command: np.ndarray) -> _Known:
        """Return where a command has the arm, mostly known from the last tick."""
        if self._known is None or self._known.key != command.tobytes():
            self._known = self._measure(command)
        return self._known

    def _measure(self, q: np.ndarray) -> _Known:
        placed = place(self._chain, q)
        return _Known(q.tobytes(), placed, self._workspace.clearance_at(placed.translation))


def _refuse_outside(time: float, clearance: float) -> None:
    """Refuse a tool that is outside of the workspace at a time [s], by its clearance [m]."""
    if clearance < 0.0:
        raise TrajectoryError(
            f"at {time:.2f} s the tool would be {-clearance:.3f} m outside the workspace"
        )


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


class GoalChecker:
    """Checks goals; it takes much longer than a tick.

    With a robot of its own it may work beside a running control loop.

    Attributes:
        start_tolerance: How far from the arm a goal may begin.
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
        self._guard = CommandGuard(robot, config)

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
            if not (math.isfinite(limit) and limit >= 0.0):
                raise TrajectoryError(f"planned contact of '{link}': force limit {limit} N")
        if goal.posture is not None:
            self._check_posture(goal.posture)
        goal.reference.check(self._robot, command, self.start_tolerance, let_tick_run)
        if not isinstance(goal.reference, Guidance):
            self._guard.check(goal.reference, let_tick_run)

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
