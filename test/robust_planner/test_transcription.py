"""What the text of the paper does not say, but the code behind its figures does."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from robust_planner.chance_constraint import normal_quantile
from robust_planner.config import (
    ExpectedResidualConfig,
    PlannerConfig,
    RiskConfig,
    UncertaintyConfig,
)
from robust_planner.examples import Example
from robust_planner.expected_residual import expected_squared_residual
from robust_planner.problem import RobustProblem
from robust_planner.program import knot_layout
from robust_planner.transcription import FRICTION_BIAS, MAX_FORCE, MAX_SLIP, transcribe

SIGMA, ALPHA = 0.2, 3.0
NORMAL, FRICTION_FORCE, SLIP = 8.0, 1.5, 0.4
MEAN = 0.5 * NORMAL - FRICTION_FORCE
"""Of F = mu lamN - e' lamT, at the knot below [N]."""


def configured(mode: str, kind: str = "friction", **changes: Any) -> PlannerConfig:
    return PlannerConfig(mode=mode, uncertainty=UncertaintyConfig(kind, SIGMA), **changes)


def sliding_knot(problem: RobustProblem) -> np.ndarray:
    """Variables of a knot at which the block slides below the edge of its cone."""
    layout = knot_layout(problem.model, free_time_step=False)
    w = np.zeros(layout.size)
    w[layout.position] = [1.0, 0.7]
    w[layout.velocity] = [SLIP, 0.0]
    w[layout.normal], w[layout.tangent], w[layout.slip] = NORMAL, [0.0, FRICTION_FORCE], SLIP
    return w


def contact_cost(problem: RobustProblem, config: PlannerConfig) -> float:
    """Cost of the uncertain pair at that knot."""
    program = transcribe(problem, config, "relaxation", robust=True)
    return float(program.contact_cost(sliding_knot(problem), [0.0, 0.0, ALPHA]))


def test_running_cost_is_multiplied_with_the_step_and_the_residual_is_not(block: Example) -> None:
    slow = dataclasses.replace(block.problem, duration=2.0 * block.problem.duration)
    w, p = sliding_knot(slow), [0.0, 0.0, ALPHA]
    programs = [
        transcribe(problem, configured("physical"), "relaxation", robust=True)
        for problem in (block.problem, slow)
    ]
    running, contact = (
        [float(getattr(program, name)(w, p)) for program in programs]
        for name in ("running_cost", "contact_cost")
    )
    assert running[1] == pytest.approx(2.0 * running[0])
    assert contact[1] == contact[0] > 0.0


def test_paper_mode_compares_slip_with_a_force(block: Example) -> None:
    """Metres per second against newtons, as published; the physical mode scales the slip."""
    spread = SIGMA * NORMAL + FRICTION_BIAS
    for mode, scale in (("paper", 1.0), ("physical", 40.0 * SIGMA)):
        config = configured(mode, expected_residual=ExpectedResidualConfig(slip_scale=40.0))
        expected = ALPHA * expected_squared_residual(scale * SLIP, MEAN, spread)
        assert contact_cost(block.problem, config) == pytest.approx(expected)


def test_slip_scale_is_never_below_that_of_the_paper(block: Example) -> None:
    weak = configured("physical", expected_residual=ExpectedResidualConfig(slip_scale=1e-3))
    assert contact_cost(block.problem, weak) == contact_cost(block.problem, configured("paper"))


def test_paper_mode_shifts_the_mean_of_the_residual(block: Example) -> None:
    """With chance constraints the published code takes E at m + kappa_beta sigma."""
    config = configured("paper", risk=RiskConfig(True, beta=0.7, theta=0.6))
    mean = MEAN + normal_quantile(0.7) * SIGMA
    spread = SIGMA * NORMAL + FRICTION_BIAS
    expected = ALPHA * expected_squared_residual(SLIP, mean, spread)
    assert contact_cost(block.problem, config) == pytest.approx(expected)


@pytest.mark.parametrize(("mode", "deviation"), [("paper", SIGMA), ("physical", SIGMA * NORMAL)])
def test_chance_bounds_are_constant_newtons_in_paper_mode(
    block: Example, mode: str, deviation: float
) -> None:
    """The text has the deviation of F, which grows with lamN: the physical mode."""
    config = configured(mode, risk=RiskConfig(True, beta=0.7, theta=0.6))
    config = dataclasses.replace(config, expected_residual=ExpectedResidualConfig(enabled=False))
    program = transcribe(block.problem, config, "relaxation", robust=True)
    rows = np.asarray(program.knot(sliding_knot(block.problem), [0.0, 0.0, ALPHA])).ravel()
    lower = MEAN + normal_quantile(0.7) * deviation
    product = SLIP * (MEAN - normal_quantile(0.6) * deviation)
    assert np.abs(rows - lower).min() <= 1e-12
    assert np.abs(rows - product).min() <= 1e-12


def test_distance_is_scaled_before_it_is_compared_with_a_force(block: Example) -> None:
    """The hopper's distances are in decimetres."""
    residual = ExpectedResidualConfig(distance_scale=10.0)
    config = configured("paper", kind="distance", expected_residual=residual)
    expected = ALPHA * expected_squared_residual(NORMAL, 10.0 * 0.2, 10.0 * SIGMA)
    assert contact_cost(block.problem, config) == pytest.approx(expected)


def test_forces_and_slip_are_bounded(block: Example) -> None:
    """Far beyond sensible plans; without, the interior-point method drifts away."""
    program = transcribe(block.problem, PlannerConfig(), "relaxation", robust=False)
    layout = knot_layout(block.problem.model, free_time_step=False)
    assert np.all(program.upper[1:, layout.normal] == MAX_FORCE)
    assert np.all(program.upper[1:, layout.slip] == MAX_SLIP)
    assert np.all(program.upper[0, layout.contact] == 0.0)
