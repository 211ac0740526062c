"""The picture of the demo push_box: from above, and distance and force over time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio as pin
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from contact_stack.demo.figures import (
    BLUE,
    BROWN,
    GREEN,
    GREY,
    ORANGE,
    draw_limit,
    dress,
    save,
)
from contact_stack.demo.push_box.node import PushData, pusher_path
from contact_stack.demo.push_box.task import PushTask

OUTLINES = 5
"""Outlines of the box per push."""


def draw_push(data: PushData, task: PushTask, path: Path) -> Path:
    """Draw the box from above, its distance from the goal, and the force over time.

    Args:
        data: The run.
        task: What was to be done.
        path: The PNG to write.
    """
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    grid = figure.add_gridspec(3, 2, width_ratios=(1.25, 1.0))
    _draw_above(figure.add_subplot(grid[:, 0]), data, task)
    distance = figure.add_subplot(grid[0, 1])
    angle, force = (figure.add_subplot(grid[row, 1], sharex=distance) for row in (1, 2))
    misses = [task.miss(pose) for pose in data.box]
    distance.plot(data.time, [1e3 * miss.distance for miss in misses], color=BROWN)
    draw_limit(distance, 1e3 * task.position_tolerance, "good enough")
    angle.plot(data.time, [np.rad2deg(miss.angle) for miss in misses], color=BROWN)
    draw_limit(angle, np.rad2deg(task.rotation_tolerance))
    force.plot(data.force_time, data.force, color=BLUE, lw=1)
    for number, push in enumerate(data.pushes):
        limit = max(push.force_limits.values(), default=np.nan)
        span = [data.seconds(push.start), data.seconds(push.end)]
        label = "limit, from the plan" if number == 0 else None
        force.plot(span, [limit, limit], color=GREY, ls="--", lw=1, label=label)
    force.legend(loc="upper right", frameon=False, fontsize=9)
    for axes, text in (
        (distance, "distance [mm]"), (angle, "angle [deg]"), (force, "pusher force [N]"),
    ):  # fmt: skip
        dress(axes)
        axes.set_ylabel(text)
        axes.set_ylim(bottom=0.0)
    force.set_xlabel("time [s]")
    figure.align_ylabels((distance, angle, force))
    return save(figure, path)


def _draw_above(axes: Axes, data: PushData, task: PushTask) -> None:
    """Draw outlines of the box and the path of the pusher, seen from above."""
    size = task.half_extents
    for number, push in enumerate(data.pushes):
        for moment in np.linspace(data.seconds(push.start), data.seconds(push.end), OUTLINES):
            tick = min(int(np.searchsorted(data.time, moment)), len(data.time) - 1)
            axes.plot(*_outline(data.box[tick], size), color=BROWN, alpha=0.35, lw=1)
        label = "planned end of a push" if number == 0 else None
        axes.plot(*_outline(push.planned_end, size), color=ORANGE, ls=":", lw=1.5, label=label)
    axes.fill(*_outline(data.box[-1], size), color=BROWN, alpha=0.35, label="box at the end")
    axes.plot(*_outline(task.goal, size), color=GREEN, lw=2.5, ls="--", label="goal")
    axes.plot(*pusher_path(task, data.joints).T[:2], color=BLUE, lw=1.5, label="pusher")
    dress(axes)
    axes.set_aspect("equal")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, frameon=False, fontsize=9)


def _outline(pose: pin.SE3, size: np.ndarray) -> Iterator[np.ndarray]:
    """Return x and y of the upper face's corners, closed."""
    corners = [(1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1)]
    points = np.array([pose.act(size * np.array([x, y, 1.0])) for x, y in corners])
    return iter(points[:, :2].T)
