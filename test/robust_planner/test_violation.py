"""Empirical violation rate against the Gaussian prediction and plans with known answers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from robust_planner.chance_constraint import normal_quantile
from robust_planner.config import PlannerConfig, RiskConfig, UncertaintyConfig
from robust_planner.evaluation.violation import highest_force, steepest_force, violation_rate
from robust_planner.examples import Example
from robust_planner.result import RobustPlan
from robust_planner.trajectory import ContactTrajectory

FRICTION = PlannerConfig(uncertainty=UncertaintyConfig("friction", 0.1))


def scaled_friction(trajectory: ContactTrajectory, factor: float) -> ContactTrajectory:
    """Scale every friction force."""
    return dataclasses.replace(trajectory, tangent_force=factor * trajectory.tangent_force)


def test_reference_at_the_edge_of_the_cone_fails_for_half_of_all_frictions(
    block: Example, block_reference: RobustPlan
) -> None:
    rate = violation_rate(block_reference.trajectory, block.problem, FRICTION)
    assert rate is not None
    assert rate.predicted == pytest.approx(0.5, abs=1e-4)
    assert rate.declared is None


@pytest.mark.parametrize("factor", [0.6, 0.9, 1.2])
def test_sampled_rate_agrees_with_the_prediction(
    block: Example, block_reference: RobustPlan, factor: float
) -> None:
    plan = scaled_friction(block_reference.trajectory, factor)
    rate = violation_rate(plan, block.problem, FRICTION, samples=20_000)
    assert rate is not None
    assert rate.predicted == pytest.approx(stats.norm.cdf((factor - 1.0) * 0.5 / 0.1), abs=1e-4)
    error = np.sqrt(rate.predicted * (1.0 - rate.predicted) / rate.samples)
    assert abs(rate.sampled - rate.predicted) <= 4.0 * error


def test_plan_on_the_chance_bound_fails_as_often_as_declared(
    block: Example, block_reference: RobustPlan
) -> None:
    """F = -kappa_beta sigma lamN, the edge that the physical mode allows."""
    config = dataclasses.replace(FRICTION, risk=RiskConfig(True, beta=0.7, theta=0.7))
    factor = 1.0 + normal_quantile(0.7) * 0.1 / 0.5
    plan = scaled_friction(block_reference.trajectory, factor)
    rate = violation_rate(plan, block.problem, config)
    assert rate is not None
    assert rate.declared == 0.7
    assert rate.predicted == pytest.approx(0.7, abs=1e-4)


def test_force_at_a_distance_is_found(block: Example, block_reference: RobustPlan) -> None:
    plan = block_reference.trajectory
    raised = dataclasses.replace(plan, position=plan.position + np.array([0.0, 0.02]))
    config = PlannerConfig(uncertainty=UncertaintyConfig("distance", 0.01))
    rate = violation_rate(raised, block.problem, config)
    assert rate is not None
    assert highest_force(raised, block.problem) == pytest.approx(0.02, abs=1e-7)
    assert rate.predicted == pytest.approx(stats.norm.cdf(2.0), abs=1e-4)


def test_friction_without_normal_force_is_always_impossible(block_reference: RobustPlan) -> None:
    plan = block_reference.trajectory
    floating = dataclasses.replace(plan, normal_force=0.0 * plan.normal_force)
    assert steepest_force(floating) == np.inf


def test_certain_world_has_no_rate(block: Example, block_reference: RobustPlan) -> None:
    assert violation_rate(block_reference.trajectory, block.problem, PlannerConfig()) is None
