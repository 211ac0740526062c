"""A small dense convex quadratic program, its solution, and what every solver of it offers.

Failure is data: a solution carries a status with a remedy, and no solver raises. Constraints that
contradict each other may be relaxed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
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


REACHABLE_SHARE = 0.9
"""Where a constraint cannot be met within the bounds on x, this share of the way is asked."""

LEAST_SHARE = 0.1
"""To this share at least each constraint is met, before one is sacrificed for another."""

SOFT_FIRST = 1e4
"""What a soft constraint costs beyond its bound, over the objective at its scale."""


def solve_relaxed(
    solver: QuadraticProgramSolver, problem: QuadraticProgram, soft: int
) -> tuple[QuadraticProgramSolution, float]:
    """Solve a problem; if it is infeasible, relax its first constraints.

    Each is first relaxed to nearly what the bounds on x leave of it; if they contradict each
    other, all of them to the least sum of squares of what is missing. What one misses is no reason
    to go against another: each is met to a share as long as that is possible.

    Args:
        solver: Solves the problems.
        problem: The problem.
        soft: Number of constraints, the first rows of C, that may be relaxed.

    Returns:
        The solution, which is not optimal where the others cannot be met either; by how much a
        constraint is exceeded at most.
    """
    solution = solver.solve(problem)
    if solution.status != QuadraticProgramStatus.INFEASIBLE:
        return solution, 0.0
    matrix, asked = problem.constraint_matrix, problem.constraint_bound
    lowest = np.minimum(matrix * problem.lower, matrix * problem.upper).sum(axis=1)
    reachable = replace(problem, constraint_bound=np.maximum(asked, REACHABLE_SHARE * lowest))
    solution = solver.solve(reachable)
    rest = (1.0 - LEAST_SHARE) * np.maximum(-reachable.constraint_bound[:soft], 0.0)
    for relaxed, most in ((reachable, rest), (problem, np.full(soft, np.inf))) if soft else ():
        if solution.status == QuadraticProgramStatus.INFEASIBLE:
            solution = _compromise(solver, relaxed, most)
    if not solution.optimal:
        return solution, 0.0
    return solution, float((matrix @ solution.x - asked).max(initial=0.0))


def _compromise(
    solver: QuadraticProgramSolver, problem: QuadraticProgram, most: np.ndarray
) -> QuadraticProgramSolution:
    """Solve with one more unknown for each soft constraint: by how much it is exceeded, at most."""
    (rows, n), soft = problem.constraint_matrix.shape, len(most)
    matrix = np.hstack((problem.constraint_matrix, -np.eye(rows, soft)))
    scale = (problem.constraint_matrix[:soft] ** 2).mean() + np.finfo(float).tiny
    weight = SOFT_FIRST * problem.hessian.trace() / (n * n * scale)
    hessian = np.diag(np.full(n + soft, weight))
    hessian[:n, :n] = problem.hessian
    exactly = np.zeros(soft)
    solution = solver.solve(
        QuadraticProgram(
            hessian,
            np.concatenate((problem.gradient, exactly)),
            matrix,
            problem.constraint_bound,
            np.concatenate((problem.lower, exactly)),
            np.concatenate((problem.upper, most)),
        )
    )
    of_rows, of_lower, of_upper = np.split(solution.multipliers, [rows, rows + n + soft])
    multipliers = np.concatenate((of_rows, of_lower[:n], of_upper[:n]))
    return replace(solution, x=solution.x[:n], multipliers=multipliers)
