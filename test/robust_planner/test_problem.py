"""Bad input ends in a named error that lists the value and the valid range."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from contact_core.base.config import from_mapping
from contact_core.base.errors import ConfigError
from robust_planner.config import PlannerConfig
from robust_planner.contact_model import PlanningProblemError
from robust_planner.examples import EXAMPLES, make_example


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("block", {"knots": 1}, "knots is 1 .*>= 2"),
        ("block", {"duration": 0.0}, "duration is 0.0 .*> 0"),
        ("block", {"duration": math.inf}, "duration is inf"),
        ("block", {"friction": 0.0}, "friction is 0.0 .*> 0"),
        ("block", {"friction": math.nan}, "friction is nan"),
        ("block", {"stiffness": 0.0}, "stiffness is 0.0 .*> 0, inf is rigid"),
        ("block", {"dissipation": -1.0}, "dissipation is -1.0 .*>= 0"),
        ("block", {"start": (0.0, 0.5, 0.0)}, "start is .*4 finite values"),
        ("block", {"goal": (math.nan, 0.5, 0.0, 0.0)}, "goal is .*finite"),
        ("block", {"control_weight": (-1.0,)}, "control_weight is .*>= 0"),
        ("block", {"start": (0.0, 0.4, 0.0, 0.0)}, "start penetrates .*bottom is at -0.1 m"),
        ("block", {"goal": (5.0, 0.4, 0.0, 0.0)}, "goal penetrates"),
        ("sled", {"start": (0.0, 0.05, 2.0, 0.0)}, r"start velocity of x is 2 .*<= 1.5"),
        ("hopper", {"start": (0, 3, 2, 0, 1, 0, 0, 0, 0, 0)}, "start position hip is 2 .*<= 1.57"),
    ],
)
def test_impossible_problem_is_refused(name: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanningProblemError, match=message):
        dataclasses.replace(make_example(name).problem, **changes)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"uncertainty": {"sigma": -0.1}}, "uncertainty.sigma' is -0.1 .*>= 0"),
        ({"uncertainty": {"sigma": math.nan}}, "uncertainty.sigma' is nan"),
        ({"uncertainty": {"kind": "mass"}}, "valid: none, friction, distance"),
        ({"risk": {"beta": 0.4}}, "risk.beta' is 0.4 .*>= 0.5, <= 0.999"),
        ({"risk": {"theta": 1.0}}, "risk.theta' is 1.0"),
        ({"mode": "text"}, "valid: physical, paper"),
        ({"solver": {"name": "cyipopt"}}, "valid: ipopt, snopt"),
        ({"solver": {"budget": 0.0}}, "solver.budget' is 0.0 .*> 0"),
    ],
)
def test_parameter_outside_its_range_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        from_mapping(PlannerConfig, values)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_named_problem_is_posed_correctly(name: str) -> None:
    example = make_example(name)
    assert example.name == name == example.problem.name
    assert example.config.robust


def test_unknown_problem_lists_the_names() -> None:
    with pytest.raises(
        ConfigError, match=r"unknown problem 'cart'.*block, hopper, sled, table_approach"
    ):
        make_example("cart")
