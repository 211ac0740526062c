"""The best alternative place of a contact, watched so that ambiguity is not missed.

A particle set settles on one of several places that explain the torque equally well. The
alternative is the best of the others. How much worse it fits, summed over some time, tells
whether the place of the contact can be known at all.
"""

from __future__ import annotations

import math

import numpy as np

from contact_aware_control.estimation.likelihood import FrictionPyramids
from contact_aware_control.estimation.located_contact import Region, contains, cost_at, descend
from contact_aware_control.estimation.measurement import Measurement
from contact_aware_control.estimation.particles import Particles
from contact_aware_control.estimation.surface import (
    Placement,
    RobotSurface,
    outward_normal,
    to_world,
)
from contact_core.base.kernel import kernel

REFINEMENTS = 16
"""Places near the alternative that are tried at each update."""

MIN_DISTANCE = 0.08
"""How far an alternative is from the estimate [m]."""

EVIDENCE_TIME = 0.1
"""Time over which evidence against the alternative is summed [s]."""


class Alternative:
    """Keeps the best place away from the estimate and the evidence against it.

    Attributes:
        shape: The shape it is on; -1 while there is none.
        point: (3) its point, frame of the shape [m].
    """

    def __init__(
        self,
        surface: RobotSurface,
        friction: FrictionPyramids,
        step: float,
        rng: np.random.Generator,
    ) -> None:
        """Start without an alternative.

        Args:
            surface: The robot's surface.
            friction: The friction pyramids.
            step: Standard deviation of the steps that refine it, per axis [m].
            rng: Random numbers.
        """
        self._surface = surface
        self._friction = friction
        self._step = step
        self._rng = rng
        self.reset()

    def reset(self) -> None:
        """Forget the alternative."""
        self.shape = -1
        self.point = np.zeros(3)
        self._excess = math.nan

    @property
    def outward(self) -> np.ndarray:
        """(3) outward unit normal, frame of the shape."""
        return outward_normal(self._surface, self.shape, self.point)

    def update(
        self,
        placement: Placement,
        particles: Particles,
        smooth: Measurement,
        point: np.ndarray,
        cost: float,
        period: float,
    ) -> float:
        """Look for a better alternative and weigh it against the estimate.

        Args:
            placement: Where the shapes are.
            particles: The evaluated set.
            smooth: The torque, low-passed.
            point: (3) estimated contact point, world frame [m].
            cost: L of the estimate.
            period: Time since the last update [s].

        Returns:
            Probability of the alternative against the estimate, 0 if there is none.
        """
        self.shape, self.point, alternative_cost = _best_elsewhere(
            self._surface,
            placement,
            particles,
            smooth,
            self._friction,
            Region(point, MIN_DISTANCE, math.inf),
            self._step,
            self.shape,
            self.point,
            self._rng,
        )
        if self.shape < 0:
            self.reset()
            return 0.0
        excess = alternative_cost - cost
        if math.isnan(self._excess):
            self._excess = excess
        self._excess += (1.0 - math.exp(-period / EVIDENCE_TIME)) * (excess - self._excess)
        samples = max(1.0, EVIDENCE_TIME / max(period, 1e-6))
        return 1.0 / (1.0 + math.exp(min(0.5 * samples * self._excess, 500.0)))


@kernel
def _best_elsewhere(
    surface: RobotSurface,
    placement: Placement,
    particles: Particles,
    measurement: Measurement,
    friction: FrictionPyramids,
    elsewhere: Region,
    step: float,
    shape: int,
    point: np.ndarray,
    rng: np.random.Generator,
) -> tuple[int, np.ndarray, float]:
    """Descend from the last alternative or from the best particle in a region.

    Shape -1 stands for no place.
    """
    if shape >= 0:
        x, y, z = to_world(placement, shape, point[0], point[1], point[2])
        if not contains(elsewhere, x, y, z):
            shape = -1
    candidate, lowest = -1, np.inf
    for i in range(particles.cost.size):
        at = particles.point_world[i]
        if particles.cost[i] < lowest and contains(elsewhere, at[0], at[1], at[2]):
            candidate, lowest = i, particles.cost[i]
    if candidate >= 0:
        s, at = particles.shape[candidate], particles.point[candidate]
        # The particle's own cost is that of the torque as measured.
        cost = cost_at(surface, placement, measurement, friction, s, at)
        if shape < 0 or cost < cost_at(surface, placement, measurement, friction, shape, point):
            shape, point = s, at.copy()
    if shape < 0:
        return shape, point, np.inf
    return descend(
        surface,
        placement,
        measurement,
        friction,
        shape,
        point,
        elsewhere,
        step,
        REFINEMENTS,
        rng,
    )
