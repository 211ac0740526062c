"""The style of all pictures: axes, colours, names of phases, legends, files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_core.base.files import replacement

# Takes a while to import, and a command may have to show something first.
if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED, BROWN, GREY, PURPLE, PINK, OLIVE = (
    "#0b6e99", "#d9730d", "#2a9d8f", "#c8372d", "#8c6239", "#444444", "#7b4b94", "#b84fa0",
    "#7a7a00",
)  # fmt: skip

CYCLE = BLUE, ORANGE, GREEN, RED, PURPLE, BROWN
"""Of curves that differ in a number, such as the friction."""

METHODS = {
    # Simulators, and ways to integrate; with the line search TALS or without, that is the line.
    "tamsi": BLUE, "cenic": GREEN, "drake_sap": GREEN, "drake_tamsi": PURPLE, "mujoco": ORANGE,
    "ie_fn": RED, "ie_fn_ec": BROWN, "ie_qn": ORANGE, "ie_qn_ec": GREEN,
    # Controllers.
    "qp": BLUE, "qp_frictionless": BROWN, "null_space": GREEN, "greedy": ORANGE,
    "impedance": PURPLE,
    # Gradients of dynamics.
    "exact": RED, "first": BLUE, "zero": ORANGE, "log_barrier": GREEN,
}  # fmt: skip
"""Method -> its colour in every picture, which no other method beside it has."""

OTHERS = GREY, PINK, OLIVE
"""Of methods from elsewhere, in the order of their registration."""

ROLES = {
    "robot": RED, "object": GREEN, "goal": "black", "planned": ORANGE, "good": GREEN, "bad": RED,
}  # fmt: skip
"""What is drawn, and what came of it -> its colour in every picture."""

DOTS_PER_INCH = 130

NARROW_PHASE = 0.11
"""Share of the axes' width below which the name of a phase is written aslant."""


def new_figure(
    rows: int, columns: int, size: tuple[float, float], **options: Any
) -> tuple[Figure, np.ndarray]:
    """Create a figure that needs no display.

    Args:
        rows: Rows of axes.
        columns: Columns of axes.
        size: Width and height [inch].
        **options: As of matplotlib's subplots, e.g. ``sharex``.

    Returns:
        The figure and its axes (rows, columns).
    """
    figure = _empty_figure(size)
    grid = figure.subplots(rows, columns, squeeze=False, **options)
    for axes in grid.flat:
        dress(axes)
    return figure, grid


def new_view(curves: int, size: tuple[float, float]) -> tuple[Figure, Axes, list[Axes]]:
    """Create a figure of a scene, and of what changes there over time beside it.

    Args:
        curves: How many axes share the time.
        size: Width and height [inch].

    Returns:
        The figure, the axes of the scene, and those of the curves from the top.
    """
    figure = _empty_figure(size)
    grid = figure.add_gridspec(curves, 2, width_ratios=(1.25, 1.0))
    view = figure.add_subplot(grid[:, 0])
    beside = [figure.add_subplot(grid[0, 1])]
    beside += [figure.add_subplot(grid[row, 1], sharex=beside[0]) for row in range(1, curves)]
    for axes in beside:
        dress(axes)
    return figure, view, beside


def _empty_figure(size: tuple[float, float]) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def dress(axes: Axes) -> None:
    """Give axes the common look."""
    axes.grid(alpha=0.25)
    axes.set_prop_cycle(color=CYCLE)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.01)


def draw_limit(axes: Axes, value: float, text: str = "", side: str = "right") -> None:
    """Draw a horizontal limit, with its name above its left or right end."""
    axes.axhline(value, color=GREY, ls="--", lw=1)
    axes.text(
        0.995 if side == "right" else 0.005, value, text, ha=side, va="bottom",
        transform=axes.get_yaxis_transform(), color=GREY, fontsize=9,
    )  # fmt: skip


def name_phases(
    column: Iterable[Axes], phases: Mapping[str, tuple[float, float]], duration: float
) -> None:
    """Shade every second phase in a column of axes, and name all of them above its top.

    Args:
        column: The axes, from the top.
        phases: Name -> (start, end) [s].
        duration: What the time axis shows [s].
    """
    top, *_ = panels = list(column)
    for number, (name, (start, end)) in enumerate(phases.items()):
        for axes in panels:
            if number % 2:
                axes.axvspan(start, end, color="0.5", alpha=0.08, lw=0)
        aslant = end - start < NARROW_PHASE * duration
        top.text(
            (start + end) / 2, 1.01, name, ha="left" if aslant else "center", va="bottom",
            fontsize=9, color="0.4", rotation=35 if aslant else 0,
            rotation_mode="anchor", transform=top.get_xaxis_transform(),
        )  # fmt: skip


def add_legend(figure: Figure, axes: Axes, columns: int = 3) -> None:
    """Name the lines of some axes below all axes of the figure."""
    lines, labels = axes.get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", frameon=False, ncols=columns)


def save_all(figures: Mapping[str, Figure], folder: Path, prefix: str = "") -> list[Path]:
    """Write pictures as PNG, each by its name behind a prefix, and return their paths."""
    return [save(figure, folder / f"{prefix}{name}.png") for name, figure in figures.items()]


def save(figure: Figure, path: Path, title: str = "") -> Path:
    """Write a picture into a folder that is made for it, and return its path.

    Args:
        figure: The picture.
        path: Its ending tells the format, PNG or SVG; the same picture is the same file.
        title: Written above it.
    """
    from matplotlib import rc_context

    if title:
        figure.suptitle(title)
    path.parent.mkdir(parents=True, exist_ok=True)
    undated = {"Date": None} if path.suffix == ".svg" else {}
    with rc_context({"svg.hashsalt": path.stem}), replacement(path) as file:
        figure.savefig(file, dpi=DOTS_PER_INCH, format=path.suffix[1:], metadata=undated)
    return path
