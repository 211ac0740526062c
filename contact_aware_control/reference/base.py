"""What a reference has to provide, and the goal that asks to follow one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pinocchio as pin

from contact_aware_control.config import StartTolerance
from contact_core.errors import TrajectoryError
from contact_core.robot import Robot

GiveWay = Callable[[], None]
"""Lets what is urgent go first: a loop that needs the interpreter, too."""


def at_once() -> None:
    """Give way to nobody."""


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
        give_way: GiveWay = at_once,
    ) -> None:
        """Check that the arm can follow, before it moves.

        Args:
            robot: The arm.
            q_start: (n) where it is commanded to be now [rad].
            tolerance: How far from there the reference may start.
            give_way: Called often, at least every millisecond of work.

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
        give_way: GiveWay = at_once,
    ) -> None:
        """Check the numbers, see :meth:`Reference.check`."""
        if self.free.shape != (robot.n,) or not self.free.any():
            raise TrajectoryError(f"hand guiding needs a joint that is free, of {robot.n}")
        for name, value in (("force", self.force), ("duration", self.time)):
            if not (math.isfinite(value) and value > 0.0):
                raise TrajectoryError(f"the {name} of hand guiding is {value:g} (valid: > 0)")

    def within(self, room: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the changes of a command that lead no joint but the free ones.

        Args:
            room: (lower, upper) of all changes, each (n) [rad].
        """
        rest = np.clip(0.0, *room)
        return np.where(self.free, room[0], rest), np.where(self.free, room[1], rest)


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
    """

    reference: Reference
    force_limits: Mapping[str, float] = field(default_factory=dict)
    refreshed: int | None = None
    posture: np.ndarray | None = None


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
