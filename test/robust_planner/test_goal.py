"""Goals of plan_robust_contact: what is absurd is refused by name."""

from __future__ import annotations

import math
from typing import Any

import pytest
from contact_stack_msgs.action import PlanRobustContact
from contact_stack_msgs.msg import UncertainParameter
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from contact_core.base.errors import ContactStackError
from robust_planner.config import RiskConfig
from robust_planner.examples import make_example
from robust_planner.node.goal import PlanServerConfig, read_goal


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"time_step_min": 1e300, "time_step_max": 1e300}, "time_step_min is 1e\\+300"),
        ({"time_step_min": 0.1, "time_step_max": 100.0}, "time_step_max is 100.0 s"),
        ({"uncertainty": [UncertainParameter(sigma=1e308)]}, "sigma is 1e\\+308"),
        ({"initial_state": [1e100, 0.0]}, "initial_state is 1e\\+100"),
    ],
)
def test_an_absurd_number_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ContactStackError, match=message):
        read_goal(PlanRobustContact.Goal(problem="block", **fields), PlanServerConfig())


@pytest.mark.parametrize(("beta", "theta"), [(0.7, 0.0), (0.0, 0.7), (0.6, 0.7)])
def test_of_two_bounds_one_may_be_given_alone(beta: float, theta: float) -> None:
    """The other one is the problem's own, as in the command: 0.5."""
    goal = PlanRobustContact.Goal(
        problem="block", beta=beta, theta=theta, uncertainty=[UncertainParameter(sigma=0.1)]
    )
    risk = read_goal(goal, PlanServerConfig()).request.config.risk
    assert risk == RiskConfig(True, beta or 0.5, theta or 0.5)


@pytest.mark.parametrize(
    ("names", "effort", "message"),
    [
        ([], math.nan, r"initial_guess\.points\[1\]\.effort \(\w+\) is nan"),
        ([], -math.inf, r"initial_guess\.points\[1\]\.effort \(\w+\) is -inf"),
        ([], 1e300, r"initial_guess\.points\[1\]\.effort is 1e\+300"),
        (["zzz"], 1.0, r"initial_guess\.joint_names is zzz \(valid: x, z; or none\)"),
    ],
)
def test_a_start_that_is_none_is_refused(names: list[str], effort: float, message: str) -> None:
    points = [JointTrajectoryPoint(effort=[value]) for value in (0.0, effort)]
    guess = JointTrajectory(joint_names=names, points=points)
    goal = PlanRobustContact.Goal(problem="sled", risk=0.1, initial_guess=guess)
    with pytest.raises(ContactStackError, match=message):
        read_goal(goal, PlanServerConfig())


def test_the_motion_of_an_answer_is_a_start() -> None:
    problem = make_example("sled").robust_problem
    points = [JointTrajectoryPoint(effort=[2.0] * problem.model.controls)] * problem.knots
    guess = JointTrajectory(joint_names=problem.model.position_names, points=points)
    goal = PlanRobustContact.Goal(problem="sled", risk=0.1, initial_guess=guess)
    start = read_goal(goal, PlanServerConfig()).start
    assert start is not None
    assert start.shape == (problem.knots, problem.model.controls)
