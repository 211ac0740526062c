"""The paper's figures: ``contact-stack robust block --figures`` and ``hopper --figures``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from contact_core.errors import ConfigError, choices
from contact_core.figures import save_all
from contact_experiments.robust.grid_figures import (
    REFERENCE,
    Grid,
    curve_style,
    plot_final_errors,
    plot_trade_off,
    point_name,
)
from contact_experiments.robust.plan_figures import (
    plot_final_blocks,
    plot_foot,
    plot_frames,
    plot_risks,
    plot_simulations,
)
from contact_experiments.robust.sweep import (
    SILENT,
    GridPoint,
    Listeners,
    PlanStore,
    plan_reference,
    sweep,
)
from robust_planner.config import PlannerConfig
from robust_planner.evaluation.execution import FinalErrors, final_errors
from robust_planner.examples import make_example
from robust_planner.report import mean_foot_height
from robust_planner.result import RobustPlan, StageProgress

RISKS = (0.51, 0.6, 0.7, 0.8, 0.9)
"""Risk bounds of the grids."""


BLOCK_SIGMAS = (0.01, 0.05, 0.1, 0.3, 1.0)
MODERATE, HIGH = 0.1, 1.0
"""The deviations that Fig. 2 and 4 compare."""
RISK = 0.7
"""beta and theta in Fig. 4 and 5a."""
EDGE = 1.0
"""Of the block [m]."""

SQUARE = tuple(GridPoint(sigma, risk, risk) for sigma in BLOCK_SIGMAS for risk in RISKS)
COST_ALONE = tuple(GridPoint(sigma) for sigma in BLOCK_SIGMAS)
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
    reference = plan_reference(example, config, listeners)
    plans = sweep(example, BLOCK_GRID, reference, config, listeners)
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
    return save_all(figures, folder, f"block_{config.mode}_")


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


HOPPER_SIGMAS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5)
BETA = 0.5
"""As published."""
THETA_OF_FRAMES = 0.6
"""Of the plan in Fig. 6a, beside the one without chance constraints."""

HOPPER_GRID = tuple(
    GridPoint(sigma, beta, theta)
    for sigma in HOPPER_SIGMAS
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
    reference = plan_reference(example, config, listeners)
    plans = sweep(example, grid, reference, config, listeners)
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
    return save_all(figures, folder, "hopper_")


PLANS = {"block": 1 + len(BLOCK_GRID), "hopper": 1 + len(HOPPER_GRID)}
"""Problem that the paper has figures of -> number of plans, with the reference."""

BAR = "{desc:72} {bar} {n}/{total} plans [{elapsed}<{remaining}]"


def draw_figures(name: str, config: PlannerConfig, folder: Path) -> None:
    """Plan all points of the grid, show progress and draw the figures.

    Plans are kept below the folder: an interrupted run goes on where it was.

    Args:
        name: The problem.
        config: Settings; the grid decides about uncertainty and risk, and the budget is that of
            each plan.
        folder: Where pictures and plans go.

    Raises:
        ConfigError: If the paper has no figures of this problem.
    """
    if name not in PLANS:
        raise ConfigError(f"the paper has no figures of '{name}' ({choices(PLANS)})")
    store = PlanStore(folder / "plans")
    with tqdm(total=PLANS[name], bar_format=BAR) as bar:
        listeners = Listeners(store, _plan_shower(bar), _progress_shower(bar))
        if name == "block":
            files = draw_block(folder, config, listeners)
        else:
            files = draw_hopper(folder, config, listeners=listeners)
    print(f"figures: {folder}: {', '.join(file.name for file in files)}")


def _plan_shower(bar: tqdm) -> Callable[[GridPoint | None, RobustPlan], None]:
    def show(point: GridPoint | None, result: RobustPlan) -> None:
        name = "reference"
        if point is not None:
            risk = "" if point.theta is None else f", beta {point.beta:g}, theta {point.theta:g}"
            name = (
                f"{'' if point.expected_residual else 'chance only, '}sigma {point.sigma:g}{risk}"
            )
        bar.write(f"{name:44} {result.status.name:20} {result.seconds:7.1f} s")
        bar.update()

    return show


def _progress_shower(bar: tqdm) -> Callable[[StageProgress], None]:
    def show(progress: StageProgress) -> None:
        bar.set_description_str(
            f"{progress.stage}: iteration {progress.iterations}, residual {progress.residual:.1e}"
        )

    return show
