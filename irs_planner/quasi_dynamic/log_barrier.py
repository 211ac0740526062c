"""A contact step whose non-penetration constraints are log barriers: smooth by itself.

Pang, Suh, Yang and Tedrake, "Global planning for contact-rich manipulation via local
smoothing of quasi-dynamic contact models" (2022).
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel, kernel
from irs_planner.linear_algebra import factor_cholesky, solve_cholesky
from irs_planner.quasi_dynamic.contact_step import ContactRows, SpringModel, StepMemory

NEWTON_STEPS = 60
# Squared Newton decrement, in units of the barrier weight, at which to stop.
DECREMENT = 1e-16
# Changes of the objective below this multiple of the barrier weight are rounding errors.
ROUNDING = 1e-13
# A step goes this share of the way to where a slack would be 0.
BOUNDARY = 0.99
MIN_LENGTH = 1e-12


@kernel
def solve_barrier(
    model: SpringModel,
    rows: ContactRows,
    memory: StepMemory,
    weight: float,
    share: np.ndarray,
    velocity: np.ndarray,
) -> bool:
    """Minimise 1/2 v^T Q v + b^T v - w sum_i c_i log(J_i v + phi_i / h) by Newton's method.

    Args:
        model: Q.
        rows: The contact inequalities of the step.
        memory: Its ``bound`` and ``gradient`` belong to the step; ``bound`` is left holding the
            slacks s = J v + phi / h, ``projected`` the Cholesky factor of the Hessian at the
            solution.
        weight: w = 1 / kappa [J], > 0.
        share: (m) c of every row, > 0.
        velocity: (n) a strictly feasible v; overwritten by the minimiser.

    Returns:
        True if Newton's method converged.
    """
    n, slack, direction = velocity.shape[0], memory.bound, memory.velocity
    gradient, rate = np.empty(n), np.empty(slack.shape[0])
    _add_product(rows.ray, velocity, slack)
    for _ in range(NEWTON_STEPS):
        _assemble(
            model.hessian, memory.gradient, rows.ray, slack, weight, share, velocity, gradient,
            memory.projected,
        )  # fmt: skip
        if not factor_cholesky(memory.projected, n):
            return False
        for i in range(n):
            direction[i] = -gradient[i]
        solve_cholesky(memory.projected, n, direction)
        slope = 0.0
        for i in range(n):
            slope += gradient[i] * direction[i]
        if -slope <= DECREMENT * weight:
            return True
        rate[:] = 0.0
        _add_product(rows.ray, direction, rate)
        curvature, fall = 0.0, 0.0  # of the barrier's linear part along the direction
        for i in range(n):
            for k in range(n):
                curvature += direction[i] * model.hessian[i, k] * direction[k]
        length = 1.0
        for i in range(rate.shape[0]):
            fall += share[i] * (rate[i] / slack[i])
            if rate[i] < 0.0:
                length = min(length, -BOUNDARY * slack[i] / rate[i])
        while length > MIN_LENGTH:
            change = length * (slope + weight * fall) + 0.5 * length**2 * curvature
            for i in range(rate.shape[0]):
                change -= weight * share[i] * math.log(1.0 + length * rate[i] / slack[i])
            if change <= 1e-4 * length * slope + ROUNDING * weight:
                break
            length *= 0.5
        for i in range(n):
            velocity[i] += length * direction[i]
        for i in range(rate.shape[0]):
            slack[i] += length * rate[i]
    return False


@kernel
def differentiate_barrier(
    model: SpringModel,
    rows: ContactRows,
    memory: StepMemory,
    weight: float,
    share: np.ndarray,
    state_jacobian: np.ndarray,
    input_jacobian: np.ndarray,
) -> None:
    """Differentiate the barrier step: B = h^2 H^-1[:, a] K, A = I - H^-1 w G - [0 | B].

    G = sum_i c_i J_i^T Jn_i / s_i^2 with the slacks s = J v + phi / h; dJ/dq is neglected.

    Args:
        model: Q, h, K.
        rows: The contact inequalities of that step.
        memory: As :func:`solve_barrier` left it.
        weight: w = 1 / kappa [J].
        share: (m) c of every row.
        state_jacobian: (n, n) output: A.
        input_jacobian: (n, n_a) output: B.
    """
    n, free, h = len(state_jacobian), model.load.shape[0], model.time_step
    column = np.empty(n)
    change = np.zeros((n, n))  # w G^T
    for i in range(memory.bound.shape[0]):
        _add_outer(weight * share[i] / memory.bound[i] ** 2, rows.normal[i], rows.ray[i], change)
    for k in range(n):
        solve_cholesky(memory.projected, n, change[k])
        for j in range(n):
            state_jacobian[j, k] = (1.0 if j == k else 0.0) - change[k, j]
    for k in range(model.stiffness.shape[0]):
        column[:] = 0.0
        column[free + k] = h * h * model.stiffness[k]
        solve_cholesky(memory.projected, n, column)
        for j in range(n):
            input_jacobian[j, k] = column[j]
            state_jacobian[j, free + k] -= column[j]


@inner_kernel
def _assemble(
    quadratic: np.ndarray,
    linear: np.ndarray,
    ray: np.ndarray,
    slack: np.ndarray,
    weight: float,
    share: np.ndarray,
    velocity: np.ndarray,
    gradient: np.ndarray,
    hessian: np.ndarray,
) -> None:
    """Write gradient and Hessian of the objective, of which Q and b are the first arguments."""
    n = velocity.shape[0]
    for i in range(n):
        total = linear[i]
        for k in range(n):
            total += quadratic[i, k] * velocity[k]
            hessian[i, k] = quadratic[i, k]
        gradient[i] = total
    for row in range(slack.shape[0]):
        force = weight * share[row] / slack[row]
        for i in range(n):
            gradient[i] -= force * ray[row, i]
        _add_outer(force / slack[row], ray[row], ray[row], hessian)


@inner_kernel
def _add_outer(factor: float, a: np.ndarray, b: np.ndarray, matrix: np.ndarray) -> None:
    """Add f a b^T to a matrix; much of a is zero: a contact moves two bodies."""
    for i in range(a.shape[0]):
        if a[i] != 0.0:
            value = factor * a[i]
            for k in range(b.shape[0]):
                matrix[i, k] += value * b[k]


@inner_kernel
def _add_product(matrix: np.ndarray, vector: np.ndarray, result: np.ndarray) -> None:
    """Add M x to a vector."""
    for i in range(result.shape[0]):
        total = 0.0
        for k in range(vector.shape[0]):
            total += matrix[i, k] * vector[k]
        result[i] += total
