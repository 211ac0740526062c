"""One iteration of Algorithm 1: smooth and linearise, then follow MPC on the true system."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from contact_core.planning import StopCondition
from irs_planner.dynamics.dynamics import ContactDynamics, Jacobians
from irs_planner.local_model import build_local_model, control_to_input, model_state
from irs_planner.mpc import MpcSolver, MpcStatus, TrackingProblem
from irs_planner.problem import IrsProblem
from irs_planner.result import IterationTimes, Rollout
from irs_planner.settings import PlannerSettings
from irs_planner.smoothing.jacobian_bundle import GradientMode, draw_perturbations, linearize

# Below this, an input counts as having no effect on a state.
FLAT = 1e-9


@dataclass(frozen=True)
class Iterate:
    """What one iteration produced.

    Attributes:
        trajectory: The new motion, None if planning had to stop halfway.
        std: Largest standard deviation used, 0 for exact derivatives.
        times: Where the time went.
        mpc_failures: MPC problems not solved to optimality.
        flat: Whether no input changed any planned state.
    """

    trajectory: Rollout | None
    std: float
    times: IterationTimes
    mpc_failures: int
    flat: bool


def iterate(
    problem: IrsProblem,
    settings: PlannerSettings,
    nominal: Rollout,
    scale: float,
    generator: np.random.Generator,
    mpc: MpcSolver,
    stop: StopCondition,
    trust_radius: float | None = None,
) -> Iterate:
    """Improve a trajectory: lines 6 to 12 of Algorithm 1.

    Args:
        problem: The problem.
        settings: Mode, number of samples, workers.
        nominal: The current trajectory.
        scale: std_k / std_1.
        generator: Source of the samples.
        mpc: Solver of the MPC problems.
        stop: Asked at every step.
        trust_radius: See :func:`build_local_model`.

    Returns:
        The next trajectory and how it was found.
    """
    begin = time.perf_counter()
    jacobians, std = _linearize(problem, settings, nominal, scale, generator)
    model = build_local_model(problem, nominal, jacobians, trust_radius)
    status = mpc.prepare(model)
    linearised = time.perf_counter()
    trajectory, mpc_time, failures = None, 0.0, problem.horizon
    if status == MpcStatus.OPTIMAL:
        trajectory, mpc_time, failures = _follow(problem, mpc, stop)
    rollout_time = time.perf_counter() - linearised - mpc_time
    return Iterate(
        trajectory,
        std,
        IterationTimes(linearised - begin, mpc_time, rollout_time),
        failures,
        bool(np.abs(_effect(problem, model)).max(initial=0.0) < FLAT),
    )


def _linearize(
    problem: IrsProblem,
    settings: PlannerSettings,
    nominal: Rollout,
    scale: float,
    generator: np.random.Generator,
) -> tuple[Jacobians, float]:
    """Return A_t and B_t along a trajectory, and the standard deviation behind them."""
    mode = GradientMode(settings.mode)
    schedule, dynamics = problem.schedule, problem.dynamics
    state_std = scale * np.array(schedule.state_std or [0.0] * dynamics.state_size)
    input_std = scale * np.array(schedule.input_std)
    sampled = mode in (GradientMode.FIRST, GradientMode.ZERO)
    perturbations = draw_perturbations(
        generator, problem.horizon, settings.samples if sampled else 0, state_std, input_std
    )
    jacobians = linearize(
        dynamics, mode, nominal.states[:-1], nominal.inputs, perturbations, settings.workers
    )
    std = 0.0 if mode == GradientMode.EXACT else float(max(state_std.max(), input_std.max()))
    return jacobians, std


def _follow(
    problem: IrsProblem, mpc: MpcSolver, stop: StopCondition
) -> tuple[Rollout | None, float, int]:
    """Apply MPC with a shrinking horizon to the true system: lines 9 to 12.

    Returns:
        (trajectory or None if stopped, time spent in MPC [s], number of its failures).
    """
    dynamics = problem.dynamics
    states = np.empty((problem.horizon + 1, dynamics.state_size))
    inputs = np.empty((problem.horizon, dynamics.input_size))
    states[0] = problem.initial_state
    mpc_time, failures = 0.0, 0
    for t in range(problem.horizon):
        if stop.reason is not None:
            return None, mpc_time, failures
        begin = time.perf_counter()
        solution = mpc.solve(t, model_state(problem, states[t]))
        mpc_time += time.perf_counter() - begin
        failures += solution.status != MpcStatus.OPTIMAL
        inputs[t] = control_to_input(problem, states[t], solution.controls[0])
        states[t + 1] = dynamics.step(states[t], inputs[t])
        if not np.isfinite(states[t + 1]).all():
            return Rollout(states, inputs, np.inf), mpc_time, failures
    return Rollout(states, inputs, problem.evaluate(states, inputs)), mpc_time, failures


def _effect(problem: IrsProblem, model: TrackingProblem) -> np.ndarray:
    """Return the rows of the input matrix that belong to tracked states, of objects if any."""
    tracked = np.diag(model.weight) + np.diag(model.final_weight) > 0.0
    if isinstance(problem.dynamics, ContactDynamics):
        kept = problem.planned_states
        tracked[: len(kept)] &= np.isin(kept, problem.dynamics.object_states)
    return np.asarray(model.control[:, tracked])
