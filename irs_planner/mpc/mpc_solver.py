"""The interface of a shrinking-horizon model-predictive controller."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from irs_planner.mpc.tracking_problem import MpcStatus, TrackingProblem


@dataclass(frozen=True, slots=True)
class MpcSolution:
    """The answer to one MPC problem.

    Attributes:
        status: How the solve ended; unless OPTIMAL, the controls are the best known ones.
        controls: (T - start, m) w of the remaining stages; the first one is to be applied.
        iterations: 0 if no bound was active.
    """

    status: MpcStatus
    controls: np.ndarray
    iterations: int


class MpcSolver(ABC):
    """Solves the T shrinking problems that belong to one linearisation; not thread-safe."""

    @abstractmethod
    def prepare(self, problem: TrackingProblem) -> MpcStatus:
        """Take over a new linearisation.

        Args:
            problem: All T stages.

        Returns:
            NOT_CONVEX if the problem cannot be solved from any state, else OPTIMAL.
        """

    @abstractmethod
    def solve(self, start: int, state: np.ndarray) -> MpcSolution:
        """Solve the problem from one stage to the end.

        Args:
            start: First stage j.
            state: (n) s_j.

        Returns:
            The solution.
        """
