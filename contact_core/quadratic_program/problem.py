"""A small dense convex quadratic program, its solution, and what every solver of it offers.

Failure is data: a solution carries a status with a remedy, and no solver raises.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from contact_core.base.errors import ModelError


@dataclass(frozen=True, slots=True)
class QuadraticProgram:
    """Minimise 1/2 x^T H x + g^T x subject to C x <= d and lo <= x <= hi.

    Attributes:
        hessian: H (n, n), symmetric positive definite; only its lower triangle is read.
        gradient: g (n).
        constraint_matrix: C (m, n); m may be 0.
        constraint_bound: d (m); +inf switches a row off.
        lower: lo (n); -inf for none.
        upper: hi (n); +inf for none.
    """

    hessian: np.ndarray
    gradient: np.ndarray
    constraint_matrix: np.ndarray
    constraint_bound: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def size(self) -> int:
        """The number n of variables."""
        return len(self.gradient)

    @property
    def constraints(self) -> int:
        """The number m of rows of C."""
        return len(self.constraint_bound)

    @classmethod
    def from_arrays(
        cls,
        hessian: np.ndarray,
        gradient: np.ndarray,
        constraint_matrix: np.ndarray | None = None,
        constraint_bound: np.ndarray | None = None,
        lower: np.ndarray | None = None,
        upper: np.ndarray | None = None,
    ) -> QuadraticProgram:
        """Build a problem from anything array-like, and check its shapes.

        The constructor itself checks nothing, so that a control loop can afford it.

        Args:
            hessian: H (n, n).
            gradient: g (n).
            constraint_matrix: C (m, n), None for no rows.
            constraint_bound: d (m).
            lower: lo (n), None for no lower bounds.
            upper: hi (n), None for no upper bounds.

        Returns:
            The problem, as contiguous double arrays.

        Raises:
            ModelError: If a shape does not fit the others.
        """
        linear = np.ascontiguousarray(gradient, dtype=float)
        n = linear.size
        rows = np.zeros((0, n)) if constraint_matrix is None else constraint_matrix
        bound = np.zeros(0) if constraint_bound is None else constraint_bound
        problem = cls(
            np.ascontiguousarray(hessian, dtype=float),
            linear,
            np.ascontiguousarray(rows, dtype=float),
            np.ascontiguousarray(bound, dtype=float),
            np.full(n, -np.inf) if lower is None else np.ascontiguousarray(lower, dtype=float),
            np.full(n, np.inf) if upper is None else np.ascontiguousarray(upper, dtype=float),
        )
        expected = {
            "hessian": (n, n),
            "gradient": (n,),
            "constraint_matrix": (problem.constraints, n),
            "constraint_bound": (problem.constraints,),
            "lower": (n,),
            "upper": (n,),
        }
        for name, shape in expected.items():
            actual = getattr(problem, name).shape
            if actual != shape:
                raise ModelError(f"{name} has shape {actual}, expected {shape}")
        return problem

    def violation(self, x: np.ndarray) -> float:
        """Return by how much a point violates the constraints.

        Args:
            x: (n).

        Returns:
            The largest violation, 0 if the point is feasible.
        """
        return float(
            np.max(
                np.concatenate(
                    (
                        self.constraint_matrix @ x - self.constraint_bound,
                        self.lower - x,
                        x - self.upper,
                        [0.0],
                    )
                )
            )
        )

    def optimality_error(self, x: np.ndarray, multipliers: np.ndarray) -> float:
        """Return the largest violation of the KKT conditions.

        Args:
            x: (n).
            multipliers: (m + 2 n) of C x <= d, of x >= lo and of x <= hi.

        Returns:
            max of |H x + g + C^T y - z_lo + z_hi|, primal infeasibility, negative
            multipliers and |multiplier times distance to its bound|.
        """
        m, n = self.constraint_matrix.shape
        y, z_lower, z_upper = np.split(multipliers, (m, m + n))
        symmetric = np.tril(self.hessian) + np.tril(self.hessian, -1).T
        stationarity = (
            symmetric @ x + self.gradient + self.constraint_matrix.T @ y - z_lower + z_upper
        )
        distance = np.concatenate(
            (self.constraint_bound - self.constraint_matrix @ x, x - self.lower, self.upper - x)
        )
        held = multipliers != 0.0
        return float(
            np.max(
                np.concatenate(
                    (
                        np.abs(stationarity),
                        [self.violation(x)],
                        -multipliers,
                        np.abs(multipliers[held] * distance[held]),
                    )
                )
            )
        )


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


class QuadraticProgramSolver(ABC):
    """Solves one problem after the other, reusing its memory; not thread-safe."""

    @abstractmethod
    def solve(self, problem: QuadraticProgram) -> QuadraticProgramSolution:
        """Solve a problem.

        Args:
            problem: The problem; its arrays must be contiguous doubles.

        Returns:
            The solution. Its arrays stay valid after the next solve.
        """
