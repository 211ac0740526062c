"""The hopper of Sec. 4.2 and 5.3; minutes of solving."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from contact_core.base.sweep import Sweep
from contact_experiments.robust.paper_figures import figure_6bc, figure_7
from robust_planner.chance_constraint import normal_quantile
from robust_planner.evaluation.violation import highest_force
from robust_planner.examples import Example, make_example
from robust_planner.report import mean_foot_height
from robust_planner.result import RobustPlan
from robust_planner.sweep import GridPoint, plan_grid, plan_reference

pytestmark = [pytest.mark.verify, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def hopper() -> Example:
    """The hopper, with time enough on a busy machine."""
    example = make_example("hopper")
    solver = dataclasses.replace(example.config.solver, budget=3600.0)
    return dataclasses.replace(example, config=dataclasses.replace(example.config, solver=solver))


@pytest.fixture(scope="module")
def reference(hopper: Example) -> RobustPlan:
    """Plan of the hopper under certainty, from a cold start."""
    return plan_reference(hopper)


def test_reference_from_a_cold_start(reference: RobustPlan) -> None:
    assert reference.solved
    assert reference.residuals.dynamics <= 1e-8
    assert reference.residuals.complementarity <= 1e-5
    assert reference.residuals.penetration <= 1e-6


def test_force_acts_up_to_the_chance_bound(hopper: Example, reference: RobustPlan) -> None:
    """Fig. 6b, c: without the cost the bound is used to the full."""
    point = GridPoint(0.5, 0.5, 0.6, expected_residual=False)
    result = plan_grid(hopper, [point], reference)[point]
    assert result.solved
    highest = highest_force(result.trajectory, hopper.robust_problem)
    assert highest == pytest.approx(normal_quantile(0.6) * 0.5, abs=1e-4)


def test_cost_and_chance_constraints_together(
    hopper: Example, reference: RobustPlan, tmp_path: Path
) -> None:
    """Fig. 6, 7: the foot is lifted higher, and force acts no higher than the bound."""
    point = GridPoint(0.05, 0.5, 0.6)
    result = plan_grid(hopper, [point], reference)[point]
    assert result.solved
    last = {stage.name: stage.converged for stage in result.stages}  # of the attempts of each
    assert len(last) == 11
    assert all(last.values())
    highest = highest_force(result.trajectory, hopper.robust_problem)
    assert highest <= normal_quantile(0.6) * 0.05 + 1e-4
    assert mean_foot_height(result) > 2.0 * mean_foot_height(reference)
    for figure in (figure_6bc, figure_7):
        _, numbers = figure(Sweep(folder=tmp_path), [point])
        assert numbers["solved"] == "1 of 1"


def test_foot_rises_with_the_weight_of_the_expected_residual(
    hopper: Example, reference: RobustPlan
) -> None:
    """The cost lifts the foot: 0 (the reference), 1 and 100 at sigma = 0.05 m."""
    point = GridPoint(0.05)
    heights = [mean_foot_height(reference)]
    for weight in (1.0, 100.0):
        residual = dataclasses.replace(hopper.config.expected_residual, weight=weight)
        continuation = dataclasses.replace(
            hopper.config.continuation,
            weight_fractions=tuple(f for f in (1e-2, 0.1, 1.0) if f * weight >= 1.0),
        )
        config = dataclasses.replace(
            hopper.config, expected_residual=residual, continuation=continuation
        )
        result = plan_grid(hopper, [point], reference, config)[point]
        assert result.solved
        heights.append(mean_foot_height(result))
    assert heights[0] < heights[1] < heights[2]
