"""The linear-quadratic problem around a nominal trajectory: lines 7 and 8 of Algorithm 1."""

from __future__ import annotations

import numpy as np

from irs_planner.dynamics import Jacobians
from irs_planner.mpc import TrackingProblem
from irs_planner.problem import IrsProblem
from irs_planner.result import Rollout


def build_local_model(
    problem: IrsProblem,
    nominal: Rollout,
    jacobians: Jacobians,
    trust_radius: float | None = None,
) -> TrackingProblem:
    """Linearise the problem around a trajectory.

    For inputs that are forces the model is s = x, w = u. For commanded positions it is
    s = [x; u_previous], w = u - u_previous, so that increments can be weighted and bounded.

    Args:
        problem: The problem.
        nominal: The trajectory.
        jacobians: A_t and B_t along it.
        trust_radius: If given, inputs stay this close to the nominal inputs, instead of
            close to the nominal actual positions.

    Returns:
        The problem for MPC.
    """
    kept = problem.planned_states
    transition = np.ascontiguousarray(jacobians.state[:, kept][:, :, kept])
    control = np.ascontiguousarray(jacobians.input[:, kept])
    offset = (
        nominal.states[1:, kept]
        - np.einsum("tij,tj->ti", transition, nominal.states[:-1, kept])
        - np.einsum("tij,tj->ti", control, nominal.inputs)
    )
    commands = bool(problem.dynamics.commanded_states)
    if commands:
        transition, control, offset = _append_command(transition, control, offset)
    states, controls = transition.shape[1], control.shape[2]
    lower, upper = _bounds(problem, nominal, trust_radius, states, commands)
    reference = np.zeros((problem.horizon + 1, states))
    reference[:, : len(kept)] = problem.reference[:, kept]
    softness = np.zeros(states + controls)
    softness[: len(kept)] = problem.bounds.softness
    padding = np.zeros(states - len(kept))
    return TrackingProblem(
        transition,
        control,
        offset,
        reference,
        np.diag(np.concatenate((problem.cost.state[kept], padding))),
        np.diag(np.concatenate((problem.cost.final[kept], padding))),
        np.diag(problem.cost.input),
        lower,
        upper,
        softness,
    )


def model_state(problem: IrsProblem, state: np.ndarray) -> np.ndarray:
    """Return the state of the linear model: the previous command is the actual position.

    Args:
        problem: The problem.
        state: (n) x_t.
    """
    kept = state[problem.planned_states]
    return np.concatenate((kept, state[list(problem.dynamics.commanded_states)]))


def control_to_input(problem: IrsProblem, state: np.ndarray, control: np.ndarray) -> np.ndarray:
    """Return the input that a control w of the linear model stands for.

    Args:
        problem: The problem.
        state: (n) x_t.
        control: (m) w_t.
    """
    commanded = list(problem.dynamics.commanded_states)
    return state[commanded] + control if commanded else control


def _append_command(
    transition: np.ndarray, control: np.ndarray, offset: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Append the previous command p: s+ = [A B; 0 I] s + [B; I] w + [c; 0]."""
    horizon, n, m = control.shape
    identity = np.broadcast_to(np.eye(m), (horizon, m, m))
    zero = np.zeros((horizon, m, n))
    return (
        np.block([[transition, control], [zero, identity]]),
        np.concatenate((control, identity), axis=1),
        np.concatenate((offset, np.zeros((horizon, m))), axis=1),
    )


def _bounds(
    problem: IrsProblem,
    nominal: Rollout,
    trust_radius: float | None,
    states: int,
    commands: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the (T, n + m) bounds of [s_{t+1}; w_t]."""
    bounds, m = problem.bounds, problem.dynamics.input_size
    lower = np.full((problem.horizon, states + m), -np.inf)
    upper = -lower
    for index, low, high in zip(
        bounds.bounded_states, bounds.state_low, bounds.state_high, strict=True
    ):
        if index in problem.planned_states:
            column = int(np.flatnonzero(problem.planned_states == index)[0])
            lower[:, column], upper[:, column] = low, high
    inputs = slice(states - m, states) if commands else slice(states, states + m)
    if bounds.input_low.size:
        lower[:, inputs] = bounds.input_low
    if bounds.input_high.size:
        upper[:, inputs] = bounds.input_high
    if commands and bounds.increment.size:
        lower[:, states:], upper[:, states:] = -bounds.increment, bounds.increment
    center: np.ndarray | None = None
    radius: np.ndarray | float = 0.0
    if trust_radius is not None:
        center, radius = nominal.inputs, trust_radius
    elif bounds.around_actual.size:
        actual = list(problem.dynamics.commanded_states)
        center, radius = nominal.states[:-1, actual], bounds.around_actual
    if center is not None:
        lower[:, inputs] = np.maximum(lower[:, inputs], center - radius)
        upper[:, inputs] = np.minimum(upper[:, inputs], center + radius)
    return lower, upper
