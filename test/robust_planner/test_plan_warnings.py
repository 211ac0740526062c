"""Every pitfall of the parameters has a warning that names the values."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from contact_core.base.planning import PlanStatus
from contact_stack.robust.risk import risk_table, summarize_risk
from robust_planner.config import (
    ContinuationConfig,
    PlannerConfig,
    RiskConfig,
    UncertaintyConfig,
)
from robust_planner.contact_model import Source
from robust_planner.examples import Example
from robust_planner.node.server import risk_result
from robust_planner.plan_warnings import (
    PlanWarningKind,
    warn_of_parameters,
    warn_of_plan,
    warn_of_uncertain,
)
from robust_planner.result import RobustPlan
from robust_planner.risk.failure import FailureRate
from robust_planner.risk.risk_planner import RiskPlan
from robust_planner.risk.worlds import Distribution, Normal, Samples, Uniform


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (PlannerConfig(), set()),
        (PlannerConfig(uncertainty=UncertaintyConfig("friction", 0.1)), set()),
        (
            PlannerConfig(uncertainty=UncertaintyConfig("friction", 0.3)),
            {PlanWarningKind.NEGATIVE_FRICTION},
        ),
        (
            PlannerConfig(uncertainty=UncertaintyConfig("friction", 0.0)),
            {PlanWarningKind.NO_UNCERTAINTY},
        ),
        (
            PlannerConfig(
                uncertainty=UncertaintyConfig("friction", 1.0), risk=RiskConfig(True, 0.6, 0.7)
            ),
            {PlanWarningKind.NEGATIVE_FRICTION, PlanWarningKind.BOUND_INACTIVE},
        ),
        (
            PlannerConfig(
                uncertainty=UncertaintyConfig("distance", 0.1), risk=RiskConfig(True, 0.5, 0.7)
            ),
            {PlanWarningKind.VACUOUS_BOUND},
        ),
        (
            PlannerConfig(
                continuation=ContinuationConfig(method="relaxation", relaxations=(10.0, 1e-8))
            ),
            {PlanWarningKind.RELAXATION_START},
        ),
    ],
)
def test_doubtful_parameters(
    block: Example, config: PlannerConfig, expected: set[PlanWarningKind]
) -> None:
    assert {warning.kind for warning in warn_of_parameters(block.problem, config)} == expected


def test_warning_names_the_values_and_the_remedy(block: Example) -> None:
    config = PlannerConfig(
        uncertainty=UncertaintyConfig("friction", 0.2), risk=RiskConfig(True, 0.5, 0.999)
    )
    text = " ".join(str(warning) for warning in warn_of_parameters(block.problem, config))
    assert "kappa_theta sigma = 0.618, mu = 0.5" in text
    assert "lower theta or sigma" in text


@pytest.mark.parametrize(
    ("name", "distribution", "values"),
    [
        ("friction", Normal(0.5, 0.1), None),
        ("friction", Normal(0.8, 0.2), None),
        ("friction", Normal(0.8, 0.08), "friction is 0.5, and drawn from 0.5528 to 1.047"),
        ("mass", Normal(1.0, 0.0), None),
        ("height", Uniform(0.0, 0.03), None),
        ("height", Uniform(0.01, 0.03), "height is 0, and drawn from 0.01002 to 0.02998"),
        ("mass", Samples((999.0, 1001.0)), "mass is 1, and drawn from 999 to 1001"),
    ],
)
def test_what_the_problem_has_is_not_hardly_ever_drawn(
    block: Example, name: str, distribution: Distribution, values: str | None
) -> None:
    found = warn_of_uncertain(block.problem, {name: distribution})
    assert [warning.values for warning in found] == ([values] if values else [])


def test_values_that_were_rounded_are_told(block: Example) -> None:
    drawn = np.random.default_rng(0).normal(block.problem.friction, 0.06, 400)
    for step, values in (
        (0.1, "240 of 400 values of friction are 0.5, all on a grid of 0.1"),
        (0.25, "387 of 400 values of friction are 0.5"),
        (0.001, None),
    ):
        given = {"friction": Samples(tuple((step * np.round(drawn / step)).tolist()))}
        found = warn_of_uncertain(block.problem, given)
        assert [warning.values for warning in found] == ([values] if values else [])


def test_sliding_without_friction_is_found_in_the_plan(
    block: Example, block_reference: RobustPlan
) -> None:
    config = PlannerConfig(uncertainty=UncertaintyConfig("friction", 0.1))
    plan = block_reference.trajectory
    assert warn_of_plan(plan, block.problem, config) == []
    without = dataclasses.replace(plan, tangent_force=0.1 * plan.tangent_force)
    (warning,) = warn_of_plan(without, block.problem, config)
    assert warning.kind is PlanWarningKind.SLIP_SCALE
    assert warning.values == "10 % of the expected power"


def test_force_that_hangs_in_the_air_is_found_in_the_plan(
    block: Example, block_reference: RobustPlan
) -> None:
    config = PlannerConfig(uncertainty=UncertaintyConfig("distance", 0.01))
    plan = block_reference.trajectory
    assert warn_of_plan(plan, block.problem, config) == []
    lifted = dataclasses.replace(plan, position=plan.position + np.array([0.0, 0.05]))
    (warning,) = warn_of_plan(lifted, block.problem, config)
    assert warning.kind is PlanWarningKind.FORCE_AT_DISTANCE
    assert warning.values == "up to 0.05 m, sigma = 0.01 m"


def test_every_answer_names_what_no_plan_knows(block: Example, block_reference: RobustPlan) -> None:
    """Also one with a promise: by library, command and action."""
    source = Source("<robot/>", {}, ("damping of joint 'x'",))
    problem = dataclasses.replace(
        block.problem, model=dataclasses.replace(block.problem.model, source=source)
    )
    (warning,) = warn_of_parameters(problem, PlannerConfig())
    assert (warning.kind, warning.values) == (PlanWarningKind.NOT_READ, "damping of joint 'x'")
    rate = FailureRate(10, 1000)
    nominal = dataclasses.replace(block_reference, warnings=(warning,))
    plan = RiskPlan(PlanStatus.SUCCEEDED, nominal.trajectory, 1.0, 0.1, rate, rate, nominal, 1.0)
    assert risk_result(problem.model, plan).warnings[1:] == [str(warning)]
    summary = summarize_risk(block, plan, 0)
    assert summary["warnings"] == [str(warning)]
    assert f"warning: {warning}" in risk_table(summary)
