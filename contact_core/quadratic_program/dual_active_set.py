"""Dual active-set method of Goldfarb and Idnani for small dense QPs.

D. Goldfarb and A. Idnani, "A numerically stable dual method for solving strictly convex
quadratic programs", Mathematical Programming 27 (1983). Starting from the unconstrained
minimum, the most violated constraint is added to the active set, and constraints whose
multiplier would turn negative are dropped on the way. Every iterate minimises the
objective on its active set, so the answer is exact; the solver needs no warm start, no
tolerance to tune, and the same problem gives the same bits.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import kernel
from contact_core.quadratic_program.factorization import (
    Workspace,
    allocate_workspace,
    extend_factorization,
    invert_cholesky_factor,
    shrink_factorization,
    step_directions,
    unconstrained_minimum,
)
from contact_core.quadratic_program.problem import (
    QuadraticProgram,
    QuadraticProgramSolution,
    QuadraticProgramSolver,
    QuadraticProgramStatus,
)

OPTIMAL = int(QuadraticProgramStatus.OPTIMAL)
INFEASIBLE = int(QuadraticProgramStatus.INFEASIBLE)
NOT_CONVEX = int(QuadraticProgramStatus.NOT_CONVEX)
ITERATION_LIMIT = int(QuadraticProgramStatus.ITERATION_LIMIT)
NOT_FINITE = int(QuadraticProgramStatus.NOT_FINITE)

# Violations below this, relative to the size of x, are rounding errors.
FEASIBILITY_TOLERANCE = 1e-12
# A violated constraint that depends on the active ones is satisfied if it is violated by no
# more than this, relative to the size of x.
REDUNDANCY_TOLERANCE = 1e-9
# The size of x below which these tolerances become absolute.
LENGTH_SCALE = 1e-3

INACTIVE, ACTIVE, REDUNDANT = 0, 1, 2


@kernel
def solve_dual_active_set(
    hessian: np.ndarray,
    gradient: np.ndarray,
    constraint_matrix: np.ndarray,
    constraint_bound: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    work: Workspace,
    x: np.ndarray,
    multipliers: np.ndarray,
) -> tuple[int, int]:
    """Minimise 1/2 x^T H x + g^T x subject to C x <= d and lo <= x <= hi.

    Args:
        hessian: H (n, n), positive definite; only the lower triangle is read.
        gradient: g (n).
        constraint_matrix: C (m, n).
        constraint_bound: d (m).
        lower: lo (n).
        upper: hi (n).
        work: Memory for this n and m.
        x: (n) output: the minimiser.
        multipliers: (m + 2 n) output: of C x <= d, of x >= lo, of x <= hi.

    Returns:
        (status, iterations): a QuadraticProgramStatus as int, and the number of steps.
    """
    n = gradient.shape[0]
    m = constraint_bound.shape[0]
    multipliers[:] = 0.0
    if not _is_finite(hessian, gradient, constraint_matrix, constraint_bound, lower, upper):
        x[:] = 0.0
        return NOT_FINITE, 0
    if not invert_cholesky_factor(hessian, work.triangle, work.basis):
        x[:] = 0.0
        return NOT_CONVEX, 0
    unconstrained_minimum(work.basis, gradient, work.projected, x)
    work.state[:] = INACTIVE
    if not _scale_rows(constraint_matrix, constraint_bound, work.row_scale):
        return INFEASIBLE, 0

    count = 0
    limit = 20 * (m + 2 * n)
    for iteration in range(limit):
        added, offset = _most_violated(
            constraint_matrix, constraint_bound, lower, upper, work.state, work.row_scale, x
        )
        if added < 0:
            for i in range(count):
                multipliers[work.active[i]] = max(work.active_multipliers[i], 0.0)
            return OPTIMAL, iteration
        _set_normal(added, m, n, constraint_matrix, work.normal)
        status, count = _add(added, offset, count, work, x, limit)
        if status != OPTIMAL:
            return status, iteration
    return ITERATION_LIMIT, limit


@kernel
def _is_finite(
    hessian: np.ndarray,
    gradient: np.ndarray,
    constraint_matrix: np.ndarray,
    constraint_bound: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> bool:
    total = 0.0
    n = gradient.shape[0]
    for i in range(n):
        total += abs(gradient[i])
        for j in range(i + 1):
            total += abs(hessian[i, j])
        # Infinite bounds are legal on their own side; NaN compares false.
        if not (lower[i] < np.inf and upper[i] > -np.inf):
            return False
    for i in range(constraint_bound.shape[0]):
        if not constraint_bound[i] > -np.inf:
            return False
        for j in range(n):
            total += abs(constraint_matrix[i, j])
    return total < np.inf


@kernel
def _scale_rows(
    constraint_matrix: np.ndarray, constraint_bound: np.ndarray, row_scale: np.ndarray
) -> bool:
    """Store 1 / |row|; return False if an empty row asks for 0 <= negative."""
    m, n = constraint_matrix.shape
    for i in range(m):
        total = 0.0
        for k in range(n):
            total += constraint_matrix[i, k] ** 2
        row_scale[i] = 1.0 / math.sqrt(total) if total > 0.0 else 0.0
        if total == 0.0 and constraint_bound[i] < 0.0:
            return False
    return True


@kernel
def _size(x: np.ndarray) -> float:
    largest = 0.0
    for i in range(x.shape[0]):
        largest = max(largest, abs(x[i]))
    return largest


@kernel
def _most_violated(
    constraint_matrix: np.ndarray,
    constraint_bound: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    state: np.ndarray,
    row_scale: np.ndarray,
    x: np.ndarray,
) -> tuple[int, float]:
    """Return (index of the most violated constraint or -1, its b in normal^T x >= b).

    Distances are in the units of x: rows of C are scaled to unit length.
    """
    m, n = constraint_matrix.shape
    worst = -FEASIBILITY_TOLERANCE * (_size(x) + LENGTH_SCALE)
    index = -1
    offset = 0.0
    for i in range(m):
        if state[i] == INACTIVE:
            distance = constraint_bound[i]
            for k in range(n):
                distance -= constraint_matrix[i, k] * x[k]
            distance *= row_scale[i]
            if distance < worst:
                worst = distance
                index = i
                offset = -constraint_bound[i]
    for i in range(n):
        if state[m + i] == INACTIVE and x[i] - lower[i] < worst:
            worst = x[i] - lower[i]
            index = m + i
            offset = lower[i]
        if state[m + n + i] == INACTIVE and upper[i] - x[i] < worst:
            worst = upper[i] - x[i]
            index = m + n + i
            offset = -upper[i]
    return index, offset


@kernel
def _set_normal(
    index: int, m: int, n: int, constraint_matrix: np.ndarray, normal: np.ndarray
) -> None:
    """Write the normal of constraint ``index``, in the form normal^T x >= b."""
    for k in range(n):
        normal[k] = -constraint_matrix[index, k] if index < m else 0.0
    if index >= m + n:
        normal[index - m - n] = -1.0
    elif index >= m:
        normal[index - m] = 1.0


@kernel
def _add(
    added: int, offset: float, count: int, work: Workspace, x: np.ndarray, limit: int
) -> tuple[int, int]:
    """Step until constraint ``added`` is active [GI, algorithm 3].

    Returns:
        (status, number of active constraints).
    """
    n = x.shape[0]
    multiplier = 0.0
    for _ in range(limit):
        independent = step_directions(count, work)
        dropped, dual_length = _blocking_multiplier(count, work)
        slack = -offset
        slope = 0.0
        length_squared = 0.0
        for k in range(n):
            slack += work.normal[k] * x[k]
            slope += work.normal[k] * work.direction[k]
            length_squared += work.normal[k] ** 2
        primal_length = -slack / slope if independent else np.inf
        if not independent:
            allowed = REDUNDANCY_TOLERANCE * (_size(x) + LENGTH_SCALE)
            if slack >= -allowed * math.sqrt(length_squared):
                work.state[added] = REDUNDANT
                return OPTIMAL, count
            if dropped < 0:
                return INFEASIBLE, count
        length = min(primal_length, dual_length)
        if independent:
            for k in range(n):
                x[k] += length * work.direction[k]
        for i in range(count):
            work.active_multipliers[i] -= length * work.dual_direction[i]
        multiplier += length
        if primal_length <= dual_length:
            extend_factorization(count, work)
            work.active[count] = added
            work.active_multipliers[count] = multiplier
            work.state[added] = ACTIVE
            return OPTIMAL, count + 1
        _release(work.active[dropped], work.state)
        shrink_factorization(dropped, count, work)
        count -= 1
    return ITERATION_LIMIT, count


@kernel
def _release(dropped: int, state: np.ndarray) -> None:
    """Make a constraint inactive; what depended on it has to be looked at again."""
    state[dropped] = INACTIVE
    for i in range(state.shape[0]):
        if state[i] == REDUNDANT:
            state[i] = INACTIVE


@kernel
def _blocking_multiplier(count: int, work: Workspace) -> tuple[int, float]:
    """Return (position in the active set whose multiplier reaches 0 first, step length)."""
    length = np.inf
    position = -1
    for i in range(count):
        rate = work.dual_direction[i]
        if rate > 1e-14 and work.active_multipliers[i] < length * rate:
            length = work.active_multipliers[i] / rate
            position = i
    return position, length


class DualActiveSetSolver(QuadraticProgramSolver):
    """The default solver: exact, cold-started, deterministic, a few microseconds."""

    def __init__(self) -> None:
        """Start with no memory; it is allocated at the first problem of each size."""
        self._workspaces: dict[tuple[int, int], Workspace] = {}

    def solve(self, problem: QuadraticProgram) -> QuadraticProgramSolution:
        """Solve a problem, see :meth:`QuadraticProgramSolver.solve`."""
        shape = problem.constraint_matrix.shape
        work = self._workspaces.get(shape)
        if work is None:
            work = self._workspaces[shape] = allocate_workspace(shape[1], shape[0])
        x = np.empty(shape[1])
        multipliers = np.empty(shape[0] + 2 * shape[1])
        status, iterations = solve_dual_active_set(
            problem.hessian,
            problem.gradient,
            problem.constraint_matrix,
            problem.constraint_bound,
            problem.lower,
            problem.upper,
            work,
            x,
            multipliers,
        )
        return QuadraticProgramSolution(QuadraticProgramStatus(status), x, multipliers, iterations)
