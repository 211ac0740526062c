"""The paper's figures of the hopper: Fig. 6 and 7."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from contact_experiments.robust.figures.grids import plot_trade_off, point_name
from contact_experiments.robust.figures.hopper_plans import plot_foot, plot_frames
from contact_experiments.robust.figures.paper import RISKS, SILENT, Listeners, plan_grid, save
from contact_experiments.robust.figures.style import REFERENCE, curve_style
from contact_experiments.robust.sweep import GridPoint
from robust_planner.config import PlannerConfig
from robust_planner.problems.registry import make_example
from robust_planner.report import mean_foot_height

SIGMAS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5)
BETA = 0.5
"""As published."""
THETA_OF_FRAMES = 0.6
"""Of the plan in Fig. 6a, beside the one without chance constraints."""

HOPPER_GRID = tuple(
    GridPoint(sigma, beta, theta)
    for sigma in SIGMAS
    for beta, theta in [(None, None), *((BETA, risk) for risk in RISKS)]
)


def draw_hopper(
    folder: Path,
    config: PlannerConfig,
    grid: Sequence[GridPoint] = HOPPER_GRID,
    listeners: Listeners = SILENT,
) -> list[Path]:
    """Plan the grid and reproduce the figures; about a minute per plan.

    Args:
        folder: Where the PNG files go; must exist.
        config: Settings; the grid decides about uncertainty and risk.
        grid: The points; those of the largest sigma are shown in Fig. 6.
        listeners: Who hears about the plans.

    Returns:
        The files.
    """
    example = make_example("hopper")
    reference, plans = plan_grid(example, grid, config, listeners)
    largest = max(point.sigma for point in grid)
    shown = {p: plan for p, plan in plans.items() if p.sigma == largest and plan.solved}
    foot, frames = {"reference": reference}, {"reference": reference}
    styles = {"reference": REFERENCE}
    for point, plan in shown.items():
        name = f"{point_name(point)} m"
        foot[name], styles[name] = plan, curve_style(point)
        if point.theta in (None, THETA_OF_FRAMES):
            frames[name] = plan
    figures = {
        "fig6a_frames": plot_frames(frames),
        "fig6bc_foot": plot_foot(foot, example.problem.model, styles),
        "fig7_trade_off": plot_trade_off(
            plans, reference, mean_foot_height, "mean foot height [m]", "m"
        ),
    }
    return save(figures, folder, "hopper")
