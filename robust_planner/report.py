"""The figures of one plan, as ``contact-stack robust`` prints them."""

from __future__ import annotations

from typing import Any

import numpy as np

from robust_planner.config import PlannerConfig
from robust_planner.evaluation.execution import FinalErrors, Impacts, final_errors, impacts
from robust_planner.evaluation.violation import highest_force, violation_rate
from robust_planner.examples import Example
from robust_planner.models import joint_positions
from robust_planner.problem import RobustProblem
from robust_planner.result import RobustPlan


def report(
    example: Example, problem: RobustProblem, config: PlannerConfig, result: RobustPlan
) -> dict[str, Any]:
    """Judge a plan.

    Args:
        example: Tells with which frictions to simulate.
        problem: The problem that was planned.
        config: The parameters it was planned with.
        result: The plan.

    Returns:
        JSON content in SI units; None where a quantity does not apply to the problem.
    """
    trajectory = result.trajectory
    middle = len(trajectory.time) // 2
    rate = violation_rate(trajectory, problem, config)
    is_hopper = problem.model.own_name == "hopper"
    errors = hits = None
    if example.test_friction:
        errors = error_entry(final_errors(trajectory, problem, example.test_friction))
    elif example.test_height:
        hits = impact_entry(impacts(trajectory, problem, example.test_height))
    return {
        "problem": problem.name,
        "status": result.status.name,
        "warnings": [str(warning) for warning in result.warnings],
        "seconds": result.seconds,
        "cost": result.cost,
        "merit": result.merit,
        "max_speed": float(np.abs(trajectory.velocity).max()),
        "friction_mid_N": float(trajectory.friction_force[middle, :, 0].sum()),
        "final_error": errors,
        "foot_height_mean_m": mean_foot_height(result) if is_hopper else None,
        "force_distance_max_m": _finite(highest_force(trajectory, problem)),
        "violation_rate": rate.sampled if rate else None,
        "risk_bound": rate.declared if rate else None,
        "violation_rate_predicted": rate.predicted if rate else None,
        "impact": hits,
        "max_control": float(np.abs(trajectory.control).max()),
    }


def mean_foot_height(result: RobustPlan) -> float:
    """Average the ankle height of a hopper's plan over the knots.

    Args:
        result: A plan of the hopper.

    Returns:
        The height over the mean terrain [m].
    """
    ankle = joint_positions(result.trajectory.position)[:, 2]
    return float(ankle[:, 1].mean())


def error_entry(errors: FinalErrors) -> dict[str, Any]:
    """Return final errors as JSON content.

    Args:
        errors: The errors.
    """
    return {
        "mu": list(errors.friction),
        "error_m": errors.errors.tolist(),
        "mean": errors.mean,
        "range": errors.range,
    }


def impact_entry(hits: Impacts) -> dict[str, Any]:
    """Return impact speeds as JSON content; None where there was no impact.

    Args:
        hits: The impacts.
    """
    return {
        "height_m": list(hits.height),
        "speed_m_s": [_finite(speed) for speed in hits.speeds.tolist()],
        "mean": _finite(hits.mean),
        "range": _finite(hits.range),
        "largest": _finite(hits.largest),
    }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
