"""Plans that put something down, over ground of several heights."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from contact_experiments.robust.figures.style import Plans, label, legend, new_figure
from robust_planner.evaluation.impact import Impacts, touchdown
from robust_planner.model.contact_model import ContactModel

MILLIMETRES = 1e3
TITLE_WIDTH = 44
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
    figure = new_figure(3, 1, height=8.0, sharex=True)
    height, push, ground = figure.axes
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
    figure = new_figure(1, len(results) + 1, width=4.0 * len(results) + 6.0, height=3.8)
    *motions, speeds = figure.axes
    for index, (name, simulators) in enumerate(results.items()):
        _motion(motions[index], next(iter(simulators.values())), model)
        label(motions[index], fill(name, TITLE_WIDTH), "time [s]", "height of the tool [mm]")
        motions[index].sharey(motions[0])
        for marker, (simulator, hits) in zip("ox", simulators.items(), strict=False):
            speeds.plot(
                MILLIMETRES * np.array(hits.height), hits.speeds, marker=marker,
                color=f"C{index}", linestyle="-" if marker == "o" else ":",
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
        (curve,) = axes.plot(run.time, tool, color=f"C{shade}", label=text)
        sample = touchdown(run)
        if sample is not None:
            axes.plot(run.time[sample], tool[sample], "o", color=curve.get_color(), markersize=4)
