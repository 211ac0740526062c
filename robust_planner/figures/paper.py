"""All figures of the paper, each from its grid of plans."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from robust_planner.config import PlannerConfig
from robust_planner.evaluation.final_error import FinalErrors, final_errors
from robust_planner.figures.block_plans import plot_final_blocks, plot_risks, plot_simulations
from robust_planner.figures.grids import Grid, curve_name, plot_final_errors, plot_trade_off
from robust_planner.figures.hopper_plans import plot_foot, plot_frames
from robust_planner.figures.style import REFERENCE, curve_style
from robust_planner.plan_store import PlanStore
from robust_planner.problems.example import Example
from robust_planner.problems.registry import make_example
from robust_planner.report import mean_foot_height
from robust_planner.result import PlanResult
from robust_planner.sweep import GridPoint, OnProgress, plan_reference, sweep

DOTS_PER_INCH = 130

RISKS = (0.51, 0.6, 0.7, 0.8, 0.9)
BLOCK_SIGMAS = (0.01, 0.05, 0.1, 0.3, 1.0)
HOPPER_SIGMAS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5)

SQUARE = tuple(GridPoint(sigma, risk, risk) for sigma in BLOCK_SIGMAS for risk in RISKS)
COST_ALONE = tuple(GridPoint(sigma) for sigma in BLOCK_SIGMAS)
CHANCE_ALONE = tuple(
    GridPoint(sigma, risk, risk, expected_residual=False) for sigma in (0.1, 1.0) for risk in RISKS
)
BLOCK_RISKS = tuple(
    GridPoint(1.0, beta, theta) for beta in (0.51, 0.7, 0.9) for theta in (0.51, 0.7, 0.9)
)
BLOCK_GRID = tuple(dict.fromkeys((*SQUARE, *COST_ALONE, *CHANCE_ALONE, *BLOCK_RISKS)))
# beta is 0.5, as published.
HOPPER_GRID = tuple(
    GridPoint(sigma, beta, theta)
    for sigma in HOPPER_SIGMAS
    for beta, theta in [(None, None), *((0.5, risk) for risk in RISKS)]
)


@dataclass(frozen=True)
class Listeners:
    """Who hears about the plans of a grid, and where they are kept.

    Attributes:
        store: Where plans are looked for and kept; None for nowhere.
        on_plan: Called after every plan, with None for the reference.
        on_progress: Called now and then while planning.
    """

    store: PlanStore | None = None
    on_plan: Callable[[GridPoint | None, PlanResult], None] = lambda point, result: None
    on_progress: OnProgress | None = None


SILENT = Listeners()


def draw_block(folder: Path, config: PlannerConfig, listeners: Listeners = SILENT) -> list[Path]:
    """Reproduce Fig. 2, 3, 4 and 5.

    Args:
        folder: Where the PNG files go; must exist.
        config: Settings; the grid decides about uncertainty and risk.
        listeners: Who hears about the plans.

    Returns:
        The files.
    """
    example = make_example("block")
    reference, plans = _plan(example, BLOCK_GRID, config, listeners)

    def errors(points: Iterable[GridPoint]) -> dict[GridPoint, FinalErrors]:
        return {
            point: final_errors(plans[point].trajectory, example.problem, example.test_friction)
            for point in points
            if plans[point].solved
        }

    nominal = final_errors(reference.trajectory, example.problem, example.test_friction)
    goal = example.problem.goal[0]
    moderate, high = (GridPoint(sigma) for sigma in (0.1, 1.0))
    both_moderate, both_high = (GridPoint(sigma, 0.7, 0.7) for sigma in (0.1, 1.0))
    simulated = {"reference": nominal} | {
        f"{curve_name(point, 'theta')}, sigma = {point.sigma:g}": error
        for point, error in errors([moderate, high, both_moderate, both_high]).items()
    }
    under_high = {name: error for name, error in simulated.items() if "sigma = 0.1" not in name}
    figures = {
        "fig2_controls": plot_risks(_columns(plans), reference),
        "fig3_trade_off": plot_trade_off(
            {point: plans[point] for point in SQUARE + COST_ALONE},
            reference,
            _speed,
            "largest speed [m/s]",
        ),
        "fig4_simulations": plot_simulations(simulated, goal),
        "fig4d_final_positions": plot_final_blocks(under_high, goal, size=1.0),
        "fig5a_errors_over_sigma": plot_final_errors(
            errors([p for p in SQUARE + COST_ALONE if p.theta in (None, 0.7)]), nominal, "sigma"
        ),
        "fig5b_errors_over_risk": plot_final_errors(errors((high, *BLOCK_RISKS)), nominal, "theta"),
    }
    return _save(figures, folder, f"block_{config.mode}")


def draw_hopper(
    folder: Path,
    config: PlannerConfig,
    grid: Sequence[GridPoint] = HOPPER_GRID,
    listeners: Listeners = SILENT,
) -> list[Path]:
    """Reproduce Fig. 6 and 7; about a minute per plan.

    Args:
        folder: Where the PNG files go; must exist.
        config: Settings; the grid decides about uncertainty and risk.
        grid: The points; those of the largest sigma are shown in Fig. 6.
        listeners: Who hears about the plans.

    Returns:
        The files.
    """
    example = make_example("hopper")
    reference, plans = _plan(example, grid, config, listeners)
    largest = max(point.sigma for point in grid)
    shown = {p: plan for p, plan in plans.items() if p.sigma == largest and plan.solved}
    names = {point: f"{curve_name(point, 'theta')}, sigma = {largest:g} m" for point in shown}
    foot = {"reference": reference} | {names[point]: plan for point, plan in shown.items()}
    frames = {"reference": reference} | {
        names[point]: plan for point, plan in shown.items() if point.theta in (None, 0.6)
    }
    styles = {"reference": REFERENCE} | {names[point]: curve_style(point) for point in shown}
    figures = {
        "fig6a_frames": plot_frames(frames),
        "fig6bc_foot": plot_foot(foot, example.problem.model, styles),
        "fig7_trade_off": plot_trade_off(
            plans, reference, mean_foot_height, "mean foot height [m]", "m"
        ),
    }
    return _save(figures, folder, "hopper")


def _plan(
    example: Example, grid: Iterable[GridPoint], config: PlannerConfig, listeners: Listeners
) -> tuple[PlanResult, dict[GridPoint, PlanResult]]:
    """Plan the reference and every point of a grid."""
    store, on_progress = listeners.store, listeners.on_progress
    # The mode does not matter to the reference: that of the example is kept for both.
    certain = dataclasses.replace(config, mode=example.config.mode)
    reference = plan_reference(example, certain, store, on_progress)
    listeners.on_plan(None, reference)
    plans = sweep(example, grid, reference, config, listeners.on_plan, store, on_progress)
    return reference, plans


def _columns(plans: Grid) -> dict[str, Grid]:
    """Sort plans of the block by what Fig. 2 compares; plans that are not there are left out."""
    columns: dict[str, Grid] = {}
    for name, cost in (("chance", False), ("ERM + chance", True)):
        for sigma in (0.1, 1.0):
            columns[f"{name}, sigma = {sigma:g}"] = {
                point: plan
                for point, plan in plans.items()
                if point.sigma == sigma
                and point.expected_residual is cost
                and point.beta == point.theta
            }
    return columns


def _speed(result: PlanResult) -> float:
    return float(np.abs(result.trajectory.velocity).max())


def _save(figures: dict[str, Figure], folder: Path, prefix: str) -> list[Path]:
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{prefix}_{name}.png")
        figure.savefig(paths[-1], dpi=DOTS_PER_INCH)
    return paths
