"""A plan is SUCCEEDED only where it was carried out elsewhere, and arrived."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from own_scenes import write_scene

from contact_core.base.errors import ModelError
from contact_core.base.planning import PlanStatus, StopCondition
from contact_core.base.registry import Registry
from irs_planner import (
    SearchSettings,
    build_problem,
    global_plan,
    load_example,
    plan_globally,
    scene_problem,
    trial,
)
from irs_planner.result import remedy_of
from irs_planner.search import search_globally
from irs_planner.search.parts import at_once

GOAL = {"thing/x": 0.6, "thing/y": -0.03}
QUICK = SearchSettings(shortening=0.0, refinements=0)


class ModelWorld:
    """The planner's own model, spoilt in one way or another."""

    def __init__(self, problem):
        self.dynamics, self.goal = problem.dynamics, problem.goal
        self.state, self.force = problem.initial_state, 0.0
        self.steps = 0

    def step(self, command):
        before, self.steps = self.state, self.steps + 1
        self.state = self.spoil(before, self.dynamics.step(before, command))
        return self.state

    def spoil(self, before, after):
        return after


class Oblique(ModelWorld):
    """Things go to the side of where they are pushed."""

    def spoil(self, before, after):
        after, (x, y) = after.copy(), (after - before)[:2]
        after[:2] = before[0] + x - 0.4 * y, before[1] + y + 0.4 * x
        return after


class Unsteady(ModelWorld):
    """What is touched falls over."""

    def spoil(self, before, after):
        after = after.copy()
        if np.abs(after - before)[:2].max() > 1e-4:
            after[3] += 0.25
        return after


class Hard(ModelWorld):
    """What is touched presses back."""

    def spoil(self, before, after):
        self.force = 40.0 if np.abs(after - before)[:2].max() > 1e-4 else 0.0
        return after


class Rolling(ModelWorld):
    """What is at its goal goes on slowly."""

    def spoil(self, before, after):
        after = after.copy()
        after[0] += 0.0006 * (np.abs(after - self.goal)[:2] < 0.02).all()
        return after


class Broken(ModelWorld):
    """A simulator that gives up."""

    def spoil(self, before, after):
        if self.steps == 5:
            raise ModelError("it does not converge")
        return after


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    scene = write_scene(tmp_path_factory.mktemp("scene"), "can")
    return build_problem(scene_problem(str(scene), GOAL))


@pytest.fixture(scope="module")
def found(problem):
    """What the search finds, once for all tests."""
    return at_once(search_globally(problem, QUICK))


@pytest.fixture
def judged(monkeypatch, problem, found):
    """Have a plan judged by one kind of world."""

    def search(*_):
        yield
        return found

    def run(judge, settings=QUICK, **arguments):
        monkeypatch.setattr(trial, "JUDGES", Registry("judge", {"own": judge} if judge else {}))
        if "callback" not in arguments:
            monkeypatch.setattr(global_plan, "search_globally", search)
        return plan_globally(problem, settings, **arguments)

    return run


def test_where_the_world_is_as_planned_the_plan_stays_as_it_is(judged, problem) -> None:
    alone, result = judged(None), judged(ModelWorld)
    assert alone.status is PlanStatus.REACHED_IN_MODEL
    assert alone.verdict == "no judge is installed"
    assert "no judge is installed: only in the planner's own model" in alone.message
    assert (result.status, result.verdict) == (PlanStatus.SUCCEEDED, "")
    np.testing.assert_array_equal(result.inputs[: len(alone.inputs)], alone.inputs)
    assert len(result.inputs) == len(alone.inputs) + trial.RESTING_LOOKS
    assert result.segments[-1].stop == len(result.inputs)


def test_what_rolls_on_has_not_arrived(judged, monkeypatch) -> None:
    monkeypatch.setattr(trial, "SETTLING_LOOKS", 10)
    attempt = trial._Attempt
    monkeypatch.setattr(attempt, "look", lambda self, *_: self.follow([]))
    monkeypatch.setattr(trial, "TRIES", 1)
    result = judged(Rolling)
    assert result.status is PlanStatus.REACHED_IN_MODEL
    assert "does not lie still" in result.verdict
    assert not result.goal_reached


def test_what_does_not_follow_is_led_by_looks(judged, problem) -> None:
    """The commands of the answer alone lead there."""
    result = judged(Oblique)
    assert result.status is PlanStatus.SUCCEEDED
    assert result.goal_reached
    world = Oblique(problem)
    states = [world.state, *(world.step(command) for command in result.inputs)]
    np.testing.assert_array_equal(states, result.states)
    assert (np.abs(states[-1] - problem.goal) <= problem.tolerance).all()
    blind, world = judged(None), Oblique(problem)
    for command in blind.inputs:
        world.step(command)
    assert (np.abs(world.state - problem.goal) > problem.tolerance).any()


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        (Unsteady, "thing/roll leaves its bounds: it tips over, after"),
        (Broken, "it cannot be simulated: it does not converge; by looks: it cannot be"),
    ],
)
def test_what_goes_wrong_is_said(judged, judge, reason, monkeypatch) -> None:
    monkeypatch.setattr(trial, "TRIES", 1)
    result = judged(judge)
    assert result.status is PlanStatus.REACHED_IN_MODEL
    assert result.verdict.startswith(reason)
    assert result.message.startswith(f"REACHED_IN_MODEL: {reason}")
    assert not result.goal_reached
    assert result.usable


def test_no_looks_are_advised_where_something_has_to_be_lifted(judged, problem) -> None:
    missed = judged(None)
    assert "by looks (move_objects)" in remedy_of(missed, problem)
    reference = problem.reference.copy()
    reference[-1, problem.dynamics.state_names.index("thing/z")] = 0.5
    remedy = remedy_of(missed, replace(problem, reference=reference))
    assert remedy.endswith("and no push lifts: allow more time")


def test_forces_beyond_the_limit_are_no_success(judged) -> None:
    limited = SearchSettings(shortening=0.0, refinements=0, force=12.0)
    result = judged(Hard, limited)
    assert result.status is PlanStatus.REACHED_IN_MODEL
    assert "it presses with 40 N (limit 12 N)" in result.verdict
    assert judged(Hard).status is PlanStatus.SUCCEEDED  # no limit was asked for


def test_a_judge_that_cannot_begin_is_none(judged) -> None:
    def absent(problem):
        raise ModelError("no such thing")

    result = judged(absent)
    assert result.status is PlanStatus.REACHED_IN_MODEL
    assert result.verdict == "the judge cannot try it: no such thing"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [("cancel", PlanStatus.CANCELED), ("budget", PlanStatus.REACHED_IN_MODEL)],
)
def test_cancel_and_budget_hold_while_a_plan_is_tried(judged, arguments, status) -> None:
    over = threading.Event()

    class Slow(ModelWorld):
        def spoil(self, before, after):
            over.set()
            assert self.steps < 3
            return after

    class Budget(StopCondition):
        @property
        def reason(self):
            return PlanStatus.TIME_BUDGET_REACHED if over.is_set() else None

    given = {"cancel": over} if arguments == "cancel" else {"stop": Budget()}
    result = judged(Slow, **given)
    assert result.status is status
    assert len(result.inputs)


def test_a_judge_that_is_late_is_not_waited_for(judged, monkeypatch) -> None:
    """Each step takes a second, of a clock for which nothing waits."""
    clock = {"now": 0.0}
    monkeypatch.setattr(StopCondition, "elapsed", property(lambda self: clock["now"]))

    class Slow(Oblique):
        def spoil(self, before, after):
            clock["now"] += 1.0
            return super().spoil(before, after)

    steps = len(judged(None).inputs) + trial.RESTING_LOOKS
    late = judged(Slow, replace(QUICK, judge_budget=steps + 5.0))
    assert late.status is PlanStatus.REACHED_IN_MODEL
    assert "by looks: the time was up" in late.verdict
    assert "longer than judge_budget" in late.verdict
    assert clock["now"] == steps + 5.0
    assert len(late.inputs) == steps - trial.RESTING_LOOKS
    clock["now"] = 0.0
    assert judged(Slow, replace(QUICK, judge_budget=0.0)).status is PlanStatus.SUCCEEDED
    assert clock["now"] > steps + 5.0


def test_progress_tells_of_the_first_plan_and_of_the_trial(judged) -> None:
    reports = []
    result = judged(
        ModelWorld, SearchSettings(shortening=0.2, refinements=0), callback=reports.append
    )
    phases = [report.phase for report in reports]
    assert list(dict.fromkeys(phases)) == ["search", "shorten", "try out"]
    plans = [report for report in reports if report.inputs is not None]
    assert plans[0].phase == "search"
    assert [len(report.inputs) for report in plans] == [report.steps for report in plans]
    assert plans[-1].steps == len(result.inputs) - trial.RESTING_LOOKS
    assert reports[-1].distance < reports[0].distance


def test_nobody_judges_where_nobody_is_asked_or_able(judged) -> None:
    result = judged(ModelWorld, SearchSettings(shortening=0.0, refinements=0, judge="none"))
    assert result.verdict == "nobody was asked to judge it"


def test_a_scene_in_the_plane_has_no_judge() -> None:
    planar = plan_globally(build_problem(load_example("push_t")), QUICK)
    assert planar.verdict == "a scene in the plane has no judge"


@pytest.mark.parametrize(
    ("judge", "status"),
    [(ModelWorld, PlanStatus.SUCCEEDED), (Rolling, PlanStatus.REACHED_IN_MODEL)],
)
def test_what_begins_at_its_goal_has_to_lie_still_there(
    monkeypatch, problem, judge, status
) -> None:
    start = problem.initial_state
    there = replace(problem, reference=np.tile(start, (len(problem.reference), 1)))
    worlds = []

    def judged(problem):
        worlds.append(judge(problem))
        return worlds[-1]

    monkeypatch.setattr(trial, "JUDGES", Registry("judge", {"own": judged}))
    monkeypatch.setattr(trial, "LOOKS", 20)
    result = plan_globally(there, QUICK)
    assert (result.status, len(result.inputs)) == (status, 0)
    assert result.goal_reached == (status is PlanStatus.SUCCEEDED)
    np.testing.assert_array_equal(result.states, [start])
    if result.goal_reached:
        assert [world.steps for world in worlds] == [trial.RESTING_LOOKS]
    else:
        assert "does not lie still" in result.verdict
