"""iRS-LQR, Algorithm 1 of bundled_gradients: iterative LQR on randomly smoothed dynamics."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from threading import Event

import numpy as np

from contact_core.planning import PlanStatus, StopCondition
from contact_core.seeds import generator
from irs_planner.diagnosis import check_start, diagnose, goal_reached, link_forces, remedy_of
from irs_planner.iteration import iterate
from irs_planner.mpc import make_mpc_solver
from irs_planner.problem import IrsProblem
from irs_planner.progress import IterateHistory
from irs_planner.result import IrsPlan, IterationReport, Rollout
from irs_planner.settings import PlannerSettings
from irs_planner.trust_region import refine


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
    status = check_start(problem)
    if status is None and not np.isfinite(cost):
        status = PlanStatus.SOLVER_FAILED
    if status is not None:
        return _finish(problem, progress, status, stop)

    status = PlanStatus.ITERATIONS_REACHED
    for k in range(1, settings.iterations + 1):  # line 5
        if stop.reason is not None:
            break
        scale = problem.schedule.scale(k)  # line 7, the variance of iteration k
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
        goal_reached(problem, best),
        tuple(progress.reports),
        link_forces(problem, best),
        stop.elapsed,
    )
    return replace(result, message=f"{status.name}: {remedy_of(result, problem) or status.remedy}")
