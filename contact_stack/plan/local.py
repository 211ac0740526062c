"""Planning in this process, without ROS."""

from __future__ import annotations

from dataclasses import replace

from contact_stack.plan.request import OnIteration, PlanOutcome, PlanRequest
from irs_planner import IrsProblem, build_problem, load_example, plan
from irs_planner.diagnosis import remedy_of
from irs_planner.examples import HelixConfig, example_settings


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
    problem = problem_of(request)
    settings = replace(
        example_settings(load_example(request.example)),
        mode=request.mode,
        iterations=request.iterations,
        samples=request.samples,
        seed=request.seed,
        time_budget=request.time_budget,
    )
    result = plan(
        problem,
        settings,
        callback=lambda step: on_iteration(step.iteration, step.cost, step.best_cost),
    )
    return PlanOutcome(
        result.status.name,
        remedy_of(result, problem),
        result.usable,
        result.states,
        result.inputs,
        result.costs,
        result.cost,
        len(result.iterations),
        result.seconds,
    )
