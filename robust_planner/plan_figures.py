"""Figures of single plans: sliding block, hopper, approach, contact schedule (Fig. 2, 4, 6)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from contact_core.base.figures import BLUE, CYCLE, ORANGE, new_figure
from robust_planner.contact_model import ContactModel
from robust_planner.evaluation.execution import FinalErrors, Impacts, touchdown
from robust_planner.grid_figures import (
    REFERENCE,
    Grid,
    Plans,
    curve_style,
    greek,
    label,
    legend,
)
from robust_planner.models import joint_positions
from robust_planner.result import RobustPlan
from robust_planner.trajectory import ContactState, ContactTrajectory, contact_schedule

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
    figure, grid = new_figure(3, 1, (10.0, 8.0), sharex=True)
    push, friction, speed = grid.flat
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
    size = 3.3 * len(columns), 6.0
    figure, (pushes, frictions) = new_figure(2, len(columns), size, sharex=True, sharey="row")
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
    size = 4.0 * columns, 3.8 * rows
    figure, _ = new_figure(rows, columns, size, sharex=True, sharey=True)
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
    figure, grid = new_figure(len(results), 1, (8.0, 1.5 * len(results)), sharex=True)
    figure.set_layout_engine("compressed")  # the scale is fixed, the shape of the axes is not
    for axes, (name, errors) in zip(grid.flat, results.items(), strict=True):
        axes.grid(visible=False)
        for index, (mu, run) in enumerate(zip(errors.friction, errors.simulations, strict=True)):
            corner = (run.position[-1, 0] - 0.5 * size, 0.0)
            colour = CYCLE[index % len(CYCLE)]
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
    grid[-1, 0].set_xlabel("position [m]; the dotted line is the goal")
    legend(grid[0, 0], loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def _forces(push: Axes, friction: Axes, trajectory: ContactTrajectory, **style: Any) -> None:
    """Draw forces, which are constant between knots."""
    time = trajectory.time
    push.step(time[:-1], trajectory.control[:-1, 0], where="post", **style)
    friction.step(time[1:], trajectory.friction_force[1:, 0, 0], where="pre", **style)


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
    figure, grid = new_figure(len(plans), 1, (8.0, 3.3 * len(plans)), sharex=True, sharey=True)
    figure.set_layout_engine("compressed")  # as above
    for axes, (name, plan) in zip(grid.flat, plans.items(), strict=True):
        _frames(axes, plan.trajectory, frames)
        label(axes, name, "", "z [m]")
    grid[-1, 0].set_xlabel("x [m]")
    end = max(plan.trajectory.time[-1] for plan in plans.values())
    scale = ScalarMappable(Normalize(0.0, end / BRIGHTEST), TIME_COLOURS)
    bar = figure.colorbar(scale, ax=grid, label="time [s]", fraction=0.02, pad=0.01)
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
    figure, grid = new_figure(2, 1, (10.0, 6.5), sharex=True)
    height, force = grid.flat
    for name, plan in plans.items():
        trajectory, style = plan.trajectory, (styles or {}).get(name, {})
        distance = trajectory.distance(model).min(axis=1)
        height.plot(trajectory.time, distance, label=name, **style)
        normal = trajectory.normal_force[1:].sum(axis=1)
        force.stairs(normal, trajectory.time, baseline=None, **{"linewidth": 1.5, **style})
    height.axhline(0.0, color="black", linewidth=0.8)
    label(height, "lower of toe and heel", "", "distance to the mean ground [m]")
    label(force, "sum of toe and heel", "time [s]", "normal force [N]")
    legend(height, loc="upper left", bbox_to_anchor=(1.0, 1.0))
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


MILLIMETRES = 1e3
LEGEND_WIDTH = 34


def plot_approach(plans: Plans, model: ContactModel, sigma: float) -> Figure:
    """Plot height, force of the arm and force of the mean ground over time.

    Args:
        plans: Label -> plan with one contact point.
        model: The model that was planned with.
        sigma: Standard deviation of the ground's height [m].

    Returns:
        The figure.
    """
    figure, grid = new_figure(3, 1, (10.0, 8.0), sharex=True)
    height, push, ground = grid.flat
    height.axhspan(
        -2.0 * sigma * MILLIMETRES, 2.0 * sigma * MILLIMETRES, color="grey", alpha=0.25,
        label="ground, +- 2 sigma",
    )  # fmt: skip
    for name, plan in plans.items():
        trajectory = plan.trajectory
        time = trajectory.time
        height.plot(time, MILLIMETRES * trajectory.distance(model).min(axis=1), label=name)
        push.step(time[:-1], trajectory.control[:-1, 0], where="post")
        ground.step(time[1:], trajectory.normal_force[1:].sum(axis=1), where="pre")
    ground.set_yscale("symlog", linthresh=10.0)
    label(height, "height over the mean ground", "", "height [mm]")
    label(push, "force of the arm", "", "u [N]")
    label(ground, "planned force of the ground", "time [s]", "normal force [N], symlog")
    legend(height)
    return figure


def plot_impacts(results: Mapping[str, Mapping[str, Impacts]], model: ContactModel) -> Figure:
    """Plot the fall onto grounds of several heights, and the speed of the impact.

    Args:
        results: Label of a plan -> name of a simulator -> its impacts; the motion is drawn
            from the first simulator.
        model: The model that was planned with.

    Returns:
        The figure: one panel per plan, and one of impact speeds.
    """
    figure, grid = new_figure(1, len(results) + 1, (4.0 * len(results) + 6.0, 3.8))
    *motions, speeds = grid.flat
    for index, (name, simulators) in enumerate(results.items()):
        _motion(motions[index], next(iter(simulators.values())), model)
        label(motions[index], fill(name, TITLE_WIDTH), "time [s]", "height of the tool [mm]")
        motions[index].sharey(motions[0])
        for marker, (simulator, hits) in zip("ox", simulators.items(), strict=False):
            speeds.plot(
                MILLIMETRES * np.array(hits.height), hits.speeds, marker=marker,
                color=CYCLE[index % len(CYCLE)], linestyle="-" if marker == "o" else ":",
                label=fill(f"{name}, {simulator}", LEGEND_WIDTH, break_on_hyphens=False),
            )  # fmt: skip
    legend(motions[0])
    speeds.set_ylim(bottom=0.0)
    legend(speeds, fontsize="x-small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    label(speeds, "impact speed", "height of the ground [mm]", "speed [m/s]")
    return figure


def _motion(axes: Axes, hits: Impacts, model: ContactModel) -> None:
    """Draw one curve per height of the ground, with a dot where it touches down."""
    for shade, (level, run) in enumerate(zip(hits.height, hits.simulations, strict=True)):
        tool = MILLIMETRES * np.asarray(model.distance(run.position.T)).min(axis=0)
        text = f"ground at {MILLIMETRES * level:+.1f} mm"
        (curve,) = axes.plot(run.time, tool, color=CYCLE[shade % len(CYCLE)], label=text)
        sample = touchdown(run)
        if sample is not None:
            axes.plot(run.time[sample], tool[sample], "o", color=curve.get_color(), markersize=4)


COLOURS = {ContactState.STICKING: BLUE, ContactState.SLIDING: ORANGE}


def plot_schedule(plans: Plans, model: ContactModel) -> Figure:
    """Draw a bar for every phase in which a contact point carries force.

    Args:
        plans: Label -> plan.
        model: The model of all plans.

    Returns:
        The figure: one row per plan and contact point.
    """
    rows = [(name, contact) for name in plans for contact in model.contact_names]
    figure, ((axes,),) = new_figure(1, 1, (10.0, 1.2 + 0.55 * len(rows)))
    for name, plan in plans.items():
        for phase in contact_schedule(plan.trajectory, model):
            if phase.mode is not ContactState.OPEN:
                row = rows.index((name, phase.contact))
                span = (phase.start, phase.end - phase.start)
                axes.broken_barh([span], (row - 0.3, 0.6), color=COLOURS[phase.mode])
    axes.set_yticks(range(len(rows)), [greek(f"{name}\n{contact}") for name, contact in rows])
    end = max(plan.trajectory.time[-1] for plan in plans.values())
    axes.set(xlim=(0.0, end), ylim=(len(rows) - 0.5, -0.5))
    axes.set_xlabel("time [s]")
    axes.set_title("contact schedule; blank: no force", fontsize="medium")
    handles = [Patch(color=colour, label=mode.value) for mode, colour in COLOURS.items()]
    axes.legend(handles=handles, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
