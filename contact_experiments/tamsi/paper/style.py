"""What the figures share: colours, panels with a grid, progress bars, and plain numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from matplotlib.figure import Figure
from tqdm import tqdm

Item = TypeVar("Item")
FigureResult = tuple[Figure, dict[str, Any]]
"""A figure, and its numbers for JSON; those under ``summary`` are printed, too."""

BLUE, RED, GREEN, YELLOW, GREY = "#2166ac", "#b2182b", "#1b7837", "#e08214", "#555555"


def panels(rows: int, columns: int, width: float, height: float) -> Figure:
    """Return a figure of equal panels.

    Args:
        rows: How many above each other.
        columns: How many side by side.
        width: Of the figure [in].
        height: Of the figure [in].
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.subplots(rows, columns)
    for axes in figure.axes:
        axes.grid(alpha=0.3)
    return figure


def progress(items: Iterable[Item], what: str, total: int) -> Iterator[Item]:
    """Show a progress bar while somebody iterates.

    Args:
        items: What is iterated over.
        what: Written beside the bar.
        total: How many there are.

    Yields:
        The items.
    """
    yield from tqdm(items, desc=what, total=total)


def plain(items: Iterable[Any]) -> list[dict[str, Any]]:
    """Return dataclasses as dictionaries for JSON."""
    return [dataclasses.asdict(item) for item in items]
