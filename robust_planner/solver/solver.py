"""The interface of nonlinear-programming solvers, and the iterate they return when stopped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from contact_core.base.planning import StopCondition
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


class BestIterate:
    """Remembers the least violated iterate; among feasible ones the cheapest."""

    def __init__(self, guess: np.ndarray, tolerance: float) -> None:
        """Start from the guess.

        Args:
            guess: Decision variables (N, n).
            tolerance: Violation up to which iterates count as feasible.
        """
        self.values = guess
        self.cost = np.inf
        self.violation = np.inf
        self._tolerance = tolerance

    def offer(self, values: np.ndarray, cost: float, violation: float) -> None:
        """Keep an iterate if it is better than the one before.

        Args:
            values: Decision variables (N, n), copied.
            cost: Its objective.
            violation: Its largest constraint violation; NaN is never better.
        """
        rank = max(violation, self._tolerance)
        best_rank = max(self.violation, self._tolerance)
        if rank < best_rank or (rank == best_rank and cost < self.cost):
            self.values, self.cost, self.violation = values.copy(), cost, violation
