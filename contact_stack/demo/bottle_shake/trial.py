"""What happened to the bottle, tick by tick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.signal import savgol_filter

from contact_stack.demo.bottle_shake.procedure import HELD, Stage, Verdict

OUT_OF_HAND = 0.05
"""A bottle that is farther than this from where it was grasped has left the hand [m]."""
WINDOW, DEGREE = 9, 3
"""Ticks and degree of the polynomial whose second derivative is taken for the acceleration."""


@dataclass(frozen=True, eq=False)
class Sample:
    """One tick.

    Attributes:
        stamp: When [ns].
        stage: What was being done.
        position: (7) joint positions [rad].
        tool: True pose of the tool, world frame.
        wanted: The tool pose that was asked for.
        bottle: True pose of the bottle, world frame.
        grip: Force with which each finger presses [N].
        command: What it was commanded to press with [N].
        load: (3) force of what is held on the fingers, as the arm feels it, tool frame [N].
    """

    stamp: int
    stage: Stage
    position: np.ndarray
    tool: pin.SE3
    wanted: pin.SE3
    bottle: pin.SE3
    grip: float
    command: float
    load: np.ndarray


class Trial:
    """All ticks of one run.

    Attributes:
        samples: The ticks.
        period: Time between two of them [s].
        verdict: What the forces said in the end.
        wall_time: Real time the run took [s].
        time: (n) from the first tick [s].
    """

    def __init__(
        self, samples: Sequence[Sample], period: float, verdict: Verdict, wall_time: float
    ) -> None:
        """Take the ticks.

        Args:
            samples: The ticks, all a period apart.
            period: [s].
            verdict: What the forces said in the end.
            wall_time: Real time the run took [s].
        """
        self.samples, self.period = tuple(samples), period
        self.verdict, self.wall_time = verdict, wall_time
        self.time = 1e-9 * np.array([sample.stamp - samples[0].stamp for sample in samples])

    def during(self, *stages: Stage) -> np.ndarray:
        """Return (n) whether a tick belongs to one of the stages."""
        return np.array([sample.stage in stages for sample in self.samples])

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
        lifting = np.flatnonzero(self.during(Stage.LIFT))
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
    def tool_acceleration(self) -> np.ndarray:
        """(n, 3) the tool's acceleration likewise, world frame [m/s^2]."""
        return self._second_derivative([sample.tool.translation for sample in self.samples])

    def _second_derivative(self, positions: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(
            savgol_filter(positions, WINDOW, DEGREE, deriv=2, delta=self.period, axis=0)
        )

    @property
    def grip(self) -> np.ndarray:
        """(n) force with which each finger presses [N]."""
        return np.array([sample.grip for sample in self.samples])

    @property
    def load(self) -> np.ndarray:
        """(n, 3) force of what is held on the fingers, tool frame [N]."""
        return np.array([sample.load for sample in self.samples])

    @property
    def stages(self) -> dict[Stage, tuple[float, float]]:
        """Stage -> (start, end) [s]."""
        spans: dict[Stage, tuple[float, float]] = {}
        for time, sample in zip(self.time, self.samples, strict=True):
            start, _ = spans.get(sample.stage, (float(time), 0.0))
            spans[sample.stage] = (start, float(time) + self.period)
        return spans
