"""Fig. 9, cost against iteration, and the colours of the modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from contact_core.figures import new_figure, save

EXACT = "#c0392b"
FIRST = "#2471a3"
ZERO = "#1e8449"
BARRIER = "#8e44ad"
MODE_COLORS = {"exact": EXACT, "first": FIRST, "zero": ZERO, "log_barrier": BARRIER}
MODE_LABELS = {
    "exact": "exact",
    "first": "first order",
    "zero": "zero order",
    "log_barrier": "log barrier",
}


def figure_9(folder: Path, examples: dict[str, dict[str, Any]], columns: int = 5) -> Path:
    """Draw the cost curves of several examples.

    Args:
        folder: Where to save ``fig9.png``.
        examples: What :func:`contact_experiments.irs.benchmark.run_examples` found.
        columns: Panels per row.

    Returns:
        The file.
    """
    columns = min(columns, len(examples))
    rows = -(-len(examples) // columns)
    figure, grid = new_figure(rows, columns, (3.2 * columns, 2.7 * rows))
    for axes in grid.flat[len(examples) :]:
        axes.set_visible(False)
    for axes, (name, modes) in zip(grid.flat, examples.items(), strict=False):
        for mode, figures in modes.items():
            costs = np.array(figures["costs"])
            axes.plot(costs, color=MODE_COLORS[mode], marker=".", ms=4, label=MODE_LABELS[mode])
        finite = np.concatenate([m["costs"] for m in modes.values()])
        finite = finite[np.isfinite(finite)]
        axes.set_yscale("log")
        # A diverging curve leaves the picture instead of flattening the others.
        axes.set_ylim(0.8 * finite.min(), 2.0 * max(m["initial"] for m in modes.values()))
        axes.set(title=name.replace("_", " "), xlabel="iteration")
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
    grid[0, 0].set_ylabel("cost")
    handles = {
        label: Line2D([], [], color=MODE_COLORS[mode], marker=".")
        for mode, label in MODE_LABELS.items()
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=min(4, 2 * columns)
    )
    return save(figure, folder / "fig9.png")
