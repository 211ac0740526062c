"""Places of a contact on the robot's surface: the estimate, its rivals, and descent.

A particle set settles on one of several places that explain the torque equally well. A rival is the
best of the others in some region. How much worse it fits tells whether the place of the contact can
be known at all, and how exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.likelihood import FrictionPyramids, fit_at
from contact_aware_control.estimation.measurement import (
    KnownContact,
    Measurement,
    Sample,
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
"""Places near a rival that are tried at each update."""

MIN_DISTANCE = 0.08
"""How far an alternative is from the estimate [m]."""

NEAR = 0.02
"""How far a place is from the estimate, or from its line of force, that matters [m]."""

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
        region = Region(self._in_world(placement), 0.0, SLIDE_DISTANCE, np.zeros(3))
        steps = 0.5 * SLIDE_DISTANCE * self._rng.standard_normal((SLIDE_TRIALS, 3))
        friction, start = self._friction, (self.shape, self.point)
        shape, point, cost = descend(
            self._surface, placement, measurement, friction, *start, region, steps
        )
        residual = cost / measurement.weighted.size
        if residual < enough:
            self.shape, self.point = int(shape), point
        return residual

    def distance(self, placement: Placement, other: LocatedContact) -> float:
        """Return how far it is from another one [m].

        Args:
            placement: Where the shapes are.
            other: The other one.
        """
        return math.dist(self._in_world(placement), other._in_world(placement))

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
    """Keeps the best places elsewhere: far from the estimate, near it, and off its line of force.

    Attributes:
        shape: (3) the shapes they are on; -1 while there is none.
        point: (3, 3) the places, frames of the shapes [m].
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
        self.shape = np.empty(3, dtype=np.int64)
        self.point = np.zeros((3, 3))
        self._world, self._cost = np.zeros((3, 3)), np.zeros(3)
        self._turn = 0
        self.reset()

    def reset(self) -> None:
        """Forget them."""
        self.shape[:] = -1
        self._cost[:] = math.inf
        self._excess = math.nan

    def update(
        self,
        placement: Placement,
        particles: Particles,
        sample: Sample,
        point: np.ndarray,
        force: np.ndarray,
        period: float,
    ) -> None:
        """Look for better ones.

        Args:
            placement: Where the shapes are.
            particles: The evaluated set.
            sample: The torque.
            point: (3) estimated contact point, world frame [m].
            force: (3) its force, world frame [N].
            period: Time since the last update [s].
        """
        steps = self._step * self._rng.standard_normal((REFINEMENTS, 3))
        along = force / max(math.hypot(*force), 1e-9)
        # The near ones take turns.
        self._turn, self._period = 1 - self._turn, period
        find_rivals(
            self._surface, placement, particles, sample, self._friction, point, along, steps,
            self._turn, self.shape, self.point, self._world, self._cost,
        )  # fmt: skip

    def alternative(self, cost: float) -> float:
        """Weigh the far one against the estimate, over some time.

        Args:
            cost: L of the estimate, of the low-passed torque.

        Returns:
            Probability of the alternative against the estimate, 0 if there is none.
        """
        if self.shape[0] < 0:
            self._excess = math.nan
            return 0.0
        period, excess = self._period, float(self._cost[0]) - cost
        if math.isnan(self._excess):
            self._excess = excess
        self._excess += (1.0 - math.exp(-period / EVIDENCE_TIME)) * (excess - self._excess)
        samples = max(1.0, EVIDENCE_TIME / max(period, 1e-6))
        return 1.0 / (1.0 + math.exp(min(0.5 * samples * self._excess, 500.0)))

    def spread(self, point: np.ndarray, cost: float) -> np.ndarray:
        """Return what the near ones add to the covariance of a place.

        What is wrong in the averaged torque is as wrong in the next sample: no time tells them
        apart.

        Args:
            point: (3) the estimate, world frame [m].
            cost: L of the estimate, of the averaged torque.

        Returns:
            (3, 3) [m^2].
        """
        share = 1.0 / (1.0 + np.exp(np.minimum(0.5 * (self._cost[1:] - cost), 500.0)))
        offset = (self._world[1:] - point) * np.sqrt(share)[:, None]
        return np.asarray(offset.T @ offset)


class Region(NamedTuple):
    """A spherical shell in space, perhaps without the surroundings of a line.

    Attributes:
        center: (3) world frame [m].
        inner: Its inner radius, and that of the line's surroundings [m].
        outer: Its outer radius [m]; may be infinite.
        along: (3) unit vector of the line through the centre; zero for none.
    """

    center: np.ndarray
    inner: float
    outer: float
    along: np.ndarray


@leaf_kernel
def contains(region: Region, x: float, y: float, z: float) -> bool:
    """Tell whether a point of the world [m] is in a region."""
    dx, dy, dz = x - region.center[0], y - region.center[1], z - region.center[2]
    square, along = dx * dx + dy * dy + dz * dz, region.along
    ahead = dx * along[0] + dy * along[1] + dz * along[2]
    return square <= region.outer**2 and square - ahead * ahead >= region.inner**2


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
    return fit_at(measurement, surface, placement, friction, shape, point, normal)[0]


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
def find_rivals(
    surface: RobotSurface,
    placement: Placement,
    particles: Particles,
    sample: Sample,
    friction: FrictionPyramids,
    point: np.ndarray,
    along: np.ndarray,
    steps: np.ndarray,
    turn: int,
    shapes: np.ndarray,
    points: np.ndarray,
    world: np.ndarray,
    cost: np.ndarray,
) -> None:
    """Look for a better far rival of an estimate, and for one of the two near ones.

    Args:
        surface: The shapes.
        placement: Where they are.
        particles: The evaluated set.
        sample: The torque: low-passed for the far one, averaged for the others.
        friction: The friction pyramids.
        point: (3) the estimate, world frame [m].
        along: (3) direction of its force.
        steps: (N, 3) random steps [m].
        turn: 0 for the nearest, 1 for the one off the line.
        shapes: (3) the shapes that they are on, -1 for none; changed.
        points: (3, 3) the places, frames of the shapes [m]; changed.
        world: (3, 3) written: the same, world frame [m].
        cost: (3) written: L of each.
    """
    nowhere = np.zeros(3)
    find_rival(
        surface, placement, particles, sample.smooth, friction,
        Region(point, MIN_DISTANCE, np.inf, nowhere), steps, 0, shapes, points, world, cost,
    )  # fmt: skip
    find_rival(
        surface, placement, particles, sample.mean, friction,
        Region(point, NEAR, np.inf, turn * along), steps, 1 + turn, shapes, points, world, cost,
    )  # fmt: skip


@kernel
def find_rival(
    surface: RobotSurface,
    placement: Placement,
    particles: Particles,
    measurement: Measurement,
    friction: FrictionPyramids,
    region: Region,
    steps: np.ndarray,
    which: int,
    shapes: np.ndarray,
    points: np.ndarray,
    world: np.ndarray,
    cost: np.ndarray,
) -> None:
    """Descend from the last rival, or from the best particle in a region; see above."""
    shape, point = shapes[which], points[which].copy()
    if shape >= 0:
        x, y, z = to_world(placement, shape, point[0], point[1], point[2])
        if not contains(region, x, y, z):
            shape = -1
    candidate, lowest = -1, np.inf
    for i in range(particles.cost.size):
        at = particles.point_world[i]
        if particles.cost[i] < lowest and contains(region, at[0], at[1], at[2]):
            candidate, lowest = i, particles.cost[i]
    if candidate >= 0:
        s, at = particles.shape[candidate], particles.point[candidate]
        # The particle's own cost is that of the torque as measured.
        left = cost_at(surface, placement, measurement, friction, s, at)
        if shape < 0 or left < cost_at(surface, placement, measurement, friction, shape, point):
            shape, point = s, at.copy()
    left = np.inf
    if shape >= 0:
        shape, point, left = descend(
            surface, placement, measurement, friction, shape, point, region, steps
        )
        world[which] = to_world(placement, shape, point[0], point[1], point[2])
    shapes[which], points[which], cost[which] = shape, point, left
