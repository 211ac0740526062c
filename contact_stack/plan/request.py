"""Request and outcome of ``contact-stack plan``, and planning without ROS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from contact_core.sweep import Sweep
from irs_planner import (
    IrsProblem,
    IterationReport,
    PlannerSettings,
    PlanTask,
    SearchReport,
    SearchSettings,
    Segment,
    build_problem,
    load_example,
    run_task,
)
from irs_planner.diagnosis import remedy_of
from irs_planner.examples import HelixConfig


@dataclass(frozen=True)
class PlanRequest:
    """What to plan.

    Attributes:
        example: Name of the example.
        goal_state: Goal of every state, empty for the example's own.
        settings: How to plan; a search takes its seed and time budget alone.
        search: Whether to plan globally.
    """

    example: str
    goal_state: tuple[float, ...]
    settings: PlannerSettings
    search: bool = False


@dataclass(frozen=True)
class PlanOutcome:
    """How it went.

    Attributes:
        status: Name of the action's status.
        remedy: What to do about it, empty on success.
        has_plan: Whether the plan may be used.
        states: (T + 1, n) best plan.
        inputs: (T, m) its inputs.
        costs: Cost of the first guess and of every iteration.
        best_cost: The lowest one.
        iterations: Number of iterations.
        seconds: Planning time [s].
        segments: Transits and contact of a global plan.
    """

    status: str
    remedy: str
    has_plan: bool
    states: np.ndarray
    inputs: np.ndarray
    costs: tuple[float, ...]
    best_cost: float
    iterations: int
    seconds: float
    segments: tuple[Segment, ...] = ()


OnIteration = Callable[[int, float, float], None]
"""Called with iteration, cost and best cost."""


def problem_of(request: PlanRequest) -> IrsProblem:
    """Return what a request asks to plan.

    Args:
        request: The request.

    Raises:
        ConfigError: If there is no such example, or the goal does not fit it.
    """
    config = load_example(request.example)
    if request.goal_state:
        config = replace(config, goal_state=request.goal_state, helix=HelixConfig())
    return build_problem(config)


def plan_locally(request: PlanRequest, on_iteration: OnIteration) -> PlanOutcome:
    """Plan here and now.

    Args:
        request: What to plan.
        on_iteration: Called after every iteration.

    Returns:
        How it went.

    Raises:
        ConfigError: If the request does not fit the example.
    """
    return _plan(problem_of(request), request, on_iteration)


def plan_from_seeds(request: PlanRequest, starts: int, sweep: Sweep) -> list[PlanOutcome]:
    """Plan the same from several seeds.

    Args:
        request: The request; its seed is the first one.
        starts: Number of seeds.
        sweep: Who plans.

    Returns:
        How each went, in the order of the seeds.

    Raises:
        ConfigError: If the request does not fit the example.
    """
    problem, settings = problem_of(request), request.settings
    seeds = range(settings.seed, settings.seed + starts)
    tasks = [(problem, replace(request, settings=replace(settings, seed=seed))) for seed in seeds]
    return sweep.run(_plan, tasks, f"{request.example}, seeds")


def _plan(
    problem: IrsProblem, request: PlanRequest, on_iteration: OnIteration | None = None
) -> PlanOutcome:
    report = on_iteration or (lambda iteration, cost, best_cost: None)

    def show(step: IterationReport | SearchReport) -> None:
        if isinstance(step, SearchReport):
            report(step.attempt, step.distance, step.distance)
        else:
            report(step.iteration, step.cost, step.best_cost)

    search = search_settings(request) if request.search else None
    done = run_task(PlanTask(problem, request.settings, search=search), show)
    result = done.best
    return PlanOutcome(
        result.status.name,
        remedy_of(result, problem),
        result.goal_reached if request.search else result.usable,
        result.states,
        result.inputs,
        result.costs,
        result.cost,
        done.iterations,
        result.seconds,
        result.segments,
    )


def search_settings(request: PlanRequest) -> SearchSettings:
    """Return the settings of a global search."""
    return SearchSettings(seed=request.settings.seed, time_budget=request.settings.time_budget)
