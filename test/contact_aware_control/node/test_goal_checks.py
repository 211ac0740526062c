"""A goal that is checked waits for nobody, and begins after no stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from rclpy.node import Node

from contact_aware_control.node.goal_checks import (
    MAX_WAITING,
    CanceledError,
    GoalChecks,
    WaitingGoal,
)
from contact_core.base.errors import TrajectoryError

PATIENCE = 20.0


@pytest.fixture
def checks(node: Node) -> Iterator[GoalChecks]:
    checks = GoalChecks(node, lambda: None, beside=True)
    yield checks
    checks.close()


def handle(canceled: bool = False) -> Any:
    return SimpleNamespace(is_cancel_requested=canceled)


def wait_for(goal: WaitingGoal) -> Any:
    end = time.monotonic() + PATIENCE
    while not goal.checked.done():
        assert time.monotonic() < end
        time.sleep(1e-3)
    return goal.checked.result()


def for_ever(let_tick_run: Any) -> Any:
    """Check until the check is given up."""
    while True:
        let_tick_run()
        time.sleep(1e-4)


def test_a_check_does_not_keep_its_caller(checks: GoalChecks) -> None:
    proceed = threading.Event()

    def work(let_tick_run: Any) -> Any:
        assert proceed.wait(PATIENCE)
        let_tick_run()
        return "checked"

    goal = checks.begin(handle(), work, ready=True)
    checks.update(lambda: "")
    assert not goal.checked.done()
    proceed.set()
    assert wait_for(goal) == "checked"


def test_a_stop_refuses_what_is_checked_and_what_waits_for_it(checks: GoalChecks) -> None:
    goals = [checks.begin(handle(), for_ever, ready=True) for _ in range(3)]
    checks.update(lambda: "FAULT: STOPPED: stop was called")
    # Who resets the fault at once does not bring them back.
    checks.update(lambda: "")
    for goal in goals:
        with pytest.raises(TrajectoryError, match="would not move: FAULT: STOPPED"):
            wait_for(goal)
        with pytest.raises(TrajectoryError, match="STOPPED"):
            goal.demand()


def test_what_is_wrong_with_a_goal_is_said_whatever_the_arm_does(checks: GoalChecks) -> None:
    def work(let_tick_run: Any) -> Any:
        let_tick_run()
        raise TrajectoryError("no points")

    goal = checks.begin(handle(), work, ready=False)
    checks.update(lambda: "FAULT")
    with pytest.raises(TrajectoryError, match="no points"):
        wait_for(goal)


def test_a_goal_that_waits_is_canceled_before_its_turn(checks: GoalChecks) -> None:
    first = checks.begin(handle(), for_ever, ready=True)
    second = checks.begin(handle(canceled=True), for_ever, ready=True)
    checks.update(lambda: "")
    assert not first.checked.done()
    with pytest.raises(CanceledError):
        wait_for(second)
    checks.update(lambda: "stop")


def test_a_mistake_in_a_check_reaches_who_waits(checks: GoalChecks) -> None:
    goal = checks.begin(handle(), lambda let_tick_run: 1 / 0, ready=True)
    with pytest.raises(ZeroDivisionError):
        wait_for(goal)


def test_goals_that_are_too_many_are_refused(checks: GoalChecks) -> None:
    goals = [checks.begin(handle(), for_ever, ready=True) for _ in range(MAX_WAITING)]
    with pytest.raises(TrajectoryError, match="10 goals are being checked"):
        checks.begin(handle(), for_ever, ready=True)
    checks.update(lambda: "stop")
    for goal in goals:
        checks.end(goal)
    checks.begin(handle(), for_ever, ready=True)


def test_in_lockstep_a_goal_is_checked_at_once(node: Node) -> None:
    checks = GoalChecks(node, lambda: None, beside=False)
    goal = checks.begin(handle(), lambda let_tick_run: threading.current_thread(), ready=True)
    assert goal.checked.result() is threading.current_thread()  # type: ignore[comparison-overlap]
    checks.close()
