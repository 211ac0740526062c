"""One convex quasi-dynamic step: solve the contact QP, differentiate its solution."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_core.kernel import kernel
from contact_core.quadratic_program import (
    QuadraticProgramStatus,
    Workspace,
    allocate_workspace,
    solve_dual_active_set,
)
from irs_planner.linear_algebra import factor_cholesky, solve_cholesky
from irs_planner.quasi_dynamic.contact_rows import ContactRows
from irs_planner.quasi_dynamic.spring_model import SpringModel, fill_gradient

OPTIMAL = int(QuadraticProgramStatus.OPTIMAL)
# A ray holds the solution back if its impulse exceeds this [N s]; below it is rounding.
ACTIVE_IMPULSE = 1e-9

allocate_solver = kernel(allocate_workspace)


class StepMemory(NamedTuple):
    """What one thread needs for one step after the other; contents are scratch.

    Attributes:
        bound: (m) phi / h [m/s].
        gradient: (n) b.
        velocity: (n) v.
        multipliers: (m + 2 n) ray impulses [N s], then those of the unused bounds.
        lower: (n) -inf.
        upper: (n) +inf.
        solver: Workspace of the QP solver.
        active: (n) indices of the active rays.
        projected: (n, n) Q^-1 N^T, column a for active ray a.
        gain: (n, n) E = Q^-1 N^T S^-1, likewise.
        delassus: (n, n) S = N Q^-1 N^T, then its Cholesky factor.
    """

    bound: np.ndarray
    gradient: np.ndarray
    velocity: np.ndarray
    multipliers: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    solver: Workspace
    active: np.ndarray
    projected: np.ndarray
    gain: np.ndarray
    delassus: np.ndarray


@kernel
def allocate_step(size: int, rays: int) -> StepMemory:
    """Allocate the memory of a step.

    Args:
        size: The number n of states.
        rays: The number m of contact rays.

    Returns:
        The memory.
    """
    return StepMemory(
        np.zeros(rays),
        np.zeros(size),
        np.zeros(size),
        np.zeros(rays + 2 * size),
        np.full(size, -np.inf),
        np.full(size, np.inf),
        allocate_solver(size, rays),
        np.zeros(size, dtype=np.int64),
        np.zeros((size, size)),
        np.zeros((size, size)),
        np.zeros((size, size)),
    )


@kernel
def set_bound(rows: ContactRows, memory: StepMemory, time_step: float, margin: float) -> None:
    """Compute the right-hand sides (phi - margin) / h of the contact inequalities.

    Args:
        rows: The inequalities.
        memory: Its ``bound`` is output.
        time_step: h [s].
        margin: Distance that the solution has to keep [m].
    """
    for i in range(memory.bound.shape[0]):
        memory.bound[i] = (rows.gap[i] - margin) / time_step


@kernel
def solve_step(
    model: SpringModel,
    rows: ContactRows,
    state: np.ndarray,
    command: np.ndarray,
    memory: StepMemory,
    next_state: np.ndarray,
) -> bool:
    """Advance by one step: v minimises 1/2 v^T Q v + b^T v, J v + phi / h >= 0; q+ = q + h v.

    Args:
        model: Q, b, h.
        rows: The contact inequalities at ``state``.
        state: (n) q.
        command: (n_a) u.
        memory: Its ``bound`` belongs to ``state``; ``multipliers`` are output.
        next_state: (n) output: q+, NaN if the QP has no solution.

    Returns:
        True on success.
    """
    fill_gradient(model, state, command, memory.gradient)
    status, _ = solve_dual_active_set(
        model.hessian,
        memory.gradient,
        rows.negated,
        memory.bound,
        memory.lower,
        memory.upper,
        memory.solver,
        memory.velocity,
        memory.multipliers,
    )
    if status != OPTIMAL:
        next_state[:] = np.nan
        return False
    for i in range(state.shape[0]):
        next_state[i] = state[i] + model.time_step * memory.velocity[i]
    return True


@kernel
def differentiate_step(
    model: SpringModel,
    rows: ContactRows,
    memory: StepMemory,
    state_jacobian: np.ndarray,
    input_jacobian: np.ndarray,
) -> None:
    """Differentiate the last step by the implicit function theorem on its active rays.

    With the active rays N: S = N Q^-1 N^T, E = Q^-1 N^T S^-1, P = Q^-1 - E N Q^-1,
    B = dq+/du = h^2 P[:, a] K and A = dq+/dq = I - [0 | B] - E Jn. The change of the
    contact geometry itself, dJ/dq, is neglected, as in the paper's code.

    Args:
        model: Q, h, K.
        rows: The contact inequalities of that step.
        memory: As :func:`solve_step` left it.
        state_jacobian: (n, n) output: A, NaN if S is singular.
        input_jacobian: (n, n_a) output: B, likewise.
    """
    n = memory.velocity.shape[0]
    count = 0
    for i in range(memory.bound.shape[0]):
        if memory.multipliers[i] > ACTIVE_IMPULSE and count < n:
            memory.active[count] = i
            count += 1
    for a in range(count):
        ray = rows.ray[memory.active[a]]
        for i in range(n):
            total = 0.0
            for k in range(n):
                total += model.inverse[i, k] * ray[k]
            memory.projected[i, a] = total
        for b in range(a + 1):
            other = rows.ray[memory.active[b]]
            total = 0.0
            for k in range(n):
                total += other[k] * memory.projected[k, a]
            memory.delassus[a, b] = total
    if not factor_cholesky(memory.delassus, count):
        state_jacobian[:] = np.nan
        input_jacobian[:] = np.nan
        return
    for i in range(n):
        for a in range(count):
            memory.gain[i, a] = memory.projected[i, a]
        solve_cholesky(memory.delassus, count, memory.gain[i])

    free, h = model.load.shape[0], model.time_step
    for i in range(n):
        for k in range(n):
            state_jacobian[i, k] = 1.0 if i == k else 0.0
            for a in range(count):
                state_jacobian[i, k] -= memory.gain[i, a] * rows.normal[memory.active[a], k]
        for j in range(model.stiffness.shape[0]):
            total = model.inverse[i, free + j]
            for a in range(count):
                total -= memory.gain[i, a] * memory.projected[free + j, a]
            input_jacobian[i, j] = h * h * total * model.stiffness[j]
            state_jacobian[i, free + j] -= input_jacobian[i, j]
