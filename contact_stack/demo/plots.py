"""The pictures of an experiment, one line per controller."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from contact_stack.demo.experiment_data import ExperimentData
from contact_stack.demo.summary import contact_segments, releases
from contact_stack.demo.variants import VARIANTS

LIMIT_COLOR = "#444444"
BEFORE_RELEASE, AFTER_RELEASE = 0.4, 0.6
"""What is drawn around the end of a contact [s]."""


def plot_force(
    runs: Mapping[str, ExperimentData],
    force_limit: float,
    phases: Mapping[str, tuple[float, float]],
    path: Path,
) -> None:
    """Draw the true contact force over time (contact_aware_control, Fig. 5).

    The upper axes show every controller, the lower ones the range around the limit.

    Args:
        runs: Controller name -> its run.
        force_limit: [N], drawn as a dashed line.
        phases: Name -> (start, end) [s] of the experiment's phases, named on top.
        path: The PNG to write.
    """
    figure, (whole, close) = plt.subplots(
        2, 1, figsize=(9, 6), sharex=True, layout="constrained", height_ratios=(3, 2)
    )
    for axes in (whole, close):
        for name, data in runs.items():
            axes.plot(data.time, data.force, **_style(name))
        axes.axhline(force_limit, color=LIMIT_COLOR, ls="--", lw=1)
        axes.set_ylabel("contact force [N]")
        _dress(axes)
    close.set_ylim(0, 3 * force_limit)
    close.text(
        0.995, force_limit, f"limit {force_limit:g} N ", ha="right", va="bottom",
        transform=close.get_yaxis_transform(), color=LIMIT_COLOR, fontsize=9,
    )  # fmt: skip
    _add_legend(figure, whole)
    _name_phases(whole, phases)
    close.set_xlabel("time [s]")
    figure.suptitle("Contact force on the arm, ground truth")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def plot_tracking(
    runs: Mapping[str, ExperimentData], phases: Mapping[str, tuple[float, float]], path: Path
) -> None:
    """Draw the tracking error over time (contact_aware_control, Fig. 6).

    Shaded where the robot is in contact.

    Args:
        runs: Controller name -> its run.
        phases: Name -> (start, end) [s] of the experiment's phases, named on top.
        path: The PNG to write.
    """
    figure, (position, rotation) = plt.subplots(
        2, 1, figsize=(9, 6), sharex=True, layout="constrained"
    )
    for name, data in runs.items():
        position.plot(data.time, 1e3 * data.position_error, **_style(name))
        rotation.plot(data.time, np.degrees(data.rotation_error), **_style(name))
    for level, (name, data) in enumerate(runs.items()):
        for first, end in contact_segments(data.force > 0):
            span = data.time[first], data.time[end - 1]
            low, high = 0.97 - 0.02 * level, 0.985 - 0.02 * level
            for axes in (position, rotation):
                axes.axvspan(*span, low, high, color=VARIANTS[name].color, alpha=0.6, lw=0)
    position.set_ylabel("tool position error [mm]")
    rotation.set_ylabel("tool rotation error [deg]")
    rotation.set_xlabel("time [s]")
    for axes in (position, rotation):
        axes.set_ylim(bottom=0)
        axes.set_ylim(top=(1.06 + 0.03 * len(runs)) * axes.get_ylim()[1])
        _dress(axes)
    _add_legend(figure, position)
    _name_phases(position, phases)
    figure.suptitle("Tracking error of the tool; bars: in contact")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def plot_release(runs: Mapping[str, ExperimentData], force_limit: float, path: Path) -> None:
    """Draw force and joint speed while contacts end (contact_aware_control, Fig. 7).

    One column for each contact that ended, time from its end; contacts that came back
    within the time drawn count as one.

    Args:
        runs: Controller name -> its run.
        force_limit: [N], drawn as a dashed line.
        path: The PNG to write.
    """
    ends = {name: releases(data) for name, data in runs.items()}
    columns = max([1, *map(len, ends.values())])
    figure, grid = plt.subplots(
        2, columns, figsize=(9, 6), sharex=True, sharey="row", layout="constrained", squeeze=False
    )
    for column in range(columns):
        force, speed = grid[:, column]
        for name, data in runs.items():
            if column < len(ends[name]):
                end = ends[name][column]
                time = data.time - data.time[end]
                shown = (time >= -BEFORE_RELEASE) & (time <= AFTER_RELEASE)
                fastest = np.abs(data.joint_velocity).max(axis=1)
                force.plot(time[shown], data.force[shown], **_style(name))
                speed.plot(time[shown], fastest[shown], **_style(name))
        force.axhline(force_limit, color=LIMIT_COLOR, ls="--", lw=1)
        force.set_ylim(0, 2 * force_limit)
        speed.set_ylim(bottom=0)
        speed.set_xlabel("time from the end of the contact [s]")
        force.set_title(f"release {column + 1}" if columns > 1 else "", fontsize=10)
        for axes in (force, speed):
            axes.axvline(0, color="#bbbbbb", lw=0.8)
            _dress(axes)
    grid[0, 0].set_ylabel("contact force [N]")
    grid[1, 0].set_ylabel("fastest joint [rad/s]")
    _add_legend(figure, grid[0, 0])
    figure.suptitle("Breaking contact, ground truth")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _style(name: str) -> dict[str, Any]:
    variant = VARIANTS[name]
    return {"color": variant.color, "lw": 1.2, "ls": variant.line, "label": variant.label}


def _add_legend(figure: Figure, axes: Axes) -> None:
    """Name the lines of some axes below all axes."""
    lines, labels = axes.get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", frameon=False, ncols=3)


def _dress(axes: Axes) -> None:
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.01)


def _name_phases(axes: Axes, phases: Mapping[str, tuple[float, float]]) -> None:
    for name, (start, end) in phases.items():
        axes.axvline(end, color="#bbbbbb", lw=0.8)
        axes.text(
            (start + end) / 2, 1.01, name, ha="center", va="bottom", fontsize=9,
            transform=axes.get_xaxis_transform(), color="#666666",
        )  # fmt: skip
