"""Global plans: searched for in the planner's model, then carried out by a judge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from threading import Event

import numpy as np

from contact_core.base.errors import ContactStackError
from contact_core.base.planning import PlanStatus, StopCondition
from irs_planner.problem import IrsProblem
from irs_planner.result import (
    IMPOSSIBLE,
    IrsPlan,
    Rollout,
    Segment,
    goal_reached,
    link_forces,
    remedy_of,
)
from irs_planner.search import SearchReport, SearchSettings, search_globally
from irs_planner.search.parts import at_once
from irs_planner.search.settings import TRY_OUT
from irs_planner.search.transit import Motion
from irs_planner.trial import TriedPlan, find_judge, try_out


def plan_globally(
    problem: IrsProblem,
    settings: SearchSettings | None = None,
    *,
    callback: Callable[[SearchReport], None] | None = None,
    cancel: Event | None = None,
    stop: StopCondition | None = None,
) -> IrsPlan:
    """Plan a motion from anywhere: let go, go round and push elsewhere as often as it takes.

    Horizon, reference and first guess of the problem do not matter, its goal, tolerances and
    bounds do. The same seed gives the same plan, if no time budget ends the search or the trial.

    Args:
        problem: A scene with contact, start, goal, tolerances, bounds and cost.
        settings: How to search; None for the defaults.
        callback: Called after every attempt, and after every second of a trial, in the calling
            thread.
        cancel: Set it from another thread to stop after the present attempt.
        stop: A clock that runs already, instead of ``cancel`` and the settings' time budget.

    Returns:
        The shortest plan that was found, with its segments, or what a judge made of it (see
        :mod:`irs_planner.trial`): SUCCEEDED where it arrives there, with the states that were seen
        there, and REACHED_IN_MODEL where it does not. If the goal was not reached, the motion to
        the node nearest to it. Failures are a status.

    Raises:
        ConfigError: If the problem cannot be planned globally; the message says what it lacks.
    """
    settings = settings or SearchSettings()
    stop = stop or StopCondition(
        settings.time_budget or math.inf, cancel.is_set if cancel else None
    )
    last = SearchReport(0, 1, 0.0, 0, 0.0)

    def report(step: SearchReport) -> None:
        nonlocal last
        last = step
        if callback is not None:
            callback(step)

    def watch(distance: float) -> None:
        report(replace(last, distance=distance, phase=TRY_OUT, elapsed=stop.elapsed, inputs=None))

    status, motions = at_once(search_globally(problem, settings, stop, report))
    trial: TriedPlan | None = None
    verdict = ""
    if status is PlanStatus.SUCCEEDED:
        status, trial, verdict = _judge(problem, motions, settings, stop, watch)
    return _result(problem, motions, status, stop, trial, verdict)


def _judge(
    problem: IrsProblem,
    motions: list[tuple[str, Motion]],
    settings: SearchSettings,
    stop: StopCondition,
    watch: Callable[[float], None],
) -> tuple[PlanStatus, TriedPlan | None, str]:
    """Carry out a plan; return its status, how that went if anybody does it, and what is wrong."""
    judge = find_judge(problem, settings)
    if isinstance(judge, str):
        return PlanStatus.REACHED_IN_MODEL, None, judge
    late = StopCondition(settings.judge_budget or math.inf, lambda: stop.reason is not None)
    try:
        trial = try_out(problem, motions, settings, judge, late, watch)
    except ContactStackError as error:
        return PlanStatus.REACHED_IN_MODEL, None, f"the judge cannot try it: {error}"
    if not trial.reason:
        return PlanStatus.SUCCEEDED, trial, ""
    canceled = stop.reason is PlanStatus.CANCELED
    status = PlanStatus.CANCELED if canceled else PlanStatus.REACHED_IN_MODEL
    reason = trial.reason
    if late.reason is not None and stop.reason is None:
        reason += f" (the judge took longer than judge_budget, {settings.judge_budget:g} s)"
    return status, trial, reason


def _result(
    problem: IrsProblem,
    motions: list[tuple[str, Motion]],
    status: PlanStatus,
    stop: StopCondition,
    trial: TriedPlan | None,
    verdict: str,
) -> IrsPlan:
    """Return a plan.

    What it says of the goal is what was seen where it was carried out, or else of a new rollout of
    all inputs.
    """
    arrived = trial is not None and not trial.reason
    if trial is not None and arrived:
        motions = trial.motions
    inputs = np.concatenate(
        [np.empty((0, problem.dynamics.input_size)), *(motion.inputs for _, motion in motions)]
    )
    if arrived and motions:
        states = np.concatenate([motions[0][1].states[:1], *(m.states[1:] for _, m in motions)])
    else:
        states = problem.dynamics.rollout(problem.initial_state, inputs)
    problem = replace(
        problem, initial_inputs=inputs, reference=np.tile(problem.goal, (len(states), 1))
    )
    rollout = Rollout(states, inputs, problem.evaluate(states, inputs))
    segments, begin = [], 0
    for kind, motion in motions:
        segments.append(Segment(kind, begin, begin + len(motion.inputs)))
        begin += len(motion.inputs)
    result = IrsPlan(
        status,
        "",
        states,
        inputs,
        rollout.cost,
        (rollout.cost,),
        states[-1] - problem.goal,
        goal_reached(problem, rollout) and (trial is None or arrived) and status not in IMPOSSIBLE,
        (),
        link_forces(problem, rollout) if len(inputs) else {},
        stop.elapsed,
        tuple(segments),
        verdict,
    )
    return replace(result, message=f"{status.name}: {remedy_of(result, problem) or status.remedy}")
