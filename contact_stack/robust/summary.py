"""A plan judged, by its own figures and its execution in tamsi_sim: as JSON, table and plots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from contact_core.base import results
from contact_core.base.figures import save_all
from contact_core.base.results import Rows, look_up
from contact_stack.robust import tamsi_world
from robust_planner.config import PlannerConfig
from robust_planner.evaluation.execution import final_errors, impacts
from robust_planner.evaluation.time_stepping import Simulator, SteppedMotion, simulate_plan
from robust_planner.examples import Example
from robust_planner.grid_figures import Plans
from robust_planner.plan_figures import (
    plot_approach,
    plot_controls,
    plot_foot,
    plot_frames,
    plot_impacts,
    plot_schedule,
    plot_simulations,
)
from robust_planner.planner import RobustAnswer, RobustRequest
from robust_planner.problem import RobustProblem
from robust_planner.report import error_entry, impact_entry, report
from robust_planner.result import RobustPlan
from robust_planner.trajectory import ContactTrajectory


def summarize(
    example: Example, problem: RobustProblem, config: PlannerConfig, result: RobustPlan
) -> dict[str, Any]:
    """Judge a plan.

    Args:
        example: Tells in which worlds to simulate.
        problem: The problem that was planned.
        config: The parameters it was planned with.
        result: The plan.

    Returns:
        JSON content of :func:`robust_planner.report.report` and, under ``"tamsi"``, the same
        plan in tamsi_sim; None for problems that tamsi_sim is not asked to execute.
    """
    return {
        **report(example, problem, config, result),
        "tamsi": _in_tamsi(example, problem, result.trajectory),
    }


def _in_tamsi(
    example: Example, problem: RobustProblem, trajectory: ContactTrajectory
) -> dict[str, Any] | None:
    if not tamsi_world.can_simulate(problem):
        return None
    if not example.test_friction:
        hits = impacts(trajectory, problem, example.test_height, tamsi_world.simulate_plan)
        return {
            "final_error": None,
            "impact": impact_entry(hits),
            "max_speed": _max_speed(hits.simulations),
        }
    errors = final_errors(
        trajectory, problem, example.test_friction, example.test_height, tamsi_world.simulate_plan
    )
    return {
        "final_error": {**error_entry(errors), "height_m": list(errors.height)},
        "impact": None,
        "max_speed": _max_speed(errors.simulations),
    }


def _max_speed(runs: Iterable[SteppedMotion]) -> float:
    return max(float(np.abs(run.velocity).max()) for run in runs)


ROWS: Rows = (
    ("status", "status", 1.0, ""),
    ("wall time", "seconds", 1.0, "s"),
    ("cost", "cost", 1.0, ""),
    ("merit: infeasibility under the mean", "merit", 1.0, ""),
    ("largest control", "max_control", 1.0, "N or Nm"),
    ("largest speed", "max_speed", 1.0, "m/s or rad/s"),
    ("friction at half time", "friction_mid_N", 1.0, "N"),
    ("final error, mean", "final_error.mean", 1.0, "m"),
    ("final error, range", "final_error.range", 1.0, "m"),
    ("  in tamsi_sim, mean", "tamsi.final_error.mean", 1.0, "m"),
    ("  in tamsi_sim, range", "tamsi.final_error.range", 1.0, "m"),
    ("impact speed, mean", "impact.mean", 1.0, "m/s"),
    ("impact speed, range", "impact.range", 1.0, "m/s"),
    ("impact speed, largest", "impact.largest", 1.0, "m/s"),
    ("  in tamsi_sim, mean", "tamsi.impact.mean", 1.0, "m/s"),
    ("  in tamsi_sim, range", "tamsi.impact.range", 1.0, "m/s"),
    ("  in tamsi_sim, largest", "tamsi.impact.largest", 1.0, "m/s"),
    ("largest speed in tamsi_sim", "tamsi.max_speed", 1.0, "m/s"),
    ("mean foot height", "foot_height_mean_m", 1.0, "m"),
    ("largest distance with force", "force_distance_max_m", 1.0, "m"),
    ("worlds in which the plan is impossible", "violation_rate", 100.0, "%"),
    ("  Gaussian prediction", "violation_rate_predicted", 100.0, "%"),
    ("declared risk per knot", "risk_bound", 100.0, "%"),
)

WIDTH, DIGITS = 22, 4
"""Of a column."""


def table(summaries: Mapping[str, Mapping[str, Any]]) -> str:
    """Render summaries side by side.

    Args:
        summaries: Name of a plan -> its summary.

    Returns:
        Lines of text; quantities that apply to none of the plans are left out.
    """
    applying = [
        row for row in ROWS if any(look_up(s, row[1]) is not None for s in summaries.values())
    ]
    return "\n".join(results.table(summaries, applying, "", WIDTH, DIGITS, smallest=0.0))


SIMULATORS: dict[str, Simulator] = {
    "Stewart-Trinkle": simulate_plan,
    "TAMSI": tamsi_world.simulate_plan,
}


def draw(request: RobustRequest, planned: RobustAnswer, folder: Path) -> list[Path]:
    """Draw forces and motion.

    Args:
        request: What was asked for.
        planned: The plans.
        folder: Where the PNG files go.

    Returns:
        The files.
    """
    plans = {"reference": planned.reference}
    if planned.result is not planned.reference:
        plans[_name(request)] = planned.result
    figures = _figures(request, plans)
    figures["schedule"] = plot_schedule(plans, request.example.problem.model)
    return save_all(figures, folder)


def _figures(request: RobustRequest, plans: Plans) -> dict[str, Figure]:
    example = request.example
    problem, model = example.problem, example.problem.model
    if model.own_name == "hopper":
        return {"frames": plot_frames(plans), "foot": plot_foot(plans, model)}
    if model.own_name == "lowered_tool":
        hits = {
            plan_name: {
                name: impacts(plan.trajectory, problem, example.test_height, simulate)
                for name, simulate in SIMULATORS.items()
            }
            for plan_name, plan in plans.items()
        }
        return {
            "approach": plot_approach(plans, model, request.config.uncertainty.sigma),
            "impacts": plot_impacts(hits, model),
        }
    figures = {"controls": plot_controls(plans)}
    if not example.test_friction:
        return figures
    for file, (name, simulate) in zip(("simulations", "tamsi"), SIMULATORS.items(), strict=True):
        errors = {
            f"{plan_name}, {name}": final_errors(
                plan.trajectory, problem, example.test_friction, simulate=simulate
            )
            for plan_name, plan in plans.items()
        }
        figures[file] = plot_simulations(errors, problem.goal[0])
    return figures


def _name(request: RobustRequest) -> str:
    """Name the robust plan by what makes it robust."""
    config = request.config
    risk = ""
    if config.risk.enabled:
        risk = f" + chance, beta = {config.risk.beta:g}, theta = {config.risk.theta:g}"
    return f"ERM{risk}, sigma = {config.uncertainty.sigma:g}"
