"""Summary of a plan as JSON and as a table: its own figures and its execution in tamsi_sim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from contact_experiments.robust.tamsi_world import can_simulate, simulate_plan
from robust_planner.config import PlannerConfig
from robust_planner.evaluation.execution import final_errors, impacts
from robust_planner.evaluation.time_stepping import SteppedMotion
from robust_planner.examples import Example
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
    if not can_simulate(problem):
        return None
    if not example.test_friction:
        hits = impacts(trajectory, problem, example.test_height, simulate_plan)
        return {
            "final_error": None,
            "impact": impact_entry(hits),
            "max_speed": _max_speed(hits.simulations),
        }
    errors = final_errors(
        trajectory, problem, example.test_friction, example.test_height, simulate_plan
    )
    return {
        "final_error": {**error_entry(errors), "height_m": list(errors.height)},
        "impact": None,
        "max_speed": _max_speed(errors.simulations),
    }


def _max_speed(runs: Iterable[SteppedMotion]) -> float:
    return max(float(np.abs(run.velocity).max()) for run in runs)


ROWS = (
    ("status", "status", ""),
    ("wall time", "seconds", "s"),
    ("cost", "cost", ""),
    ("merit: infeasibility under the mean", "merit", ""),
    ("largest control", "max_control", "N or Nm"),
    ("largest speed", "max_speed", "m/s or rad/s"),
    ("friction at half time", "friction_mid_N", "N"),
    ("final error, mean", "final_error.mean", "m"),
    ("final error, range", "final_error.range", "m"),
    ("  in tamsi_sim, mean", "tamsi.final_error.mean", "m"),
    ("  in tamsi_sim, range", "tamsi.final_error.range", "m"),
    ("impact speed, mean", "impact.mean", "m/s"),
    ("impact speed, range", "impact.range", "m/s"),
    ("impact speed, largest", "impact.largest", "m/s"),
    ("  in tamsi_sim, mean", "tamsi.impact.mean", "m/s"),
    ("  in tamsi_sim, range", "tamsi.impact.range", "m/s"),
    ("  in tamsi_sim, largest", "tamsi.impact.largest", "m/s"),
    ("largest speed in tamsi_sim", "tamsi.max_speed", "m/s"),
    ("mean foot height", "foot_height_mean_m", "m"),
    ("largest distance with force", "force_distance_max_m", "m"),
    ("worlds in which the plan is impossible", "violation_rate", "%"),
    ("  Gaussian prediction", "violation_rate_predicted", "%"),
    ("declared risk per knot", "risk_bound", "%"),
)
"""Label, path of keys in the summary, unit."""

WIDTH = 22
"""Of a column."""


def table(summaries: Mapping[str, Mapping[str, Any]]) -> str:
    """Render summaries side by side.

    Args:
        summaries: Name of a plan -> its summary.

    Returns:
        Lines of text; quantities that apply to none of the plans are left out.
    """
    lines = ["".join([f"{'':40}", *(f"{name:>{WIDTH}}" for name in summaries)])]
    for label, path, unit in ROWS:
        values = [look_up(summary, path) for summary in summaries.values()]
        if any(value is not None for value in values):
            cells = (f"{_cell(value, unit):>{WIDTH}}" for value in values)
            lines.append("".join([f"{label:40}", *cells]))
    return "\n".join(lines)


def look_up(summary: Mapping[str, Any], path: str) -> Any:
    """Follow a path of keys, separated by points.

    Args:
        summary: Nested mappings.
        path: For instance ``"tamsi.impact.mean"``.

    Returns:
        The value; None if it, or something on the way, is None.
    """
    value: Any = summary
    for key in path.split("."):
        value = None if value is None else value[key]
    return value


def _cell(value: Any, unit: str) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{100 * value if unit == '%' else value:.4g} {unit}".strip()
