"""Variance schedules."""

import pytest

from irs_planner import VarianceSchedule


def test_power_and_geometric_decay():
    power = VarianceSchedule(input_std=(0.3,), decay="power", rate=0.8)
    assert power.scale(1) == 1.0
    assert power.scale(5) == pytest.approx(5**-0.8)
    geometric = VarianceSchedule(input_std=(0.3,), decay="geometric", rate=0.3)
    assert [geometric.scale(k) for k in (1, 2, 3)] == pytest.approx([1.0, 0.3, 0.09])


def test_the_floor_stops_underflow():
    schedule = VarianceSchedule(input_std=(1.0,), decay="geometric", rate=0.1, floor=1e-2)
    assert schedule.scale(500) == 1e-2


def test_paper_convergence_condition_holds_for_squared_scales_above_the_floor():
    """The sum of squares of k^-0.8 converges; that of k^-0.5 does not."""
    total = sum(VarianceSchedule(input_std=(1.0,), rate=0.8).scale(k) ** 2 for k in range(1, 1000))
    assert total < 2.3
