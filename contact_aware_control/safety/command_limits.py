"""The limits that every command and every goal respects, whatever the controller asks for.

Where a clearance shrinks, the whole change of the command is shortened: between no change
and the one the controller asked for, every linear force bound that holds at both ends
holds as well. A correction of single joints could press the arm into a contact instead.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from contact_aware_control.config import ControllerConfig, LimitsConfig
from contact_aware_control.reference.base import Goal, JointReference, PoseReference, Reference
from contact_aware_control.safety.clearances import SelfCollision, WorkspaceLimits
from contact_aware_control.safety.status import Status
from contact_core.errors import TrajectoryError, choices
from contact_core.robot import Robot

ROUNDING = 1e-12
"""By how much a change may miss a bound that holds it back [rad]."""

CHECK_STEP = 0.05
"""A goal's clearances are checked on a grid this fine [s]."""


class CommandLimits:
    """The box of commands that are allowed next, whatever controller asks.

    Bounds on step and velocity are never exceeded. Within them joint limits win over the
    bound on the spring torque; a bound that is already violated is approached as fast as
    the stronger ones allow, so the box is never empty.
    """

    def __init__(
        self, robot: Robot, stiffness: np.ndarray, config: LimitsConfig, period: float
    ) -> None:
        """Take the limits of the arm.

        Args:
            robot: Has the position and velocity limits.
            stiffness: (n) diagonal of K [Nm/rad].
            config: Margins and bounds.
            period: Time between ticks [s].
        """
        self._step = np.minimum(
            config.step, config.velocity_fraction * robot.velocity_limits * period
        )
        self._lowest = robot.position_limits[0] + config.position_margin
        self._highest = robot.position_limits[1] - config.position_margin
        self._braking = min(1.0, config.braking_rate * period)
        self._distance = np.minimum(config.distance, np.array(config.spring_torque) / stiffness)

    def box(
        self, q: np.ndarray, command: np.ndarray, step_fraction: float = 1.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds on q_cmd+ - q_cmd.

        Args:
            q: (n) measured configuration [rad].
            command: (n) present command q_cmd [rad].
            step_fraction: Share of the step bound to use.

        Returns:
            (lower, upper), each (n) [rad].
        """
        upper = step_fraction * self._step
        lower = -upper
        bounds = (
            (
                self._braking * (self._lowest - command),
                self._braking * (self._highest - command),
            ),
            (q - self._distance - command, q + self._distance - command),
        )
        for low, high in bounds:
            lower, upper = (
                np.minimum(np.maximum(low, lower), upper),
                np.minimum(np.maximum(high, lower), upper),
            )
        return lower, upper

    def reached(
        self,
        change: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        step_fraction: float = 1.0,
    ) -> bool:
        """Tell whether a limit other than the step bound holds a joint back.

        Args:
            change: (n) q_cmd+ - q_cmd [rad].
            lower: (n) from :meth:`box`.
            upper: (n) from :meth:`box`.
            step_fraction: Given to :meth:`box`.

        Returns:
            True if so.
        """
        step = step_fraction * self._step
        limited_below = lower > -step
        limited_above = upper < step
        if not (limited_below.any() or limited_above.any()):
            return False
        below = limited_below & (change <= lower + ROUNDING)
        above = limited_above & (change >= upper - ROUNDING)
        return bool(below.any() or above.any())


class _Clearances(NamedTuple):
    """Distances to the limits [m], and where tool and elbow are, world frame [m]."""

    workspace: float
    self_collision: float
    tool: np.ndarray
    elbow: np.ndarray


class CommandGuard:
    """Slows the command down in front of a limit, and stops it there."""

    def __init__(self, robot: Robot, config: ControllerConfig, bounds_speed: bool = True) -> None:
        """Take the limits.

        Args:
            robot: The arm; it is not changed.
            config: Workspace, self-collision, braking rate and speed of tool and elbow.
            bounds_speed: False where the abrupt motion of a baseline is to be seen.

        Raises:
            ConfigError: If a parameter does not fit the arm.
        """
        self._workspace = WorkspaceLimits(config.workspace)
        self._self_collision = SelfCollision(robot, config.self_collision)
        self._braking = min(1.0, config.limits.braking_rate * config.period)
        self._farthest = config.limits.tool_speed * config.period if bounds_speed else math.inf
        self._known: tuple[np.ndarray, _Clearances] | None = None
        self._model, self._data = robot.model, robot.model.createData()
        self._tool = robot.model.getFrameId(robot.tool_link)
        self._elbow = (robot.n + 1) // 2

    def limit(self, command: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, Status]:
        """Shorten a change of the command as far as needed.

        A clearance may shrink by a share per tick, as towards a joint limit; one that is
        negative must not shrink at all.

        Args:
            command: (n) present command q_cmd [rad].
            change: (n) wanted q_cmd+ - q_cmd [rad].

        Returns:
            (q_cmd+ (n) [rad]; WORKSPACE, SELF_COLLISION, or LIMIT_REACHED for the speed of tool
            or elbow if it was shortened, else OK).
        """
        wanted = command + change
        present, following = self._clearances(command), self._measure(wanted)
        share, status = 1.0, Status.OK
        for now, then, reason in (
            (present.workspace, following.workspace, Status.WORKSPACE),
            (present.self_collision, following.self_collision, Status.SELF_COLLISION),
        ):
            allowed = self._braking * max(now, 0.0)
            if now - then > allowed and allowed < share * (now - then):
                share, status = allowed / (now - then), reason
        for start, end in ((present.tool, following.tool), (present.elbow, following.elbow)):
            way = end - start
            distance = math.sqrt(way @ way)
            if share * distance > self._farthest:
                share, status = self._farthest / distance, Status.LIMIT_REACHED
        if status is Status.OK:
            self._known = wanted, following
            return wanted, status
        return command + share * change, status

    def check(self, reference: Reference) -> None:
        """Check a goal before the arm moves.

        Args:
            reference: The motion. Of a tool motion only the workspace is checked, the joint
                positions are not known yet.

        Raises:
            TrajectoryError: If it leaves the workspace, or links would be too close.
        """
        for time in np.arange(0.0, reference.duration + CHECK_STEP, CHECK_STEP):
            if isinstance(reference, PoseReference):
                outside = -self._workspace.clearance_at(reference.sample(time).translation)
            elif isinstance(reference, JointReference):
                found = self._measure(reference.sample(time))
                outside = -found.workspace
                if found.self_collision < 0.0:
                    raise TrajectoryError(
                        f"at {time:.2f} s two links of the arm would be "
                        f"{-found.self_collision:.3f} m closer than self_collision.distance"
                    )
            if outside > 0.0:
                raise TrajectoryError(
                    f"at {time:.2f} s the tool would be {outside:.3f} m outside the workspace"
                )

    def _clearances(self, command: np.ndarray) -> _Clearances:
        """Return the clearances at the present command, mostly known from the last tick."""
        if self._known is None or not np.array_equal(self._known[0], command):
            self._known = command, self._measure(command)
        return self._known[1]

    def _measure(self, q: np.ndarray) -> _Clearances:
        pin.forwardKinematics(self._model, self._data, q)
        tool = pin.updateFramePlacement(self._model, self._data, self._tool).translation.copy()
        return _Clearances(
            self._workspace.clearance_at(tool),
            self._self_collision.clearance(q),
            tool,
            self._data.oMi[self._elbow].translation.copy(),
        )


class GoalChecker:
    """Checks goals; it takes much longer than a tick.

    With a robot of its own it may work beside a running control loop.
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
        self._start_tolerance = config.safety.start
        self._guard = CommandGuard(robot, config)

    def check(self, goal: Goal, command: np.ndarray) -> None:
        """Check a goal.

        Args:
            goal: The goal.
            command: (n) commanded joint positions now [rad].

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
        goal.reference.check(self._robot, command, self._start_tolerance)
        self._guard.check(goal.reference)
