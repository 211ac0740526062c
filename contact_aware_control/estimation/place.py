"""Places of a contact on the robot's surface: the estimate, its best alternative, and descent.

A particle set settles on one of several places that explain the torque equally well. The
alternative is the best of the others. How much worse it fits, summed over some time, tells
whether the place of the contact can be known at all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.likelihood import FrictionPyramids, fit_at
from contact_aware_control.estimation.measurement import (
    KnownContact,
    Measurement,
    Torques,
    point_jacobian,
)
from contact_aware_control.estimation.particles import Particles
from contact_aware_control.estimation.surface import (
    Placement,
    RobotSurface,
    outward_normal,
    project,
    to_world,
)
from contact_core.base.kernel import kernel

SLIDE_TRIALS = 48
"""Places tried when a contact may have slid."""

SLIDE_DISTANCE = 0.02
"""How far a contact may have slid when it does not explain the torque [m]."""

REFINEMENTS = 16
"""Places near the alternative that are tried at each update."""

MIN_DISTANCE = 0.08
"""How far an alternative is from the estimate [m]."""

EVIDENCE_TIME = 0.1
"""Time over which evidence against the alternative is summed [s]."""


class LocatedContact:
    """The place a particle set has settled on; it moves with the link.

    Attributes:
        shape: The shape that is touched; -1 while there is none.
        point: (3) frame of the shape [m].
        force: (3) of the last fit, world frame [N].
        usual_force: (3) mean force while it explained the torque, world frame [N].
    """

    def __init__(
        self, surface: RobotSurface, friction: FrictionPyramids, rng: np.random.Generator
    ) -> None:
        """Start without a place.

        Args:
            surface: The robot's surface.
            friction: The friction pyramids.
            rng: Random numbers.
        """
        self._surface = surface
        self._friction = friction
        self._rng = rng
        self.shape = -1
        self.point = np.zeros(3)
        self.force = np.zeros(3)
        self.usual_force = np.zeros(3)

    def residual(self, placement: Placement, measurement: Measurement) -> float:
        """Return the squared whitened torque per joint that the contact does not explain.

        Args:
            placement: Where the shapes are.
            measurement: The torque.
        """
        cost = cost_at(
            self._surface, placement, measurement, self._friction, self.shape, self.point
        )
        return cost / measurement.weighted.size

    def slide(self, placement: Placement, measurement: Measurement, enough: float) -> float:
        """Look for a place nearby that explains the torque, and go there.

        Args:
            placement: Where the shapes are.
            measurement: The torque.
            enough: Squared whitened residual per joint below which the contact moves.

        Returns:
            The residual of the best place.
        """
        region = Region(self._in_world(placement), 0.0, SLIDE_DISTANCE)
        steps = 0.5 * SLIDE_DISTANCE * self._rng.standard_normal((SLIDE_TRIALS, 3))
        friction, start = self._friction, (self.shape, self.point)
        shape, point, cost = descend(
            self._surface, placement, measurement, friction, *start, region, steps
        )
        residual = cost / measurement.weighted.size
        if residual < enough:
            self.shape, self.point = int(shape), point
        return residual

    def known(self, placement: Placement, torques: Torques, deviation: float) -> KnownContact:
        """Return what is known of this contact when another one is looked for.

        Args:
            placement: Where the shapes are.
            torques: For the kinematics.
            deviation: Standard deviation of its force about the usual one [N].
        """
        return KnownContact(self.jacobian(placement, torques), self.usual_force, deviation)

    def jacobian(self, placement: Placement, torques: Torques) -> np.ndarray:
        """Return J_C (3, n) of its point, world frame [m/rad].

        Args:
            placement: Where the shapes are.
            torques: For the kinematics.
        """
        point, joints = self._in_world(placement), self._surface.joints[self.shape]
        return point_jacobian(torques.joint_origins, torques.joint_axes, joints, point)

    def _in_world(self, placement: Placement) -> np.ndarray:
        """Return where it is (3), world frame [m]."""
        return np.array(to_world(placement, self.shape, *self.point))


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
        elsewhere = Region(point, MIN_DISTANCE, math.inf)
        steps = self._step * self._rng.standard_normal((REFINEMENTS, 3))
        last = (self.shape, self.point)
        self.shape, self.point, alternative_cost = _best_elsewhere(
            self._surface, placement, particles, smooth, self._friction, elsewhere, steps, *last
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


class Region(NamedTuple):
    """A spherical shell in space.

    Attributes:
        center: (3) world frame [m].
        inner: Its inner radius [m].
        outer: Its outer radius [m]; may be infinite.
    """

    center: np.ndarray
    inner: float
    outer: float


@kernel
def contains(region: Region, x: float, y: float, z: float) -> bool:
    """Tell whether a point of the world [m] is in a region."""
    dx, dy, dz = x - region.center[0], y - region.center[1], z - region.center[2]
    return region.inner <= math.sqrt(dx * dx + dy * dy + dz * dz) <= region.outer


@kernel
def cost_at(
    surface: RobotSurface,
    placement: Placement,
    measurement: Measurement,
    friction: FrictionPyramids,
    shape: int,
    point: np.ndarray,
) -> float:
    """Return L of a place, given by its shape and its point in the shape's frame."""
    normal = outward_normal(surface, shape, point)
    joints = surface.joints
    return fit_at(measurement, placement, joints, friction, shape, point, normal)[0]


@kernel
def descend(
    surface: RobotSurface,
    placement: Placement,
    measurement: Measurement,
    friction: FrictionPyramids,
    shape: int,
    point: np.ndarray,
    region: Region,
    steps: np.ndarray,
) -> tuple[int, np.ndarray, float]:
    """Descend on L from a place by random steps that stay in a region.

    Args:
        surface: The shapes.
        placement: Where they are.
        measurement: The torque.
        friction: The friction pyramids.
        shape: The shape the place is on.
        point: (3) the place, in the region, frame of the shape [m].
        region: Where the result has to be.
        steps: (N, 3) random steps as coarse as may be, tried one after the other [m].

    Returns:
        (shape of the best place; (3) its point, frame of that shape [m]; its L).
    """
    lowest = cost_at(surface, placement, measurement, friction, shape, point)
    for i in range(steps.shape[0]):
        # From coarse to fine, again and again.
        size = 0.5 ** (i % 4)
        x, y, z = to_world(placement, shape, point[0], point[1], point[2])
        x += size * steps[i, 0]
        y += size * steps[i, 1]
        z += size * steps[i, 2]
        s, px, py, pz, _, _, _ = project(surface, placement, shape, x, y, z)
        x, y, z = to_world(placement, s, px, py, pz)
        if not contains(region, x, y, z):
            continue
        at = np.array([px, py, pz])
        cost = cost_at(surface, placement, measurement, friction, s, at)
        if cost < lowest:
            shape, point, lowest = s, at, cost
    return shape, point, lowest


@kernel
def _best_elsewhere(
    surface: RobotSurface,
    placement: Placement,
    particles: Particles,
    measurement: Measurement,
    friction: FrictionPyramids,
    elsewhere: Region,
    steps: np.ndarray,
    shape: int,
    point: np.ndarray,
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
    return descend(surface, placement, measurement, friction, shape, point, elsewhere, steps)
