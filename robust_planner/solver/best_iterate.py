"""The iterate a solver would return if it had to stop now."""

from __future__ import annotations

import numpy as np


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
