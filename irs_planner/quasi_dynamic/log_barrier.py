"""A contact step whose non-penetration constraints are log barriers: smooth by itself.

Pang, Suh, Yang and Tedrake, "Global planning for contact-rich manipulation via local
smoothing of quasi-dynamic contact models" (2022).
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.kernel import kernel
from irs_planner.linear_algebra import factor_cholesky, solve_cholesky
from irs_planner.quasi_dynamic.contact_step import ContactRows, SpringModel, StepMemory

NEWTON_STEPS = 60
# Squared Newton decrement, in units of the barrier weight, at which to stop.
DECREMENT = 1e-16
# Changes of the objective below this fraction of it are rounding errors.
ROUNDING = 1e-13


@kernel
def solve_barrier(
    model: SpringModel, rows: ContactRows, memory: StepMemory, weight: float, velocity: np.ndarray
) -> bool:
    """Minimise 1/2 v^T Q v + b^T v - w sum_i log(J_i v + phi_i / h) by Newton's method.

    Args:
        model: Q.
        rows: The contact inequalities of the step.
        memory: Its ``bound`` and ``gradient`` belong to the step; ``projected``
            is left holding the Cholesky factor of the Hessian at the solution.
        weight: w = 1 / kappa [J], > 0.
        velocity: (n) a strictly feasible v; overwritten by the minimiser.

    Returns:
        True if Newton's method converged.
    """
    n = velocity.shape[0]
    step = np.empty(n)
    for _ in range(NEWTON_STEPS):
        value = _assemble(model, rows, memory, weight, velocity, step)
        if not factor_cholesky(memory.projected, n):
            return False
        for i in range(n):
            memory.velocity[i] = -step[i]
        solve_cholesky(memory.projected, n, memory.velocity)
        slope = 0.0
        for i in range(n):
            slope += step[i] * memory.velocity[i]
        if -slope <= DECREMENT * weight:
            return True
        length = min(1.0, 0.99 * _distance_to_boundary(rows, memory, velocity))
        allowance = ROUNDING * (abs(value) + weight)
        while length > 1e-12:
            for i in range(n):
                step[i] = velocity[i] + length * memory.velocity[i]
            reached = _objective(model, rows, memory, weight, step)
            if reached <= value + 1e-4 * length * slope + allowance:
                break
            length *= 0.5
        for i in range(n):
            velocity[i] += length * memory.velocity[i]
    return False


@kernel
def differentiate_barrier(
    model: SpringModel,
    rows: ContactRows,
    memory: StepMemory,
    weight: float,
    velocity: np.ndarray,
    state_jacobian: np.ndarray,
    input_jacobian: np.ndarray,
) -> None:
    """Differentiate the barrier step: B = h^2 H^-1[:, a] K, A = I - H^-1 w G - [0 | B].

    G = sum_i J_i^T Jn_i / s_i^2 with the slacks s = J v + phi / h; dJ/dq is neglected.

    Args:
        model: Q, h, K.
        rows: The contact inequalities of the step.
        memory: As :func:`solve_barrier` left it.
        weight: w = 1 / kappa [J].
        velocity: (n) the minimiser.
        state_jacobian: (n, n) output: A.
        input_jacobian: (n, n_a) output: B.
    """
    n, free, h = velocity.shape[0], model.load.shape[0], model.time_step
    column = np.empty(n)
    for k in range(n):
        column[:] = 0.0
        for i in range(memory.bound.shape[0]):
            factor = weight * rows.normal[i, k] / _slack(rows, memory, velocity, i) ** 2
            for j in range(n):
                column[j] += factor * rows.ray[i, j]
        solve_cholesky(memory.projected, n, column)
        for j in range(n):
            state_jacobian[j, k] = (1.0 if j == k else 0.0) - column[j]
    for k in range(model.stiffness.shape[0]):
        column[:] = 0.0
        column[free + k] = h * h * model.stiffness[k]
        solve_cholesky(memory.projected, n, column)
        for j in range(n):
            input_jacobian[j, k] = column[j]
            state_jacobian[j, free + k] -= column[j]


@kernel
def _slack(rows: ContactRows, memory: StepMemory, velocity: np.ndarray, row: int) -> float:
    total = memory.bound[row]
    for k in range(velocity.shape[0]):
        total += rows.ray[row, k] * velocity[k]
    return total


@kernel
def _objective(
    model: SpringModel, rows: ContactRows, memory: StepMemory, weight: float, velocity: np.ndarray
) -> float:
    value = 0.0
    for i in range(velocity.shape[0]):
        value += memory.gradient[i] * velocity[i]
        for k in range(velocity.shape[0]):
            value += 0.5 * velocity[i] * model.hessian[i, k] * velocity[k]
    for i in range(memory.bound.shape[0]):
        slack = _slack(rows, memory, velocity, i)
        if slack <= 0.0:
            return np.inf
        value -= weight * math.log(slack)
    return value


@kernel
def _assemble(
    model: SpringModel,
    rows: ContactRows,
    memory: StepMemory,
    weight: float,
    velocity: np.ndarray,
    gradient: np.ndarray,
) -> float:
    """Write the Hessian to ``memory.projected`` and the gradient; return the objective."""
    n = velocity.shape[0]
    hessian = memory.projected
    for i in range(n):
        total = memory.gradient[i]
        for k in range(n):
            total += model.hessian[i, k] * velocity[k]
            hessian[i, k] = model.hessian[i, k]
        gradient[i] = total
    for row in range(memory.bound.shape[0]):
        slack = _slack(rows, memory, velocity, row)
        ray = rows.ray[row]
        for i in range(n):
            gradient[i] -= weight / slack * ray[i]
            for k in range(i + 1):
                hessian[i, k] += weight / slack**2 * ray[i] * ray[k]
    return _objective(model, rows, memory, weight, velocity)


@kernel
def _distance_to_boundary(rows: ContactRows, memory: StepMemory, velocity: np.ndarray) -> float:
    """Return the step length along ``memory.velocity`` at which a slack reaches 0."""
    longest = np.inf
    for row in range(memory.bound.shape[0]):
        slack = _slack(rows, memory, velocity, row)
        rate = 0.0
        for k in range(velocity.shape[0]):
            rate += rows.ray[row, k] * memory.velocity[k]
        if rate < 0.0:
            longest = min(longest, -slack / rate)
    return longest
