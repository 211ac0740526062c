"""Contact-implicit planning under contact uncertainty, from a cold start to a checked plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from robust_planner.advice import advise, advise_on_plan
from robust_planner.config import PlannerConfig
from robust_planner.continuation import Stage, reference_stages, robust_stages
from robust_planner.errors import PlanningProblemError
from robust_planner.merit import merit
from robust_planner.monitor import Monitor, Progress, StopReason
from robust_planner.problem import PlanningProblem
from robust_planner.residuals import Residuals, check
from robust_planner.result import PlanResult, PlanStatus, StageRecord
from robust_planner.solver.registry import make_solver
from robust_planner.solver.solver import NonlinearSolver
from robust_planner.trajectory import Trajectory, to_trajectory
from robust_planner.transcription import initial_guess, transcribe

# Time between two reports within a stage [s].
REPORT_PERIOD = 0.5


def plan(
    problem: PlanningProblem,
    config: PlannerConfig | None = None,
    reference: PlanResult | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> PlanResult:
    """Plan a motion: reference first, then robust, each stage from the one before.

    Args:
        problem: What to plan.
        config: How; None for the defaults.
        reference: A plan to start the robust stages from, e.g. when many uncertainties
            are planned for; None to plan it now.
        on_progress: Called, from the calling thread, at the start and the end of every
            stage and now and then in between.
        cancelled: Asked at every iteration; True ends planning with the best iterate.

    Returns:
        The plan; its status tells whether it can be used.

    Raises:
        PlanningProblemError: If ``reference`` does not have the variables of this problem.
        SolverMissingError: If the chosen solver is not installed.
        ConfigError: If the risk bounds exclude every plan.
    """
    config = config or PlannerConfig()
    monitor = Monitor(config.solver.budget, on_progress, cancelled)
    stages = robust_stages(config)
    if reference is None or not stages:
        stages = reference_stages(config) + stages
    best = _evaluate(_start(problem, config, reference), stages[0], problem, config)
    records: list[StageRecord] = []
    solver: NonlinearSolver | None = None
    built: tuple[str, bool, PlannerConfig] | None = None
    near = False
    for stage in stages:
        if monitor.stop_reason() is not None:
            break
        wanted = (stage.method, stage.robust, _configure(stage, config))
        if solver is None or built != wanted:
            method, robust, chosen = built = wanted
            solver = make_solver(transcribe(problem, chosen, method, robust), config.solver)
        for candidate, record in _attempts(
            stage, solver, best.values, problem, config, monitor, near
        ):
            records.append(record)
            near = stage.robust and record.converged
            if record.converged or candidate.residuals.worst < best.residuals.worst:
                best = candidate
    complete = bool(records) and records[-1].converged and records[-1].name == stages[-1].name
    return PlanResult(
        status=_status(best, complete, monitor, config),
        trajectory=best.trajectory,
        cost=running_cost(best.trajectory, problem),
        merit=merit(best.trajectory, problem, config.uncertainty.kind),
        residuals=best.residuals,
        stages=tuple(records),
        advice=(*advise(problem, config), *advise_on_plan(best.trajectory, problem, config)),
        seconds=monitor.elapsed,
        values=best.values,
    )


def running_cost(trajectory: Trajectory, problem: PlanningProblem) -> float:
    """Evaluate the sum of h (dx' Q dx + u' R u) over the intervals, eq. (1a).

    Args:
        trajectory: The plan.
        problem: Its goal and weights.

    Returns:
        The cost.
    """
    error = np.hstack([trajectory.position, trajectory.velocity]) - np.array(problem.goal)
    stage = error**2 @ np.array(problem.state_weight)
    stage += trajectory.control**2 @ np.array(problem.control_weight)
    return float(np.diff(trajectory.time) @ stage[:-1])


@dataclass(frozen=True)
class _Candidate:
    """An iterate that might become the plan."""

    values: np.ndarray
    trajectory: Trajectory
    residuals: Residuals


def _start(
    problem: PlanningProblem, config: PlannerConfig, reference: PlanResult | None
) -> np.ndarray:
    guess = initial_guess(problem, config)
    if reference is None:
        return guess
    if reference.values.shape != guess.shape:
        raise PlanningProblemError(
            f"the reference plan has {reference.values.shape} variables "
            f"(valid: {guess.shape} for '{problem.name}')"
        )
    return reference.values


def _configure(stage: Stage, config: PlannerConfig) -> PlannerConfig:
    """Impose the stage's chance constraints; leave out a cost whose weight is zero."""
    if not stage.robust:
        return config
    enabled = config.expected_residual.enabled and stage.parameters.residual_weight > 0.0
    residual = dataclasses.replace(config.expected_residual, enabled=enabled)
    return dataclasses.replace(config, expected_residual=residual, risk=stage.risk)


def _evaluate(
    values: np.ndarray, stage: Stage, problem: PlanningProblem, config: PlannerConfig
) -> _Candidate:
    trajectory = to_trajectory(values, problem)
    return _Candidate(values, trajectory, check(trajectory, problem, config, stage.robust))


def _attempts(
    stage: Stage,
    solver: NonlinearSolver,
    start: np.ndarray,
    problem: PlanningProblem,
    config: PlannerConfig,
    monitor: Monitor,
    near: bool,
) -> Iterator[tuple[_Candidate, StageRecord]]:
    """Solve a stage, again from its best iterate if it does not converge."""
    for _ in range(1 + config.continuation.restarts):
        candidate, record = _solve(stage, solver, start, problem, config, monitor, near)
        yield candidate, record
        if record.converged or monitor.stop_reason() is not None:
            return
        start, near = candidate.values, False


def _solve(
    stage: Stage,
    solver: NonlinearSolver,
    start: np.ndarray,
    problem: PlanningProblem,
    config: PlannerConfig,
    monitor: Monitor,
    near: bool,
) -> tuple[_Candidate, StageRecord]:
    """Solve one stage, reporting on it."""
    began = last_report = monitor.elapsed

    def report(iterations: int, residual: float, finished: bool = False) -> None:
        nonlocal last_report
        if iterations > 0 and not finished and monitor.elapsed - last_report < REPORT_PERIOD:
            return
        last_report = monitor.elapsed
        p = stage.parameters
        monitor.report(
            Progress(
                stage=stage.name,
                relaxation=p.relaxation,
                penalty=p.penalty,
                residual_weight=p.residual_weight,
                iterations=iterations,
                residual=residual,
                elapsed=last_report,
                finished=finished,
            )
        )

    outcome = solver.solve(start, stage.parameters, monitor, report, near)
    candidate = _evaluate(outcome.values, stage, problem, config)
    report(outcome.iterations, candidate.residuals.worst, finished=True)
    record = StageRecord(
        name=stage.name,
        parameters=stage.parameters,
        iterations=outcome.iterations,
        seconds=monitor.elapsed - began,
        converged=outcome.converged,
        message=outcome.message,
        residuals=candidate.residuals,
    )
    return candidate, record


def _status(
    best: _Candidate, complete: bool, monitor: Monitor, config: PlannerConfig
) -> PlanStatus:
    """Judge the plan; the solver's claim alone is not enough."""
    if complete:
        accepted = best.residuals.accepted(config.solver)
        return PlanStatus.SOLVED if accepted else PlanStatus.RESIDUAL_TOO_LARGE
    reason = monitor.stop_reason()
    if reason is StopReason.CANCELLED:
        return PlanStatus.CANCELLED
    return PlanStatus.BUDGET_EXHAUSTED if reason else PlanStatus.NOT_CONVERGED
