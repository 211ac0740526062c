"""JSON, contact schedule and figures of a plan."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from matplotlib.colors import to_rgba

from robust_planner.evaluation.execution import final_errors
from robust_planner.examples import Example
from robust_planner.grid_figures import plot_final_errors, plot_trade_off
from robust_planner.plan_figures import (
    COLOURS,
    plot_controls,
    plot_final_blocks,
    plot_risks,
    plot_schedule,
    plot_simulations,
)
from robust_planner.planner import merit
from robust_planner.report import report
from robust_planner.result import RobustPlan
from robust_planner.sweep import GridPoint
from robust_planner.trajectory import ContactState, contact_schedule

KEYS = [
    "problem", "status", "warnings", "seconds", "cost", "merit", "max_speed", "friction_mid_N",
    "final_error", "foot_height_mean_m", "force_distance_max_m", "violation_rate", "risk_bound",
    "violation_rate_predicted", "impact", "max_control",
]  # fmt: skip


def test_report_of_the_reference(block: Example, block_reference: RobustPlan) -> None:
    content = report(block, block.problem, block.config, block_reference)
    assert list(content) == KEYS
    assert json.loads(json.dumps(content)) == content
    assert content["status"] == "SUCCEEDED"
    assert content["friction_mid_N"] == pytest.approx(-4.905, abs=1e-3)
    assert content["final_error"]["mu"] == [0.3, 0.43, 0.57, 0.7]
    assert content["final_error"]["range"] == pytest.approx(1.943, abs=0.005)
    assert content["violation_rate"] == pytest.approx(0.5, abs=0.02)
    assert content["foot_height_mean_m"] is None
    assert content["risk_bound"] is None


def test_merit_counts_each_violation_once(block: Example, block_reference: RobustPlan) -> None:
    """A normal force too large by 1 N: F = mu 1 N at every sliding knot."""
    plan = block_reference.trajectory
    normal = plan.normal_force.copy()
    normal[1:] += 1.0
    heavier = dataclasses.replace(plan, normal_force=normal)
    expected = (0.5**2 * plan.slip[1:] ** 2).mean()
    assert merit(heavier, block.problem, "friction") == pytest.approx(expected, rel=1e-4)


def test_block_slides_all_the_way(block: Example, block_reference: RobustPlan) -> None:
    phases = contact_schedule(block_reference.trajectory, block.problem.model)
    sliding = [phase for phase in phases if phase.mode is ContactState.SLIDING]
    assert len(sliding) == 1
    assert sliding[0].contact == "bottom"
    assert sliding[0].end - sliding[0].start >= 0.97
    assert phases[0].start == 0.0
    assert phases[-1].end == pytest.approx(1.0)


def test_figures_are_drawn(block: Example, block_reference: RobustPlan, tmp_path: Path) -> None:
    errors = final_errors(block_reference.trajectory, block.problem, block.test_friction)
    point = GridPoint(0.1, 0.7, 0.7)
    figures = {
        "controls": plot_controls({"reference": block_reference}),
        "simulations": plot_simulations({"reference": errors}, 5.0),
        "trade_off": plot_trade_off(
            {point: block_reference}, block_reference, lambda plan: plan.cost, "cost"
        ),
        "errors": plot_final_errors({point: errors}, errors, "sigma"),
        "risks": plot_risks({"sigma = 0.1": {point: block_reference}}, block_reference),
    }
    for name, figure in figures.items():
        figure.savefig(tmp_path / f"{name}.png")
        assert any(axes.lines for axes in figure.axes)
    curves = figures["trade_off"].axes[0].lines
    assert curves[0].get_label() == "ERM + chance, theta = 0.7"


def test_blocks_are_drawn_where_they_end(block: Example, block_reference: RobustPlan) -> None:
    errors = final_errors(block_reference.trajectory, block.problem, block.test_friction)
    (axes,) = plot_final_blocks({"reference": errors}, 5.0, size=1.0).axes
    centres = [patch.get_x() + 0.5 for patch in axes.patches]
    assert centres == pytest.approx(list(5.0 + errors.errors))


def test_schedule_has_a_bar_while_the_block_slides(
    block: Example, block_reference: RobustPlan
) -> None:
    (axes,) = plot_schedule({"reference": block_reference}, block.problem.model).axes
    sliding = to_rgba(COLOURS[ContactState.SLIDING])
    bars = [bar for bar in axes.collections if tuple(bar.get_facecolor()[0]) == sliding]
    (box,) = [bar.get_paths()[0].get_extents() for bar in bars]
    assert box.width >= 0.97
    assert axes.get_yticklabels()[0].get_text() == "reference\nbottom"
