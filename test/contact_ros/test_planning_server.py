"""Both planners' action servers, as processes: whatever happens, they answer alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import rclpy
from action_msgs.msg import GoalStatus, GoalStatusArray
from contact_stack_msgs.action import PlanRobustContact, PlanThroughContact
from own_domain import own_domain
from planning_client import PlanningClient
from rclpy.qos import qos_profile_action_status_default
from rclpy.signals import SignalHandlerOptions

from contact_ros.stamps import to_duration

pytestmark = pytest.mark.graph

SLOW = 0.5
"""How long the servers of these tests take over a feedback message, and to make place [s]."""

FAULTS = f"""
import sys, time
from contact_core.base.planning import PlanStatus

def broken(*args, **kwargs):
    return 1 / 0

def slow(function, when=lambda *args: True):
    def wrapped(*args):
        time.sleep({SLOW} if when(*args) else 0.0)
        return function(*args)
    return wrapped
"""

IRS = (
    FAULTS
    + """
from irs_planner.node import goal, server
from irs_planner.smooth_dynamics import Bicycle, Quadrotor

Bicycle.formula = broken
Quadrotor.__init__ = broken
server.precompile = lambda: None  # it plans for seconds, and no goal here needs to begin at once
server.feedback_message = slow(server.feedback_message)
server.result_message = slow(
    server.result_message, lambda plan, *rest: plan.best.status is PlanStatus.CANCELED
)
sys.exit(server.main())
"""
)

ROBUST = (
    FAULTS
    + """
from robust_planner.node import goal, server
from robust_planner.continuation import StageSolver

judge = StageSolver.judge
StageSolver.judge = lambda self, *args: (
    broken() if self._problem.name == "sled" else judge(self, *args)
)
make = goal.find_problem
goal.find_problem = lambda name: broken() if name == "table_approach" else make(name)
# Only the hopper begins with a penalty of 1.
server.plan_feedback = slow(server.plan_feedback, lambda phase, step: step.penalty == 1.0)
server.plan_result = slow(
    server.plan_result, lambda request, plan, *rest: plan.result.status is PlanStatus.CANCELED
)
sys.exit(server.main())
"""
)


@dataclass(frozen=True)
class Planner:
    """An action server, and goals for it."""

    action: Any
    name: str
    script: str
    long: dict[str, Any]
    short: dict[str, Any]
    unknown: dict[str, Any]
    broken: dict[str, Any]
    broken_to_read: dict[str, Any]

    def motion(self, result: Any) -> int:
        """Return how much of a motion there is in a result."""
        return len(result.states if hasattr(result, "states") else result.trajectory.points)


PLANNERS = (
    Planner(
        PlanThroughContact,
        "plan_through_contact",
        IRS,
        {"example": "hand_move", "mode": "zero", "samples": 200},
        {"example": "pendulum", "mode": "exact", "iterations": 1},
        {"example": "no_such_name"},
        {"example": "dubins_easy", "samples": 5},
        {"example": "quadrotor", "samples": 5},
    ),
    Planner(
        PlanRobustContact,
        "plan_robust_contact",
        ROBUST,
        {"problem": "hopper", "knots": 11},
        {"problem": "block", "knots": 11},
        {"problem": "no_such_name"},
        {"problem": "sled"},
        {"problem": "table_approach"},
    ),
)


class Client(PlanningClient):
    """A client of one planner, which knows what every planner has to answer."""

    def __init__(self, planner: Planner) -> None:
        super().__init__(planner.action, planner.name)
        self.planner = planner

    def expect(
        self, ended: tuple[int, Any], state: int, status: str, remedy: str, knots: bool
    ) -> None:
        """Compare a goal's end with what every planner has to answer."""
        found, result = ended
        assert (found, result.status_name) == (state, status), result.remedy
        assert result.status == getattr(self.planner.action.Result, status)
        assert remedy in result.remedy
        assert bool(self.planner.motion(result)) == knots


def start(planner: Planner, **pipes: Any) -> subprocess.Popen[str]:
    command = (sys.executable, "-c", planner.script, "--ros-args", "-r", "__ns:=/lbr")
    return subprocess.Popen(command, text=True, start_new_session=True, **pipes)


@pytest.fixture(scope="module", params=PLANNERS, ids=lambda planner: planner.name)
def planner(request: pytest.FixtureRequest) -> Iterator[Planner]:
    """One planner, whose process serves all tests of this file."""
    with own_domain() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        server = start(request.param)
        try:
            yield request.param
        finally:
            # The last test leaves a goal that is being planned: Ctrl-C ends it all the same.
            if server.poll() is None:
                with Client(request.param) as client:
                    client.start(**request.param.long)
                    client.wait_until(lambda: client.feedback)
            os.killpg(server.pid, signal.SIGINT)
            assert server.wait(timeout=30) == 0


@pytest.fixture
def client(planner: Planner) -> Iterator[Client]:
    """A client of the planner."""
    with Client(planner) as client:
        yield client


def test_a_fault_inside_the_problem_is_answered(client: Client) -> None:
    remedy = "internal error, please report it: ZeroDivisionError"
    for goal in (client.planner.broken, client.planner.broken_to_read):
        ended = client.plan(**goal)
        client.expect(ended, GoalStatus.STATUS_ABORTED, "SOLVER_FAILED", remedy, knots=False)


def test_the_server_plans_on_after_a_fault(client: Client) -> None:
    client.plan(**client.planner.broken)
    state, result = client.plan(**client.planner.short)
    assert state == GoalStatus.STATUS_SUCCEEDED
    assert client.planner.motion(result)


def test_an_unknown_name_is_refused_with_the_valid_ones(client: Client) -> None:
    ended = client.plan(**client.planner.unknown)
    client.expect(
        ended, GoalStatus.STATUS_ABORTED, "INVALID_GOAL", "'no_such_name' (valid: ", knots=False
    )
    assert not client.feedback


def test_a_negative_budget_is_refused(client: Client) -> None:
    ended = client.plan(**client.planner.short, time_budget=to_duration(-1_000_000_000))
    reason = "time_budget is -1.0 (valid: >= 0 s)"
    client.expect(ended, GoalStatus.STATUS_ABORTED, "INVALID_GOAL", reason, knots=False)


def test_a_cancelled_goal_answers_with_its_best_iterate(client: Client) -> None:
    goal = client.start(**client.planner.long)
    client.wait_until(lambda: client.feedback)
    client.cancel(goal)
    ended = client.result(goal)
    client.expect(ended, GoalStatus.STATUS_CANCELED, "CANCELED", "best iterate", knots=True)


def test_a_newer_goal_takes_over(client: Client) -> None:
    first = client.start(**client.planner.long)
    client.wait_until(lambda: client.feedback)
    second = client.start(**client.planner.short)
    ended = client.result(first)
    client.expect(ended, GoalStatus.STATUS_ABORTED, "PREEMPTED", "a newer goal", knots=True)
    assert client.result(second)[0] == GoalStatus.STATUS_SUCCEEDED


def test_a_budget_counts_while_the_goal_waits(client: Client) -> None:
    """The goal before it needs more than the budget to make place, wherever it is stopped."""
    client.start(**client.planner.long)
    client.wait_until(lambda: client.feedback)
    ended = client.plan(**client.planner.long, time_budget=to_duration(200_000_000))
    client.expect(
        ended, GoalStatus.STATUS_ABORTED, "TIME_BUDGET_REACHED", "allow more time", knots=True
    )
    assert 0.2 <= ended[1].elapsed <= 3.0 * SLOW
    assert not [step for step in client.feedback if getattr(step, "stage", "") != "evaluation"]


SEND_AND_LEAVE = """
import sys, rclpy
from contact_stack_msgs.action import {action} as Action
from rclpy.action import ActionClient

rclpy.init()
node = rclpy.create_node("mayfly", namespace="lbr")
client = ActionClient(node, Action, "{name}")
client.wait_for_server()
feedback = []
client.send_goal_async(Action.Goal(**{goal}), feedback.append)
while not feedback:
    rclpy.spin_once(node)
"""


def test_planning_stops_when_the_client_vanishes(planner: Planner) -> None:
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    observer = rclpy.create_node("observer", namespace="lbr")
    goals: list[GoalStatusArray] = []
    observer.create_subscription(
        GoalStatusArray,
        f"{planner.name}/_action/status",
        goals.append,
        qos_profile_action_status_default,
    )
    words = {"action": planner.action.__name__, "name": planner.name, "goal": planner.long}
    script = SEND_AND_LEAVE.format(**words)
    try:
        subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
        end = time.monotonic() + 40.0
        while time.monotonic() < end:
            rclpy.spin_once(observer, timeout_sec=0.1)
            if goals and goals[-1].status_list[-1].status == GoalStatus.STATUS_ABORTED:
                break
    finally:
        observer.destroy_node()
        rclpy.shutdown()
    assert goals[-1].status_list[-1].status == GoalStatus.STATUS_ABORTED
