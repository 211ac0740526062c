"""The linear-quadratic tracking problem of MPC, and the interface of its solvers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from contact_core.quadratic_program import QuadraticProgramStatus


class TrackingProblem(NamedTuple):
    """Minimise sum_t |s_t - r_t|_W^2 + |w_t|_R^2 + |s_T - r_T|_Wd^2 (bundled_gradients (23)).

    Subject to s_{t+1} = F_t s_t + G_t w_t + c_t and to bounds on w_t and s_{t+1}. Bounds of
    a component with softness sigma > 0 may be violated by e at a cost of e^2 / (2 sigma);
    the first state is never bounded. Solving from a later start just drops earlier stages.

    Attributes:
        transition: (T, n, n) F.
        control: (T, n, m) G.
        offset: (T, n) c.
        reference: (T + 1, n) r.
        weight: (n, n) W.
        final_weight: (n, n) Wd.
        control_weight: (m, m) R, positive definite.
        lower: (T, n + m) bounds of [s_{t+1}; w_t], -inf for none.
        upper: (T, n + m) likewise, inf for none.
        softness: (n + m) sigma, 0 for hard bounds.
    """

    transition: np.ndarray
    control: np.ndarray
    offset: np.ndarray
    reference: np.ndarray
    weight: np.ndarray
    final_weight: np.ndarray
    control_weight: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    softness: np.ndarray


@dataclass(frozen=True, slots=True)
class MpcSolution:
    """The answer to one MPC problem.

    Attributes:
        status: How the solve ended; unless OPTIMAL, the controls are the best known ones.
        controls: (T - start, m) w of the remaining stages; the first one is to be applied.
        iterations: Changes of the active bounds, or steps of another method; 0 if what was known
            before still stood.
    """

    status: QuadraticProgramStatus
    controls: np.ndarray
    iterations: int


class MpcSolver(ABC):
    """Solves the T shrinking problems that belong to one linearisation; not thread-safe."""

    @abstractmethod
    def prepare(self, problem: TrackingProblem) -> QuadraticProgramStatus:
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
