"""Goals of plan_robust_contact: what is absurd is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from contact_stack_msgs.action import PlanRobustContact
from contact_stack_msgs.msg import UncertainParameter

from contact_core.base.errors import ContactStackError
from robust_planner.config import RiskConfig
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
