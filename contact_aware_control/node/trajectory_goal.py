"""What the two trajectory actions have in common while one of their goals runs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from contact_aware_control.goal import Goal

DEFAULT_PATIENCE = 1.0
"""How late a goal may be reached if the client does not say it [s]."""


@dataclass(frozen=True)
class Progress:
    """Where the arm is while it follows a goal.

    Attributes:
        stamp: Time of the joint state [ns].
        position: (n) measured joint positions q [rad].
        reference_time: Time since the start of the reference [s].
        max_force: Largest contact force reported since the start of the goal [N].
    """

    stamp: int
    position: np.ndarray
    reference_time: float
    max_force: float


@dataclass(frozen=True)
class Violation:
    """A tolerance that is not met.

    Attributes:
        code: The action's error code.
        text: The offending value and the tolerance.
    """

    code: int
    text: str


class TrajectoryGoal(ABC):
    """One goal of a trajectory action, translated.

    Attributes:
        goal: What the control loop follows.
        start: When the motion begins [ns]; 0 = now.
        patience: How much later than planned the goal may be reached [s].
        codes: The error codes the server itself uses: ``invalid``, ``fault``.
    """

    goal: Goal
    start: int
    patience: float
    codes: ClassVar[Mapping[str, int]]

    @abstractmethod
    def path_violation(self, progress: Progress) -> Violation | None:
        """Return the path tolerance that is violated now, if any.

        Args:
            progress: Where the arm is.
        """

    @abstractmethod
    def goal_violation(self, progress: Progress) -> Violation | None:
        """Return the goal tolerance that is not met at the end, if any.

        Args:
            progress: Where the arm is.
        """

    @abstractmethod
    def feedback(self, progress: Progress) -> Any:
        """Return the action's feedback message.

        Args:
            progress: Where the arm is.
        """

    @abstractmethod
    def result(self, progress: Progress, violation: Violation | None, note: str) -> Any:
        """Return the action's result message.

        Args:
            progress: Where the arm is.
            violation: Why the goal failed; None on success.
            note: What held the arm back, for a person; mostly empty.
        """

    def patience_of(self, requested: int) -> float:
        """Return the time [s] by which a goal may be late, for a requested one [ns].

        As the actions' convention has it 0 asks for our default, and -1 for no limit.
        """
        if requested == 0:
            return DEFAULT_PATIENCE
        return 1e-9 * requested if requested > 0 else math.inf
