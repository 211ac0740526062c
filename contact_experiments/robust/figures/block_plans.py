"""Planned pushes, friction and motion of a sliding block (Fig. 2, 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from textwrap import fill
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from contact_experiments.robust.figures.grids import Grid
from contact_experiments.robust.figures.style import (
    REFERENCE,
    Plans,
    curve_style,
    label,
    legend,
    new_figure,
)
from robust_planner.evaluation.final_error import FinalErrors
from robust_planner.result import RobustPlan
from robust_planner.trajectory import ContactTrajectory

# Robust plans start and end with impulses a hundred times the force in between: beyond this
# force the axis is logarithmic [N].
LINEAR_FORCE = 10.0
TITLE_WIDTH = 44
COLUMNS = 3


def plot_controls(plans: Plans) -> Figure:
    """Plot push, friction and speed over time, all plans in the same axes.

    Args:
        plans: Label -> plan of a sliding block.

    Returns:
        The figure.
    """
    figure = new_figure(3, 1, height=8.0, sharex=True)
    push, friction, speed = figure.axes
    for name, plan in plans.items():
        _forces(push, friction, plan.trajectory, label=name)
        speed.plot(plan.trajectory.time, plan.trajectory.velocity[:, 0])
    push.set_yscale("symlog", linthresh=LINEAR_FORCE)
    label(push, "push", "", "u [N], symlog")
    label(friction, "friction", "", "friction [N]")
    label(speed, "speed", "time [s]", "v [m/s]")
    legend(push, ncols=2, loc="lower left")
    return figure


def plot_risks(columns: Mapping[str, Grid], reference: RobustPlan) -> Figure:
    """Plot push over friction, one column per kind of plan, one curve per risk bound (Fig. 2).

    Args:
        columns: Title of a column -> its plans; those that did not converge are left out.
        reference: The plan without uncertainty, drawn in every column.

    Returns:
        The figure.
    """
    figure = new_figure(
        2, len(columns), width=3.3 * len(columns), height=6.0, sharex=True, sharey="row"
    )
    pushes, frictions = figure.axes[: len(columns)], figure.axes[len(columns) :]
    for push, friction, (title, grid) in zip(pushes, frictions, columns.items(), strict=True):
        for point, plan in grid.items():
            if plan.solved:
                name = "ERM" if point.theta is None else f"beta = theta = {point.theta:g}"
                _forces(push, friction, plan.trajectory, label=name, **curve_style(point))
        _forces(push, friction, reference.trajectory, label="reference", **REFERENCE)
        label(push, title, "", "")
        friction.set_xlabel("time [s]")
    pushes[0].set_yscale("symlog", linthresh=LINEAR_FORCE)
    pushes[0].set_ylabel("push [N], symlog")
    frictions[0].set_ylabel("friction [N]")
    legend(pushes[-1], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def plot_simulations(results: Mapping[str, FinalErrors], goal: float) -> Figure:
    """Plot open-loop motions under several frictions, one panel per plan (Fig. 4).

    Args:
        results: Label of a plan -> its simulations.
        goal: Position to be reached [m].

    Returns:
        The figure.
    """
    columns = min(COLUMNS, len(results))
    rows = math.ceil(len(results) / columns)
    figure = new_figure(rows, columns, 4.0 * columns, 3.8 * rows, sharex=True, sharey=True)
    for axes in figure.axes[len(results) :]:
        figure.delaxes(axes)
    for axes, (name, errors) in zip(figure.axes, results.items(), strict=True):
        for mu, run in zip(errors.friction, errors.simulations, strict=True):
            axes.plot(run.time, run.position[:, 0], label=f"mu = {mu:.2f}")
        axes.axhline(goal, color="black", linestyle=":", linewidth=1.0)
        text = f"mean {errors.mean:+.3f} m, range {errors.range:.3f} m"
        label(axes, f"{fill(name, TITLE_WIDTH)}\n{text}", "time [s]", "position [m]")
        axes.tick_params(labelbottom=True)
    legend(figure.axes[0])
    return figure


def plot_final_blocks(results: Mapping[str, FinalErrors], goal: float, size: float) -> Figure:
    """Draw where the block comes to rest under several frictions, one row per plan (Fig. 4d).

    Args:
        results: Label of a plan -> its simulations.
        goal: Position to be reached [m].
        size: Edge of the block [m].

    Returns:
        The figure.
    """
    figure = new_figure(len(results), 1, width=8.0, height=1.5 * len(results), sharex=True)
    for axes, (name, errors) in zip(figure.axes, results.items(), strict=True):
        axes.grid(visible=False)
        for index, (mu, run) in enumerate(zip(errors.friction, errors.simulations, strict=True)):
            corner = (run.position[-1, 0] - 0.5 * size, 0.0)
            colour = f"C{index}"
            axes.add_patch(Rectangle(corner, size, size, color=colour, alpha=0.25))
            axes.plot(
                run.position[-1, 0], 0.5 * size, "o", color=colour, markersize=4,
                label=f"mu = {mu:.2f}",
            )  # fmt: skip
        axes.axvline(goal, color="black", linestyle=":", linewidth=1.0)
        axes.axhline(0.0, color="black", linewidth=1.0)
        axes.set(aspect="equal", ylim=(0.0, 1.1 * size), yticks=[])
        axes.spines["left"].set_visible(False)
        label(axes, name, "", "")
    figure.axes[-1].set_xlabel("position [m]; the dotted line is the goal")
    legend(figure.axes[0], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _forces(push: Axes, friction: Axes, trajectory: ContactTrajectory, **style: Any) -> None:
    """Draw forces, which are constant between knots."""
    time = trajectory.time
    push.step(time[:-1], trajectory.control[:-1, 0], where="post", **style)
    friction.step(time[1:], trajectory.friction_force[1:, 0, 0], where="pre", **style)
