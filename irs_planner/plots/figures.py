"""Cost against iteration, and what tells the modes apart in every picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from contact_core.base.figures import METHODS, OTHERS, new_figure
from irs_planner.smoothing import SMOOTHING_MODES

EXACT, FIRST, ZERO = METHODS["exact"], METHODS["first"], METHODS["zero"]
MARKERS = {"exact": "x", "first": "o", "zero": "^", "log_barrier": "s"}
OTHER_MARKERS = "DvP"
"""Of modes from elsewhere, in the order of their registration."""

Curves = Sequence[Sequence[float]]
"""Cost of the first guess and of every iterate, one row per seed."""


def mode_style(mode: str) -> dict[str, Any]:
    """Return colour, marker and label of a mode.

    Args:
        mode: One of SMOOTHING_MODES.

    Raises:
        ConfigError: If there is no such mode.
    """
    title = SMOOTHING_MODES[mode].title
    if mode in MARKERS:
        return {"color": METHODS[mode], "marker": MARKERS[mode], "label": title}
    number = [name for name in SMOOTHING_MODES if name not in MARKERS].index(mode) % len(OTHERS)
    return {"color": OTHERS[number], "marker": OTHER_MARKERS[number], "label": title}


def draw_costs(axes: Axes, curves: Curves, **style: Any) -> None:
    """Draw the median of some cost curves, and a band from the lowest to the highest.

    Args:
        axes: Where to.
        curves: One row per seed; a curve that ends early stays where it is.
        **style: Of the line.
    """
    length = max(len(curve) for curve in curves)
    costs = np.array([[*curve, *[curve[-1]] * (length - len(curve))] for curve in curves])
    iterations = np.arange(length)
    look = {"ms": 4, "lw": 1.3, "markevery": 1 + length // 12, **style}
    axes.plot(iterations, np.median(costs, axis=0), **look)
    if len(costs) > 1:
        beyond = 1e3 * costs[np.isfinite(costs)].max()  # stands for infinity
        low, high = (np.minimum(edge, beyond) for edge in (costs.min(axis=0), costs.max(axis=0)))
        axes.fill_between(iterations, low, high, color=style["color"], alpha=0.15, lw=0)


def frame_costs(axes: Axes, curves: Sequence[Curves]) -> None:
    """Scale axes so that a curve that diverges leaves the picture, not flattens the others.

    Args:
        axes: The axes.
        curves: Everything in them.
    """
    every = [np.array(curve) for rows in curves for curve in rows]
    finite = np.concatenate([costs[np.isfinite(costs)] for costs in every])
    axes.set_yscale("log")
    axes.set_ylim(0.8 * finite.min(), 2.0 * max(costs[0] for costs in every))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("iteration")
    axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))


def plot_costs(systems: Mapping[str, Mapping[str, Curves]], columns: int = 4) -> Figure:
    """Draw the cost curves of several systems, as Fig. 9 of bundled_gradients does.

    Args:
        systems: Title -> mode -> curves.
        columns: Panels per row.

    Returns:
        The figure, its modes named below.
    """
    columns = min(columns, len(systems))
    rows = -(-len(systems) // columns)
    figure, grid = new_figure(rows, columns, (max(3.2 * columns, 4.8), 2.7 * rows + 0.4))
    for axes in grid.flat[len(systems) :]:
        axes.set_visible(False)
    for axes, (title, modes) in zip(grid.flat, systems.items(), strict=False):
        for mode, curves in modes.items():
            draw_costs(axes, curves, **mode_style(mode))
        frame_costs(axes, list(modes.values()))
        axes.set_title(title)
    for axes in grid[:, 0]:
        axes.set_ylabel("cost")
    name_lines(figure)
    return figure


def name_lines(figure: Figure) -> None:
    """Name every line of a figure once, below all axes.

    Args:
        figure: The figure; lines of the same label are the same thing.
    """
    named = {
        label: line
        for axes in figure.axes
        for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        named.values(), named.keys(), loc="outside lower center", frameon=False,
        ncols=min(len(named), max(2, round(figure.get_figwidth() / 1.8))),
    )  # fmt: skip
