"""Impact speeds: of a free fall, and of the example that puts a tool down."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from robust_planner.config import UncertaintyConfig
from robust_planner.contact_model import GRAVITY
from robust_planner.evaluation.execution import impacts, touchdown
from robust_planner.evaluation.time_stepping import simulate_plan
from robust_planner.examples import Example, make_example
from robust_planner.plan_figures import plot_approach, plot_impacts
from robust_planner.planner import plan
from robust_planner.result import RobustPlan
from robust_planner.sweep import plan_reference


@pytest.fixture(scope="module")
def example() -> Example:
    return make_example("table_approach")


@pytest.fixture(scope="module")
def reference(example: Example) -> RobustPlan:
    return plan_reference(example)


@pytest.fixture(scope="module")
def robust(example: Example, reference: RobustPlan) -> RobustPlan:
    return plan(example.robust_problem, example.config, reference)


def test_free_fall_hits_with_the_speed_of_its_height(
    example: Example, reference: RobustPlan
) -> None:
    free = dataclasses.replace(
        reference.trajectory, control=np.zeros_like(reference.trajectory.control)
    )
    hits = impacts(free, example.problem, (-0.01, 0.01))
    # Up to one time step of 10 ms of falling.
    for height, speed in zip(hits.height, hits.speeds, strict=True):
        assert speed == pytest.approx(math.sqrt(2.0 * GRAVITY * (0.1 - height)), abs=0.1 * GRAVITY)


def test_without_contact_there_is_no_impact(example: Example, reference: RobustPlan) -> None:
    hits = impacts(reference.trajectory, example.problem, (-10.0,))
    assert math.isnan(hits.speeds[0])
    assert touchdown(hits.simulations[0]) is None


def test_start_below_the_ground_is_raised(example: Example, reference: RobustPlan) -> None:
    run = simulate_plan(reference.trajectory, example.problem, 0.4, height=0.2)
    assert run.position[0, 1] == pytest.approx(0.25)


def test_robust_plan_touches_down_gently_whatever_the_height(
    example: Example, reference: RobustPlan, robust: RobustPlan
) -> None:
    """Heights of +- 2 sigma: slower impacts, and less different ones."""
    assert reference.solved and robust.solved
    before, after = (
        impacts(result.trajectory, example.problem, example.test_height)
        for result in (reference, robust)
    )
    assert after.mean <= 0.2 * before.mean
    assert after.largest <= 0.2 * before.largest
    assert after.range <= 0.6 * before.range


def test_limits_of_the_arm_are_respected(robust: RobustPlan) -> None:
    assert np.abs(robust.trajectory.control).max() <= 60.0 + 1e-9
    assert np.abs(robust.trajectory.velocity).max() <= 1.5 + 1e-9


def test_force_acts_where_the_risk_bound_allows_it(example: Example, robust: RobustPlan) -> None:
    """Force at a distance, in the plan, up to kappa_theta sigma = 12.9 mm."""
    trajectory = robust.trajectory
    acting = trajectory.normal_force[:, 0] > 0.1
    highest = trajectory.distance(example.problem.model)[acting].max()
    assert 0.005 <= highest <= 0.0129 + 1e-4


def test_pictures_show_both_plans(
    example: Example, reference: RobustPlan, robust: RobustPlan
) -> None:
    plans = {"reference": reference, "robust": robust}
    model = example.problem.model
    height, push, ground = plot_approach(plans, model, 0.005).axes
    assert [len(axes.lines) for axes in (height, push, ground)] == [2, 2, 2]
    hits = {
        name: {"time stepping": impacts(result.trajectory, example.problem, example.test_height)}
        for name, result in plans.items()
    }
    *motions, speeds = plot_impacts(hits, model).axes
    assert len(motions) == 2
    for curve, name in zip(speeds.lines, plans, strict=True):
        np.testing.assert_array_equal(curve.get_ydata(), hits[name]["time stepping"].speeds)


def test_certain_height_is_no_uncertainty(example: Example) -> None:
    config = dataclasses.replace(example.config, uncertainty=UncertaintyConfig("distance", 0.0))
    assert not config.robust
