"""The picture of the demo: grip, height, acceleration and slip over time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from contact_stack.demo.bottle_shake.procedure import HELD, Stage
from contact_stack.demo.bottle_shake.summary import Bottle, needed_force
from contact_stack.demo.bottle_shake.trial import OUT_OF_HAND, Trial

DOTS_PER_INCH = 130
GRIP, NEEDED, BOTTLE, TOOL = "#0b6e99", "#c8372d", "#d9730d", "0.55"
SHADED = (Stage.GRASP, Stage.SHAKE, Stage.LOWER, Stage.RETREAT)
WANTED_ACCELERATION = 5.0
"""What counts as a vigorous shake [m/s^2]."""


def plot_trials(trials: Mapping[str, Trial], bottle: Bottle, path: Path) -> None:
    """Draw the runs side by side.

    Args:
        trials: "on" or "off", of the force feedback -> the run.
        bottle: What is held.
        path: The PNG to write.
    """
    figure = Figure(figsize=(6.2 * len(trials), 9.0), layout="constrained")
    grid = figure.subplots(
        4, len(trials), sharex="col", sharey="row", squeeze=False, height_ratios=(3, 2.4, 2, 2)
    )
    for axes, (name, trial) in zip(grid.T, trials.items(), strict=True):
        grip, height, acceleration, slip = axes
        _grip(grip, trial, bottle)
        _height(height, trial)
        held = np.where(trial.held, 1.0, np.nan)
        acceleration.plot(trial.time, held * trial.acceleration, color=BOTTLE, lw=1.2)
        acceleration.axhline(WANTED_ACCELERATION, color="0.3", ls="--", lw=1)
        slip.plot(trial.time, 1e3 * held * trial.slip, color=BOTTLE, lw=1.2)
        slip.set_yscale("symlog", linthresh=1.0)
        slip.set_ylim(0.0, 1e3 * OUT_OF_HAND)
        slip.set_yticks([0, 1, 10, 50], labels=["0", "1", "10", "50"])
        slip.set_xlabel("time [s]")
        _name_stages(axes, trial)
        if trial.lost is not None:
            slip.annotate(
                "out of the hand", (trial.lost, 1e3 * OUT_OF_HAND), (8, -12),
                textcoords="offset points", color=NEEDED, fontsize=9,
            )  # fmt: skip
        grip.set_title(f"force feedback {name}", fontsize=12, pad=22)
    labels = ("grip per finger [N]", "height [m]", "acceleration\nin the hand [m/s²]",
              "slip in the\nhand [mm]")  # fmt: skip
    for panel, text in zip(grid[:, 0], labels, strict=True):
        panel.set_ylabel(text)
    for panel in grid[:2, 0]:
        panel.legend(loc="upper left", fontsize=9, frameon=False)
    for panel in grid.ravel():
        panel.grid(alpha=0.25)
        panel.spines[["top", "right"]].set_visible(False)
        panel.margins(x=0.0)
    figure.align_ylabels(grid[:, 0])
    figure.suptitle(f"A bottle of {bottle.mass:.2f} kg grasped, shaken and placed", fontsize=13)
    figure.savefig(path, dpi=DOTS_PER_INCH)


def _grip(axes: Axes, trial: Trial, bottle: Bottle) -> None:
    # While the gripper opens its drive pulls at the fingers, which is no grip.
    axes.plot(trial.time, np.maximum(trial.grip, 0.0), color=GRIP, lw=1.5, label="grip")
    needed = np.where(trial.during(*HELD), needed_force(trial, bottle), np.nan)
    axes.plot(trial.time, needed, color=NEEDED, lw=1.2, label="needed to follow the tool")
    axes.set_ylim(bottom=0.0)


def _height(axes: Axes, trial: Trial) -> None:
    bottle, tool = trial.height.T
    axes.plot(trial.time, tool, color=TOOL, lw=1.2, label="tool")
    axes.plot(trial.time, bottle, color=BOTTLE, lw=1.5, label="centre of the bottle")


def _name_stages(axes: np.ndarray, trial: Trial) -> None:
    """Shade every second stage, and name the stages above."""
    for stage, (start, end) in trial.stages.items():
        if stage is Stage.END:
            continue
        for panel in axes:
            if stage in SHADED:
                panel.axvspan(start, end, color="0.5", alpha=0.08, lw=0)
        axes[0].text(
            0.5 * (start + end), 1.01, stage, ha="center", va="bottom", fontsize=8,
            color="0.35", rotation=30 if end - start < 1.2 else 0,
            transform=axes[0].get_xaxis_transform(),
        )  # fmt: skip
