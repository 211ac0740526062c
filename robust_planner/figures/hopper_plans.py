"""Motion, foot height and contact forces of the hopper (Fig. 6)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from robust_planner.figures.style import Plans, label, new_figure
from robust_planner.model.contact_model import ContactModel
from robust_planner.model.hopper import joint_positions


def plot_frames(plans: Plans, frames: int = 12) -> Figure:
    """Draw the leg at several times, one panel per plan (Fig. 6a).

    Args:
        plans: Label -> plan of the hopper.
        frames: Number of drawings per plan.

    Returns:
        The figure.
    """
    figure = new_figure(len(plans), 1, width=10.0, height=3.0 * len(plans))
    for axes, (name, plan) in zip(figure.axes, plans.items(), strict=True):
        points = joint_positions(plan.trajectory.position)
        for share, k in enumerate(np.linspace(0, len(points) - 1, frames).astype(int)):
            base, knee, ankle, toe, heel = points[k]
            colour = f"C{share % 10}"
            leg = np.array([base, knee, ankle])
            foot = np.array([heel, toe])
            axes.plot(leg[:, 0], leg[:, 1], color=colour, marker="o", markersize=3, linewidth=1)
            axes.plot(foot[:, 0], foot[:, 1], color=colour, linewidth=2.5)
        axes.plot(points[:, 2, 0], points[:, 2, 1], color="grey", linewidth=0.7)
        axes.axhline(0.0, color="black", linewidth=1.0)
        axes.set_aspect("equal")
        label(axes, name, "x [m]", "z [m]")
    return figure


def plot_foot(plans: Plans, model: ContactModel) -> Figure:
    """Plot distance and normal force of the foot over time (Fig. 6b, c).

    Args:
        plans: Label -> plan of the hopper.
        model: The hopper.

    Returns:
        The figure.
    """
    figure = new_figure(2, 1)
    height, force = figure.axes
    for name, plan in plans.items():
        trajectory = plan.trajectory
        height.plot(trajectory.time, trajectory.distance(model).min(axis=1), label=name)
        force.plot(trajectory.time[1:], trajectory.normal_force[1:].sum(axis=1))
    label(height, "lower of toe and heel", "", "distance [m]")
    label(force, "sum of toe and heel", "time [s]", "normal force [N]")
    height.legend(fontsize="small")
    return figure
