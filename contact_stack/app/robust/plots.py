"""The plots of one plan, beside the reference it started from."""

from __future__ import annotations

from pathlib import Path

from robust_planner.evaluation.final_error import final_errors
from robust_planner.figures.block_plans import plot_controls, plot_simulations
from robust_planner.figures.hopper_plans import plot_foot, plot_frames
from robust_planner.request import Answer, PlanRequest

DOTS_PER_INCH = 110


def draw(request: PlanRequest, planned: Answer, folder: Path) -> list[Path]:
    """Draw forces and motion.

    Args:
        request: What was asked for.
        planned: The plans.
        folder: Where the PNG files go; must exist.

    Returns:
        The files.
    """
    example = request.example
    plans = {"reference": planned.reference}
    if planned.result is not planned.reference:
        plans[_name(request)] = planned.result
    if example.problem.model.name == "hopper":
        figures = {
            "frames": plot_frames(plans),
            "foot": plot_foot(plans, example.problem.model),
        }
    else:
        figures = {"controls": plot_controls(plans)}
        if example.test_friction:
            errors = {
                name: final_errors(plan.trajectory, example.problem, example.test_friction)
                for name, plan in plans.items()
            }
            figures["simulations"] = plot_simulations(errors, example.problem.goal[0])
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{name}.png")
        figure.savefig(paths[-1], dpi=DOTS_PER_INCH)
    return paths


def _name(request: PlanRequest) -> str:
    """Name the robust plan by what makes it robust."""
    config = request.config
    risk = ""
    if config.risk.enabled:
        risk = f" + chance, beta {config.risk.beta:g}, theta {config.risk.theta:g}"
    return f"ERM{risk}, sigma {config.uncertainty.sigma:g}"
