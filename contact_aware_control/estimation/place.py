"""Places of a contact on the robot's surface: the estimate, its rivals, and descent.

A particle set settles on one of several places that explain the torque equally well. Its rivals
are the best places away from it, and away from its line of force. How much worse they fit tells
whether the place of the contact, or what it does to the arm, can be known at all.
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
from contact_core.base.kernel import kernel, leaf_kernel

SLIDE_TRIALS = 48
"""Places tried when a contact may have slid."""

SLIDE_DISTANCE = 0.02
"""How far a contact may have slid when it does not explain the torque [m]."""

REFINEMENTS = 16
"""Places near each rival that are tried at each update."""

REGION = 0.02
"""How far a contact may be from a place, or from a line of force, that is told [m]."""


NO_LINE = np.zeros(3)


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
        region = Region(self._in_world(placement), 0.0, SLIDE_DISTANCE, NO_LINE, 0)
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


class Rivals:
    """Keeps the best place away from the estimate, and the best away from its line of force.

    Attributes:
        shape: (2) the shapes they are on; -1 while there is none.
        point: (2, 3) the places, frames of the shapes [m].
    """

    def __init__(
        self,
        surface: RobotSurface,
        friction: FrictionPyramids,
        step: float,
        rng: np.random.Generator,
    ) -> None:
        """Start without rivals.

        Args:
            surface: The robot's surface.
            friction: The friction pyramids.
            step: Standard deviation of the steps that refine them, per axis [m].
            rng: Random numbers.
        """
        self._surface = surface
        self._friction = friction
        self._step = step
        self._rng = rng
        self.shape = np.empty(2, dtype=np.int64)
        self.point = np.empty((2, 3))
        self.reset()

    def reset(self) -> None:
        """Forget them."""
        self.shape[:] = -1

    def update(
        self,
        placement: Placement,
        particles: Particles,
        mean: Measurement,
        shape: int,
        point: np.ndarray,
        force: np.ndarray,
    ) -> tuple[float, float]:
        """Look for better ones.

        Args:
            placement: Where the shapes are.
            particles: The evaluated set.
            mean: The torque, averaged: what is left of its noise is as wrong in the next sample.
            shape: The shape that the estimate is on.
            point: (3) the estimate, world frame [m].
            force: (3) its force, world frame [N].

        Returns:
            L of each, infinite if there is none.
        """
        joints = int(self._surface.joints[shape])
        along = force / max(math.hypot(*force), 1e-9)
        away = Region(point, REGION, math.inf, along, 0)
        off_line = away._replace(joints=joints)
        steps = self._step * self._rng.standard_normal((2, REFINEMENTS, 3))
        place, line = find_rivals(
            self._surface, placement, particles, mean, self._friction, away, off_line, steps,
            self.shape, self.point,
        )  # fmt: skip
        return place, line


class Region(NamedTuple):
    """A spherical shell in space, perhaps without a line.

    Attributes:
        center: (3) world frame [m].
        inner: Its inner radius [m].
        outer: Its outer radius [m]; may be infinite.
        along: (3) unit vector of a line through the centre.
        joints: A part that so many joints move is not in the region within ``inner`` of the line;
            0: every part is.
    """

    center: np.ndarray
    inner: float
    outer: float
    along: np.ndarray
    joints: int


@leaf_kernel
def contains(region: Region, joints: int, x: float, y: float, z: float) -> bool:
    """Tell whether a point of the world [m] on a part that so many joints move is in a region."""
    dx, dy, dz = x - region.center[0], y - region.center[1], z - region.center[2]
    square = dx * dx + dy * dy + dz * dz
    if not region.inner**2 <= square <= region.outer**2:
        return False
    if joints != region.joints:
        return True
    ahead = dx * region.along[0] + dy * region.along[1] + dz * region.along[2]
    return square - ahead * ahead > region.inner**2


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
        if not contains(region, surface.joints[s], x, y, z):
            continue
        at = np.array([px, py, pz])
        cost = cost_at(surface, placement, measurement, friction, s, at)
        if cost < lowest:
            shape, point, lowest = s, at, cost
    return shape, point, lowest


@kernel
def find_rivals(
    surface: RobotSurface,
    placement: Placement,
    particles: Particles,
    measurement: Measurement,
    friction: FrictionPyramids,
    away: Region,
    off_line: Region,
    steps: np.ndarray,
    shape: np.ndarray,
    point: np.ndarray,
) -> tuple[float, float]:
    """Descend from the last rivals, or from the best particle in each of two regions.

    Args:
        surface: The shapes.
        placement: Where they are.
        particles: The evaluated set.
        measurement: The torque.
        friction: The friction pyramids.
        away: Where the first of them is.
        off_line: Where the second one is, which is part of that.
        steps: (2, N, 3) random steps of each [m].
        shape: (2) the shapes that they are on, -1 for none; changed.
        point: (2, 3) the places, frames of the shapes [m]; changed.

    Returns:
        L of each, infinite if there is none.
    """
    place = _find_rival(
        surface, placement, particles, measurement, friction, away, steps[0], shape, point, 0
    )
    line = _find_rival(
        surface, placement, particles, measurement, friction, off_line, steps[1], shape, point, 1
    )
    return min(place, line), line


@kernel
def _find_rival(
    surface: RobotSurface,
    placement: Placement,
    particles: Particles,
    measurement: Measurement,
    friction: FrictionPyramids,
    region: Region,
    steps: np.ndarray,
    shapes: np.ndarray,
    points: np.ndarray,
    which: int,
) -> float:
    shape, point, joints = shapes[which], points[which].copy(), surface.joints
    if shape >= 0:
        x, y, z = to_world(placement, shape, point[0], point[1], point[2])
        if not contains(region, joints[shape], x, y, z):
            shape = -1
    candidate, lowest = -1, np.inf
    for i in range(particles.cost.size):
        at = particles.point_world[i]
        part = joints[particles.shape[i]]
        if particles.cost[i] < lowest and contains(region, part, at[0], at[1], at[2]):
            candidate, lowest = i, particles.cost[i]
    if candidate >= 0:
        s, at = particles.shape[candidate], particles.point[candidate]
        # The particle's own cost is that of the torque as measured.
        cost = cost_at(surface, placement, measurement, friction, s, at)
        if shape < 0 or cost < cost_at(surface, placement, measurement, friction, shape, point):
            shape, point = s, at.copy()
    left = np.inf
    if shape >= 0:
        shape, point, left = descend(
            surface, placement, measurement, friction, shape, point, region, steps
        )
    shapes[which], points[which] = shape, point
    return left
