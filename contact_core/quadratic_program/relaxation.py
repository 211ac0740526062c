"""Problems whose constraints contradict each other: which of them give way, and how far."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from contact_core.quadratic_program.problem import (
    QuadraticProgram,
    QuadraticProgramSolution,
    QuadraticProgramSolver,
    QuadraticProgramStatus,
)

REACHABLE_SHARE = 0.9
"""Where a constraint cannot be met within the bounds on x, this share of the way is asked."""

SOFT_FIRST = 1e4
"""What a soft constraint costs beyond its bound, over the objective at its scale."""


def solve_relaxed(
    solver: QuadraticProgramSolver, problem: QuadraticProgram, soft: int
) -> tuple[QuadraticProgramSolution, float]:
    """Solve a problem; if it is infeasible, relax its first constraints.

    Each is first relaxed to nearly what the bounds on x leave of it; if they contradict each
    other, all of them to the least sum of squares of what is missing.

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
    if soft and solution.status == QuadraticProgramStatus.INFEASIBLE:
        solution = _compromise(solver, problem, soft)
    if not solution.optimal:
        return solution, 0.0
    return solution, float((matrix @ solution.x - asked).max(initial=0.0))


def _compromise(
    solver: QuadraticProgramSolver, problem: QuadraticProgram, soft: int
) -> QuadraticProgramSolution:
    """Solve with one more unknown for each soft constraint: by how much it is exceeded."""
    rows, n = problem.constraint_matrix.shape
    matrix = np.hstack((problem.constraint_matrix, -np.eye(rows, soft)))
    scale = (problem.constraint_matrix[:soft] ** 2).mean() + np.finfo(float).tiny
    weight = SOFT_FIRST * problem.hessian.trace() / (n * n * scale)
    hessian = np.diag(np.full(n + soft, weight))
    hessian[:n, :n] = problem.hessian
    exactly, exceeded = np.zeros(soft), np.full(soft, np.inf)
    solution = solver.solve(
        QuadraticProgram(
            hessian,
            np.concatenate((problem.gradient, exactly)),
            matrix,
            problem.constraint_bound,
            np.concatenate((problem.lower, exactly)),
            np.concatenate((problem.upper, exceeded)),
        )
    )
    of_rows, of_lower, of_upper = np.split(solution.multipliers, [rows, rows + n + soft])
    multipliers = np.concatenate((of_rows, of_lower[:n], of_upper[:n]))
    return replace(solution, x=solution.x[:n], multipliers=multipliers)
