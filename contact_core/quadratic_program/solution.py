"""What a QP solver answers; failure is data, never an exception."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np


class QuadraticProgramStatus(IntEnum):
    """How a solve ended; the numbers are what kernels return."""

    OPTIMAL = 0
    INFEASIBLE = 1
    NOT_CONVEX = 2
    ITERATION_LIMIT = 3
    NOT_FINITE = 4

    @property
    def remedy(self) -> str:
        """What the caller can do about it."""
        return _REMEDIES[self]


_REMEDIES = {
    QuadraticProgramStatus.OPTIMAL: "none needed",
    QuadraticProgramStatus.INFEASIBLE: "relax a constraint: no point satisfies all of them",
    QuadraticProgramStatus.NOT_CONVEX: "add regularisation: the Hessian is not positive definite",
    QuadraticProgramStatus.ITERATION_LIMIT: "scale the problem or allow more iterations",
    QuadraticProgramStatus.NOT_FINITE: "check the inputs: the problem holds a NaN or infinity",
}


@dataclass(frozen=True, slots=True)
class QuadraticProgramSolution:
    """The answer of a solver.

    Attributes:
        status: How the solve ended; the other fields are meaningful only if OPTIMAL.
        x: (n) the minimiser.
        multipliers: (m + 2 n), >= 0, of C x <= d, of x >= lo and of x <= hi.
        iterations: The number of iterations.
    """

    status: QuadraticProgramStatus
    x: np.ndarray
    multipliers: np.ndarray
    iterations: int

    @property
    def optimal(self) -> bool:
        """Whether ``x`` is the minimiser."""
        return self.status == QuadraticProgramStatus.OPTIMAL

    @property
    def active_set(self) -> np.ndarray:
        """Indices into ``multipliers`` of the constraints that hold the solution back."""
        return np.flatnonzero(self.multipliers > 0.0)
