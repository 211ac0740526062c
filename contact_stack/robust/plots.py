"""The plots of one plan, beside the reference it started from."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from contact_core.base.figures import save_all
from contact_stack.robust import tamsi_world
from robust_planner.evaluation.execution import final_errors, impacts
from robust_planner.evaluation.time_stepping import Simulator, simulate_plan
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
    if model.name == "hopper":
        return {"frames": plot_frames(plans), "foot": plot_foot(plans, model)}
    if model.name == "lowered_tool":
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
