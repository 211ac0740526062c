"""The demo push_anything: look, push, look again, until a shape is where it should be."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from contact_core.base.figures import BLUE, BROWN, draw_limit, dress, save
from contact_core.robot.description import RobotDescription
from contact_stack.demo.client_node import NAME, Connection
from contact_stack.demo.contact_tracking.statistics import trajectory_hash
from contact_stack.demo.push_anything.drawing import draw_push
from contact_stack.demo.push_anything.node import PushAnythingNode, PushedData
from contact_stack.demo.push_anything.pusher import PushCase, write_push_scene
from contact_stack.demo.push_anything.shapes import SHAPES
from contact_stack.demo.push_anything.task import ANGLE, POSITION
from contact_stack.demo.runner import DRIVER, REALTIME, Demo, Option

ROBOT = "iiwa14_pusher"
SHAPE = Option(
    "--shape", "tee", f"what is pushed: {', '.join(SHAPES)} (default tee)",
    {"choices": tuple(SHAPES), "metavar": "NAME"},
)  # fmt: skip


class PushAnything(Demo[PushedData]):
    """One shape, start, goal, mass and friction, drawn from the seed."""

    options = (DRIVER, REALTIME, SHAPE)

    def __init__(self, args: argparse.Namespace) -> None:
        """Draw what is to be done, see :meth:`Demo.__init__`."""
        super().__init__(args)
        self._task, self._conditions = PushCase(args.shape, self.seed).draw()

    @property
    def runs(self) -> Sequence[str]:
        """The one run, called as the demo."""
        return (self.name,)

    def launch(self, run: str, folder: Path) -> tuple[str, Mapping[str, str]]:
        """Return the graph with simulator and controller, see :meth:`Demo.launch`."""
        return "demo", {
            "scene": str(write_push_scene(self._task, self._conditions, folder)),
            "robot": ROBOT,
            "client": NAME if self.lockstep else "",
            "held_mass": "0.0",
        }

    def client(self, run: str, connection: Connection) -> PushAnythingNode:
        """Make the node that looks and pushes."""
        robot = RobotDescription.load(ROBOT)
        return PushAnythingNode(self._task, self._conditions, robot, self.seed, connection)

    def summarise(self, runs: Mapping[str, PushedData]) -> dict[str, Any]:
        """Compute the figures of the run; forces are ground truth, impacts included."""
        return {name: self._figures(data) for name, data in runs.items()}

    def report(self, summary: Mapping[str, Any]) -> list[str]:
        """Return where the thing is."""
        figures = summary[self.name]
        where = "at the goal" if figures["reached"] else "NOT at the goal"
        return [
            f"the {figures['shape']} is {where} after {figures['sim_time_s']:.1f} s: "
            f"{1e3 * figures['end_distance_m']:.1f} mm and {figures['end_angle_deg']:.1f} deg off, "
            f"from {1e3 * figures['start_distance_m']:.0f} mm and "
            f"{figures['start_angle_deg']:.0f} deg",
            f"pushed from {figures['places']} places, mass {figures['mass']:.2f} and friction "
            f"{figures['friction']:.2f} times what the planner takes them for; force p99 "
            f"{figures['force_p99_N']:.1f} N, peak {figures['force_peak_N']:.1f} N",
        ]

    def draw(self, runs: Mapping[str, PushedData], folder: Path) -> list[Path]:
        """Draw the push from above and over time."""
        (data,) = runs.values()
        figure = Figure(figsize=(11.0, 5.2), layout="constrained")
        grid = figure.add_gridspec(3, 2, width_ratios=(1.25, 1.0))
        above = figure.add_subplot(grid[:, 0])
        draw_push(above, self._task, data.pose, data.tool)
        above.set(xlabel="x [m]", ylabel="y [m]", title="goal green, at the end orange, tool blue")
        misses = np.array([self._task.miss(pose) for pose in data.pose])
        force = data.force_time, data.force, "pusher force [N]"
        curves = (
            (data.time, 1e3 * misses[:, 0], "distance [mm]"),
            (data.time, np.rad2deg(misses[:, 1]), "angle [deg]"),
        )
        limits = 1e3 * POSITION, np.rad2deg(ANGLE), None
        for row, (time, values, label) in enumerate((*curves, force)):
            axes = figure.add_subplot(grid[row, 1])
            axes.plot(time, values, color=BLUE if row == 2 else BROWN, lw=1)
            if (limit := limits[row]) is not None:
                draw_limit(axes, limit, "good enough" if row == 0 else "")
            dress(axes)
            axes.set_ylabel(label)
            axes.set_ylim(bottom=0.0)
        axes.set_xlabel("time [s]")
        return [save(figure, folder / "push.png")]

    def verdict(self, summary: Mapping[str, Any]) -> tuple[list[str], bool]:
        """Return that the demo fails if the thing is not at its goal in the end."""
        return [], not summary[self.name]["reached"]

    def _figures(self, data: PushedData) -> dict[str, Any]:
        (first, first_angle), (last, last_angle) = map(self._task.miss, data.pose[[0, -1]])
        return {
            **self.envelope(float(data.time[-1]), data.wall_time),
            "shape": self._task.thing.name,
            "mass": self._conditions.mass,
            "friction": self._conditions.friction,
            "reached": data.reached,
            "start_distance_m": first,
            "start_angle_deg": float(np.rad2deg(first_angle)),
            "end_distance_m": last,
            "end_angle_deg": float(np.rad2deg(last_angle)),
            "places": data.searches,
            "force_p99_N": float(np.percentile(data.force[data.force > 0.0], 99.0)),
            "force_peak_N": float(data.force.max()),
            "trajectory_sha256": trajectory_hash(data.joints),
        }
