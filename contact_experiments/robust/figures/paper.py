"""What the figures of the paper have in common: plans over a grid, and files."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from contact_experiments.robust.plan_store import PlanStore
from contact_experiments.robust.sweep import GridPoint, OnProgress, plan_reference, sweep
from robust_planner.config import PlannerConfig
from robust_planner.problems.example import Example
from robust_planner.result import RobustPlan

DOTS_PER_INCH = 130

RISKS = (0.51, 0.6, 0.7, 0.8, 0.9)
"""Risk bounds of the grids."""


@dataclass(frozen=True)
class Listeners:
    """Who hears about the plans of a grid, and where they are kept.

    Attributes:
        store: Where plans are looked for and kept; None for nowhere.
        on_plan: Called after every plan, with None for the reference.
        on_progress: Called now and then while planning.
    """

    store: PlanStore | None = None
    on_plan: Callable[[GridPoint | None, RobustPlan], None] = lambda point, result: None
    on_progress: OnProgress | None = None


SILENT = Listeners()


def plan_grid(
    example: Example, grid: Iterable[GridPoint], config: PlannerConfig, listeners: Listeners
) -> tuple[RobustPlan, dict[GridPoint, RobustPlan]]:
    """Plan the reference and every point of a grid.

    Args:
        example: The example.
        grid: The points.
        config: Settings; the grid decides about uncertainty and risk.
        listeners: Who hears about the plans.

    Returns:
        The reference, and grid point -> plan, also of those that did not converge.
    """
    store, on_progress = listeners.store, listeners.on_progress
    # The mode does not matter to the reference: that of the example is kept for both.
    certain = dataclasses.replace(config, mode=example.config.mode)
    reference = plan_reference(example, certain, store, on_progress)
    listeners.on_plan(None, reference)
    plans = sweep(example, grid, reference, config, listeners.on_plan, store, on_progress)
    return reference, plans


def save(figures: dict[str, Figure], folder: Path, prefix: str) -> list[Path]:
    """Write figures as PNG files.

    Args:
        figures: Name -> figure.
        folder: Where the files go; must exist.
        prefix: What the names of all files begin with.

    Returns:
        The files.
    """
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{prefix}_{name}.png")
        figure.savefig(paths[-1], dpi=DOTS_PER_INCH)
    return paths
