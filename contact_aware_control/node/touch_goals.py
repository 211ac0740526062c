"""Goals of the actions that touch on purpose, translated: moves by touch, skills, guiding."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from contact_stack_msgs.action import CompliantMove as CompliantMoveAction
from contact_stack_msgs.action import GuardedMove as GuardedMoveAction
from contact_stack_msgs.action import HandGuide
from contact_stack_msgs.action import Insert as InsertAction
from contact_stack_msgs.action import Wipe as WipeAction
from geometry_msgs.msg import Vector3

from contact_aware_control import compliant_move, guarded_move, skill
from contact_aware_control.compliant_move import CompliantMove
from contact_aware_control.config import StartTolerance
from contact_aware_control.contact import ContactEstimate
from contact_aware_control.guarded_move import GuardedMove, Touch
from contact_aware_control.insert import Insert
from contact_aware_control.led_tool import LedTool, axes_towards
from contact_aware_control.node.config import GoalConfig
from contact_aware_control.node.trajectory_goals import (
    ActionGoal,
    GoalProgress,
    JointNamesError,
    Violation,
)
from contact_aware_control.reference import Goal, Guidance
from contact_aware_control.reference.stream import FOR_EVER, MotionBounds
from contact_aware_control.safety.goal_checker import MAX_FORCE
from contact_aware_control.skill import Skill
from contact_aware_control.wipe import Wipe
from contact_core.base.errors import choices
from contact_core.robot.robot import Robot
from contact_ros.geometry import BaseFrames, to_point, to_vector
from contact_ros.stamps import NANOSECONDS
from contact_ros.validation import MessageError, number, vector

GuardedResult = GuardedMoveAction.Result
CompliantResult = CompliantMoveAction.Result
GuideResult = HandGuide.Result
InsertResult = InsertAction.Result
WipeResult = WipeAction.Result

MAX_SPEED, MAX_DISTANCE, MAX_DURATION = 1.0, 3.0, 3600.0
"""Largest speed [m/s], distance [m] and duration [s]."""

FARTHEST = 0.25
"""Where a contact may be farther from its place, along the line of its force, none is told [m]."""

MAX_TIP = 0.5
"""Of the place of a peg's end, along each axis of the tool, and of the depth of its hole [m]."""

MAX_HOLE = 0.2
"""Of a hole's diameter, and how far sideways it is searched for [m]."""

MAX_CORNERS = 500
"""Most corners of a path that is wiped."""

SOFTEST = 100.0
"""Largest compliance [m/N]."""

UNFELT = 2.0
"""It waits so long for an estimate of what it feels [s]."""

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

    def tool(
        self,
        request: InsertAction.Goal | WipeAction.Goal,
        command: np.ndarray,
        tip: np.ndarray | None = None,
    ) -> LedTool:
        """Return a tool that a skill leads along a direction.

        Args:
            request: The goal, with direction and frame.
            command: (n) commanded joint positions now [rad].
            tip: (3) what it turns about, tool frame [m]; None: its origin.

        Raises:
            TrajectoryError: If the direction is zero, or the frame unknown.
        """
        direction = vector(request.direction, "direction", 1e6)
        ahead = axes_towards(direction @ self.axes(request.frame, command))
        return LedTool(self.robot, command, ahead, self.bounds, self.period, tip)

    def touching(self, request: InsertAction.Goal | WipeAction.Goal) -> tuple[float, ...]:
        """Return the numbers that all skills take, in their order; see :class:`Skill`."""
        return (
            number(request.force, "force", 0.0, MAX_FORCE / skill.HEADROOM),
            number(request.speed, "speed", 0.0, MAX_SPEED),
            number(request.distance, "distance", 0.0, MAX_DISTANCE),
            self.period,
            number(request.force_limit, "force_limit", 0.0, MAX_FORCE),
        )


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


class TouchGoal(ActionGoal):
    """A goal that begins at once, and ends wherever forces have led it: it has no tolerances."""

    start = 0

    def begin(self, command: np.ndarray, speed: np.ndarray | None) -> None:
        """Begin where it was checked, see :class:`ActionGoal`."""

    def check_start(self, command: np.ndarray, tolerance: StartTolerance) -> None:
        """Begin anywhere, see :class:`ActionGoal`."""

    def advance(self, progress: GoalProgress) -> Violation | None:
        """Look at what happens; it violates no path, see :class:`ActionGoal`."""
        return None

    def goal_violation(self, progress: GoalProgress) -> Violation | None:
        """Return None, see :class:`ActionGoal`."""
        return None


class FeelingGoal(TouchGoal):
    """A goal that goes on by what is felt, and ends where that stays unknown."""

    _felt: int | None = None

    def advance(self, progress: GoalProgress) -> Violation | None:
        """Go on, unless it is not known what is felt; see :class:`ActionGoal`."""
        if self._felt is None or progress.torque is not None or not progress.followed:
            self._felt = progress.stamp
        if progress.stamp - self._felt > UNFELT * NANOSECONDS:
            return Violation(self.codes["late"], f"what it feels is unknown for {UNFELT:g} s")
        return self.go_on(progress)

    @abstractmethod
    def go_on(self, progress: GoalProgress) -> Violation | None:
        """Look at what is felt and lead the reference on.

        Args:
            progress: Where the arm is; without a torque, nothing is to be concluded.

        Returns:
            What makes it end, if anything does.
        """


class GuardedGoal(FeelingGoal):
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
            MessageError: If the frame is unknown or a number is none.
        """
        direction = vector(request.direction, "direction", 1e6)
        self._move = GuardedMove(
            context.robot,
            command,
            direction @ context.axes(request.frame, command),
            number(request.speed, "speed", 0.0, MAX_SPEED),
            number(request.distance, "distance", 0.0, MAX_DISTANCE),
            number(request.force, "force", 0.0, MAX_FORCE / guarded_move.HEADROOM),
            context.bounds,
            context.period,
        )
        self.goal = Goal(self._move.reference, self._move.force_limits)
        self.patience = context.defaults.patience
        self._touch, self._late = Touch(0.0, 0.0, math.nan), False
        self._must_touch = request.must_touch
        self._contact: ContactEstimate | None = None

    def go_on(self, progress: GoalProgress) -> Violation | None:
        """Look at the force on a tool that moves; see :class:`FeelingGoal`."""
        if not progress.followed:
            return None
        move, torque, contacts = self._move, progress.torque, progress.contacts
        if torque is None:
            move.wait(progress.reference_time)
        else:
            move.go_on(progress.reference_time)
            self._touch = move.watch(progress.position, torque, contacts)
            # Where other places explain the torques as well, they may be on another link.
            mine = (c for c in contacts if c.link in move.force_limits and c.identifiable)
            told = (c for c in mine if c.place_within < FARTHEST)
            self._contact = move.met or next(told, None)
        if move.reference is not self.goal.reference:
            self.goal = Goal(move.reference, move.force_limits)
        return None

    def reached(self, progress: GoalProgress) -> bool:
        """Tell whether it has touched something, or the tool has come to its end."""
        over = self._late or self._move.over(progress.reference_time)
        return over and progress.followed and progress.torque is not None

    def goal_violation(self, progress: GoalProgress) -> Violation | None:
        """Wait no longer for it to come to rest, or to its end; see :class:`ActionGoal`."""
        touch, move = self._touch, self._move
        if progress.torque is None:
            return None
        if not move.come:
            return Violation(
                GuardedResult.GOAL_TOLERANCE_VIOLATED,
                f"something holds it back: it has come {touch.distance:.3f} m of "
                f"{move.distance:g} m, and {max(touch.force, 0.0):.1f} N push back",
            )
        self._late = True
        return None

    def shortfall(self) -> Violation | None:
        """Miss a touch that there must be, see :class:`ActionGoal`."""
        move, met = self._move, self._move.met
        if not self._must_touch or (move.touched and met is None):
            return None
        if met is not None:
            return Violation(
                GuardedResult.NOT_TOUCHED,
                f"the arm met something with {met.link}, not with its hand, after "
                f"{self._touch.distance:.3f} m",
            )
        touch, wanted = self._touch, self._move.wanted
        return Violation(
            GuardedResult.NOT_TOUCHED,
            f"nothing pushed back with {wanted:g} N within {touch.distance:.3f} m: at the end it "
            f"was {max(touch.force, 0.0):.1f} N",
        )

    def feedback(self, progress: GoalProgress) -> Any:
        """Return the feedback message; see :class:`ActionGoal`."""
        return GuardedMoveAction.Feedback(force=self._touch.force, distance=self._touch.distance)

    def result(self, progress: GoalProgress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`ActionGoal`."""
        nowhere = to_point(np.full(3, math.nan))
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


class CompliantGoal(FeelingGoal):
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
            MessageError: If the frame is unknown or a number is none.
        """
        self._move = CompliantMove(
            context.robot,
            command,
            context.axes(request.frame, command),
            vector(request.compliance, "compliance", SOFTEST),
            vector(request.force, "force", MAX_FORCE / compliant_move.HEADROOM),
            vector(request.travel, "travel", MAX_DISTANCE),
            number(request.speed, "speed", 0.0, MAX_SPEED),
            number(request.duration, "duration", 0.0, MAX_DURATION),
            context.bounds,
            context.period,
            number(request.force_limit, "force_limit", 0.0, MAX_FORCE),
        )
        self.goal = Goal(self._move.reference, self._move.force_limits)
        self.patience = context.defaults.patience

    def go_on(self, progress: GoalProgress) -> Violation | None:
        """Lead the reference on, unless something holds it back; see :class:`FeelingGoal`."""
        if progress.command is not None:
            reference = self._move.step(
                progress.reference_time,
                progress.position,
                progress.command,
                progress.torque,
                progress.contacts,
            )
            self.goal = Goal(reference, self._move.force_limits, refreshed=progress.stamp)
        if self._move.held > self.patience:
            text = f"something has held it back for {self._move.held:.1f} s"
            return Violation(CompliantResult.GOAL_TOLERANCE_VIOLATED, text)
        return None

    def reached(self, progress: GoalProgress) -> bool:
        """Tell whether its time is over."""
        return self._move.time >= self._move.duration

    def shortfall(self) -> Violation | None:
        """Miss a force that is not held at the end, see :class:`ActionGoal`."""
        text = self._move.shortfall
        return Violation(CompliantResult.FORCE_NOT_HELD, text) if text else None

    def feedback(self, progress: GoalProgress) -> Any:
        """Return the feedback message; see :class:`ActionGoal`."""
        return CompliantMoveAction.Feedback(
            force=to_vector(self._move.force), offset=to_vector(self._move.offset)
        )

    def result(self, progress: GoalProgress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`ActionGoal`."""
        return CompliantResult(
            **_ending(violation, note),
            force=to_vector(self._move.force),
            offset=to_vector(self._move.offset),
        )


class SkillGoal(FeelingGoal):
    """A task; it ends by what is felt, and takes its time.

    Attributes:
        skill: The task.
        answer: Its action's result.
    """

    skill: Skill
    answer: ClassVar[type[Any]]

    def _begin(self, skill: Skill, context: TouchContext) -> None:
        """Take what is to be done."""
        self.skill = skill
        self.goal = Goal(skill.ahead, skill.force_limits, later=skill.later)
        self.patience = context.defaults.patience

    def go_on(self, progress: GoalProgress) -> Violation | None:
        """Lead the reference on; see :class:`FeelingGoal`."""
        if progress.command is not None:
            reference = self.skill.step(
                progress.reference_time,
                progress.position,
                progress.command,
                progress.torque,
                progress.contacts,
            )
            self.goal = Goal(reference, self.skill.force_limits, refreshed=progress.stamp)
        return None

    def reached(self, progress: GoalProgress) -> bool:
        """Tell whether it is over."""
        return self.skill.ended

    def pressing(self) -> Vector3:
        """Return what the tool presses with, frame of the base [N]."""
        tool = self.skill.tool
        return to_vector(tool.axes.T @ tool.pressing)

    def shortfall(self) -> Violation | None:
        """Say which part of it has failed, see :class:`ActionGoal`."""
        skill = self.skill
        return Violation(getattr(self.answer, skill.failure), skill.text) if skill.failure else None


class InsertGoal(SkillGoal):
    """A peg that is put into a hole."""

    codes = _codes(InsertResult)
    answer = InsertResult

    def __init__(
        self, request: InsertAction.Goal, context: TouchContext, command: np.ndarray
    ) -> None:
        """Translate a goal.

        Args:
            request: The goal.
            context: What it is made with.
            command: (n) commanded joint positions now [rad].

        Raises:
            MessageError: If the frame is unknown or a number is none.
        """
        tip = vector(request.tip, "tip", MAX_TIP)
        self._skill = Insert(
            context.tool(request, command, tip),
            number(request.diameter, "diameter", 0.0, MAX_HOLE),
            number(request.radius, "radius", 0.0, MAX_HOLE),
            number(request.depth, "depth", 0.0, MAX_TIP),
            *context.touching(request),
        )
        self._begin(self._skill, context)

    def feedback(self, progress: GoalProgress) -> Any:
        """Return the feedback message; see :class:`ActionGoal`."""
        return InsertAction.Feedback(
            phase=self.skill.phase, force=self.pressing(), depth=self._skill.depth
        )

    def result(self, progress: GoalProgress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`ActionGoal`."""
        return InsertResult(
            **_ending(violation, note),
            depth=self._skill.depth,
            tip=to_point(self.skill.tool.tip),
        )


class WipeGoal(SkillGoal):
    """A surface that is wiped."""

    codes = _codes(WipeResult)
    answer = WipeResult

    def __init__(
        self, request: WipeAction.Goal, context: TouchContext, command: np.ndarray
    ) -> None:
        """Translate a goal.

        Args:
            request: The goal.
            context: What it is made with.
            command: (n) commanded joint positions now [rad].

        Raises:
            MessageError: If the frame is unknown or a number is none.
        """
        if not 0 < len(request.path) <= MAX_CORNERS:
            raise MessageError(
                f"the path has {len(request.path)} corners (valid: 1 to {MAX_CORNERS})"
            )
        path = np.array([vector(corner, "path", MAX_DISTANCE) for corner in request.path])
        self._skill = Wipe(
            context.tool(request, command),
            path @ context.axes(request.frame, command),
            number(request.lift, "lift", 0.0, MAX_DISTANCE),
            *context.touching(request),
        )
        self._begin(self._skill, context)

    def feedback(self, progress: GoalProgress) -> Any:
        """Return the feedback message; see :class:`ActionGoal`."""
        return WipeAction.Feedback(
            phase=self.skill.phase, force=self.pressing(), wiped=self._skill.wiped
        )

    def result(self, progress: GoalProgress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`ActionGoal`."""
        return WipeResult(
            **_ending(violation, note),
            wiped=self._skill.wiped,
            lost=to_point(self._skill.lost),
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
        """Return the feedback message; see :class:`ActionGoal`."""
        return HandGuide.Feedback(positions=progress.position)

    def result(self, progress: GoalProgress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`ActionGoal`."""
        return GuideResult(
            **_ending(violation, note),
            joint_names=self._names,
            positions=progress.position,
        )
