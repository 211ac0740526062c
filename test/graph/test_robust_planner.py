"""The planner's action server as a process of its own, over DDS; no other node runs."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from contact_stack_msgs.action import PlanRobustContact
from contact_stack_msgs.msg import UncertainParameter
from own_domain import own_domain
from own_problem import quick_cart
from planning_client import PlanningClient
from trajectory_msgs.msg import JointTrajectoryPoint

from contact_ros.stamps import to_nanoseconds
from robust_planner import load_problem, plan_example

pytestmark = pytest.mark.graph

Goal, Result = PlanRobustContact.Goal, PlanRobustContact.Result

SERVER = "import sys; from robust_planner.node.server import main; sys.exit(main())"

FRICTION = UncertainParameter(kind=UncertainParameter.FRICTION, sigma=0.1)


@pytest.fixture(scope="module")
def server() -> Iterator[None]:
    """The server, of all tests of this file; it ends well, also while it plans."""
    with own_domain() as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        command = (sys.executable, "-c", SERVER, "--ros-args", "-r", "__ns:=/lbr")
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            yield
            with PlanningClient(PlanRobustContact, "plan_robust_contact") as client:
                client.start(problem="hopper")
                client.wait_until(lambda: len(client.feedback) >= 2)
        finally:
            server.send_signal(signal.SIGINT)
            _, errors = server.communicate(timeout=30)
    assert server.returncode == 0, errors
    assert "Traceback" not in errors


@pytest.fixture
def client(server: None) -> Iterator[PlanningClient]:
    """A client of the server."""
    with PlanningClient(PlanRobustContact, "plan_robust_contact") as client:
        yield client


def test_plans_of_the_block(client: PlanningClient) -> None:
    """The reference costs what the paper's does, and the expected residual narrows the spread."""
    state, reference = client.plan(problem="block", uncertainty=[FRICTION], evaluation_samples=2000)
    assert state == GoalStatus.STATUS_SUCCEEDED
    assert (reference.status, reference.status_name) == (Result.SUCCEEDED, "SUCCEEDED")
    assert reference.remedy == ""
    assert reference.cost == pytest.approx(3280.18, rel=1e-3)
    assert reference.merit <= 1e-10
    assert reference.complementarity_residual <= 1e-5
    assert reference.violation_rate == pytest.approx(0.5, abs=0.05)
    assert reference.violation_rate_predicted == pytest.approx(0.5, abs=0.01)
    assert math.isnan(reference.risk_bound)
    assert any("the plan is the reference" in warning for warning in reference.warnings)
    points = reference.trajectory.points
    assert reference.trajectory.joint_names == ["x", "z"]
    assert len(points) == 101
    assert list(points[-1].positions) == pytest.approx([5.0, 0.5], abs=1e-6)
    assert max(point.velocities[0] for point in points) == pytest.approx(7.5, abs=0.01)
    assert to_nanoseconds(points[-1].time_from_start) == 1_000_000_000
    (contact,) = reference.contacts
    assert (contact.link, contact.other) == ("bottom", "ground")
    assert contact.normal_force[50] == pytest.approx(9.81, abs=1e-3)
    assert contact.force[50].x == pytest.approx(-4.905, abs=1e-3)
    assert np.abs(contact.distance).max() <= 1e-6
    assert {feedback.stage for feedback in client.feedback} == {"reference", "evaluation"}
    assert client.feedback[0].penalty_weight == 1e3

    state, robust = client.plan(
        problem="block",
        knots=51,
        uncertainty=[FRICTION],
        expected_residual_weight=5e4,
        mode="paper",
    )
    assert state == GoalStatus.STATUS_SUCCEEDED
    assert robust.expected_residual_weight == 5e4
    assert robust.predicted_spread < 0.4 * reference.predicted_spread
    assert math.isnan(robust.violation_rate)
    stages = [feedback.stage for feedback in client.feedback]
    assert sorted(set(stages), key=stages.index) == ["reference", "expected_residual", "evaluation"]
    elapsed = [feedback.elapsed for feedback in client.feedback]
    assert elapsed == sorted(elapsed)


def test_malformed_goals_are_refused_before_planning(client: PlanningClient) -> None:
    """Each reason names the bad value and the valid ones."""
    weighted = {"problem": "block", "expected_residual_weight": 1.0}
    negative = UncertainParameter(kind=UncertainParameter.FRICTION, sigma=-0.1)
    raised = UncertainParameter(kind=UncertainParameter.DISTANCE, mean=0.1, sigma=0.1)
    guess = Goal(problem="block")
    guess.initial_guess.points = [JointTrajectoryPoint(positions=[0.0, 0.5])]
    cases = (
        (
            Goal(problem="blok"),
            "unknown problem 'blok' (did you mean block? valid: block, hopper, ",
        ),
        (
            Goal(problem="block", initial_state=[math.nan, 0.5, 0.0, 0.0]),
            "start is (nan, 0.5, 0.0, 0.0) (valid: 4 finite values for 'sliding_block')",
        ),
        (Goal(problem="block", final_state=[5.0, 0.5]), "goal is (5.0, 0.5) (valid: 4 finite"),
        (Goal(problem="block", input_weight=[1.0, 1.0]), "control_weight is (1.0, 1.0) (valid: 1"),
        (Goal(**weighted, uncertainty=[negative]), "'uncertainty.sigma' is -0.1 (valid: >= 0)"),
        (Goal(**weighted, uncertainty=[raised]), "mean of the distance is 0.1 m (valid: 0 m)"),
        (Goal(**weighted, uncertainty=[FRICTION] * 2), "has 2 entries (valid: 0 or 1)"),
        (Goal(**weighted), "need an entry in uncertainty"),
        (
            Goal(problem="block", uncertainty=[FRICTION], beta=0.3, theta=0.7),
            "beta is 0.3 (valid: >= 0.5, <= 0.999)",
        ),
        (
            Goal(problem="block", uncertainty=[FRICTION], beta=0.7, theta=1.0),
            "theta is 1.0 (valid: >= 0.5, <= 0.999)",
        ),
        (Goal(problem="block", knots=1), "knots is 1 (valid: >= 2, <= 401)"),
        (Goal(problem="block", time_step_min=0.02, time_step_max=0.01), "time_step_min is 0.02 s"),
        (Goal(problem="block", solver="knitro"), "is 'knitro' (valid: ipopt, snopt)"),
        (Goal(problem="block", complementarity="soft"), "valid: strict, relaxed, penalty"),
        (guess, "initial_guess: plans start from a straight line"),
    )
    for goal, reason in cases:
        state, result = client.result(client.start_goal(goal))
        assert state == GoalStatus.STATUS_ABORTED
        assert (result.status, result.status_name) == (Result.INVALID_GOAL, "INVALID_GOAL")
        assert reason in result.remedy
        assert not result.trajectory.points
        assert math.isnan(result.cost)
        assert not client.feedback

    _, result = client.plan(problem="block", initial_state=[0.0, 0.4, 0.0, 0.0])
    assert result.status == Result.INITIAL_PENETRATION
    assert "bottom is at -0.1 m (valid: >= 0 m)" in result.remedy


def test_long_plans_end_when_they_should(client: PlanningClient) -> None:
    """By a cancel, a budget and a newer goal; each with the best iterate."""
    hopper = {"problem": "hopper"}

    handle = client.start(**hopper)
    client.wait_until(lambda: len(client.feedback) >= 2)
    client.cancel(handle)
    state, result = client.result(handle)
    assert state == GoalStatus.STATUS_CANCELED
    assert (result.status, result.status_name) == (Result.CANCELED, "CANCELED")
    assert "best iterate" in result.remedy
    assert len(result.trajectory.points) == 101
    assert math.isfinite(result.dynamics_residual)
    assert result.penalty_weight == 1.0

    state, result = client.plan(**hopper, time_budget=Duration(sec=2))
    assert state == GoalStatus.STATUS_ABORTED
    assert result.status == Result.TIME_BUDGET_REACHED
    assert len(result.trajectory.points) == 101
    assert result.elapsed >= 2.0

    first = client.start(**hopper)
    client.wait_until(lambda: client.feedback)
    refused, _ = client.plan(problem="blok")
    assert refused == GoalStatus.STATUS_ABORTED
    short = client.start(problem="block", knots=31)
    state, result = client.result(first)
    assert state == GoalStatus.STATUS_ABORTED
    assert (result.status, result.status_name) == (Result.PREEMPTED, "PREEMPTED")
    state, result = client.result(short)
    assert state == GoalStatus.STATUS_SUCCEEDED
    assert len(result.trajectory.points) == 31


@pytest.mark.verify
def test_an_own_problem_is_planned_as_by_the_library(
    client: PlanningClient, tmp_path: Path
) -> None:
    """From its file, with a risk: the same bits; then from that plan again."""
    path = quick_cart(tmp_path)
    plan = plan_example(load_problem(path), 0.2)
    state, result = client.plan(problem=str(path), risk=0.2)
    assert (state, result.status_name) == (GoalStatus.STATUS_SUCCEEDED, plan.status.name)
    controls = [list(point.effort) for point in result.trajectory.points]
    np.testing.assert_array_equal(controls, plan.trajectory.control)
    assert result.failure_rate == plan.failure_rate.rate
    assert result.failure_rate_low < result.failure_rate < result.failure_rate_high <= 0.2
    assert result.nominal_failure_rate == plan.nominal_rate.rate
    state, again = client.plan(problem=str(path), risk=0.2, initial_guess=result.trajectory)
    assert state == GoalStatus.STATUS_SUCCEEDED
    assert again.failure_rate_high <= 0.2


def test_risks_that_cannot_be_promised_are_refused(client: PlanningClient) -> None:
    cases = (
        (Goal(problem="sled", risk=0.7), "risk is 0.7 (valid: >= 0.001, <= 0.5)"),
        (Goal(problem="hopper", risk=0.1), "'hopper' does not say what is uncertain"),
        (Goal(problem="sled", risk=0.1, uncertainty=[FRICTION]), "the problem says what is uncert"),
        (Goal(problem="nowhere.yaml", risk=0.1), "cannot read nowhere.yaml"),
    )
    for goal, reason in cases:
        _, result = client.result(client.start_goal(goal))
        assert result.status == Result.INVALID_GOAL
        assert reason in result.remedy
