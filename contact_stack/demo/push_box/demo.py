"""The demo push_box: plan through contact, push, look, and plan again if need be."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from contact_stack.demo.client_node import NAME, Connection
from contact_stack.demo.push_box.figures import draw_push
from contact_stack.demo.push_box.node import Push, PushData, PushNode
from contact_stack.demo.push_box.task import PushTask
from contact_stack.demo.runner import Demo, Rows, table
from contact_stack.demo.statistics import trajectory_hash
from irs_planner.smoothing import GradientMode

ROWS: Rows = (
    ("plan", "status", 1.0, ""),
    ("planning", "planning_s", 1.0, "s"),
    ("force limit", "force_limit_max_N", 1.0, "N"),
    ("distance left", "distance_m", 1e3, "mm"),
    ("angle left", "angle_deg", 1.0, "deg"),
)


class PushBox(Demo[PushData]):
    """One run, of as many pushes as it takes."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Take the options, see :meth:`Demo.__init__`."""
        super().__init__(args)
        self._task = PushTask()
        self._attempts: int = args.attempts
        self._mode = str(args.mode)

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Declare the demo's own options, see :meth:`Demo.add_arguments`."""
        parser.add_argument(
            "--attempts", type=int, choices=range(1, 11), default=5, metavar="N",
            help="push_box: largest number of plans (default 5)",
        )  # fmt: skip
        parser.add_argument(
            "--mode", choices=[str(mode) for mode in GradientMode], default=GradientMode.FIRST,
            help="push_box: how gradients are made (default first)",
        )  # fmt: skip

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
        """Return the table of the pushes, and the outcome."""
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
    """Show the figures of a run as text.

    Args:
        summary: The figures.
    """
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


def _push(push: Push) -> dict[str, Any]:
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
