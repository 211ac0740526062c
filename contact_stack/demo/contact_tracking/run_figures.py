"""The pictures of an experiment, one line per controller; forces are ground truth.

A controller that ran with several seeds has the first one's line, and the range of all around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contact_core.base.figures import add_legend, draw_limit, name_phases, new_figure, save_all
from contact_stack.demo.contact_tracking.statistics import Course, contact_segments, releases

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (9.0, 6.0)
BEFORE_RELEASE, AFTER_RELEASE = 0.4, 0.6
"""What is drawn around the end of a contact [s]."""

Runs = Mapping[str, tuple[Sequence[Course], dict[str, Any]]]
"""Controller name -> its runs, at least one, and the options of its line."""
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
        "force": draw_force(runs, phases, force_limit),
        "tracking": draw_tracking(runs, phases),
        "release": draw_release(runs, force_limit),
    }
    return save_all(figures, folder)


def draw_force(runs: Runs, phases: Phases, force_limit: float) -> Figure:
    """Draw the true contact force over time (contact_aware_control, Fig. 5).

    The upper axes show every controller, the lower ones the range around the limit.

    Args:
        runs: What is drawn.
        phases: What the motion consists of.
        force_limit: [N], drawn as a dashed line.
    """
    figure, grid = new_figure(2, 1, SIZE, sharex=True, height_ratios=(3, 2))
    for axes in grid.flat:
        for courses, style in runs.values():
            draw_range(axes, courses[0].time, [course.force for course in courses], style)
        axes.set_ylabel("contact force [N]")
        axes.set_ylim(bottom=0)
    whole, close = grid.flat
    draw_limit(whole, force_limit)
    draw_limit(close, force_limit, f"limit {force_limit:g} N ")
    close.set_ylim(top=3 * force_limit)
    close.set_xlabel("time [s]")
    name_phases(grid.flat, phases, _end(runs))
    add_legend(figure, whole)
    figure.suptitle("Contact force on the arm, ground truth")
    return figure


def draw_tracking(runs: Runs, phases: Phases) -> Figure:
    """Draw the tracking error over time (contact_aware_control, Fig. 6), and the contacts.

    Args:
        runs: What is drawn; contacts are those of the first run of each controller.
        phases: What the motion consists of.
    """
    heights = 6, 6, 0.3 + 0.3 * len(runs)
    figure, grid = new_figure(3, 1, SIZE, sharex=True, height_ratios=heights)
    position, rotation, contact = grid.flat
    for level, (courses, style) in enumerate(runs.values()):
        first, *_ = courses
        draw_range(position, first.time, [1e3 * one.position_error for one in courses], style)
        turned = [np.degrees(one.rotation_error) for one in courses]
        draw_range(rotation, first.time, turned, style)
        spans = [
            (first.time[start], first.time[end - 1] - first.time[start])
            for start, end in contact_segments(first.in_contact)
        ]
        contact.broken_barh(spans, (-level - 0.4, 0.8), color=style["color"], lw=0)
    for axes, text in ((position, "position error [mm]"), (rotation, "rotation error [deg]")):
        axes.set_ylabel(text)
        axes.set_ylim(bottom=0)
    contact.set_ylim(-len(runs) + 0.4, 0.6)
    contact.set_yticks([])
    contact.set_ylabel("contact", rotation=0, ha="right", va="center")
    contact.set_xlabel("time [s]")
    name_phases(grid.flat, phases, _end(runs))
    add_legend(figure, position)
    figure.suptitle("Tracking error of the tool, and when the arm is in contact")
    return figure


def draw_release(runs: Runs, force_limit: float, last: bool = False) -> Figure:
    """Draw force and joint speed while contacts end (contact_aware_control, Fig. 7).

    One column for each contact that ended, time from its end; contacts that came back
    within the time drawn count as one.

    Args:
        runs: What is drawn.
        force_limit: [N], drawn as a dashed line.
        last: Draw only the last of these contacts.
    """
    ends = {name: [_releases(one, last) for one in courses] for name, (courses, _) in runs.items()}
    columns = max(1, *(len(found) for of_seeds in ends.values() for found in of_seeds))
    figure, grid = new_figure(2, columns, SIZE, sharex=True, sharey="row")
    for column, (force, speed) in enumerate(grid.T):
        for name, (courses, style) in runs.items():
            forces, speeds = [], []
            for course, found in zip(courses, ends[name], strict=True):
                # A controller without this release is drawn as nothing, for the legend.
                end = found[column] if column < len(found) else None
                fastest = np.abs(course.joint_velocity).max(axis=1)
                time, window = around(course, course.force, end)
                forces.append(window)
                speeds.append(around(course, fastest, end)[1])
            draw_range(force, time, forces, style)
            draw_range(speed, time, speeds, style)
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


def around(course: Course, values: np.ndarray, end: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Cut out what is drawn around the end of a contact.

    Args:
        course: A run.
        values: (n) one value per tick.
        end: First tick after the contact; None for none.

    Returns:
        Time from the end [s], and the values, NaN where there is none.
    """
    before, after = (round(time / course.period) for time in (BEFORE_RELEASE, AFTER_RELEASE))
    offsets = np.arange(-before, after + 1)
    found = np.full(len(offsets), np.nan)
    if end is not None:
        ticks = end + offsets
        inside = (ticks >= 0) & (ticks < len(values))
        found[inside] = values[ticks[inside]]
    return course.period * offsets, found


def draw_range(
    axes: Axes, time: np.ndarray, seeds: Sequence[np.ndarray], style: Mapping[str, Any]
) -> None:
    """Draw the line of the first seed, and the range of all seeds around it.

    Args:
        axes: Where.
        time: (n) [s].
        seeds: (n) values of each seed, NaN where there is none.
        style: Options of the line.
    """
    axes.plot(time, seeds[0], **style)
    if len(seeds) > 1:
        # NaN only where no seed has a value.
        lowest, highest = np.fmin.reduce(seeds), np.fmax.reduce(seeds)
        axes.fill_between(time, lowest, highest, color=style["color"], alpha=0.2, lw=0)


def _releases(course: Course, last: bool) -> list[int]:
    found = releases(course)
    return found[-1:] if last else found


def _end(runs: Runs) -> float:
    return max(float(courses[0].time[-1]) for courses, _ in runs.values())
