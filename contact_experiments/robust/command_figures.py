"""``contact-stack robust NAME --figures``: the figures of the paper, from grids of plans."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tqdm import tqdm

from contact_core.errors import ConfigError, choices
from contact_experiments.robust.figures.block_paper import BLOCK_GRID, draw_block
from contact_experiments.robust.figures.hopper_paper import HOPPER_GRID, draw_hopper
from contact_experiments.robust.figures.paper import Listeners
from contact_experiments.robust.plan_store import PlanStore
from contact_experiments.robust.sweep import GridPoint
from robust_planner.config import PlannerConfig
from robust_planner.result import RobustPlan, StageProgress

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
