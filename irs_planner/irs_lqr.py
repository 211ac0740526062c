"""iRS-LQR, Algorithm 1 of bundled_gradients: iterative LQR on randomly smoothed dynamics.

An optional last phase (:func:`refine`) accepts an iterate only if it is better. Algorithm 1 moves
on to every new iterate, and its input bounds are centred at the actual robot positions; that
phase stays at the best iterate, centres its region at the COMMANDS of that iterate, and shrinks it
whenever a step fails. It reaches lower costs, but the bound |u - q_a| of an example no longer
holds for its result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Event

import numpy as np

from contact_core.base.planning import PlanStatus, StopCondition
from contact_core.base.seeds import generator
from contact_core.quadratic_program import QuadraticProgramStatus
from irs_planner.dynamics import ContactDynamics, Jacobians
from irs_planner.feasibility import find_impossibility
from irs_planner.local_model import build_local_model, control_to_input, model_state
from irs_planner.mpc import MpcSolver, TrackingProblem, make_mpc_solver
from irs_planner.problem import IrsProblem, PlannerSettings
from irs_planner.result import (
    IMPOSSIBLE,
    IrsPlan,
    IterationReport,
    IterationTimes,
    Rollout,
    diagnose,
    goal_reached,
    link_forces,
    remedy_of,
)
from irs_planner.smoothing import SMOOTHING_MODES, draw_perturbations, linearize

# Below this, an input counts as having no effect on a state.
FLAT = 1e-9


def plan(
    problem: IrsProblem,
    settings: PlannerSettings | None = None,
    *,
    callback: Callable[[IterationReport], None] | None = None,
    cancel: Event | None = None,
    stop: StopCondition | None = None,
) -> IrsPlan:
    """Plan a motion.

    To warm-start, replace ``problem.initial_inputs`` by the inputs of an earlier result.

    Args:
        problem: System, start, goal, cost, bounds and first guess.
        settings: Mode, samples, iterations, seed and so on; None for the defaults.
        callback: Called after every iteration, in the calling thread.
        cancel: Set it from another thread to stop planning within one simulation step.
        stop: A clock that runs already, instead of ``cancel`` and the settings' time budget.

    Returns:
        The best iterate and the reason why planning stopped. Failures are a status.

    Raises:
        ConfigError: If the settings do not fit the problem.
    """
    settings = settings or PlannerSettings()
    stop = stop or StopCondition(
        settings.time_budget or math.inf, cancel.is_set if cancel else None
    )
    samples = generator(settings.seed, "irs_lqr samples")
    mpc = make_mpc_solver(settings.mpc_solver)

    states = problem.dynamics.rollout(problem.initial_state, problem.initial_inputs)  # line 4
    cost = problem.evaluate(states, problem.initial_inputs)
    nominal = Rollout(states, problem.initial_inputs, cost)
    progress = IterateHistory(problem, nominal)
    impossible = find_impossibility(problem)
    status = impossible.status if impossible is not None else None
    if status is None and not np.isfinite(cost):
        status = PlanStatus.SOLVER_FAILED
    if status is not None:
        return _finish(problem, progress, status, stop)

    status = PlanStatus.ITERATIONS_REACHED
    for k in range(1, settings.iterations + 1):  # line 5
        if stop.reason is not None:
            break
        scale = problem.schedule.scale(k)  # line 7, std_k / std_1
        result = iterate(problem, settings, nominal, scale, samples, mpc, stop)  # lines 6 to 12
        if result.trajectory is None:
            if stop.reason is None:
                status = PlanStatus.SOLVER_FAILED
            break
        report = progress.add(result, result.trajectory, stop.elapsed)
        if callback is not None:
            callback(report)
        # A motion that could not be simulated cannot be linearised: go back to the best one.
        nominal = result.trajectory if np.isfinite(result.trajectory.cost) else progress.best
        if progress.converged(settings):
            status = PlanStatus.SUCCEEDED
            break
    refine(problem, settings, progress, samples, mpc, stop, callback)
    status = diagnose(
        problem, settings, progress.best, tuple(progress.reports), stop.reason or status
    )
    return _finish(problem, progress, status, stop)


def _finish(
    problem: IrsProblem, progress: IterateHistory, status: PlanStatus, stop: StopCondition
) -> IrsPlan:
    best = progress.best
    result = IrsPlan(
        status,
        "",
        best.states,
        best.inputs,
        best.cost,
        tuple(progress.costs),
        best.states[-1] - problem.goal,
        goal_reached(problem, best) and status not in IMPOSSIBLE,
        tuple(progress.reports),
        link_forces(problem, best),
        stop.elapsed,
    )
    return replace(result, message=f"{status.name}: {remedy_of(result, problem) or status.remedy}")


@dataclass(frozen=True)
class Iterate:
    """What one iteration produced.

    Attributes:
        trajectory: The new motion; None if an MPC cannot be set up, or planning stopped halfway.
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
    if status == QuadraticProgramStatus.OPTIMAL:
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
    mode = SMOOTHING_MODES[settings.mode]
    schedule, dynamics = problem.schedule, problem.dynamics
    state_std = scale * np.array(schedule.state_std or [0.0] * dynamics.state_size)
    input_std = scale * np.array(schedule.input_std)
    perturbations = draw_perturbations(
        generator, problem.horizon, settings.samples if mode.sampled else 0, state_std, input_std
    )
    jacobians = linearize(
        dynamics, settings.mode, nominal.states[:-1], nominal.inputs, perturbations,
        settings.workers,
    )  # fmt: skip
    std = float(max(state_std.max(), input_std.max())) if mode.smooth else 0.0
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
        failures += solution.status != QuadraticProgramStatus.OPTIMAL
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


class IterateHistory:
    """Keeps the best iterate; the last one may well be worse."""

    def __init__(self, problem: IrsProblem, first: Rollout) -> None:
        """Begin with the first guess.

        Args:
            problem: The problem.
            first: Rollout of its initial inputs.
        """
        self._problem = problem
        self.best = first
        self.costs = [first.cost]
        self.reports: list[IterationReport] = []

    def add(self, iterate: Iterate, trajectory: Rollout, elapsed: float) -> IterationReport:
        """Record an iterate.

        Args:
            iterate: How the iteration went.
            trajectory: What it led to.
            elapsed: Time since planning began [s].

        Returns:
            The report of this iteration.
        """
        self.costs.append(trajectory.cost)
        if trajectory.cost < self.best.cost:
            self.best = trajectory
        planned = self._problem.planned_states
        error = self.best.states[-1] - self._problem.goal
        report = IterationReport(
            len(self.reports) + 1,
            trajectory.cost,
            self.best.cost,
            iterate.std,
            float(np.linalg.norm(error[planned])),
            elapsed,
            iterate.times,
            iterate.mpc_failures,
            iterate.flat,
            error,
        )
        self.reports.append(report)
        return report

    def converged(self, settings: PlannerSettings) -> bool:
        """Whether the cost stayed the same for ``patience`` iterations.

        Args:
            settings: Tolerance and patience.
        """
        recent = np.array(self.costs[-settings.patience - 1 :])
        if len(recent) <= settings.patience or not np.isfinite(recent).all():
            return False
        change = np.abs(np.diff(recent))
        return bool((change <= settings.tolerance * np.abs(recent[:-1])).all())


SHRINK, GROW = 0.5, 1.5
MIN_RADIUS = 1e-3  # of the first radius


def refine(
    problem: IrsProblem,
    settings: PlannerSettings,
    progress: IterateHistory,
    generator: np.random.Generator,
    mpc: MpcSolver,
    stop: StopCondition,
    callback: Callable[[IterationReport], None] | None,
) -> None:
    """Improve the best iterate with a trust region.

    The samples shrink with the region.

    Args:
        problem: The problem.
        settings: Number of refinements and first radius.
        progress: Where iterates are recorded.
        generator: Source of the samples.
        mpc: Solver of the MPC problems.
        stop: Asked at every step.
        callback: Called after every iteration.
    """
    radius = settings.trust_radius
    first_scale = problem.schedule.scale(len(progress.reports) + 1)
    for _ in range(settings.refinements):
        if stop.reason is not None or radius < MIN_RADIUS * settings.trust_radius:
            return
        best = progress.best
        scale = max(problem.schedule.floor, first_scale * radius / settings.trust_radius)
        result = iterate(problem, settings, best, scale, generator, mpc, stop, radius)
        if result.trajectory is None:
            return
        report = progress.add(result, result.trajectory, stop.elapsed)
        if callback is not None:
            callback(report)
        radius *= GROW if result.trajectory.cost < best.cost else SHRINK
