"""The best explanation away from the estimate, watched so that ambiguity is not missed.

A particle set settles on one of several places that explain the torque equally well. The
rival is the best of the others. How much worse it fits, summed over some time, tells
whether the place of the contact can be known at all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.joint_fit import Companions
from contact_aware_control.estimation.likelihood import Friction, Measurement, place_cost
from contact_aware_control.estimation.particles import Particles
from contact_aware_control.estimation.surface import Placement, Surface, project, to_world
from contact_stack.core.kernel import kernel

REFINEMENTS = 16
"""Places near the rival that are tried at each update."""


class Place(NamedTuple):
    """A point of the surface.

    Attributes:
        shape: The shape it is on.
        point: (3) frame of the shape [m].
        normal: (3) outward unit normal, frame of the shape.
    """

    shape: int
    point: np.ndarray
    normal: np.ndarray


class Rival:
    """Keeps the best place away from the estimate and the evidence against it.

    Attributes:
        place: Where it is, or None.
    """

    def __init__(
        self,
        surface: Surface,
        friction: Friction,
        distance: float,
        step: float,
        evidence_time: float,
        rng: np.random.Generator,
    ) -> None:
        """Start without a rival.

        Args:
            surface: The robot's surface.
            friction: The friction pyramids.
            distance: How far a rival is from the estimate, at least [m].
            step: Standard deviation of the steps that refine it, per axis [m].
            evidence_time: Time over which evidence is summed [s].
            rng: Random numbers.
        """
        self._surface = surface
        self._friction = friction
        self._distance = distance
        self._step = step
        self._evidence_time = evidence_time
        self._rng = rng
        self._point = np.zeros(3)
        self._normal = np.zeros(3)
        self.reset()

    def reset(self) -> None:
        """Forget the rival."""
        self.place: Place | None = None
        self._excess = math.nan

    def update(
        self,
        placement: Placement,
        particles: Particles,
        smooth: Measurement,
        companions: Companions,
        point: np.ndarray,
        cost: float,
        period: float,
    ) -> float:
        """Look for a better rival and weigh it against the estimate.

        Args:
            placement: Where the shapes are.
            particles: The evaluated set.
            smooth: The torque, low-passed.
            companions: Other contacts.
            point: (3) estimated contact point, world frame [m].
            cost: L of the estimate.
            period: Time since the last update [s].

        Returns:
            Probability of the rival against the estimate, 0 if there is none.
        """
        shape = -1 if self.place is None else self.place.shape
        shape, rival_cost = _best_elsewhere(
            self._surface,
            placement,
            particles,
            smooth,
            companions,
            self._friction,
            point,
            self._distance,
            self._step,
            shape,
            self._point,
            self._normal,
            self._rng,
        )
        if shape < 0:
            self.reset()
            return 0.0
        self.place = Place(shape, self._point, self._normal)
        excess = rival_cost - cost
        if math.isnan(self._excess):
            self._excess = excess
        self._excess += (1.0 - math.exp(-period / self._evidence_time)) * (excess - self._excess)
        samples = max(1.0, self._evidence_time / max(period, 1e-6))
        return 1.0 / (1.0 + math.exp(min(0.5 * samples * self._excess, 500.0)))


@kernel
def _best_elsewhere(
    surface: Surface,
    placement: Placement,
    particles: Particles,
    measurement: Measurement,
    companions: Companions,
    friction: Friction,
    away_from: np.ndarray,
    distance: float,
    step: float,
    shape: int,
    point: np.ndarray,
    normal: np.ndarray,
    rng: np.random.Generator,
) -> tuple[int, float]:
    """Improve a place, given as shape, point and normal; return its shape and its L.

    Tried are the place itself, the best particle far enough away, and random steps from
    the better of the two. Shape -1 stands for no place.
    """
    best = np.inf
    if shape >= 0:
        best = place_cost(
            surface, placement, measurement, companions, friction, shape, point, normal
        )
        if _distance(placement, shape, point, away_from) < distance:
            shape, best = -1, np.inf
    candidate, lowest = -1, np.inf
    for i in range(particles.cost.size):
        if particles.cost[i] < lowest:
            square = 0.0
            for k in range(3):
                square += (particles.point_world[i, k] - away_from[k]) ** 2
            if square > distance * distance:
                candidate, lowest = i, particles.cost[i]
    if candidate >= 0:
        s = particles.shape[candidate]
        cost = place_cost(
            surface,
            placement,
            measurement,
            companions,
            friction,
            s,
            particles.point[candidate],
            particles.normal[candidate],
        )
        if cost < best:
            shape, best = s, cost
            point[:] = particles.point[candidate]
            normal[:] = particles.normal[candidate]
    if shape < 0:
        return shape, best
    new_point, new_normal = np.zeros(3), np.zeros(3)
    for i in range(REFINEMENTS):
        # From coarse to fine.
        size = step * 0.5 ** (i % 4)
        x, y, z = to_world(placement, shape, point[0], point[1], point[2])
        x += size * rng.standard_normal()
        y += size * rng.standard_normal()
        z += size * rng.standard_normal()
        s, px, py, pz, nx, ny, nz = project(surface, placement, shape, x, y, z)
        new_point[0], new_point[1], new_point[2] = px, py, pz
        new_normal[0], new_normal[1], new_normal[2] = nx, ny, nz
        cost = place_cost(
            surface, placement, measurement, companions, friction, s, new_point, new_normal
        )
        if cost < best and _distance(placement, s, new_point, away_from) > distance:
            shape, best = s, cost
            point[:] = new_point
            normal[:] = new_normal
    return shape, best


@kernel
def _distance(placement: Placement, shape: int, point: np.ndarray, other: np.ndarray) -> float:
    x, y, z = to_world(placement, shape, point[0], point[1], point[2])
    return math.sqrt((x - other[0]) ** 2 + (y - other[1]) ** 2 + (z - other[2]) ** 2)
