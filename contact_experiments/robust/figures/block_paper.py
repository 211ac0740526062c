"""The paper's figures of the sliding block: Fig. 2, 3, 4 and 5."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from contact_experiments.robust.figures.block_plans import (
    plot_final_blocks,
    plot_risks,
    plot_simulations,
)
from contact_experiments.robust.figures.grids import (
    Grid,
    plot_final_errors,
    plot_trade_off,
    point_name,
)
from contact_experiments.robust.figures.paper import RISKS, SILENT, Listeners, plan_grid, save
from contact_experiments.robust.sweep import GridPoint
from robust_planner.config import PlannerConfig
from robust_planner.evaluation.final_error import FinalErrors, final_errors
from robust_planner.problems.registry import make_example
from robust_planner.result import RobustPlan

SIGMAS = (0.01, 0.05, 0.1, 0.3, 1.0)
MODERATE, HIGH = 0.1, 1.0
"""The deviations that Fig. 2 and 4 compare."""
RISK = 0.7
"""beta and theta in Fig. 4 and 5a."""
EDGE = 1.0
"""Of the block [m]."""

SQUARE = tuple(GridPoint(sigma, risk, risk) for sigma in SIGMAS for risk in RISKS)
COST_ALONE = tuple(GridPoint(sigma) for sigma in SIGMAS)
CHANCE_ALONE = tuple(
    GridPoint(sigma, risk, risk, expected_residual=False)
    for sigma in (MODERATE, HIGH)
    for risk in RISKS
)
RISK_PAIRS = tuple(
    GridPoint(HIGH, beta, theta) for beta in (0.51, 0.7, 0.9) for theta in (0.51, 0.7, 0.9)
)
BLOCK_GRID = tuple(dict.fromkeys((*SQUARE, *COST_ALONE, *CHANCE_ALONE, *RISK_PAIRS)))


def draw_block(folder: Path, config: PlannerConfig, listeners: Listeners = SILENT) -> list[Path]:
    """Plan the grid and reproduce the figures.

    Args:
        folder: Where the PNG files go; must exist.
        config: Settings; the grid decides about uncertainty and risk.
        listeners: Who hears about the plans.

    Returns:
        The files.
    """
    example = make_example("block")
    problem, goal = example.problem, example.problem.goal[0]
    reference, plans = plan_grid(example, BLOCK_GRID, config, listeners)
    solved = {point: plan for point, plan in plans.items() if plan.solved}

    def simulate(plan: RobustPlan) -> FinalErrors:
        return final_errors(plan.trajectory, problem, example.test_friction)

    def simulate_all(points: Iterable[GridPoint]) -> dict[GridPoint, FinalErrors]:
        return {point: simulate(solved[point]) for point in points if point in solved}

    def compare(*points: GridPoint) -> dict[str, FinalErrors]:
        named = {point_name(point): errors for point, errors in simulate_all(points).items()}
        return {"reference": nominal, **named}

    nominal = simulate(reference)
    moderate = GridPoint(MODERATE), GridPoint(MODERATE, RISK, RISK)
    high = GridPoint(HIGH), GridPoint(HIGH, RISK, RISK)
    trade_off = {point: plans[point] for point in SQUARE + COST_ALONE}
    over_sigma = [point for point in trade_off if point.theta in (None, RISK)]
    figures = {
        "fig2_controls": plot_risks(_columns(plans), reference),
        "fig3_trade_off": plot_trade_off(trade_off, reference, _speed, "largest speed [m/s]"),
        "fig4_simulations": plot_simulations(
            compare(moderate[0], high[0], moderate[1], high[1]), goal
        ),
        "fig4d_final_positions": plot_final_blocks(compare(*high), goal, EDGE),
        "fig5a_errors_over_sigma": plot_final_errors(simulate_all(over_sigma), nominal, "sigma"),
        "fig5b_errors_over_risk": plot_final_errors(
            simulate_all((high[0], *RISK_PAIRS)), nominal, "theta"
        ),
    }
    return save(figures, folder, f"block_{config.mode}")


def _columns(plans: Grid) -> dict[str, Grid]:
    """Sort plans by what Fig. 2 compares."""
    columns: dict[str, Grid] = {}
    for name, cost in (("chance", False), ("ERM + chance", True)):
        for sigma in (MODERATE, HIGH):
            columns[f"{name}, sigma = {sigma:g}"] = {
                point: plan
                for point, plan in plans.items()
                if point.sigma == sigma
                and point.expected_residual is cost
                and point.beta == point.theta
            }
    return columns


def _speed(plan: RobustPlan) -> float:
    return float(np.abs(plan.trajectory.velocity).max())
