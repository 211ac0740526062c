"""The interface every nonlinear-programming solver implements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from contact_core.planning import StopCondition
from robust_planner.program import ProgramParameters


@dataclass(frozen=True)
class SolverOutcome:
    """How a solve ended; failure is data, never an exception.

    Attributes:
        values: Decision variables (N, n): the solution, or the best iterate.
        cost: Objective of the program at ``values``.
        converged: Whether the solver claims a local optimum.
        interrupted: Whether the stop condition ended it.
        iterations: Number of (major) iterations.
        message: The solver's own words.
    """

    values: np.ndarray
    cost: float
    converged: bool
    interrupted: bool
    iterations: int
    message: str


# Called with the number of iterations and the smallest violation so far.
IterationCallback = Callable[[int, float], None]


class NonlinearSolver(ABC):
    """Solves one program several times, with different parameters."""

    @abstractmethod
    def solve(
        self,
        guess: np.ndarray,
        parameters: ProgramParameters,
        stop: StopCondition,
        on_iteration: IterationCallback,
        near: bool = False,
    ) -> SolverOutcome:
        """Find a local optimum.

        Args:
            guess: Decision variables to start from (N, n).
            parameters: s, rho and alpha.
            stop: Asked at every iteration whether to go on.
            on_iteration: Told about every iteration.
            near: Whether the guess solves a program that differs little; solvers that move
                away from their guess may then stay close to it.

        Returns:
            The outcome; if the condition stopped the solve, with the best iterate.
        """
