"""Every parameter has an effect."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from contact_core.base.config import flatten, from_mapping, unflatten
from robust_planner.config import PlannerConfig
from robust_planner.continuation import reference_stages, robust_stages
from robust_planner.examples import make_example
from robust_planner.program import knot_layout
from robust_planner.residuals import Residuals
from robust_planner.transcription import transcribe

FRICTION = {
    "uncertainty.kind": "friction", "uncertainty.sigma": 0.2, "risk.enabled": True,
    "risk.beta": 0.6, "risk.theta": 0.7,
}  # fmt: skip
DISTANCE = {**FRICTION, "uncertainty.kind": "distance"}
FREE = {**FRICTION, "time_step.free": True}


def configure(values: dict[str, Any]) -> PlannerConfig:
    """Build a configuration from dotted names."""
    return from_mapping(PlannerConfig, unflatten(values))


def signature(config: PlannerConfig) -> list[Any]:
    """Everything a configuration decides before a solver starts."""
    problem = make_example("block").problem
    stages = [*reference_stages(config), *robust_stages(config)]
    program = transcribe(problem, config, stages[-1].method, robust=config.robust)
    w = np.random.default_rng(0).uniform(0.5, 1.0, program.lower.shape[1])
    # Inside the cone, where slip matters.
    layout = knot_layout(problem.model, config.time_step.free)
    w[layout.tangent], w[layout.slip] = 0.01, 0.05
    p = [0.1, 0.2, 0.3]
    numbers = [program.contact_cost(w, p), program.knot(w, p), program.lower, program.upper]
    return [stages, *[np.asarray(item).ravel().tolist() for item in numbers]]


@pytest.mark.parametrize(
    ("base", "name", "value"),
    [
        (FRICTION, "mode", "paper"),
        (FRICTION, "uncertainty.kind", "distance"),
        (FRICTION, "uncertainty.sigma", 0.3),
        (FRICTION, "expected_residual.enabled", False),
        (FRICTION, "expected_residual.weight", 7.0),
        (FRICTION, "expected_residual.slip_scale", 7.0),
        (DISTANCE, "expected_residual.distance_scale", 7.0),
        (FRICTION, "risk.enabled", False),
        (FRICTION, "risk.beta", 0.8),
        (FRICTION, "risk.theta", 0.8),
        (FRICTION, "continuation.method", "relaxation"),
        (FRICTION, "continuation.penalties", (7.0,)),
        ({"continuation.method": "relaxation"}, "continuation.relaxations", (1e-3,)),
        (FRICTION, "continuation.robust_method", "penalty"),
        (FRICTION, "continuation.robust_penalty", 7.0),
        (FRICTION, "continuation.robust_relaxation", 1e-4),
        (FRICTION, "continuation.weight_fractions", (1.0,)),
        (FRICTION, "continuation.chance_fractions", (0.0,)),
        ({**FRICTION, "risk.enabled": False}, "continuation.scaffold_theta", 0.7),
        (FRICTION, "time_step.free", True),
        (FREE, "time_step.shortest", 0.7),
        (FREE, "time_step.longest", 3.0),
    ],
)
def test_parameter_changes_the_program_or_the_stages(
    base: dict[str, Any], name: str, value: Any
) -> None:
    assert signature(configure(base)) == signature(configure(base))
    assert signature(configure(base)) != signature(configure({**base, name: value}))


@pytest.mark.parametrize(
    ("residual", "bound"),
    [
        ("dynamics", 1e-6),
        ("complementarity", 1e-5),
        ("boundary", 1e-6),
        ("bounds", 1e-6),
        ("penetration", 1e-6),
        ("cone", 1e-6),
    ],
)
def test_accepted_residual_decides(residual: str, bound: float) -> None:
    good = Residuals(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert good.accepted
    for value, accepted in ((0.9 * bound, True), (1.1 * bound, False), (np.nan, False)):
        assert dataclasses.replace(good, **{residual: value}).accepted is accepted


def test_all_parameters_have_a_description() -> None:
    assert all(valid.description for _, valid in flatten(PlannerConfig()).values())
