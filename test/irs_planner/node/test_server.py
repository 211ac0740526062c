"""plan_through_contact on the real node: plans, cancel, budget, refusals, commands, many goals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from action_msgs.msg import GoalStatus
from contact_stack_msgs.action import PlanThroughContact
from own_scenes import write_scene

from contact_core.base.files import share
from contact_ros.stamps import to_duration
from contact_stack import cli
from irs_planner import (
    PlannerSettings,
    SearchSettings,
    build_problem,
    load_example,
    plan,
    plan_globally,
)

pytestmark = pytest.mark.graph

Result = PlanThroughContact.Result
LONG = {"example": "hand_move", "mode": "zero", "iterations": 1000, "samples": 200}


def test_the_plan_is_that_of_the_library_with_feedback_of_every_iteration(client) -> None:
    state, result = client.plan(example="pushing", iterations=3, seed=5, samples=20)
    settings = PlannerSettings(iterations=3, seed=5, samples=20)
    expected = plan(build_problem(load_example("pushing")), settings)
    assert state == GoalStatus.STATUS_SUCCEEDED
    assert (result.status, result.status_name) == (Result.ITERATIONS_REACHED, "ITERATIONS_REACHED")
    assert result.remedy
    np.testing.assert_array_equal(result.states, expected.states.ravel())
    np.testing.assert_array_equal(result.cost_history, expected.costs)
    assert [step.iteration for step in client.feedback] == [1, 2, 3]
    assert [step.cost for step in client.feedback] == list(expected.costs[1:])
    assert client.feedback[-1].best_cost == result.best_cost
    assert result.objects and result.contacts and result.planned_contact


def test_a_search_gives_the_plan_of_the_library_and_says_what_is_transit(client) -> None:
    state, result = client.plan(example="push_t", globally=True, seed=5)
    expected = plan_globally(build_problem(load_example("push_t")), SearchSettings(seed=5))
    assert state == GoalStatus.STATUS_SUCCEEDED
    assert (result.status, result.goal_reached) == (Result.REACHED_IN_MODEL, True)
    assert result.remedy.startswith("a scene in the plane has no judge: ")
    phases = dict.fromkeys(step.phase for step in client.feedback)
    assert list(phases) == ["search", "shorten"]
    assert any(step.commanded.points for step in client.feedback)
    np.testing.assert_array_equal(result.states, expected.states.ravel())
    assert list(result.segment_kind) == [segment.kind for segment in expected.segments]
    assert result.segment_kind[0] == "transit"
    assert result.segment_end[-1] == len(expected.inputs)


def test_cancel_ends_planning_within_an_iteration(client) -> None:
    goal = client.start(**LONG)
    client.wait_until(lambda: len(client.feedback) >= 2)
    client.cancel(goal)
    done = len(client.feedback)
    state, result = client.result(goal)
    assert state == GoalStatus.STATUS_CANCELED
    assert result.status == Result.CANCELED
    # The iteration during which the request was on its way may still have ended.
    assert result.iterations_done <= done + 1
    assert result.best_cost == min(result.cost_history)


def test_a_time_budget_returns_the_best_plan_so_far(client) -> None:
    state, result = client.plan(**LONG, time_budget=to_duration(1_500_000_000))
    assert state == GoalStatus.STATUS_SUCCEEDED
    assert result.status == Result.TIME_BUDGET_REACHED
    assert 0 < result.iterations_done < LONG["iterations"]
    assert result.best_cost == min(result.cost_history) < result.cost_history[0]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"example": "pushing", "goal_state": [0.0]}, "goal_state has 1 values, but needs 5"),
        ({"example": "pushing", "goal_state": [0.0, np.nan, 0.0, 0.0, 0.0]}, "box/z) is nan"),
        ({"scene": "nowhere"}, "unknown scene 'nowhere'"),
        ({"example": "pushing", "input_weight": [1.0, -1.0]}, "input_weight[1]"),
        ({"example": "pushing", "samples": 0}, "samples is 0"),
        ({"example": "pendulum", "globally": True}, "needs a quasi-dynamic scene, got Pendulum"),
    ],
)
def test_a_malformed_goal_is_refused_with_the_reason(client, fields, reason: str) -> None:
    state, result = client.plan(**fields)
    assert state == GoalStatus.STATUS_ABORTED
    assert result.status == Result.INVALID_GOAL
    assert reason in result.remedy
    assert not client.feedback


@pytest.mark.verify
def test_a_budget_of_half_a_second_is_kept_within_a_tenth(client) -> None:
    """Measured by the server, from the goal's acceptance; needs a quiet machine."""
    _, result = client.plan(**LONG, time_budget=to_duration(500_000_000))
    assert result.status == Result.TIME_BUDGET_REACHED
    assert 0.5 <= result.elapsed <= 0.6


def test_many_goals_in_a_row_leave_nothing_behind(client, server) -> None:
    """Neither threads nor memory: 20 goals after the first few that fill caches."""
    for seed in range(25):
        _, result = client.plan(example="pendulum", samples=20, iterations=1, seed=seed)
        assert result.status == Result.ITERATIONS_REACHED
        assert result.iterations_done == 1
        if seed == 4:
            before = {pid: status_of(pid) for pid in server.pids}
    # The thread of the last goal may still be about to end.
    client.wait_until(
        lambda: all(status_of(pid)["Threads"] <= size["Threads"] for pid, size in before.items())
    )
    for pid, size in before.items():
        assert status_of(pid)["VmRSS"] <= size["VmRSS"] + 10_000  # [kB]


def status_of(pid: int) -> dict[str, int]:
    """Return threads and resident memory [kB] of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    values = dict(line.split(":", 1) for line in lines)
    return {name: int(values[name].split()[0]) for name in ("Threads", "VmRSS")}


def test_a_newer_goal_takes_over_and_a_malformed_one_does_not(client) -> None:
    first = client.start(**LONG)
    client.wait_until(lambda: client.feedback)
    feedback = client.feedback
    _, refused = client.plan(example="no_such_example")
    assert refused.status == Result.INVALID_GOAL
    done = len(feedback)
    client.wait_until(lambda: len(feedback) > done)  # the first one goes on
    second = client.start(example="pendulum", samples=20, iterations=1)
    state, result = client.result(first)
    assert (state, result.status) == (GoalStatus.STATUS_ABORTED, Result.PREEMPTED)
    assert result.iterations_done >= 1
    assert client.result(second)[1].status == Result.ITERATIONS_REACHED


def test_the_node_plans_what_the_library_plans(server, tmp_path: Path) -> None:
    file, found = tmp_path / "plan.json", []
    words = ["plan", "pushing", "--iterations", "2", "--samples", "20", "--json", str(file)]
    for where in ([], ["--local"]):
        assert cli.main([*words, *where]) == 0
        found.append(json.loads(file.read_text()))
    for name in ("status", "remedy", "costs", "states", "inputs"):
        assert found[0][name] == found[1][name]


def test_a_scene_of_ones_own_is_planned_by_the_node_as_by_the_library(
    server, tmp_path: Path
) -> None:
    scene, file = write_scene(tmp_path, "can"), tmp_path / "plan.json"
    words = ["plan", str(scene), "--json", str(file), "--goal", "thing/x=0.58"]
    found = []
    for where in ([], ["--local"]):
        assert cli.main([*words, *where]) == 0
        found.append(json.loads(file.read_text()))
    for name in ("status", "remedy", "segments", "states", "inputs"):
        assert found[0][name] == found[1][name]


def test_a_problem_of_ones_own_is_planned_by_the_node(server, tmp_path: Path) -> None:
    own = yaml.safe_load(share("config", "irs", "examples", "pushing.yaml").read_text())
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({**own, "horizon": 50}))
    file = tmp_path / "plan.json"
    words = ["plan", str(path), "--iterations", "2", "--samples", "20", "--json", str(file)]
    assert cli.main(words) == 0
    assert len(json.loads(file.read_text())["inputs"]) == 50
