"""What a goal states replaces values of a configuration; what is not valid is named."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
from contact_stack_msgs.action import PlanRobustContact

from contact_core.base.config import Range, nested, parameter
from contact_core.base.errors import ConfigError
from contact_ros.planning_goal import read_array, read_fields


@dataclass(frozen=True)
class Inner:
    theta: float = parameter(0.5, "a probability", low=0.0, high=1.0)
    weight: tuple[float, ...] = parameter((1.0, 2.0), "one weight per state", low=0.0)


@dataclass(frozen=True)
class Config:
    mode: str = parameter("slow", "how", options=("slow", "fast"))
    knots: int = parameter(10, "how many", low=2)
    inner: Inner = nested(Inner)


FIELDS = {"mode": "mode", "knots": "knots", "theta": "inner.theta", "state_weight": "inner.weight"}
STATES = ("x", "v")


def read(**fields: Any) -> Config:
    return read_fields(Config(), PlanRobustContact.Goal(**fields), FIELDS, STATES)


def test_what_is_stated_replaces_and_the_rest_stays() -> None:
    assert read() == Config()
    assert read(mode="fast", theta=0.25) == Config("fast", inner=Inner(0.25))
    assert read(knots=3, state_weight=[3.0, 0.0]) == Config("slow", 3, Inner(weight=(3.0, 0.0)))


def test_a_zero_counts_where_it_is_a_value() -> None:
    goal = PlanRobustContact.Goal(mode="fast")
    found = read_fields(Config(), goal, FIELDS, STATES, always=("theta",))
    assert found == Config("fast", inner=Inner(0.0))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"mode": "fats"}, "mode is 'fats' (did you mean fast? valid: slow, fast)"),
        ({"knots": 1}, "knots is 1 (valid: >= 2)"),
        ({"theta": math.nan}, "theta is nan (valid: >= 0, <= 1)"),
        ({"theta": -0.5}, "theta is -0.5 (valid: >= 0, <= 1)"),
        ({"state_weight": [1.0, -1.0]}, "state_weight[1] (v) is -1.0 (valid: >= 0)"),
        ({"state_weight": [1.0]}, "state_weight has 1 values, but needs 2: x, v"),
    ],
)
def test_what_is_not_valid_is_named(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(**fields)
    assert str(caught.value) == reason


def test_a_goal_may_be_bounded_more_tightly_than_the_parameter() -> None:
    goal, valid = PlanRobustContact.Goal(knots=30), {"knots": Range(low=2, high=20)}
    assert read_fields(Config(), goal, FIELDS, STATES) == Config(knots=30)
    with pytest.raises(ConfigError, match="knots is 30"):
        read_fields(Config(), goal, FIELDS, STATES, valid=valid)


def test_infinity_is_valid_where_everything_is() -> None:
    goal = PlanRobustContact.Goal(final_state=[math.inf, 0.0])
    assert read_array(goal, "final_state", STATES, None) == (math.inf, 0.0)
    with pytest.raises(ConfigError, match=r"final_state\[0\] \(x\) is inf"):
        read_array(goal, "final_state", STATES)
