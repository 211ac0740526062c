"""What a reference has to provide, and the goal that asks to follow one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pinocchio as pin

from contact_aware_control.config import StartTolerance
from contact_core.base.errors import TrajectoryError
from contact_core.robot.robot import Robot

LIMIT_TOLERANCE = 1e-6
"""Rounding allowed at a limit [rad, rad/s, m]."""

LetTickRun = Callable[[], None]
"""Lets what is urgent go first: a loop that needs the interpreter, too."""


def run_to_end() -> None:
    """Give way to nobody."""


def check_joint_positions(path: np.ndarray, robot: Robot, what: str) -> None:
    """Check joint positions against the arm's limits.

    Args:
        path: (p, n) positions [rad].
        robot: The arm.
        what: Where they come from, for the error.

    Raises:
        TrajectoryError: If one is outside, with the joint, its value and its limits.
    """
    low, high = robot.position_limits
    outside = np.maximum(low - path, path - high)
    point, joint = np.unravel_index(int(np.argmax(outside)), outside.shape)
    if outside[point, joint] > LIMIT_TOLERANCE:
        raise TrajectoryError(
            f"{what}: joint {robot.joint_names[joint]} would be outside its limits by "
            f"{outside[point, joint]:.3f} rad, at {path[point, joint]:.3f} rad "
            f"(valid: {low[joint]:.3f} ... {high[joint]:.3f} rad)"
        )


def check_joint_speeds(speeds: np.ndarray, robot: Robot, what: str) -> None:
    """Check joint speeds against the arm's limits.

    Args:
        speeds: (n) magnitudes [rad/s].
        robot: The arm.
        what: Where they come from, for the error.

    Raises:
        TrajectoryError: If one is too high, with the joint, its value and its limit.
    """
    joint = int(np.argmax(speeds - robot.velocity_limits))
    if speeds[joint] > robot.velocity_limits[joint] + LIMIT_TOLERANCE:
        raise TrajectoryError(
            f"{what}: joint {robot.joint_names[joint]} would move at {speeds[joint]:.3f} rad/s "
            f"(valid: <= {robot.velocity_limits[joint]:.3f} rad/s)"
        )


class ArmReach:
    """What no arm can do: bring its tool farther from the shoulder than its links are long.

    Attributes:
        shoulder: (3) origin of the second joint, which the first does not move, world frame [m].
        length: From there over all joints to the tool [m].
    """

    def __init__(self, robot: Robot) -> None:
        """Measure an arm.

        Args:
            robot: The arm; it is updated.
        """
        robot.update(np.zeros(robot.n))
        places = np.vstack((robot.joint_origins[1:], robot.tool_pose().translation))
        self.shoulder = places[0]
        self.length = float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())

    def check(self, place: np.ndarray, what: str) -> None:
        """Check a place of the tool.

        Args:
            place: (3) world frame [m].
            what: What is to be there, for the error.

        Raises:
            TrajectoryError: If it is out of reach for certain.
        """
        distance = float(np.linalg.norm(place - self.shoulder))
        if distance > self.length + LIMIT_TOLERANCE:
            raise TrajectoryError(
                f"{what} is out of the arm's reach: {distance:.3f} m from its shoulder "
                f"(valid: <= {self.length:.3f} m)"
            )


class Reference(ABC):
    """A motion over time; it rests at its end.

    Attributes:
        waits: Whether its time stands still where the arm cannot follow; that of a stream passes.
    """

    waits: ClassVar[bool] = True

    @property
    @abstractmethod
    def duration(self) -> float:
        """Time from start to end [s]."""

    @abstractmethod
    def check(
        self,
        robot: Robot,
        q_start: np.ndarray,
        tolerance: StartTolerance,
        let_tick_run: LetTickRun = run_to_end,
    ) -> None:
        """Check that the arm can follow, before it moves.

        Args:
            robot: The arm.
            q_start: (n) where it is commanded to be now [rad].
            tolerance: How far from there the reference may start.
            let_tick_run: Called often, at least every millisecond of work.

        Raises:
            TrajectoryError: If the reference starts too far away or violates a limit.
        """


class JointReference(Reference):
    """A motion of the joints."""

    @abstractmethod
    def sample(self, time: float) -> np.ndarray:
        """Return q_ref.

        Args:
            time: Since the start [s]; clipped to 0 ... duration.

        Returns:
            (n) [rad].
        """


class PoseReference(Reference):
    """A motion of the tool."""

    @abstractmethod
    def sample(self, time: float) -> pin.SE3:
        """Return X_ref.

        Args:
            time: Since the start [s]; clipped to 0 ... duration.

        Returns:
            Tool pose, world frame.
        """


@dataclass(frozen=True, eq=False)
class Guidance(JointReference):
    """No motion of its own: a hand leads the arm, and where it lets go the arm stays.

    Attributes:
        start: (n) where it begins [rad].
        free: (n) which joints may be led; the others stay where they are.
        force: How hard the hand has to push [N].
        time: How long it may do so [s].
    """

    start: np.ndarray
    free: np.ndarray
    force: float
    time: float

    waits: ClassVar[bool] = False

    @property
    def duration(self) -> float:
        """How long the arm may be led [s]."""
        return self.time

    def sample(self, time: float) -> np.ndarray:
        """Return where it began, see :meth:`JointReference.sample`."""
        return self.start

    def check(
        self,
        robot: Robot,
        q_start: np.ndarray,
        tolerance: StartTolerance,
        let_tick_run: LetTickRun = run_to_end,
    ) -> None:
        """Check the numbers, see :meth:`Reference.check`."""
        if self.free.shape != (robot.n,) or not self.free.any():
            raise TrajectoryError(f"hand guiding needs a joint that is free, of {robot.n}")
        for name, value in (("force", self.force), ("duration", self.time)):
            if not (math.isfinite(value) and value > 0.0):
                raise TrajectoryError(f"the {name} of hand guiding is {value:g} (valid: > 0)")

    def within(self, bounds: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the changes of a command that lead no joint but the free ones.

        Args:
            bounds: (lower, upper) of all changes, each (n) [rad].
        """
        rest = np.clip(0.0, *bounds)
        return np.where(self.free, bounds[0], rest), np.where(self.free, bounds[1], rest)


@dataclass(frozen=True, eq=False)
class Goal:
    """Something to follow.

    Attributes:
        reference: The motion.
        force_limits: Force limit [N] by link, where contact is planned.
        refreshed: When a streamed reference was last sent [ns]; None for a trajectory
            that is known to its end.
        posture: (n) joint positions to stay near where the reference leaves a choice [rad]; None:
            where it begins.
        later: Ways that the tool may take afterwards, from where it begins, each pose a short way
            from the one before, world frame; one of them has to be within reach.
    """

    reference: Reference
    force_limits: Mapping[str, float] = field(default_factory=dict)
    refreshed: int | None = None
    posture: np.ndarray | None = None
    later: Sequence[Iterable[pin.SE3]] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """What a controller has been given to follow, from reference time 0 on.

    Attributes:
        reference: The motion, already checked.
        posture: (n) joint positions to stay near where the reference leaves a choice [rad].
        force_limits: Force limit [N] by link, where contact is planned.
    """

    reference: Reference
    posture: np.ndarray
    force_limits: Mapping[str, float]
