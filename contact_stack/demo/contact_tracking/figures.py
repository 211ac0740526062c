"""The pictures of an experiment, one line per controller; forces are ground truth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from contact_core.figures import add_legend, draw_limit, name_phases, new_figure, save_all
from contact_stack.demo.statistics import ExperimentData, contact_segments, releases

SIZE = (9.0, 6.0)
BEFORE_RELEASE, AFTER_RELEASE = 0.4, 0.6
"""What is drawn around the end of a contact [s]."""

Runs = Mapping[str, tuple[ExperimentData, dict[str, Any]]]
"""Controller name -> its run, and the options of its line."""
Phases = Mapping[str, tuple[float, float]]
"""Name -> (start, end) [s], named on top."""


def draw_experiment(runs: Runs, phases: Phases, force_limit: float, folder: Path) -> list[Path]:
    """Draw force, tracking error and release.

    Args:
        runs: What is drawn.
        phases: What the motion consists of.
        force_limit: [N], drawn as a dashed line.
        folder: Where the PNG files go.

    Returns:
        The files.
    """
    figures = {
        "force": _force(runs, phases, force_limit),
        "tracking": _tracking(runs, phases),
        "release": _release(runs, force_limit),
    }
    return save_all(figures, folder)


def _force(runs: Runs, phases: Phases, force_limit: float) -> Figure:
    """Draw the true contact force over time (contact_aware_control, Fig. 5).

    The upper axes show every controller, the lower ones the range around the limit.
    """
    figure, grid = new_figure(2, 1, SIZE, sharex=True, height_ratios=(3, 2))
    for axes in grid.flat:
        for data, style in runs.values():
            axes.plot(data.time, data.force, **style)
        axes.set_ylabel("contact force [N]")
        axes.set_ylim(bottom=0)
    whole, close = grid.flat
    draw_limit(whole, force_limit)
    draw_limit(close, force_limit, f"limit {force_limit:g} N ")
    close.set_ylim(top=3 * force_limit)
    close.set_xlabel("time [s]")
    name_phases(grid.flat, phases, float(data.time[-1]))
    add_legend(figure, whole)
    figure.suptitle("Contact force on the arm, ground truth")
    return figure


def _tracking(runs: Runs, phases: Phases) -> Figure:
    """Draw the tracking error over time (contact_aware_control, Fig. 6), and the contacts."""
    heights = 6, 6, 0.3 + 0.3 * len(runs)
    figure, grid = new_figure(3, 1, SIZE, sharex=True, height_ratios=heights)
    position, rotation, contact = grid.flat
    for level, (data, style) in enumerate(runs.values()):
        position.plot(data.time, 1e3 * data.position_error, **style)
        rotation.plot(data.time, np.degrees(data.rotation_error), **style)
        spans = [
            (data.time[first], data.time[end - 1] - data.time[first])
            for first, end in contact_segments(data.in_contact)
        ]
        contact.broken_barh(spans, (-level - 0.4, 0.8), color=style["color"], lw=0)
    for axes, text in ((position, "position error [mm]"), (rotation, "rotation error [deg]")):
        axes.set_ylabel(text)
        axes.set_ylim(bottom=0)
    contact.set_ylim(-len(runs) + 0.4, 0.6)
    contact.set_yticks([])
    contact.set_ylabel("contact", rotation=0, ha="right", va="center")
    contact.set_xlabel("time [s]")
    name_phases(grid.flat, phases, float(data.time[-1]))
    add_legend(figure, position)
    figure.suptitle("Tracking error of the tool, and when the arm is in contact")
    return figure


def _release(runs: Runs, force_limit: float) -> Figure:
    """Draw force and joint speed while contacts end (contact_aware_control, Fig. 7).

    One column for each contact that ended, time from its end; contacts that came back
    within the time drawn count as one.
    """
    ends = {name: releases(data) for name, (data, _) in runs.items()}
    columns = max([1, *map(len, ends.values())])
    figure, grid = new_figure(2, columns, SIZE, sharex=True, sharey="row")
    for column, (force, speed) in enumerate(grid.T):
        for name, (data, style) in runs.items():
            # A controller without this release is drawn as nothing, for the legend.
            end = ends[name][column] if column < len(ends[name]) else None
            time = data.time - (np.inf if end is None else data.time[end])
            shown = (time >= -BEFORE_RELEASE) & (time <= AFTER_RELEASE)
            force.plot(time[shown], data.force[shown], **style)
            fastest = np.abs(data.joint_velocity).max(axis=1)
            speed.plot(time[shown], fastest[shown], **style)
        draw_limit(force, force_limit)
        force.set_title(f"release {column + 1}" if columns > 1 else "", fontsize=10)
        speed.set_xlabel("time from the end of the contact [s]")
        for axes in (force, speed):
            axes.axvline(0, color="0.7", lw=0.8)
    grid[0, 0].set_ylim(0, 2 * force_limit)
    grid[1, 0].set_ylim(bottom=0)
    grid[0, 0].set_ylabel("contact force [N]")
    grid[1, 0].set_ylabel("fastest joint [rad/s]")
    add_legend(figure, grid[0, 0])
    figure.suptitle("Breaking contact, ground truth")
    return figure
