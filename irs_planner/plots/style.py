"""Colours and small helpers shared by all figures."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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


def panels(count: int, width: float = 3.6, height: float = 3.0) -> tuple[Figure, list[Axes]]:
    """Create a row of axes.

    Args:
        count: Number of axes.
        width: Of each one [inch].
        height: Of each one [inch].

    Returns:
        The figure and its axes.
    """
    figure, axes = plt.subplots(
        1, count, figsize=(width * count, height), layout="constrained", squeeze=False
    )
    return figure, list(axes[0])


def save(figure: Figure, path: Path) -> Path:
    """Write a figure and release it.

    Args:
        figure: The figure.
        path: Where to; the folder is created.

    Returns:
        The path.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path
