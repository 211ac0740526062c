"""Keeps the commanded arm away from itself and inside its workspace.

Where a clearance shrinks, the whole change of the command is shortened: between no change
and the one the controller asked for, every linear force bound that holds at both ends
holds as well. A correction of single joints could press the arm into a contact instead.
"""

from __future__ import annotations

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.reference.base import JointReference, PoseReference, Reference
from contact_aware_control.safety.self_collision import SelfCollision
from contact_aware_control.safety.status import Status
from contact_aware_control.safety.workspace import Workspace
from contact_core.errors import TrajectoryError
from contact_core.robot import Robot

CHECK_STEP = 0.05
"""A goal's clearances are checked on a grid this fine [s]."""


class CommandGuard:
    """Slows the command down in front of a limit, and stops it there."""

    def __init__(self, robot: Robot, config: ControllerConfig) -> None:
        """Take the limits.

        Args:
            robot: The arm; it is not changed.
            config: Workspace, self-collision and braking rate.

        Raises:
            ConfigError: If a parameter does not fit the arm.
        """
        self._workspace = Workspace(robot, config.workspace)
        self._self_collision = SelfCollision(robot, config.self_collision)
        self._braking = min(1.0, config.limits.braking_rate * config.period)
        self._known: tuple[np.ndarray, tuple[float, float]] | None = None

    def limit(self, command: np.ndarray, change: np.ndarray) -> tuple[np.ndarray, Status]:
        """Shorten a change of the command as far as needed.

        A clearance may shrink by a share per tick, as towards a joint limit; one that is
        negative must not shrink at all.

        Args:
            command: (n) present command q_cmd [rad].
            change: (n) wanted q_cmd+ - q_cmd [rad].

        Returns:
            (q_cmd+ (n) [rad], WORKSPACE or SELF_COLLISION if it was shortened, else OK).
        """
        wanted = command + change
        present, following = self._clearances(command), self._measure(wanted)
        share, status = 1.0, Status.OK
        for now, then, reason in zip(
            present, following, (Status.WORKSPACE, Status.SELF_COLLISION), strict=True
        ):
            allowed = self._braking * max(now, 0.0)
            if now - then > allowed and allowed < share * (now - then):
                share, status = allowed / (now - then), reason
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
                inside, apart = self._measure(reference.sample(time))
                outside = -inside
                if apart < 0.0:
                    raise TrajectoryError(
                        f"at {time:.2f} s two links of the arm would be {-apart:.3f} m closer than "
                        "self_collision.distance"
                    )
            if outside > 0.0:
                raise TrajectoryError(
                    f"at {time:.2f} s the tool would be {outside:.3f} m outside the workspace"
                )

    def _clearances(self, command: np.ndarray) -> tuple[float, float]:
        """Return the clearances at the present command, mostly known from the last tick."""
        if self._known is None or self._known[0] is not command:
            self._known = command, self._measure(command)
        return self._known[1]

    def _measure(self, q: np.ndarray) -> tuple[float, float]:
        return self._workspace.clearance(q), self._self_collision.clearance(q)
