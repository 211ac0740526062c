"""Fig. 9: the hand and its mug, the mug's orientation over time, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D

from contact_experiments.tamsi.allegro.drawing import Drawing
from contact_experiments.tamsi.allegro.reorientation import Reorientation
from contact_experiments.tamsi.integrators.registry import SCHEMES
from contact_experiments.tamsi.paper.integrator_speed import Run

RED, BLUE = "#c8372d", "#3b6ea8"
CENTER, REACH = np.array([0.035, 0.0, 0.015]), 0.105  # What the pictures show [m].


def figure_9(run: Reorientation, costs: Mapping[float, Sequence[Run]] | None = None) -> Figure:
    """Draw the hand at both ends and in the middle of a swing, and the run over time.

    Args:
        run: The run.
        costs: Time step [s] -> runs of several integrators, TAMSI first, to be compared.
    """
    rows = 3 if costs is None else 4
    figure = Figure(figsize=(11.0, 7.2 + 1.9 * (rows - 3)), layout="constrained")
    grid = figure.add_gridspec(rows, 3, height_ratios=(3.2, 1.4, 0.7, 1.5)[:rows])
    angle = np.rad2deg(run.angle())
    last = run.time > run.time[-1] - run.period
    moments = [int(np.flatnonzero(last)[k]) for k in _turns(angle[last])]
    drawing = Drawing()
    for column, moment in enumerate(moments):
        axes = figure.add_subplot(grid[0, column], projection="3d")
        drawing.draw(axes, run.joints[moment], run.poses[moment])
        _frame(axes, f"{run.time[moment]:.2f} s, {angle[moment]:+.0f}°")
    over_time = figure.add_subplot(grid[1, :])
    over_time.plot(run.time, angle, color=RED, lw=1.6)
    over_time.plot(run.time[moments], angle[moments], "o", color=RED, mec="white", ms=7)
    over_time.set_ylabel("mug's angle [°]")
    below = figure.add_subplot(grid[2, :], sharex=over_time)
    below.fill_between(run.time, run.fingers, step="post", color=BLUE, alpha=0.75, lw=0.0)
    below.set(ylabel="fingers in\ncontact", xlabel="time [s]", ylim=(0.0, 4.4), yticks=(0, 2, 4))
    below.set_xlim(0.0, run.time[-1])
    over_time.tick_params(labelbottom=False)
    for axes_2d in (over_time, below):
        _style(axes_2d)
    if costs is not None:
        _compare(figure.add_subplot(grid[3, :]), costs)
    return figure


def _compare(axes: Axes, costs: Mapping[float, Sequence[Run]]) -> None:
    """Draw CPU time per simulated time against the step, TAMSI's first."""
    steps = 1e3 * np.array(list(costs))
    first, *others = (
        np.array([1e3 * run.cpu[-1] / run.simulated[-1] for run in runs])
        for runs in zip(*costs.values(), strict=True)
    )
    names = [SCHEMES[run.integrator].title for run in next(iter(costs.values()))]
    axes.loglog(steps, first, "o-", color=RED, label=names[0])
    for name, cost, style in zip(names[1:], others, ("o-", "s--"), strict=True):
        axes.loglog(steps, cost, style, color=BLUE, label=name)
    for step, cost, tamsi in zip(steps, others[0], first, strict=True):
        axes.annotate(
            f"{cost / tamsi:.1f}x", (step, cost), (0, 8), textcoords="offset points",
            ha="center", color=BLUE, fontsize=9,
        )  # fmt: skip
    axes.set(xlabel="step, or the longest one allowed [ms]", ylabel="CPU time\n[ms per s]")
    axes.set_xticks(steps, [f"{step:g}" for step in steps])
    axes.minorticks_off()
    axes.margins(x=0.05, y=0.3)
    axes.legend(loc="lower left", frameon=False, fontsize=9)
    _style(axes)


def _turns(angle: np.ndarray) -> list[int]:
    """Return where the angle is least, in the middle on the way up, and greatest."""
    low, high = int(np.argmin(angle)), int(np.argmax(angle))
    begin, end = sorted((low, high))
    half = 0.5 * (angle.min() + angle.max())
    middle = begin + int(np.argmin(np.abs(angle[begin : end + 1] - half)))
    return [begin, middle, end]


def _frame(axes: Axes3D, title: str) -> None:
    axes.set(
        xlim=(CENTER[0] - REACH, CENTER[0] + REACH),
        ylim=(CENTER[1] - REACH, CENTER[1] + REACH),
        zlim=(CENTER[2] - REACH, CENTER[2] + REACH),
    )
    axes.set_box_aspect((1.0, 1.0, 1.0), zoom=1.55)
    axes.view_init(elev=28.0, azim=-28.0)
    axes.set_axis_off()
    axes.set_title(title, fontsize=10, y=0.88)


def _style(axes: Axes) -> None:
    axes.grid(True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
