"""The demo push_box: plan through contact, push, look, and plan again if need be."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from contact_core.base.figures import GREY, ROLES, draw_limit, dress, new_view, save
from contact_core.base.results import Rows, table
from contact_stack.demo.client_node import NAME, Connection
from contact_stack.demo.contact_tracking.statistics import trajectory_hash
from contact_stack.demo.push_box.node import PushAttempt, PushData, PushNode, pusher_path
from contact_stack.demo.push_box.task import BoxTask
from contact_stack.demo.runner import DRIVER, REALTIME, Demo, Option
from irs_planner.smoothing import DEFAULT_MODE, SMOOTHING_MODES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUTLINES = 5
"""Outlines of the box per push."""

ROWS: Rows = (
    ("plan", "status", 1.0, ""),
    ("planning", "planning_s", 1.0, "s"),
    ("force limit", "force_limit_max_N", 1.0, "N"),
    ("distance left", "distance_m", 1e3, "mm"),
    ("angle left", "angle_deg", 1.0, "deg"),
)


ATTEMPTS = Option(
    "--attempts", 5, "largest number of plans (default 5)",
    {"type": int, "choices": range(1, 11), "metavar": "N"},
)  # fmt: skip
MODE = Option(
    "--mode", DEFAULT_MODE, f"how gradients are made (default {DEFAULT_MODE})",
    {"choices": list(SMOOTHING_MODES)},
)  # fmt: skip


class PushBox(Demo[PushData]):
    """One run, of as many pushes as it takes."""

    options = (DRIVER, REALTIME, ATTEMPTS, MODE)

    def __init__(self, args: argparse.Namespace) -> None:
        """Take the options, see :meth:`Demo.__init__`."""
        super().__init__(args)
        self._task = BoxTask()
        # The graph with the planner has no choice of engine.
        self.engine = self._task.model.scene.scene.config.engine
        self._attempts: int = args.attempts
        self._mode = str(args.mode)

    @property
    def runs(self) -> Sequence[str]:
        """The one run, called as the demo."""
        return (self.name,)

    def launch(self, run: str, folder: Path) -> tuple[str, Mapping[str, str]]:
        """Return the graph with planner and controller, see :meth:`Demo.launch`."""
        model = self._task.model
        return "push_box", {
            "robot": model.scene.scene.config.robot.description,
            "scene": model.scene.config.scene,
            "client": NAME if self.lockstep else "",
        }

    def client(self, run: str, connection: Connection) -> PushNode:
        """Make the node that has pushes planned."""
        return PushNode(self._task, self._attempts, self._mode, self.seed, connection)

    def summarise(self, runs: Mapping[str, PushData]) -> dict[str, Any]:
        """Compute the figures of the run.

        The peak force is that on the pusher, ground truth, impacts included; the limits of
        the pushes are what the controller was given, from the forces of the plans.
        """
        return {name: self._figures(data) for name, data in runs.items()}

    def report(self, summary: Mapping[str, Any]) -> list[str]:
        """Return the table of the pushes, and where the box is."""
        return report(summary[self.name])

    def draw(self, runs: Mapping[str, PushData], folder: Path) -> list[Path]:
        """Draw the pushes from above and over time."""
        return [draw_push(data, self._task, folder / "push.png") for data in runs.values()]

    def verdict(self, summary: Mapping[str, Any]) -> tuple[list[str], bool]:
        """Return that the demo fails if the box is not at its goal in the end."""
        return [], not summary[self.name]["reached"]

    def _figures(self, data: PushData) -> dict[str, Any]:
        first, last = data.pushes[0], data.pushes[-1]
        assert last.after is not None
        return {
            **self.envelope(data.seconds(last.end), data.wall_time),
            "reached": self._task.reached(last.after),
            "start_distance_m": first.before.distance,
            "start_angle_deg": float(np.rad2deg(first.before.angle)),
            "end_distance_m": last.after.distance,
            "end_angle_deg": float(np.rad2deg(last.after.angle)),
            "peak_force_N": float(np.max(data.force, initial=0.0)),
            "trajectory_sha256": trajectory_hash(data.joints),
            "pushes": [_push(push) for push in data.pushes],
        }


def report(summary: Mapping[str, Any]) -> list[str]:
    """Show the figures of a run as lines of text."""
    columns = {
        f"push {number}": {
            **push, "force_limit_max_N": max(push["force_limits_N"].values(), default=0.0)
        }
        for number, push in enumerate(summary["pushes"], 1)
    }  # fmt: skip
    result = "at the goal" if summary["reached"] else "NOT at the goal"
    return [
        *table(columns, ROWS),
        f"the box is {result}: {1e3 * summary['end_distance_m']:.1f} mm and "
        f"{summary['end_angle_deg']:.1f} deg off, from {1e3 * summary['start_distance_m']:.0f} mm "
        f"and {summary['start_angle_deg']:.0f} deg; peak force {summary['peak_force_N']:.1f} N",
    ]


def _push(push: PushAttempt) -> dict[str, Any]:
    assert push.after is not None
    return {
        "status": push.plan.status_name,
        "planning_s": push.plan.elapsed,
        "iterations": push.plan.iterations_done,
        "cost": [push.plan.cost_history[0], push.plan.best_cost],
        "force_limits_N": push.force_limits,
        "distance_m": push.after.distance,
        "angle_deg": float(np.rad2deg(push.after.angle)),
    }


def draw_push(data: PushData, task: BoxTask, path: Path) -> Path:
    """Draw the box from above, its distance from the goal, and the force over time, as PNG."""
    figure, above, (distance, angle, force) = new_view(3, (11, 5.2))
    _draw_above(above, data, task)
    misses = [task.miss(pose) for pose in data.box]
    distance.plot(data.time, [1e3 * miss.distance for miss in misses], color=ROLES["object"])
    draw_limit(distance, 1e3 * task.position_tolerance, "good enough")
    angle.plot(data.time, [np.rad2deg(miss.angle) for miss in misses], color=ROLES["object"])
    draw_limit(angle, np.rad2deg(task.rotation_tolerance))
    force.plot(data.force_time, data.force, color=ROLES["robot"], lw=1)
    for number, push in enumerate(data.pushes):
        limit = max(push.force_limits.values(), default=np.nan)
        span = [data.seconds(push.start), data.seconds(push.end)]
        label = "limit, from the plan" if number == 0 else None
        force.plot(span, [limit, limit], color=GREY, ls="--", lw=1, label=label)
    force.legend(loc="upper right", frameon=False, fontsize=9)
    for axes, text in (
        (distance, "distance [mm]"), (angle, "angle [deg]"), (force, "pusher force [N]"),
    ):  # fmt: skip
        axes.set_ylabel(text)
        axes.set_ylim(bottom=0.0)
    force.set_xlabel("time [s]")
    figure.align_ylabels((distance, angle, force))
    return save(figure, path)


def _draw_above(axes: Axes, data: PushData, task: BoxTask) -> None:
    """Draw outlines of the box and the path of the pusher, seen from above."""
    size = task.half_extents
    for number, push in enumerate(data.pushes):
        for moment in np.linspace(data.seconds(push.start), data.seconds(push.end), OUTLINES):
            tick = min(int(np.searchsorted(data.time, moment)), len(data.time) - 1)
            axes.plot(*_outline(data.box[tick], size), color=ROLES["object"], alpha=0.35, lw=1)
        label = "planned end of a push" if number == 0 else None
        axes.plot(
            *_outline(push.planned_end, size), color=ROLES["planned"], ls=":", lw=1.5, label=label
        )
    axes.fill(
        *_outline(data.box[-1], size), color=ROLES["object"], alpha=0.35, label="box at the end"
    )
    axes.plot(*_outline(task.goal, size), color=ROLES["goal"], lw=2.5, ls="--", label="goal")
    axes.plot(*pusher_path(task, data.joints).T[:2], color=ROLES["robot"], lw=1.5, label="pusher")
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
