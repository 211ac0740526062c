"""Goals of the action `guarded_move`, translated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from contact_stack_msgs.action import GuardedMove as GuardedMoveAction
from geometry_msgs.msg import Point

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.guarded_move import GuardedMove, Touch
from contact_aware_control.node.config import GoalConfig
from contact_aware_control.node.trajectory_goals import GoalProgress, TrajectoryGoal, Violation
from contact_aware_control.reference import Goal
from contact_aware_control.reference.stream import Bounds
from contact_core.errors import TrajectoryError, choices
from contact_core.robot import Robot
from contact_ros.border import number, vector
from contact_ros.geometry import to_point

GuardedResult = GuardedMoveAction.Result

FASTEST, FARTHEST, STRONGEST = 1.0, 3.0, 500.0
"""Largest speed [m/s], distance [m] and force [N] of a guarded move."""


class GuardedGoal(TrajectoryGoal):
    """A guarded move; it has no tolerances."""

    codes: ClassVar[Mapping[str, int]] = {
        "invalid": GuardedResult.INVALID_GOAL,
        "fault": GuardedResult.FAULT,
        "late": GuardedResult.GOAL_TOLERANCE_VIOLATED,
    }

    def __init__(
        self,
        request: GuardedMoveAction.Goal,
        robot: Robot,
        base: str,
        command: np.ndarray,
        bounds: Bounds,
        period: float,
        defaults: GoalConfig | None = None,
    ) -> None:
        """Translate a goal.

        Args:
            request: The goal.
            robot: The arm, for this goal to measure with.
            base: Name of the arm's base.
            command: (n) commanded joint positions now [rad].
            bounds: Of the tool's motion.
            period: Time between ticks [s].
            defaults: How long it may be held back.

        Raises:
            TrajectoryError: If the frame is unknown or a number is none.
        """
        direction = vector(request.direction, "direction", 1e6)
        if request.frame == robot.tool_link:
            robot.update(command)
            direction = robot.tool_pose().rotation @ direction
        elif request.frame not in ("", base):
            valid = (base, robot.tool_link)
            raise TrajectoryError(f"unknown frame '{request.frame}' ({choices(valid)})")
        self._move = GuardedMove(
            robot,
            command,
            direction,
            number(request.speed, "speed", 0.0, FASTEST),
            number(request.distance, "distance", 0.0, FARTHEST),
            number(request.force, "force", 0.0, STRONGEST),
            bounds,
            period,
        )
        self.goal = Goal(self._move.reference, self._move.force_limits)
        self.start = 0
        self.patience = (defaults or GoalConfig()).patience
        self._touch = Touch(0.0, 0.0, math.nan)
        self._contact: ContactEstimate | None = None

    def path_violation(self, progress: GoalProgress) -> Violation | None:
        """Look at the force; nothing violates a path, see :class:`TrajectoryGoal`."""
        if progress.report is not None and progress.report.free_torque is not None:
            contacts = progress.report.contacts
            self._touch = self._move.watch(progress.position, progress.report.free_torque, contacts)
            touching = [c for c in contacts if c.link in self._move.force_limits]
            self._contact = touching[0] if touching else None
        return None

    def goal_violation(self, progress: GoalProgress) -> Violation | None:
        """Return None: it ends wherever it is, see :class:`TrajectoryGoal`."""
        return None

    def reached(self, progress: GoalProgress) -> bool:
        """Tell whether it has touched something, or come to its end."""
        return self._move.touched or super().reached(progress)

    def feedback(self, progress: GoalProgress) -> Any:
        """Return the feedback message; see :class:`TrajectoryGoal`."""
        return GuardedMoveAction.Feedback(force=self._touch.force, distance=self._touch.distance)

    def result(self, progress: GoalProgress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`TrajectoryGoal`."""
        nowhere = Point(x=math.nan, y=math.nan, z=math.nan)
        touched = self._move.touched
        contact = self._contact if touched else None
        return GuardedResult(
            error_code=violation.code if violation else GuardedResult.SUCCESSFUL,
            error_string=f"{violation.text}{note}" if violation else "",
            touched=touched,
            force=self._touch.force,
            distance=self._touch.distance,
            surface=to_point(self._move.at(self._touch.surface)) if touched else nowhere,
            link="" if contact is None else contact.link,
            contact=nowhere if contact is None else to_point(contact.point_world),
        )
