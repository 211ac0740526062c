"""All that is known about a plan: its own figures, and its execution in tamsi_sim."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from contact_experiments.robust.tamsi_world import can_simulate, simulate_plan
from robust_planner.config import PlannerConfig
from robust_planner.evaluation.final_error import final_errors
from robust_planner.evaluation.impact import impacts
from robust_planner.evaluation.time_stepping import Simulation
from robust_planner.problem import RobustProblem
from robust_planner.problems.example import Example
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


def _max_speed(runs: Iterable[Simulation]) -> float:
    return max(float(np.abs(run.velocity).max()) for run in runs)
