"""Batches of contact steps; the loops over samples run here, without the GIL."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_core.base.kernel import kernel
from irs_planner.linear_algebra import factor_cholesky, solve_cholesky
from irs_planner.quasi_dynamic.contact_step import (
    PairCones,
    SpringModel,
    cones_at,
    differentiate_step,
    fill_gradient,
    set_bound,
)
from irs_planner.quasi_dynamic.log_barrier import differentiate_barrier, solve_barrier
from irs_planner.quasi_dynamic.near_contacts import (
    NearMemory,
    allocate_near,
    choose_near,
    solve_near,
)

# A barrier needs room: its Newton method starts at this fraction of the smoothing width.
START_MARGIN = 0.1


class StepBatch(NamedTuple):
    """What the steps from N points need to know about their K <= N distinct states.

    Samples of a knot share its state: inertia and contacts are computed once for them.

    Attributes:
        number: (N) state of every point.
        time_step: h [s].
        hessian: (K, n, n) Q.
        inverse: (K, n, n) Q^-1.
        load: (K, n_u) tau_u [N, Nm].
        stiffness: (n_a) K [N/m, Nm/rad].
        cones: Contacts at the K states.
    """

    number: np.ndarray
    time_step: float
    hessian: np.ndarray
    inverse: np.ndarray
    load: np.ndarray
    stiffness: np.ndarray
    cones: PairCones


@kernel
def number_states(states: np.ndarray, index: np.ndarray) -> int:
    """Number the distinct states of a batch; equal ones have to follow each other.

    Args:
        states: (N, n) q.
        index: (N) output: number of every state.

    Returns:
        How many there are.
    """
    number = -1
    for i in range(states.shape[0]):
        same = i > 0
        for k in range(states.shape[1]):
            same = same and states[i, k] == states[i - 1, k]
        number += 0 if same else 1
        index[i] = number
    return number + 1


@kernel
def fill_objective(
    inertia: np.ndarray,
    stiffness: np.ndarray,
    time_step: float,
    hessian: np.ndarray,
    inverse: np.ndarray,
) -> None:
    """Compute Q = blkdiag(M_u, h^2 K) and its inverse at several states.

    Args:
        inertia: (K, n_u, n_u) M_u.
        stiffness: (n_a) K.
        time_step: h [s].
        hessian: (K, n, n) output: Q.
        inverse: (K, n, n) output: Q^-1, NaN where M_u is singular.
    """
    free = inertia.shape[1]
    factor = np.empty((free, free))
    column = np.empty(free)
    hessian[:] = 0.0
    inverse[:] = 0.0
    for s in range(inertia.shape[0]):
        for i in range(free):
            for k in range(free):
                hessian[s, i, k] = inertia[s, i, k]
                factor[i, k] = inertia[s, i, k]
        regular = factor_cholesky(factor, free)
        for k in range(free):
            column[:] = 0.0
            column[k] = 1.0 if regular else np.nan
            solve_cholesky(factor, free, column)
            for i in range(free):
                inverse[s, i, k] = column[i]
        for j in range(stiffness.shape[0]):
            hessian[s, free + j, free + j] = time_step**2 * stiffness[j]
            inverse[s, free + j, free + j] = 1.0 / (time_step**2 * stiffness[j])


@kernel
def _model_at(batch: StepBatch, state: int) -> SpringModel:
    return SpringModel(
        batch.time_step,
        batch.hessian[state],
        batch.inverse[state],
        batch.load[state],
        batch.stiffness,
    )


@kernel
def step_batch(
    batch: StepBatch, states: np.ndarray, inputs: np.ndarray, next_states: np.ndarray
) -> None:
    """Advance every point of a batch.

    Args:
        batch: Objective and contacts.
        states: (N, n) q.
        inputs: (N, n_a) u.
        next_states: (N, n) output: q+, NaN where the step has no solution.
    """
    memory = allocate_near(batch.cones)
    for i in range(states.shape[0]):
        model, cones = _model_at(batch, batch.number[i]), cones_at(batch.cones, batch.number[i])
        solve_near(model, cones, states[i], inputs[i], 0.0, memory, next_states[i])


@kernel
def jacobian_batch(
    batch: StepBatch,
    states: np.ndarray,
    inputs: np.ndarray,
    next_states: np.ndarray,
    state_jacobian: np.ndarray,
    input_jacobian: np.ndarray,
) -> None:
    """Differentiate the step at every point of a batch.

    Args:
        batch: Objective and contacts.
        states: (N, n) q.
        inputs: (N, n_a) u.
        next_states: (N, n) output: q+, NaN likewise.
        state_jacobian: (N, n, n) output: A, NaN where the step has no solution.
        input_jacobian: (N, n, n_a) output: B, likewise.
    """
    memory = allocate_near(batch.cones)
    for i in range(states.shape[0]):
        model, cones = _model_at(batch, batch.number[i]), cones_at(batch.cones, batch.number[i])
        _differentiate(
            model, cones, states[i], inputs[i], memory,
            next_states[i], state_jacobian[i], input_jacobian[i],
        )  # fmt: skip


@kernel
def _differentiate(
    model: SpringModel,
    cones: PairCones,
    state: np.ndarray,
    command: np.ndarray,
    memory: NearMemory,
    next_state: np.ndarray,
    state_jacobian: np.ndarray,
    input_jacobian: np.ndarray,
) -> None:
    """Differentiate the step at one point."""
    solved, near = solve_near(model, cones, state, command, 0.0, memory, next_state)
    if solved:
        differentiate_step(model, near.rows, near.step, state_jacobian, input_jacobian)
    else:
        state_jacobian[:] = np.nan
        input_jacobian[:] = np.nan


@kernel
def barrier_jacobian_batch(
    batch: StepBatch,
    weight: float,
    share: np.ndarray,
    reach: float,
    width: float,
    states: np.ndarray,
    inputs: np.ndarray,
    next_states: np.ndarray,
    state_jacobian: np.ndarray,
    input_jacobian: np.ndarray,
) -> None:
    """Differentiate the log-barrier step at every point of a batch.

    Where bodies are squeezed and the barrier has no interior, the exact step is
    differentiated instead.

    Args:
        batch: Objective and contacts.
        weight: w = 1 / kappa [J].
        share: (m) of that weight, which the barrier of every row has.
        reach: What is farther away has none [m].
        width: Smoothing width [m, rad].
        states: (N, n) q.
        inputs: (N, n_a) u.
        next_states: (N, n) output: q+, NaN likewise.
        state_jacobian: (N, n, n) output: A, NaN where the step has no solution.
        input_jacobian: (N, n, n_a) output: B, likewise.
    """
    memory = allocate_near(batch.cones)
    for i in range(states.shape[0]):
        model, cones = _model_at(batch, batch.number[i]), cones_at(batch.cones, batch.number[i])
        if not _differentiate_barrier(
            model, cones, weight, share, reach, width, states[i], inputs[i], memory,
            next_states[i], state_jacobian[i], input_jacobian[i],
        ):  # fmt: skip
            # Squeezed bodies leave the barrier no interior: the exact derivatives remain.
            _differentiate(
                model, cones, states[i], inputs[i], memory,
                next_states[i], state_jacobian[i], input_jacobian[i],
            )  # fmt: skip


@kernel
def _differentiate_barrier(
    model: SpringModel,
    cones: PairCones,
    weight: float,
    share: np.ndarray,
    reach: float,
    width: float,
    state: np.ndarray,
    command: np.ndarray,
    memory: NearMemory,
    next_state: np.ndarray,
    state_jacobian: np.ndarray,
    input_jacobian: np.ndarray,
) -> bool:
    """Differentiate the log-barrier step at one point; return False if it has no interior."""
    # The exact step that keeps a small distance is strictly feasible: start there.
    solved, near = solve_near(
        model, cones, state, command, START_MARGIN * width, memory, next_state
    )  # fmt: skip
    if not solved:
        return False
    velocity = near.step.velocity.copy()
    near = choose_near(cones, reach, memory)
    for i in range(near.share.shape[0]):
        near.share[i] = share[near.rows.number[i]]
    set_bound(near.rows, near.step, model.time_step, 0.0)
    fill_gradient(model, state, command, near.step.gradient)
    if not solve_barrier(model, near.rows, near.step, weight, near.share, velocity):
        return False
    for k in range(state.shape[0]):
        next_state[k] = state[k] + model.time_step * velocity[k]
    differentiate_barrier(
        model, near.rows, near.step, weight, near.share, state_jacobian, input_jacobian
    )
    return True


@kernel
def impulse_batch(
    batch: StepBatch, states: np.ndarray, inputs: np.ndarray, impulse: np.ndarray
) -> None:
    """Compute the impulses of every step of a batch.

    Args:
        batch: Objective and contacts.
        states: (N, n) q.
        inputs: (N, n_a) u.
        impulse: (N, m) output: along every ray [N s], NaN where the step has no solution.
    """
    memory = allocate_near(batch.cones)
    next_state = np.empty(states.shape[1])
    for i in range(states.shape[0]):
        model, cones = _model_at(batch, batch.number[i]), cones_at(batch.cones, batch.number[i])
        solved, near = solve_near(model, cones, states[i], inputs[i], 0.0, memory, next_state)
        impulse[i] = 0.0 if solved else np.nan
        for k in range(near.rows.number.shape[0] if solved else 0):
            impulse[i, near.rows.number[k]] = near.step.multipliers[k]
