"""What all figures have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from contact_experiments.robust.sweep import GridPoint
from robust_planner.result import RobustPlan

# Label of a curve -> plan.
Plans = Mapping[str, RobustPlan]

# Of a curve without uncertainty.
REFERENCE: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.2}

# Of a curve with an expected residual alone.
COST_ALONE: dict[str, Any] = {"color": "crimson"}

# Risk bounds at the ends of the colour map.
LOWEST_RISK, HIGHEST_RISK = 0.45, 1.0


def new_figure(
    rows: int, columns: int, width: float = 10.0, height: float = 6.0, **shared: Any
) -> Figure:
    """Create a figure that needs no display.

    Args:
        rows: Rows of axes.
        columns: Columns of axes.
        width: [inch].
        height: [inch].
        **shared: ``sharex`` and ``sharey`` as of matplotlib's subplots.

    Returns:
        The figure; its axes are in ``figure.axes``, row by row.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.subplots(rows, columns, **shared)
    for axes in figure.axes:
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def label(axes: Axes, title: str, x: str, y: str) -> None:
    """Name the axes of a plot.

    Args:
        axes: The plot.
        title: Its title; names of Greek letters in it and below are shown as letters.
        x: Quantity and unit.
        y: Quantity and unit.
    """
    axes.set_title(greek(title), fontsize="medium")
    axes.set_xlabel(greek(x))
    axes.set_ylabel(greek(y))


def legend(axes: Axes, **options: Any) -> None:
    """Explain the curves of a plot.

    Args:
        axes: The plot; names of Greek letters in its labels are shown as letters.
        **options: As of matplotlib's legend.
    """
    handles, names = axes.get_legend_handles_labels()
    axes.legend(handles, [greek(name) for name in names], **{"fontsize": "small", **options})


def greek(text: str) -> str:
    """Replace the names of Greek letters by the letters, and +- by its sign.

    Args:
        text: For instance ``"sigma = 0.1"``.

    Returns:
        Text that matplotlib renders with the letters.
    """
    return re.sub(r"\b(mu|sigma|theta|beta)\b", r"$\\\1$", text.replace("+-", "±"))


def curve_style(point: GridPoint, parameter: str = "theta") -> dict[str, Any]:
    """Choose the colour of a curve by its risk bound, the same in every figure.

    Args:
        point: A point of the curve.
        parameter: The risk bound that tells the curves apart, ``"theta"`` or ``"beta"``.

    Returns:
        Options of matplotlib's plot.
    """
    risk = getattr(point, parameter)
    if risk is None:
        return COST_ALONE
    share = (risk - LOWEST_RISK) / (HIGHEST_RISK - LOWEST_RISK)
    return {"color": colormaps["viridis"](share)}
