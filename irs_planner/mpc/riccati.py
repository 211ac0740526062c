"""The Riccati recursion: a Newton step over all stages in time linear in the horizon."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_core.base.kernel import kernel
from irs_planner.linear_algebra import factor_cholesky, solve_cholesky
from irs_planner.mpc.tracking_problem import TrackingProblem


class StageMemory(NamedTuple):
    """Iterate, Newton step and factorisation over T stages; contents are scratch.

    Attributes:
        state: (T + 1, n) s.
        control: (T, m) w.
        state_step: (T + 1, n) Newton step of s.
        control_step: (T, m) Newton step of w.
        gain: (T, m, n) K of the policy dw = -k - K ds.
        feedforward: (T, m) k.
        factor: (T, m, m) Cholesky factor of the control Hessian.
        curvature: (T, n + m) what the bounds add to the Hessian diagonal.
        slope: (T, n + m) what the bounds add to the gradient.
        value: (n, n) Hessian of the cost to go.
        product: (n, n) value times transition.
        product_control: (n, m) value times control.
        cross: (m, n) control^T value transition.
        costate: (n) gradient of the cost to go.
        gradient: (m) gradient with respect to the control.
    """

    state: np.ndarray
    control: np.ndarray
    state_step: np.ndarray
    control_step: np.ndarray
    gain: np.ndarray
    feedforward: np.ndarray
    factor: np.ndarray
    curvature: np.ndarray
    slope: np.ndarray
    value: np.ndarray
    product: np.ndarray
    product_control: np.ndarray
    cross: np.ndarray
    costate: np.ndarray
    gradient: np.ndarray


@kernel
def allocate_stages(horizon: int, states: int, controls: int) -> StageMemory:
    """Allocate the memory of problems of one size.

    Args:
        horizon: T.
        states: n.
        controls: m.

    Returns:
        The memory; curvature and slope are zero.
    """
    return StageMemory(
        np.zeros((horizon + 1, states)),
        np.zeros((horizon, controls)),
        np.zeros((horizon + 1, states)),
        np.zeros((horizon, controls)),
        np.zeros((horizon, controls, states)),
        np.zeros((horizon, controls)),
        np.zeros((horizon, controls, controls)),
        np.zeros((horizon, states + controls)),
        np.zeros((horizon, states + controls)),
        np.zeros((states, states)),
        np.zeros((states, states)),
        np.zeros((states, controls)),
        np.zeros((controls, states)),
        np.zeros(states),
        np.zeros(controls),
    )


@kernel
def roll_out(problem: TrackingProblem, start: int, memory: StageMemory) -> None:
    """Compute the states that follow from ``memory.control`` and ``memory.state[start]``.

    Args:
        problem: F, G, c.
        start: First stage.
        memory: Its ``state`` is filled in from stage start + 1 on.
    """
    horizon, n, m = problem.control.shape
    for t in range(start, horizon):
        for i in range(n):
            total = problem.offset[t, i]
            for k in range(n):
                total += problem.transition[t, i, k] * memory.state[t, k]
            for k in range(m):
                total += problem.control[t, i, k] * memory.control[t, k]
            memory.state[t + 1, i] = total


@kernel
def factor_stages(problem: TrackingProblem, start: int, memory: StageMemory) -> bool:
    """Compute the gains of all stages, backwards.

    With the Hessian P of the cost to go: H = 2 R + G^T P G, K = H^-1 G^T P F and
    P <- 2 W + F^T P F - K^T H K; ``memory.curvature`` is added to the diagonals.

    Args:
        problem: F, G, W, R.
        start: First stage.
        memory: ``gain`` and ``factor`` are output.

    Returns:
        False if a control Hessian is not positive definite.
    """
    horizon, n, m = problem.control.shape
    value, product, product_control = memory.value, memory.product, memory.product_control
    for i in range(n):
        for j in range(n):
            value[i, j] = 2.0 * problem.final_weight[i, j]
    for t in range(horizon - 1, start - 1, -1):
        transition, control = problem.transition[t], problem.control[t]
        hessian, gain = memory.factor[t], memory.gain[t]
        for i in range(n):
            value[i, i] += memory.curvature[t, i]
        multiply(value, transition, product)
        multiply(value, control, product_control)
        multiply_transposed(control, product, memory.cross)
        multiply_transposed(control, product_control, hessian)
        for i in range(m):
            for j in range(m):
                hessian[i, j] += 2.0 * problem.control_weight[i, j]
            hessian[i, i] += memory.curvature[t, n + i]
        if not factor_cholesky(hessian, m):
            return False
        for j in range(n):
            for i in range(m):
                memory.gradient[i] = memory.cross[i, j]
            solve_cholesky(hessian, m, memory.gradient)
            for i in range(m):
                gain[i, j] = memory.gradient[i]
        multiply_transposed(transition, product, value)
        for i in range(n):
            for j in range(i + 1):
                total = value[i, j] + 2.0 * problem.weight[i, j]
                for k in range(m):
                    total -= memory.cross[k, i] * gain[k, j]
                value[i, j] = total
                value[j, i] = total
    return True


@kernel
def newton_step(problem: TrackingProblem, start: int, memory: StageMemory) -> None:
    """Compute the Newton step of states and controls from the current iterate.

    Args:
        problem: The problem.
        start: First stage.
        memory: As :func:`factor_stages` left it, with ``slope`` from the bounds;
            ``feedforward``, ``state_step`` and ``control_step`` are output.
    """
    horizon, n, m = problem.control.shape
    costate, gradient = memory.costate, memory.gradient
    for i in range(n):
        total = 0.0
        for k in range(n):
            error = memory.state[horizon, k] - problem.reference[horizon, k]
            total += 2.0 * problem.final_weight[i, k] * error
        costate[i] = total
    for t in range(horizon - 1, start - 1, -1):
        transition, control = problem.transition[t], problem.control[t]
        for i in range(n):
            costate[i] += memory.slope[t, i]
        for i in range(m):
            total = memory.slope[t, n + i]
            for k in range(m):
                total += 2.0 * problem.control_weight[i, k] * memory.control[t, k]
            for k in range(n):
                total += control[k, i] * costate[k]
            gradient[i] = total
            memory.feedforward[t, i] = total
        solve_cholesky(memory.factor[t], m, memory.feedforward[t])
        # The state step is free memory until the forward pass: it holds the new costate.
        new_costate = memory.state_step[t]
        for i in range(n):
            new_costate[i] = 0.0
        for k in range(n):
            for i in range(n):
                error = memory.state[t, k] - problem.reference[t, k]
                new_costate[i] += transition[k, i] * costate[k] + 2.0 * problem.weight[k, i] * error
        for k in range(m):
            for i in range(n):
                new_costate[i] -= memory.gain[t, k, i] * gradient[k]
        for i in range(n):
            costate[i] = new_costate[i]
    _forward_step(problem, start, memory)


@kernel
def _forward_step(problem: TrackingProblem, start: int, memory: StageMemory) -> None:
    """Follow the policy dw = -k - K ds from ds = 0."""
    horizon, n, m = problem.control.shape
    memory.state_step[start, :] = 0.0
    for t in range(start, horizon):
        for i in range(m):
            total = -memory.feedforward[t, i]
            for k in range(n):
                total -= memory.gain[t, i, k] * memory.state_step[t, k]
            memory.control_step[t, i] = total
        for i in range(n):
            total = 0.0
            for k in range(n):
                total += problem.transition[t, i, k] * memory.state_step[t, k]
            for k in range(m):
                total += problem.control[t, i, k] * memory.control_step[t, k]
            memory.state_step[t + 1, i] = total


@kernel
def multiply(left: np.ndarray, right: np.ndarray, result: np.ndarray) -> None:
    """Write a product.

    Args:
        left: (i, k) the first factor.
        right: (k, j) the second one.
        result: (i, j) output.
    """
    for i in range(left.shape[0]):
        for j in range(right.shape[1]):
            result[i, j] = 0.0
        for k in range(right.shape[0]):
            for j in range(right.shape[1]):
                result[i, j] += left[i, k] * right[k, j]


@kernel
def multiply_transposed(left: np.ndarray, right: np.ndarray, result: np.ndarray) -> None:
    """Write a product with a transposed matrix.

    Args:
        left: (k, i) the first factor, to be transposed.
        right: (k, j) the second one.
        result: (i, j) output.
    """
    for i in range(left.shape[1]):
        for j in range(right.shape[1]):
            result[i, j] = 0.0
    for k in range(left.shape[0]):
        for i in range(left.shape[1]):
            for j in range(right.shape[1]):
                result[i, j] += left[k, i] * right[k, j]
