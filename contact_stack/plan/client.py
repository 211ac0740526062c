"""Goals of the actions ``plan_through_contact`` and ``move_objects``."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from contact_stack_msgs.action import MoveObjects, PlanThroughContact

from contact_core.base.config import YAML
from contact_core.base.errors import CommunicationError, ConfigError, choices
from contact_ros.client import GraphClient
from contact_ros.stamps import NANOSECONDS, to_duration
from contact_stack.plan.request import OnIteration, PlanOutcome, PlanRequest
from irs_planner import Segment, load_example
from irs_planner.scene_problems import usual_tolerance

ACTION = "plan_through_contact"
WAIT_FOR_ANSWER = 10.0
"""How long the server may take to appear, and to react to a message [s]."""


def plan_remotely(
    request: PlanRequest, state_size: int, namespace: str, on_iteration: OnIteration
) -> PlanOutcome:
    """Send a goal to the planner's node and wait for its end; Ctrl-C cancels it.

    Args:
        request: What to plan.
        state_size: Number of states of the example.
        namespace: Namespace of the robot.
        on_iteration: Called after every iteration.

    Returns:
        How it went.

    Raises:
        CommunicationError: If there is no server, or it stops answering.
        ConfigError: If the server refuses the goal.
    """

    def report(step: Any) -> None:
        on_iteration(step.iteration, step.cost, step.best_cost)

    hint = ", or plan in this process with --local"
    result = _run("plan", namespace, PlanThroughContact, ACTION, to_goal(request), report, hint)
    states = np.array(result.states).reshape(-1, state_size)
    ends = list(result.segment_end)
    starts = [0, *ends[:-1]]
    return PlanOutcome(
        result.status_name,
        result.remedy,
        result.goal_reached if request.search else result.status <= result.ITERATIONS_REACHED,
        result.goal_reached,
        states,
        np.array(result.inputs).reshape(max(len(states) - 1, 0), -1 if len(states) > 1 else 0),
        tuple(result.cost_history),
        result.best_cost,
        result.iterations_done,
        result.elapsed,
        tuple(itertools.starmap(Segment, zip(result.segment_kind, starts, ends, strict=False))),
    )


def to_goal(request: PlanRequest) -> Any:
    """Return the goal of a request.

    Args:
        request: What to plan.
    """
    settings, config = request.settings, request.config
    what: dict[str, Any]
    if request.is_scene:
        what = {
            "scene": config.scene,
            "initial_state": config.initial_state,
            "goal_state": config.goal_state,
            "goal_tolerance": config.tolerance,
        }
    else:
        is_file = request.name.endswith(YAML)
        what = {"example": str(Path(request.name).resolve()) if is_file else request.name}
        own = load_example(request.name)
        for field in ("initial_state", "goal_state"):
            if getattr(config, field) != getattr(own, field):
                what[field] = getattr(config, field)
    return PlanThroughContact.Goal(
        **what,
        globally=request.search,
        mode=str(settings.mode),
        samples=settings.samples,
        iterations=settings.iterations,
        seed=settings.seed,
        time_budget=to_duration(round(settings.time_budget * NANOSECONDS)),
    )


def move_remotely(
    scene: str,
    goal: Mapping[str, float | None],
    tolerance: Mapping[str, float],
    seed: int,
    budget: float,
    namespace: str,
    on_look: Callable[[Any], None],
) -> Any:
    """Send a goal of ``move_objects`` and wait for its end; Ctrl-C cancels it.

    Args:
        scene: Name of a scene, or an absolute path.
        goal: State -> goal [m, rad], None for any.
        tolerance: State -> what counts as there [m, rad].
        seed: Of the searches.
        budget: When it gives up [s]; 0 for never.
        namespace: Namespace of the robot.
        on_look: Takes the feedback.

    Returns:
        The action's result.

    Raises:
        CommunicationError: If there is no server, or it stops answering.
        ConfigError: If the server refuses the goal, or tolerance and goal name other states.
    """
    if unknown := sorted(tolerance.keys() - goal.keys()):
        raise ConfigError(f"tolerance of '{unknown[0]}', which has no goal ({choices(goal)})")
    usual = {name: usual_tolerance(name) for name in goal}
    message = MoveObjects.Goal(
        scene=scene,
        names=list(goal),
        goal=[math.nan if value is None else value for value in goal.values()],
        tolerance=list({**usual, **tolerance}.values()) if tolerance else [],
        seed=seed,
        time_budget=to_duration(round(budget * NANOSECONDS)),
    )
    return _run("move", namespace, MoveObjects, "move_objects", message, on_look)


def _run(
    name: str,
    namespace: str,
    action: Any,
    topic: str,
    goal: Any,
    on_feedback: Callable[[Any], None],
    hint: str = "",
) -> Any:
    """Return the result of a goal; Ctrl-C cancels it."""
    with GraphClient(name, namespace) as client:
        try:
            sent = client.send(action, topic, goal, on_feedback, WAIT_FOR_ANSWER, attempts=2)
        except CommunicationError as error:
            start = "start it with 'contact-stack launch planners'"
            raise CommunicationError(f"{error}: {start}{hint}") from error
        try:
            result = client.end_of(sent, math.inf).result
        except KeyboardInterrupt:
            client.cancel(sent, WAIT_FOR_ANSWER)
            result = client.end_of(sent, WAIT_FOR_ANSWER).result
    if result.status == result.INVALID_GOAL:
        raise ConfigError(f"the goal was refused: {result.remedy}")
    return result
