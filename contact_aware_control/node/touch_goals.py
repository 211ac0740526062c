"""Goals of the actions that touch on purpose, translated: guarded and compliant moves, guiding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from contact_stack_msgs.action import CompliantMove as CompliantMoveAction
from contact_stack_msgs.action import GuardedMove as GuardedMoveAction
from contact_stack_msgs.action import HandGuide
from geometry_msgs.msg import Point

from contact_aware_control.compliant_move import CompliantMove
from contact_aware_control.config import StartTolerance
from contact_aware_control.contact import ContactEstimate
from contact_aware_control.guarded_move import GuardedMove, Touch
from contact_aware_control.node.config import GoalConfig
from contact_aware_control.node.trajectory_goals import (
    GoalProgress,
    JointNamesError,
    TrajectoryGoal,
    Violation,
)
from contact_aware_control.reference import Goal, Guidance
from contact_aware_control.reference.stream import FOR_EVER, MotionBounds
from contact_core.base.errors import choices
from contact_core.robot.robot import Robot
from contact_ros.geometry import BaseFrames, to_point, to_vector
from contact_ros.validation import number, vector

GuardedResult = GuardedMoveAction.Result
CompliantResult = CompliantMoveAction.Result
GuideResult = HandGuide.Result

MAX_SPEED, MAX_DISTANCE, MAX_FORCE, MAX_DURATION = 1.0, 3.0, 500.0, 3600.0
"""Largest speed [m/s], distance [m], force [N] and duration [s]."""

SOFTEST = 100.0
"""Largest compliance [m/N]."""

FELT = 8.0
"""How hard a hand has to push, where it is not said [N]."""


@dataclass(frozen=True)
class TouchContext:
    """What all of these goals are made with.

    Attributes:
        robot: The arm, for a goal to measure with.
        frames: Those that are fixed to the arm's base.
        joint_names: The driver's names of the arm's joints, base to wrist.
        bounds: Of the tool's motion.
        period: Time between ticks [s].
        defaults: How long a goal may be held back.
    """

    robot: Robot
    frames: BaseFrames
    joint_names: Sequence[str]
    bounds: MotionBounds
    period: float
    defaults: GoalConfig

    def axes(self, frame: str, command: np.ndarray) -> np.ndarray:
        """Return the axes of a frame (3, 3), as rows, world frame.

        Args:
            frame: Its name: the tool's, or one that is fixed to the base; empty for the base.
            command: (n) commanded joint positions now [rad].

        Raises:
            MessageError: If the name is unknown.
        """
        if frame == self.robot.tool_link:
            self.robot.update(command)
            axes: np.ndarray = self.robot.tool_pose().rotation.T
            return axes
        fixed: np.ndarray = self.frames.pose(frame, self.robot.tool_link).rotation.T
        return fixed


def _codes(result: type[Any]) -> Mapping[str, int]:
    """Return the server's error codes, by the names of an action's result."""
    return {
        "invalid": result.INVALID_GOAL,
        "fault": result.FAULT,
        "late": result.GOAL_TOLERANCE_VIOLATED,
    }


def _ending(violation: Violation | None, note: str) -> dict[str, Any]:
    """Return what a result says of how a goal ended; the code of success is 0."""
    if violation is None:
        return {"error_code": 0, "error_string": ""}
    return {"error_code": violation.code, "error_string": f"{violation.text}{note}"}


class TouchGoal(TrajectoryGoal):
    """A goal that begins at once, and ends wherever forces have led it: it has no tolerances."""

    start = 0

    def begin(self, command: np.ndarray, speed: np.ndarray | None) -> None:
        """Begin where it was checked, see :class:`TrajectoryGoal`."""

    def check_start(self, command: np.ndarray, tolerance: StartTolerance) -> None:
        """Begin anywhere, see :class:`TrajectoryGoal`."""

    def path_violation(self, progress: GoalProgress) -> Violation | None:
        """Look at what happens; it violates no path, see :class:`TrajectoryGoal`."""
        return None

    def goal_violation(self, progress: GoalProgress) -> Violation | None:
        """Return None, see :class:`TrajectoryGoal`."""
        return None


class GuardedGoal(TouchGoal):
    """A guarded move."""

    codes = _codes(GuardedResult)

    def __init__(
        self, request: GuardedMoveAction.Goal, context: TouchContext, command: np.ndarray
    ) -> None:
        """Translate a goal.

        Args:
            request: The goal.
            context: What it is made with.
            command: (n) commanded joint positions now [rad].

        Raises:
            TrajectoryError: If the frame is unknown or a number is none.
        """
        direction = vector(request.direction, "direction", 1e6)
        self._move = GuardedMove(
            context.robot,
            command,
            direction @ context.axes(request.frame, command),
            number(request.speed, "speed", 0.0, MAX_SPEED),
            number(request.distance, "distance", 0.0, MAX_DISTANCE),
            number(request.force, "force", 0.0, MAX_FORCE),
            context.bounds,
            context.period,
        )
        self.goal = Goal(self._move.reference, self._move.force_limits)
        self.patience = context.defaults.patience
        self._touch = Touch(0.0, 0.0, math.nan)
        self._must_touch = request.must_touch
        self._contact: ContactEstimate | None = None

    def path_violation(self, progress: GoalProgress) -> Violation | None:
        """Look at the force; nothing violates a path, see :class:`TrajectoryGoal`."""
        if progress.report is not None and progress.report.free_torque is not None:
            contacts = progress.report.contacts
            self._touch = self._move.watch(progress.position, progress.report.free_torque, contacts)
            touching = [c for c in contacts if c.link in self._move.force_limits]
            self._contact = touching[0] if touching else None
        return None

    def reached(self, progress: GoalProgress) -> bool:
        """Tell whether it has touched something, or come to its end."""
        return self._move.touched or super().reached(progress)

    def shortfall(self) -> Violation | None:
        """Miss a touch that there must be, see :class:`TrajectoryGoal`."""
        if self._move.touched or not self._must_touch:
            return None
        return Violation(
            GuardedResult.NOT_TOUCHED, f"nothing was touched within {self._touch.distance:.3f} m"
        )

    def feedback(self, progress: GoalProgress) -> Any:
        """Return the feedback message; see :class:`TrajectoryGoal`."""
        return GuardedMoveAction.Feedback(force=self._touch.force, distance=self._touch.distance)

    def result(self, progress: GoalProgress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`TrajectoryGoal`."""
        nowhere = Point(x=math.nan, y=math.nan, z=math.nan)
        touched = self._move.touched
        contact = self._contact if touched else None
        return GuardedResult(
            **_ending(violation, note),
            touched=touched,
            force=self._touch.force,
            distance=self._touch.distance,
            surface=to_point(self._move.at(self._touch.surface)) if touched else nowhere,
            link="" if contact is None else contact.link,
            contact=nowhere if contact is None else to_point(contact.point_world),
        )


class CompliantGoal(TouchGoal):
    """A compliant move; it takes its time."""

    codes = _codes(CompliantResult)

    def __init__(
        self, request: CompliantMoveAction.Goal, context: TouchContext, command: np.ndarray
    ) -> None:
        """Translate a goal.

        Args:
            request: The goal.
            context: What it is made with.
            command: (n) commanded joint positions now [rad].

        Raises:
            TrajectoryError: If the frame is unknown or a number is none.
        """
        self._move = CompliantMove(
            context.robot,
            command,
            context.axes(request.frame, command),
            vector(request.compliance, "compliance", SOFTEST),
            vector(request.force, "force", MAX_FORCE),
            vector(request.travel, "travel", MAX_DISTANCE),
            number(request.speed, "speed", 0.0, MAX_SPEED),
            number(request.duration, "duration", 0.0, MAX_DURATION),
            context.bounds,
            context.period,
            number(request.force_limit, "force_limit", 0.0, MAX_FORCE),
        )
        self.goal = Goal(self._move.reference, self._move.force_limits)
        self.patience = context.defaults.patience
        self._time = 0.0

    def path_violation(self, progress: GoalProgress) -> Violation | None:
        """Lead the reference on; nothing violates a path, see :class:`TrajectoryGoal`."""
        if progress.command is not None:
            report, passed = progress.report, progress.reference_time
            self._time += passed
            reference = self._move.step(
                self._time,
                passed,
                progress.position,
                progress.command,
                None if report is None else report.free_torque,
                () if report is None else report.contacts,
            )
            self.goal = Goal(reference, self._move.force_limits, refreshed=progress.stamp)
        return None

    def reached(self, progress: GoalProgress) -> bool:
        """Tell whether its time is over."""
        return self._time >= self._move.duration

    def shortfall(self) -> Violation | None:
        """Miss a force that is not held at the end, see :class:`TrajectoryGoal`."""
        text = self._move.shortfall
        return Violation(CompliantResult.FORCE_NOT_HELD, text) if text else None

    def feedback(self, progress: GoalProgress) -> Any:
        """Return the feedback message; see :class:`TrajectoryGoal`."""
        return CompliantMoveAction.Feedback(
            force=to_vector(self._move.force), offset=to_vector(self._move.offset)
        )

    def result(self, progress: GoalProgress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`TrajectoryGoal`."""
        return CompliantResult(
            **_ending(violation, note),
            force=to_vector(self._move.force),
            offset=to_vector(self._move.offset),
        )


class GuidedGoal(TouchGoal):
    """Hand guiding."""

    codes = _codes(GuideResult)

    def __init__(self, request: HandGuide.Goal, context: TouchContext, command: np.ndarray) -> None:
        """Translate a goal.

        Args:
            request: The goal.
            context: What it is made with.
            command: (n) commanded joint positions now [rad].

        Raises:
            TrajectoryError: If a joint is not the arm's or a number is none.
        """
        self._names = list(context.joint_names)
        unknown = sorted(set(request.joints) - set(self._names))
        if unknown:
            raise JointNamesError(f"unknown joints {unknown} ({choices(self._names)})")
        free = np.array([not request.joints or name in request.joints for name in self._names])
        force = number(request.force, "force", 0.0, MAX_FORCE) or FELT
        duration = number(request.duration, "duration", 0.0, MAX_DURATION) or FOR_EVER
        limits = dict.fromkeys(context.robot.link_names, force)
        self.goal = Goal(Guidance(command, free, force, duration), limits)
        self.patience = context.defaults.patience

    def feedback(self, progress: GoalProgress) -> Any:
        """Return the feedback message; see :class:`TrajectoryGoal`."""
        return HandGuide.Feedback(positions=progress.position)

    def result(self, progress: GoalProgress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`TrajectoryGoal`."""
        return GuideResult(
            **_ending(violation, note),
            joint_names=self._names,
            positions=progress.position,
        )
