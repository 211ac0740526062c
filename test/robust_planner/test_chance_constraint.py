"""Chance complementarity constraints (Sec. 3.3)."""

from __future__ import annotations

import pytest
from scipy import stats

from contact_core.base.errors import ConfigError
from robust_planner.chance_constraint import chance_bounds, normal_quantile


@pytest.mark.parametrize("probability", [1e-6, 0.05, 0.5, 0.51, 0.7, 0.9, 0.999])
def test_quantile_is_the_one_of_the_normal_distribution(probability: float) -> None:
    expected = stats.norm.ppf(probability)
    assert normal_quantile(probability) == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(("beta", "theta"), [(0.5, 0.5), (0.6, 0.9), (0.999, 0.7)])
def test_bounds_hold_with_the_accepted_probability(beta: float, theta: float) -> None:
    bounds = chance_bounds(beta, theta)
    deviation = 0.3
    lowest, highest = -bounds.kappa_beta * deviation, bounds.kappa_theta * deviation
    assert stats.norm.cdf(0.0, lowest, deviation) == pytest.approx(beta)
    assert stats.norm.sf(0.0, highest, deviation) == pytest.approx(theta)


def test_half_is_the_strict_constraint_on_the_mean() -> None:
    bounds = chance_bounds(0.5, 0.5)
    assert (bounds.kappa_beta, bounds.kappa_theta) == (0.0, 0.0)


def test_bounds_that_exclude_every_force_are_named() -> None:
    with pytest.raises(ConfigError, match=r"beta = 0\.3 and theta = 0\.6 .*beta \+ theta >= 1"):
        chance_bounds(0.3, 0.6)


@pytest.mark.parametrize(
    ("beta", "theta", "name"), [(0.4, 0.9, "beta"), (0.9, 0.4, "theta"), (0.9999, 0.5, "beta")]
)
def test_risk_outside_its_range_is_named(beta: float, theta: float, name: str) -> None:
    with pytest.raises(ConfigError, match=rf"{name} is .*>= 0.5, <= 0.999"):
        chance_bounds(beta, theta)


def test_nan_is_refused() -> None:
    with pytest.raises(ConfigError, match="nan"):
        chance_bounds(float("nan"), 0.7)
