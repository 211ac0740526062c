"""What happened to the bottle, tick by tick, and the figures of it.

All is ground truth, unless it says that something was felt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
import scipy

from contact_aware_control.reference.motion import tilt
from contact_core.robot.description import read_urdf
from contact_core.robot.robot import GRAVITY
from contact_core.robot.scene import ROBOT, Scene
from contact_core.robot.surface import combine
from contact_stack.demo.bottle_shake.procedure import HELD, PlacementVerdict, needed_grip
from contact_stack.demo.bottle_shake.task import BottleStage, BottleTask
from contact_stack.demo.contact_tracking.statistics import trajectory_hash

BOTTLE, FINGER = "bottle", "finger_left"
OUT_OF_HAND = 0.05
"""A bottle that is farther than this from where it was grasped has left the hand [m]."""
WINDOW, DEGREE = 9, 3
"""Ticks and degree of the polynomial whose second derivative is taken for the acceleration."""
PLACE_TOLERANCE = 0.02
"""Largest distance of a placed bottle from its goal [m]."""
TILT_TOLERANCE = np.deg2rad(5.0)
HEIGHT_TOLERANCE = 0.005
"""Largest difference of height between the bottle at the start and at the end [m]."""


@dataclass(frozen=True, eq=False)
class BottleSample:
    """One tick.

    Attributes:
        stamp: When [ns].
        stage: What was being done.
        position: (7) joint positions [rad].
        tool: True pose of the tool, world frame.
        wanted: The tool pose that was asked for.
        bottle: True pose of the bottle, world frame.
        grip: Force with which each finger presses [N].
    """

    stamp: int
    stage: BottleStage
    position: np.ndarray
    tool: pin.SE3
    wanted: pin.SE3
    bottle: pin.SE3
    grip: float


@dataclass(frozen=True)
class BottleRecord:
    """All ticks of one run.

    Attributes:
        samples: The ticks, all a period apart.
        period: Time between two of them [s].
        verdict: What the forces said in the end.
        wall_time: Real time the run took [s].
    """

    samples: Sequence[BottleSample]
    period: float
    verdict: PlacementVerdict
    wall_time: float

    @property
    def time(self) -> np.ndarray:
        """(n) from the first tick [s]."""
        return 1e-9 * np.array([sample.stamp - self.samples[0].stamp for sample in self.samples])

    @property
    def held(self) -> np.ndarray:
        """(n) whether the bottle should be in the hand, and is."""
        return self.during(*HELD) & (self.slip < OUT_OF_HAND)

    @property
    def lost(self) -> float | None:
        """When the bottle left the hand [s]; None if it did not."""
        gone = np.flatnonzero(self.during(*HELD) & (self.slip >= OUT_OF_HAND))
        return float(self.time[gone[0]]) if len(gone) else None

    @property
    def slip(self) -> np.ndarray:
        """(n) distance of the bottle, in the hand, from where it was grasped [m]."""
        inside = np.array([(s.tool.inverse() * s.bottle).translation for s in self.samples])
        lifting = np.flatnonzero(self.during(BottleStage.LIFT))
        grasped = inside[lifting[0] if len(lifting) else 0]
        return np.asarray(np.linalg.norm(inside - grasped, axis=1))

    @property
    def height(self) -> np.ndarray:
        """(n, 2) z of the bottle and of the tool [m]."""
        return np.array([(s.bottle.translation[2], s.tool.translation[2]) for s in self.samples])

    @property
    def acceleration(self) -> np.ndarray:
        """(n) magnitude of the bottle's acceleration, mean over some 45 ms [m/s^2]."""
        second = self._second_derivative([sample.bottle.translation for sample in self.samples])
        return np.asarray(np.linalg.norm(second, axis=1))

    @property
    def grip(self) -> np.ndarray:
        """(n) force with which each finger presses [N]."""
        return np.array([sample.grip for sample in self.samples])

    @property
    def stages(self) -> dict[str, tuple[float, float]]:
        """Name of a stage -> (start, end) [s]."""
        spans: dict[str, tuple[float, float]] = {}
        for time, sample in zip(self.time, self.samples, strict=True):
            start, _ = spans.get(str(sample.stage), (float(time), 0.0))
            spans[str(sample.stage)] = (start, float(time) + self.period)
        return spans

    def during(self, *stages: BottleStage) -> np.ndarray:
        """Return (n) whether a tick belongs to one of the stages."""
        return np.array([sample.stage in stages for sample in self.samples])

    def needed_force(self, bottle: Bottle) -> np.ndarray:
        """Return the least grip per finger that makes a bottle follow the tool, (n) [N]."""
        tool = self._second_derivative([sample.tool.translation for sample in self.samples])
        load = bottle.mass * (tool + np.array([0.0, 0.0, GRAVITY]))
        return np.array(
            [
                needed_grip(sample.tool.rotation.T @ force, bottle.friction)
                for sample, force in zip(self.samples, load, strict=True)
            ]
        )

    def _second_derivative(self, positions: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(
            scipy.signal.savgol_filter(
                positions, WINDOW, DEGREE, deriv=2, delta=self.period, axis=0
            )
        )


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
        """Return the bottle of a scene."""
        urdf = read_urdf(scene.objects[BOTTLE].urdf)
        model = pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer())
        surfaces = scene.surface_of(ROBOT, FINGER), scene.surface_of(BOTTLE, BOTTLE)
        return Bottle(float(pin.computeTotalMass(model)), combine(*surfaces).friction)


def summarize_bottle(record: BottleRecord, task: BottleTask, bottle: Bottle) -> dict[str, Any]:
    """Return the figures of one run, as JSON content in SI units."""
    held = record.held
    grip, needed = record.grip[held], record.needed_force(bottle)[held]
    shaken = held & record.during(BottleStage.SHAKE)
    end, start = record.samples[-1].bottle, record.samples[0].bottle
    place_error = float(np.linalg.norm(end.translation[:2] - task.goal))
    height_error = float(abs(end.translation[2] - start.translation[2]))
    errors = [np.linalg.norm(s.tool.translation - s.wanted.translation) for s in record.samples]
    return {
        "grip": {
            "first_N": float(grip[0]) if len(grip) else 0.0,
            "median_N": float(np.median(grip)) if len(grip) else 0.0,
            "max_N": float(grip.max(initial=0.0)),
            "needed_max_N": float(needed.max(initial=0.0)),
            "enough_share_of_time": float(np.mean(grip >= needed)) if len(grip) else 0.0,
        },
        "peak_acceleration_m_s2": float(record.acceleration[shaken].max(initial=0.0)),
        "slip_m": float(record.slip[held].max(initial=0.0)),
        "lost_at_s": record.lost,
        "tool_error_max_m": float(np.max(errors)),
        "place_error_m": place_error,
        "tilt_rad": tilt(end),
        "placed": bool(
            place_error <= PLACE_TOLERANCE
            and tilt(end) <= TILT_TOLERANCE
            and height_error <= HEIGHT_TOLERANCE
        ),
        "felt": {"verdict": record.verdict.name, "meaning": record.verdict.value},
        "stages_s": record.stages,
        "trajectory_sha256": trajectory_hash([sample.position for sample in record.samples]),
    }
