"""Batches of planar contact steps; the loops over samples run here, without the GIL."""

from __future__ import annotations

import numpy as np

from contact_stack.core.kernel import kernel
from irs_planner.quasi_dynamic.contact_rows import planar_rows
from irs_planner.quasi_dynamic.log_barrier import differentiate_barrier, solve_barrier
from irs_planner.quasi_dynamic.spring_model import SpringModel, fill_gradient
from irs_planner.quasi_dynamic.step import (
    StepMemory,
    allocate_step,
    differentiate_step,
    set_bound,
    solve_step,
)
from irs_planner.scenes.contacts import find_contacts
from irs_planner.scenes.scene_arrays import SceneArrays

# A barrier needs room: its Newton method starts at this fraction of the smoothing width.
START_MARGIN = 0.1


@kernel
def _is_new(states: np.ndarray, index: int) -> bool:
    """Whether a state differs from the one before: samples of a knot share their contacts."""
    same = index > 0
    for k in range(states.shape[1]):
        same = same and states[index, k] == states[index - 1, k]
    return not same


@kernel
def _find_rows(scene: SceneArrays, state: np.ndarray, memory: StepMemory) -> None:
    contacts = scene.pair.shape[0]
    gap = np.empty(contacts)
    direction = np.empty((contacts, 2))
    normal = np.empty((contacts, state.shape[0]))
    tangent = np.empty((contacts, state.shape[0]))
    find_contacts(scene, state, gap, direction, normal, tangent)
    planar_rows(gap, normal, tangent, scene.friction, memory.rows)


@kernel
def step_batch(
    scene: SceneArrays,
    model: SpringModel,
    states: np.ndarray,
    inputs: np.ndarray,
    next_states: np.ndarray,
) -> None:
    """Advance every point of a batch.

    Args:
        scene: The scene.
        model: Q, b, h.
        states: (K, n) q.
        inputs: (K, n_a) u.
        next_states: (K, n) output: q+, NaN where the step has no solution.
    """
    memory = allocate_step(states.shape[1], 2 * scene.pair.shape[0])
    for i in range(states.shape[0]):
        if _is_new(states, i):
            _find_rows(scene, states[i], memory)
            set_bound(memory, model.time_step, 0.0)
        solve_step(model, states[i], inputs[i], memory, next_states[i])


@kernel
def jacobian_batch(
    scene: SceneArrays,
    model: SpringModel,
    states: np.ndarray,
    inputs: np.ndarray,
    state_jacobian: np.ndarray,
    input_jacobian: np.ndarray,
) -> None:
    """Differentiate the step at every point of a batch.

    Args:
        scene: The scene.
        model: Q, b, h.
        states: (K, n) q.
        inputs: (K, n_a) u.
        state_jacobian: (K, n, n) output: A, NaN where the step has no solution.
        input_jacobian: (K, n, n_a) output: B, likewise.
    """
    memory = allocate_step(states.shape[1], 2 * scene.pair.shape[0])
    next_state = np.empty(states.shape[1])
    for i in range(states.shape[0]):
        if _is_new(states, i):
            _find_rows(scene, states[i], memory)
            set_bound(memory, model.time_step, 0.0)
        if solve_step(model, states[i], inputs[i], memory, next_state):
            differentiate_step(model, memory, state_jacobian[i], input_jacobian[i])
        else:
            state_jacobian[i] = np.nan
            input_jacobian[i] = np.nan


@kernel
def barrier_jacobian_batch(
    scene: SceneArrays,
    model: SpringModel,
    weight: float,
    width: float,
    states: np.ndarray,
    inputs: np.ndarray,
    state_jacobian: np.ndarray,
    input_jacobian: np.ndarray,
) -> None:
    """Differentiate the log-barrier step at every point of a batch.

    Where bodies are squeezed and the barrier has no interior, the exact step is
    differentiated instead.

    Args:
        scene: The scene.
        model: Q, b, h.
        weight: w = 1 / kappa [J].
        width: Smoothing width [m, rad].
        states: (K, n) q.
        inputs: (K, n_a) u.
        state_jacobian: (K, n, n) output: A, NaN where the step has no solution.
        input_jacobian: (K, n, n_a) output: B, likewise.
    """
    memory = allocate_step(states.shape[1], 2 * scene.pair.shape[0])
    start = np.empty(states.shape[1])
    velocity = np.empty(states.shape[1])
    for i in range(states.shape[0]):
        _find_rows(scene, states[i], memory)
        # The exact step that keeps a small distance is strictly feasible: start there.
        set_bound(memory, model.time_step, START_MARGIN * width)
        solved = solve_step(model, states[i], inputs[i], memory, start)
        velocity[:] = memory.velocity
        set_bound(memory, model.time_step, 0.0)
        fill_gradient(model, states[i], inputs[i], memory.gradient)
        if solved and solve_barrier(model, memory, weight, velocity):
            differentiate_barrier(
                model, memory, weight, velocity, state_jacobian[i], input_jacobian[i]
            )
        elif solve_step(model, states[i], inputs[i], memory, start):
            # Squeezed bodies leave the barrier no interior: the exact derivatives remain.
            differentiate_step(model, memory, state_jacobian[i], input_jacobian[i])
        else:
            state_jacobian[i] = np.nan
            input_jacobian[i] = np.nan


@kernel
def contact_force_batch(
    scene: SceneArrays,
    model: SpringModel,
    states: np.ndarray,
    inputs: np.ndarray,
    force: np.ndarray,
) -> None:
    """Compute the contact forces of every step of a batch.

    Args:
        scene: The scene.
        model: Q, b, h.
        states: (K, n) q.
        inputs: (K, n_a) u.
        force: (K, P, 2) output: on the first shape of every pair, y, z in the world [N].
    """
    contacts = scene.pair.shape[0]
    memory = allocate_step(states.shape[1], 2 * contacts)
    next_state = np.empty(states.shape[1])
    gap = np.empty(contacts)
    direction = np.empty((contacts, 2))
    normal = np.empty((contacts, states.shape[1]))
    tangent = np.empty((contacts, states.shape[1]))
    for i in range(states.shape[0]):
        find_contacts(scene, states[i], gap, direction, normal, tangent)
        planar_rows(gap, normal, tangent, scene.friction, memory.rows)
        set_bound(memory, model.time_step, 0.0)
        solved = solve_step(model, states[i], inputs[i], memory, next_state)
        for c in range(contacts):
            plus, minus = memory.multipliers[2 * c], memory.multipliers[2 * c + 1]
            along_normal = (plus + minus) / model.time_step
            along_tangent = scene.friction[c] * (plus - minus) / model.time_step
            ny, nz = direction[c, 0], direction[c, 1]
            force[i, c, 0] = along_normal * ny - along_tangent * nz if solved else np.nan
            force[i, c, 1] = along_normal * nz + along_tangent * ny if solved else np.nan
