"""The figures of the demo; truth, unless they say that something was felt."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from contact_core.description import read_urdf
from contact_core.robot import GRAVITY
from contact_core.scene import ROBOT, Scene
from contact_core.surface import combine
from contact_stack.demo.bottle_shake.grip import needed_grip
from contact_stack.demo.bottle_shake.procedure import Stage
from contact_stack.demo.bottle_shake.task import BottleTask
from contact_stack.demo.bottle_shake.trial import Trial

BOTTLE, FINGER = "bottle", "finger_left"
PLACE_TOLERANCE = 0.02
"""Largest distance of a placed bottle from its goal [m]."""
TILT_TOLERANCE = np.deg2rad(5.0)
HEIGHT_TOLERANCE = 0.005
"""Largest difference of height between the bottle at the start and at the end [m]."""


@dataclass(frozen=True)
class Bottle:
    """What is held.

    Attributes:
        mass: [kg].
        friction: Coefficient of finger and bottle.
    """

    mass: float
    friction: float

    @staticmethod
    def of(scene: Scene) -> Bottle:
        """Return the bottle of a scene.

        Args:
            scene: The scene.
        """
        model = pin.buildModelFromXML(
            read_urdf(scene.objects[BOTTLE].urdf), pin.JointModelFreeFlyer()
        )
        surfaces = scene.surface_of(ROBOT, FINGER), scene.surface_of(BOTTLE, BOTTLE)
        return Bottle(float(pin.computeTotalMass(model)), combine(*surfaces).friction)


def needed_force(trial: Trial, bottle: Bottle) -> np.ndarray:
    """Return the least grip per finger that makes the bottle follow the tool, (n) [N].

    Args:
        trial: The run.
        bottle: What is held.
    """
    load = bottle.mass * (trial.tool_acceleration + np.array([0.0, 0.0, GRAVITY]))
    return np.array(
        [
            needed_grip(sample.tool.rotation.T @ force, bottle.friction)
            for sample, force in zip(trial.samples, load, strict=True)
        ]
    )


def summarize(trial: Trial, task: BottleTask, bottle: Bottle) -> dict[str, Any]:
    """Compute the figures of one run.

    Args:
        trial: The run.
        task: What was to be done.
        bottle: What is held.

    Returns:
        JSON content in SI units.
    """
    held = trial.held
    grip, needed = trial.grip[held], needed_force(trial, bottle)[held]
    shaken = held & trial.during(Stage.SHAKE)
    end, start = trial.samples[-1].bottle, trial.samples[0].bottle
    place_error = float(np.linalg.norm(end.translation[:2] - task.goal))
    tilt = float(np.arccos(np.clip(end.rotation[2, 2], -1.0, 1.0)))
    height_error = float(abs(end.translation[2] - start.translation[2]))
    errors = [np.linalg.norm(s.tool.translation - s.wanted.translation) for s in trial.samples]
    return {
        "sim_time_s": float(trial.time[-1]),
        "wall_time_s": trial.wall_time,
        "real_time_factor": float(trial.time[-1]) / trial.wall_time,
        "grip": {
            "first_N": float(grip[0]) if len(grip) else 0.0,
            "median_N": float(np.median(grip)) if len(grip) else 0.0,
            "max_N": float(grip.max(initial=0.0)),
            "needed_max_N": float(needed.max(initial=0.0)),
            "enough_share_of_time": float(np.mean(grip >= needed)) if len(grip) else 0.0,
        },
        "peak_acceleration_m_s2": float(trial.acceleration[shaken].max(initial=0.0)),
        "slip_m": float(trial.slip[held].max(initial=0.0)),
        "lost_at_s": trial.lost,
        "tool_error_max_m": float(np.max(errors)),
        "place_error_m": place_error,
        "tilt_rad": tilt,
        "placed": bool(
            place_error <= PLACE_TOLERANCE
            and tilt <= TILT_TOLERANCE
            and height_error <= HEIGHT_TOLERANCE
        ),
        "felt": {"verdict": trial.verdict.name, "meaning": trial.verdict.value},
        "stages_s": {str(stage): span for stage, span in trial.stages.items()},
        "trajectory_sha256": hashlib.sha256(
            np.array([sample.position for sample in trial.samples]).tobytes()
        ).hexdigest(),
    }


ROWS = (
    ("grip at the first touch [N]", lambda s: f"{s['grip']['first_N']:.1f}"),
    ("grip, largest [N]", lambda s: f"{s['grip']['max_N']:.1f}"),
    ("grip needed, largest [N]", lambda s: f"{s['grip']['needed_max_N']:.1f}"),
    ("peak acceleration in the hand [m/s2]", lambda s: f"{s['peak_acceleration_m_s2']:.1f}"),
    ("slip in the hand [mm]", lambda s: f"{1e3 * s['slip_m']:.1f}"),
    ("lost after [s]", lambda s: "-" if s["lost_at_s"] is None else f"{s['lost_at_s']:.1f}"),
    ("distance from the goal [mm]", lambda s: f"{1e3 * s['place_error_m']:.1f}"),
    ("tilt [deg]", lambda s: f"{np.rad2deg(s['tilt_rad']):.1f}"),
    ("placed", lambda s: "yes" if s["placed"] else "no"),
    ("judged by force", lambda s: s["felt"]["verdict"].lower().replace("_", " ")),
    ("real-time factor", lambda s: f"{s['real_time_factor']:.2f}"),
)


def table(summaries: Mapping[str, Mapping[str, Any]]) -> str:
    """Render the most telling figures of each run side by side.

    Args:
        summaries: "on" or "off", of the force feedback -> what :func:`summarize` returned.

    Returns:
        Lines of text.
    """
    lines = ["".join([f"{'force feedback':38}", *(f"{name:>14}" for name in summaries)])]
    lines += [
        "".join([f"{label:38}", *(f"{cell(summary):>14}" for summary in summaries.values())])
        for label, cell in ROWS
    ]
    return "\n".join(lines)
