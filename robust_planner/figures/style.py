"""What all figures have in common."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from robust_planner.result import PlanResult

# Label of a curve -> plan.
Plans = Mapping[str, PlanResult]


def new_figure(rows: int, columns: int, width: float = 10.0, height: float = 6.0) -> Figure:
    """Create a figure that needs no display.

    Args:
        rows: Rows of axes.
        columns: Columns of axes.
        width: [inch].
        height: [inch].

    Returns:
        The figure; its axes are in ``figure.axes``, row by row.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.subplots(rows, columns)
    for axes in figure.axes:
        axes.grid(alpha=0.3)
    return figure


def label(axes: Axes, title: str, x: str, y: str) -> None:
    """Name the axes of a plot.

    Args:
        axes: The plot.
        title: Its title.
        x: Quantity and unit.
        y: Quantity and unit.
    """
    axes.set_title(title)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
