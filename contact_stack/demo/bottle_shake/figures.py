"""The picture of the demo bottle_shake: grip, height, acceleration and slip over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from contact_stack.demo.bottle_shake.procedure import HELD
from contact_stack.demo.bottle_shake.record import OUT_OF_HAND, Bottle, BottleRecord
from contact_stack.demo.bottle_shake.task import BottleStage
from contact_stack.demo.figures import (
    BLUE,
    ORANGE,
    RED,
    add_legend,
    draw_limit,
    name_phases,
    new_figure,
    save,
)

WANTED_ACCELERATION = 5.0
"""What counts as a vigorous shake [m/s^2]."""
LABELS = (
    "grip per finger [N]", "height [m]",
    "acceleration\nin the hand [m/s²]", "slip in the\nhand [mm]",
)  # fmt: skip


def draw_records(records: Mapping[str, BottleRecord], bottle: Bottle, path: Path) -> Path:
    """Draw the runs side by side.

    Args:
        records: "on" or "off", of the force feedback -> the run.
        bottle: What is held.
        path: The PNG to write.
    """
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
