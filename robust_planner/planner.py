"""Contact-implicit planning under contact uncertainty, from a cold start to a checked plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from contact_core.base.planning import PlanStatus, StopCondition
from robust_planner.config import PlannerConfig, UncertaintyConfig
from robust_planner.contact_model import PlanningProblemError
from robust_planner.continuation import (
    Candidate,
    OnProgress,
    StageSolver,
    reference_stages,
    robust_stages,
)
from robust_planner.examples import Example
from robust_planner.plan_warnings import warn_of_parameters, warn_of_plan
from robust_planner.problem import RobustProblem
from robust_planner.result import RobustPlan, StageProgress, StageRecord
from robust_planner.trajectory import ContactTrajectory
from robust_planner.transcription import initial_guess


def merit(trajectory: ContactTrajectory, problem: RobustProblem, kind: str) -> float:
    """Evaluate (1/K) sum (F z)^2 + min(0, F)^2 + min(0, z)^2, eq. (4).

    Args:
        trajectory: The plan.
        problem: The problem, for the mean friction and the terrain.
        kind: The pair that is scored: ``"distance"`` for (1d), otherwise the friction
            cone (1f).

    Returns:
        The score, zero for a feasible plan.
    """
    if kind == "distance":
        function, z = trajectory.distance(problem.model), trajectory.normal_force
    else:
        function, z = trajectory.friction_cone(problem.friction), trajectory.slip
    function, z = function[1:], z[1:]
    score = (function * z) ** 2 + np.minimum(0.0, function) ** 2 + np.minimum(0.0, z) ** 2
    return float(score.sum(axis=1).mean())


INFEASIBLE_MESSAGE = "Infeasible_Problem_Detected"
"""IPOPT's words when no step reduces the violation of the constraints any more."""


def plan(
    problem: RobustProblem,
    config: PlannerConfig | None = None,
    reference: RobustPlan | None = None,
    on_progress: OnProgress | None = None,
    cancelled: Callable[[], bool] | None = None,
    stop: StopCondition | None = None,
) -> RobustPlan:
    """Plan a motion: reference first, then robust, each stage from the one before.

    Args:
        problem: What to plan.
        config: How; None for the defaults.
        reference: A plan to start the robust stages from, e.g. when many uncertainties
            are planned for; None to plan it now.
        on_progress: Called, from the calling thread, at the start and the end of every
            stage and now and then in between.
        cancelled: Asked at every iteration; True ends planning with the best iterate.
        stop: A clock that runs already, instead of ``cancelled`` and the solver's budget.

    Returns:
        The plan; its status tells whether it can be used.

    Raises:
        PlanningProblemError: If ``reference`` does not have the variables of this problem.
        SolverMissingError: If the chosen solver is not installed.
        ConfigError: If the risk bounds exclude every plan.
    """
    config = config or PlannerConfig()
    stop = stop or StopCondition(config.solver.budget, cancelled)
    stages = robust_stages(config)
    if reference is None or not stages:
        stages = reference_stages(config) + stages
    solver = StageSolver(problem, config, stop, on_progress, near=reference is not None)
    best = solver.judge(_start(problem, config, reference), stages[0].robust)
    records: list[StageRecord] = []
    for stage in stages:
        if stop.reason is not None:
            break
        for candidate, record in solver.attempts(stage, best.values):
            records.append(record)
            if record.converged or candidate.residuals.worst < best.residuals.worst:
                best = candidate
        if not records[-1].converged:
            break  # the next stage would start from what solves nothing
    complete = bool(records) and records[-1].converged and records[-1].name == stages[-1].name
    return RobustPlan(
        status=_status(best, complete, records, stop),
        trajectory=best.trajectory,
        cost=running_cost(best.trajectory, problem),
        merit=merit(best.trajectory, problem, config.uncertainty.kind),
        residuals=best.residuals,
        stages=tuple(records),
        warnings=(
            *warn_of_parameters(problem, config),
            *warn_of_plan(best.trajectory, problem, config),
        ),
        seconds=stop.elapsed,
        values=best.values,
    )


def running_cost(trajectory: ContactTrajectory, problem: RobustProblem) -> float:
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


def _start(
    problem: RobustProblem, config: PlannerConfig, reference: RobustPlan | None
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


def _status(
    best: Candidate,
    complete: bool,
    records: list[StageRecord],
    stop: StopCondition,
) -> PlanStatus:
    """Judge the plan; the solver's claim alone is not enough."""
    if complete:
        return PlanStatus.SUCCEEDED if best.residuals.accepted else PlanStatus.RESIDUAL_TOO_LARGE
    if stop.reason is not None:
        return stop.reason
    infeasible = bool(records) and records[-1].message == INFEASIBLE_MESSAGE
    return PlanStatus.INFEASIBLE if infeasible else PlanStatus.NOT_CONVERGED


REFERENCE = "reference"
EXPECTED_RESIDUAL = "expected_residual"
CHANCE_CONSTRAINTS = "chance_constraints"

OnPhase = Callable[[str, StageProgress], None]


@dataclass(frozen=True)
class RobustRequest:
    """What to plan.

    Attributes:
        example: The named problem, with all changes made.
        config: The parameters; its budget is for reference and robust plan together.
    """

    example: Example
    config: PlannerConfig

    @property
    def stages(self) -> int:
        """The number of programs to be solved if each converges at once."""
        return len(reference_stages(self.config)) + len(robust_stages(self.config))

    @property
    def robust_phase(self) -> str:
        """What the stages after the reference impose."""
        return CHANCE_CONSTRAINTS if self.config.risk.enabled else EXPECTED_RESIDUAL


@dataclass(frozen=True)
class RobustAnswer:
    """What came of a request.

    Attributes:
        problem: The problem that ``result`` belongs to.
        result: The plan; the reference if planning ended there, with the time and the
            stages of everything.
        reference: The plan without uncertainty; the same as ``result`` if nothing else
            was asked for.
    """

    problem: RobustProblem
    result: RobustPlan
    reference: RobustPlan


def answer(
    request: RobustRequest,
    on_progress: OnPhase | None = None,
    cancelled: Callable[[], bool] | None = None,
    stop: StopCondition | None = None,
) -> RobustAnswer:
    """Plan the reference, then the robust plan from it, within one budget.

    Args:
        request: What to plan.
        on_progress: Called with the phase (reference, expected_residual or
            chance_constraints) and the progress, whose time counts from the start.
        cancelled: Asked at every iteration; True ends planning with the best iterate.
        stop: A clock that runs already, instead of ``cancelled`` and the solver's budget.

    Returns:
        The answer. A reference that is not solved is the answer itself: robust stages
        that start from it would not end anywhere.

    Raises:
        SolverMissingError: If the chosen solver is not installed.
    """
    example, config = request.example, request.config
    stop = stop or StopCondition(config.solver.budget, cancelled)

    def relay(phase: str) -> OnProgress | None:
        return partial(on_progress, phase) if on_progress is not None else None

    certain = dataclasses.replace(config, uncertainty=UncertaintyConfig())
    reference = plan(
        example.problem,
        certain if config.robust else config,
        on_progress=relay(REFERENCE),
        stop=stop,
    )
    if not (config.robust and reference.solved):
        return RobustAnswer(example.problem, reference, reference)
    robust = plan(example.robust_problem, config, reference, relay(request.robust_phase), stop=stop)
    whole = dataclasses.replace(robust, stages=(*reference.stages, *robust.stages))
    return RobustAnswer(example.robust_problem, whole, reference)
