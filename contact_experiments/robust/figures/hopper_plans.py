"""Motion, foot height and contact forces of the hopper (Fig. 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from contact_experiments.robust.figures.style import Plans, label, legend, new_figure
from robust_planner.model.contact_model import ContactModel
from robust_planner.model.hopper import joint_positions
from robust_planner.trajectory import ContactTrajectory

TIME_COLOURS = colormaps["plasma"].resampled(256)
# The brightest yellow is hard to see on white.
BRIGHTEST = 0.9


def plot_frames(plans: Plans, frames: int = 13) -> Figure:
    """Draw the leg at several times, one panel per plan (Fig. 6a).

    Args:
        plans: Label -> plan of the hopper.
        frames: Number of drawings per plan.

    Returns:
        The figure.
    """
    figure = new_figure(
        len(plans), 1, width=10.0, height=3.3 * len(plans), sharex=True, sharey=True
    )
    for axes, (name, plan) in zip(figure.axes, plans.items(), strict=True):
        _frames(axes, plan.trajectory, frames)
        label(axes, name, "", "z [m]")
    figure.axes[-1].set_xlabel("x [m]")
    end = max(plan.trajectory.time[-1] for plan in plans.values())
    scale = ScalarMappable(Normalize(0.0, end / BRIGHTEST), TIME_COLOURS)
    bar = figure.colorbar(scale, ax=figure.axes, label="time [s]", fraction=0.02, pad=0.01)
    bar.ax.set_ylim(0.0, end)
    return figure


def plot_foot(
    plans: Plans, model: ContactModel, styles: Mapping[str, Mapping[str, Any]] | None = None
) -> Figure:
    """Plot distance and normal force of the foot over time (Fig. 6b, c).

    Args:
        plans: Label -> plan of the hopper.
        model: The hopper.
        styles: Label -> options of its curve; None for matplotlib's own.

    Returns:
        The figure.
    """
    figure = new_figure(2, 1, height=6.5, sharex=True)
    height, force = figure.axes
    for name, plan in plans.items():
        trajectory, style = plan.trajectory, (styles or {}).get(name, {})
        distance = trajectory.distance(model).min(axis=1)
        height.plot(trajectory.time, distance, label=name, **style)
        normal = trajectory.normal_force[1:].sum(axis=1)
        force.step(trajectory.time[1:], normal, where="pre", **style)
    height.axhline(0.0, color="black", linewidth=0.8)
    label(height, "lower of toe and heel", "", "distance to the mean ground [m]")
    label(force, "sum of toe and heel", "time [s]", "normal force [N]")
    legend(height, loc="upper right")
    return figure


def _frames(axes: Axes, trajectory: ContactTrajectory, frames: int) -> None:
    points = joint_positions(trajectory.position)
    last = len(points) - 1
    for k in np.linspace(0, last, frames).astype(int):
        base, knee, ankle, toe, heel = points[k]
        colour = TIME_COLOURS(BRIGHTEST * k / last)
        axes.plot(*np.array([base, knee, ankle]).T, "-", color=colour, linewidth=1.4)
        axes.plot(*np.array([knee, ankle]).T, "o", color=colour, markersize=3)
        axes.plot(*base, "s", color=colour, markersize=7)
        axes.plot(*np.array([heel, toe]).T, color=colour, linewidth=3.0)
    axes.plot(*points[:, 2].T, color="grey", linewidth=0.8)
    axes.axhline(0.0, color="black", linewidth=1.0)
    axes.set_aspect("equal")
