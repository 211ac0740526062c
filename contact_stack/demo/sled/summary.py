"""The figures of the demo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from contact_stack.demo.sled.plans import SledPlans
from contact_stack.demo.sled.run import Slide
from robust_planner.report import report

Slides = Mapping[str, Sequence[Slide]]
"""Name of a plan -> its runs, one per friction."""


def summarize(planned: SledPlans, slides: Slides, seed: int) -> dict[str, Any]:
    """Compare the executions.

    Args:
        planned: The plans.
        slides: Their runs.
        seed: Of the sensor noise.

    Returns:
        JSON content in SI units.
    """
    plans = {
        name: {
            **report(planned.example, planned.example.problem, planned.example.config, plan),
            "arm": _execution(slides[name], planned.example.problem.goal[0]),
        }
        for name, plan in planned.plans.items()
    }
    ranges = {name: content["arm"]["range"] for name, content in plans.items()}
    return {
        "experiment": "slide_sled",
        "seed": seed,
        "lockstep": True,
        "carried_mass_kg": planned.carried_mass,
        "range_ratio": ranges["robust"] / ranges["reference"],
        "plans": plans,
    }


def table(summary: Mapping[str, Any]) -> str:
    """Render the most telling figures.

    Args:
        summary: What :func:`summarize` returned.

    Returns:
        Lines of text.
    """
    plans = summary["plans"].values()
    rows = {
        "status": [plan["status"] for plan in plans],
        "predicted final error, mean [mm]": [_mm(plan["final_error"]["mean"]) for plan in plans],
        "predicted final error, range [mm]": [_mm(plan["final_error"]["range"]) for plan in plans],
        "final error of the arm, mean [mm]": [_mm(plan["arm"]["mean"]) for plan in plans],
        "final error of the arm, range [mm]": [_mm(plan["arm"]["range"]) for plan in plans],
        "largest force [N]": [f"{plan['max_control']:.1f}" for plan in plans],
        "largest speed, planned [m/s]": [f"{plan['max_speed']:.2f}" for plan in plans],
        "largest speed of the sled [m/s]": [f"{plan['arm']['max_speed']:.2f}" for plan in plans],
        "worlds without the planned forces": [f"{plan['violation_rate']:.1%}" for plan in plans],
        "  Gaussian prediction": [f"{plan['violation_rate_predicted']:.1%}" for plan in plans],
    }
    lines = ["".join([f"{'':36}", *(f"{name:>14}" for name in summary["plans"])])]
    lines += [
        "".join([f"{label:36}", *(f"{cell:>14}" for cell in cells)])
        for label, cells in rows.items()
    ]
    lines.append(
        f"range of the robust plan over that of the reference: {summary['range_ratio']:.0%}"
    )
    return "\n".join(lines)


def _execution(slides: Sequence[Slide], goal: float) -> dict[str, Any]:
    errors = np.array([run.distance[-1] - goal for run in slides])
    return {
        "mu": [run.friction for run in slides],
        "error_m": errors.tolist(),
        "mean": float(errors.mean()),
        "range": float(np.ptp(errors)),
        "max_speed": max(float(np.abs(run.speed).max()) for run in slides),
        "wall_time_s": sum(run.wall_time for run in slides),
        "trajectory_sha256": [run.sha256 for run in slides],
    }


def _mm(value: float) -> str:
    return f"{1e3 * value:+.1f}"
