"""The demo bottle_shake: a bottle handled with force feedback, and without."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from contact_core.base.errors import ConfigError
from contact_core.base.figures import (
    BLUE,
    ORANGE,
    RED,
    add_legend,
    draw_limit,
    name_phases,
    new_figure,
    save,
)
from contact_core.base.results import Rows, table
from contact_core.robot.scene import write_scene
from contact_ros.driver_profile import overlay
from contact_stack.demo.bottle_shake.node import (
    CONTROLLERS,
    INVERSE_DYNAMICS,
    SCENE,
    BottleNode,
    scene_for,
)
from contact_stack.demo.bottle_shake.procedure import HELD
from contact_stack.demo.bottle_shake.record import (
    OUT_OF_HAND,
    Bottle,
    BottleRecord,
    summarize_bottle,
)
from contact_stack.demo.bottle_shake.task import BottleStage, BottleTask
from contact_stack.demo.client_node import Connection
from contact_stack.demo.runner import DRIVER, ENGINE, REALTIME, Demo, Option

FEEDBACK = {"both": ("on", "off"), "on": ("on",), "off": ("off",)}
PREFIX = "feedback_"
"""Of the names of the runs, before "on" or "off"."""
WANTED_ACCELERATION = 5.0
"""What counts as a vigorous shake [m/s^2]."""
LABELS = (
    "grip per finger [N]", "height [m]",
    "acceleration\nin the hand [m/s²]", "slip in the\nhand [mm]",
)  # fmt: skip

ROWS: Rows = (
    ("grip at the first touch", "grip.first_N", 1.0, "N"),
    ("grip, largest", "grip.max_N", 1.0, "N"),
    ("grip needed, largest", "grip.needed_max_N", 1.0, "N"),
    ("peak acceleration in the hand", "peak_acceleration_m_s2", 1.0, "m/s2"),
    ("slip in the hand", "slip_m", 1e3, "mm"),
    ("lost after", "lost_at_s", 1.0, "s"),
    ("distance from the goal", "place_error_m", 1e3, "mm"),
    ("tilt", "tilt_rad", float(np.rad2deg(1.0)), "deg"),
    ("placed", "placed", 1.0, ""),
    ("judged by force", "felt.verdict", 1.0, ""),
    ("real-time factor", "real_time_factor", 1.0, ""),
)


JOINT_CONTROLLER = Option(
    "--joint-controller", next(iter(CONTROLLERS)),
    "the arm's own joint impedance (default), or torques by inverse dynamics",
    {"choices": tuple(CONTROLLERS)},
)  # fmt: skip
FORCE_FEEDBACK = Option(
    "--feedback", "both", "with force feedback, without, or both (default)",
    {"choices": tuple(FEEDBACK)},
)  # fmt: skip


class BottleShake(Demo[BottleRecord]):
    """A run with force feedback and one without, streamed by one of two joint controllers."""

    options = (ENGINE, DRIVER, REALTIME, JOINT_CONTROLLER, FORCE_FEEDBACK)

    def __init__(self, args: argparse.Namespace) -> None:
        """Take the options, see :meth:`Demo.__init__`."""
        super().__init__(args)
        if args.joint_controller == INVERSE_DYNAMICS and self.driver != overlay.DRIVER:
            raise ConfigError(
                f"{INVERSE_DYNAMICS} commands torques: --driver is '{self.driver}' "
                f"(valid: {overlay.DRIVER})"
            )
        self._controller: str = args.joint_controller
        self._scene = scene_for(self._controller)
        self._task, self._bottle = BottleTask(), Bottle.of(self._scene)
        self._feedback = FEEDBACK[args.feedback]

    @property
    def runs(self) -> Sequence[str]:
        """With force feedback, and without."""
        return [f"{PREFIX}{feedback}" for feedback in self._feedback]

    def launch(self, run: str, folder: Path) -> tuple[str, Mapping[str, str]]:
        """Return the graph, with the arm in the mode that the joint controller commands."""

        def change(values: dict[str, Any]) -> None:
            values["robot"]["control_mode"] = CONTROLLERS[self._controller]

        scene = write_scene(SCENE, folder / f"{self._controller}.yaml", change)
        return "client", {"scene": str(scene), "engine": self.engine}

    def client(self, run: str, connection: Connection) -> BottleNode:
        """Make the node that handles the bottle."""
        scene, feedback = self._scene, run == f"{PREFIX}on"
        return BottleNode(scene, self._task, feedback, connection)

    def summarise(self, runs: Mapping[str, BottleRecord]) -> dict[str, Any]:
        """Compute the figures of each run, under "on" and "off"."""
        return {
            name: {
                **self.envelope(float(record.time[-1]), record.wall_time),
                "joint_controller": self._controller,
                "force_feedback": name,
                **summarize_bottle(record, self._task, self._bottle),
            }
            for name, record in self._named(runs)
        }

    def report(self, summary: Mapping[str, Any]) -> list[str]:
        """Return the table of the runs."""
        return table(summary, ROWS, head="force feedback")

    def draw(self, runs: Mapping[str, BottleRecord], folder: Path) -> list[Path]:
        """Draw the runs side by side."""
        return [draw_records(dict(self._named(runs)), self._bottle, folder / "bottle.png")]

    def verdict(self, summary: Mapping[str, Any]) -> tuple[list[str], bool]:
        """Return that the demo fails if force feedback has not placed the bottle."""
        return [], "on" in summary and not summary["on"]["placed"]

    def _named(self, runs: Mapping[str, BottleRecord]) -> list[tuple[str, BottleRecord]]:
        return [(run.removeprefix(PREFIX), record) for run, record in runs.items()]


def draw_records(records: Mapping[str, BottleRecord], bottle: Bottle, path: Path) -> Path:
    """Draw the runs, with force feedback "on" and "off", side by side as PNG."""
    figure, grid = new_figure(
        4, len(records), (6.2 * len(records), 9.0),
        sharex="col", sharey="row", height_ratios=(3, 2.4, 2, 2),
    )  # fmt: skip
    for column, (name, record) in zip(grid.T, records.items(), strict=True):
        grip, height, acceleration, slip = column
        # While the gripper opens its drive pulls at the fingers, which is no grip.
        grip.plot(record.time, np.maximum(record.grip, 0.0), color=BLUE, lw=1.5, label="grip")
        needed = np.where(record.during(*HELD), record.needed_force(bottle), np.nan)
        grip.plot(record.time, needed, color=RED, lw=1.2, label="grip needed to follow the tool")
        grip.set_ylim(bottom=0.0)
        z_bottle, z_tool = record.height.T
        grip.plot([], [], color="0.55", lw=1.2, label="tool")
        grip.plot([], [], color=ORANGE, lw=1.5, label="bottle")
        height.plot(record.time, z_tool, color="0.55", lw=1.2)
        height.plot(record.time, z_bottle, color=ORANGE, lw=1.5)
        held = np.where(record.held, 1.0, np.nan)
        acceleration.plot(record.time, held * record.acceleration, color=ORANGE, lw=1.2)
        draw_limit(acceleration, WANTED_ACCELERATION, "vigorous")
        slip.plot(record.time, 1e3 * held * record.slip, color=ORANGE, lw=1.2)
        slip.set_yscale("symlog", linthresh=1.0)
        slip.set_ylim(0.0, 1e3 * OUT_OF_HAND)
        slip.set_yticks([0, 1, 10, 50], labels=["0", "1", "10", "50"])
        slip.set_xlabel("time [s]")
        stages = {stage: s for stage, s in record.stages.items() if stage != BottleStage.END}
        name_phases(column, stages, float(record.time[-1]))
        if record.lost is not None:
            slip.annotate(
                "out of the hand", (record.lost, 1e3 * OUT_OF_HAND), (8, -12),
                textcoords="offset points", color=RED, fontsize=9,
            )  # fmt: skip
        grip.set_title(f"force feedback {name}", fontsize=12, pad=34)
    for axes, text in zip(grid[:, 0], LABELS, strict=True):
        axes.set_ylabel(text)
    add_legend(figure, grid[0, 0], columns=4)
    figure.align_ylabels(grid[:, 0])
    return save(figure, path, f"A bottle of {bottle.mass:.2f} kg grasped, shaken and placed")
