"""Where a contact is on the robot's surface, the force there, and descent to better places."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.likelihood import FrictionPyramids, best_force, fit_at
from contact_aware_control.estimation.measurement import (
    KnownContact,
    Measurement,
    Torques,
    point_jacobian,
)
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

FORCE_PRIOR = 100.0
"""Standard deviation [N] of a force about which the torques say nothing."""


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

    @property
    def joints(self) -> int:
        """How many joints move the contact."""
        return int(self._surface.joints[self.shape])

    @property
    def outward(self) -> np.ndarray:
        """(3) outward unit normal, frame of the shape."""
        return outward_normal(self._surface, self.shape, self.point)

    def in_world(self, placement: Placement) -> tuple[np.ndarray, np.ndarray]:
        """Return where it is.

        Args:
            placement: Where the shapes are.

        Returns:
            (3) point [m] and (3) unit normal into the robot, world frame.
        """
        point = np.array(to_world(placement, self.shape, *self.point))
        return point, -placement.rotation[self.shape] @ self.outward

    def fit(self, placement: Placement, measurement: Measurement) -> tuple[float, np.ndarray]:
        """Fit the force.

        Args:
            placement: Where the shapes are.
            measurement: The torque.

        Returns:
            L, and the (3) force [N].
        """
        point, inward = self.in_world(placement)
        at_point = (self.joints, *point, *inward, self._friction)
        cost, *force = best_force(measurement, *at_point)
        return cost, np.array(force)

    def residual(self, placement: Placement, measurement: Measurement) -> float:
        """Return the squared whitened torque per joint that the contact does not explain.

        Args:
            placement: Where the shapes are.
            measurement: The torque.
        """
        return self.fit(placement, measurement)[0] / measurement.weighted.size

    def slide(self, placement: Placement, measurement: Measurement, enough: float) -> float:
        """Look for a place nearby that explains the torque, and go there.

        Args:
            placement: Where the shapes are.
            measurement: The torque.
            enough: Squared whitened residual per joint below which the contact moves.

        Returns:
            The residual of the best place.
        """
        center = np.array(to_world(placement, self.shape, *self.point))
        shape, point, cost = descend(
            self._surface,
            placement,
            measurement,
            self._friction,
            self.shape,
            self.point,
            Region(center, 0.0, SLIDE_DISTANCE),
            0.5 * SLIDE_DISTANCE,
            SLIDE_TRIALS,
            self._rng,
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

    def jacobian(self, placement: Placement, torques: Torques | Measurement) -> np.ndarray:
        """Return J_C (3, n) of its point, world frame [m/rad].

        Args:
            placement: Where the shapes are.
            torques: For the kinematics.
        """
        point, _ = self.in_world(placement)
        return point_jacobian(torques.joint_origins, torques.joint_axes, self.joints, point)

    def force_noise(self, placement: Placement, measurement: Measurement) -> np.ndarray:
        """Return the covariance of a fitted force that the torque's noise causes.

        Args:
            placement: Where the shapes are.
            measurement: The torque.

        Returns:
            (3, 3) [N^2], bounded by a prior where the torques say nothing.
        """
        jacobian = self.jacobian(placement, measurement)
        information = jacobian @ measurement.precision @ jacobian.T
        return np.asarray(np.linalg.inv(information + np.eye(3) / FORCE_PRIOR**2))


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
    step: float,
    trials: int,
    rng: np.random.Generator,
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
        step: Standard deviation of the coarsest steps, per axis [m].
        trials: Number of steps tried.
        rng: Random numbers.

    Returns:
        (shape of the best place; (3) its point, frame of that shape [m]; its L).
    """
    lowest = cost_at(surface, placement, measurement, friction, shape, point)
    for i in range(trials):
        # From coarse to fine, again and again.
        size = step * 0.5 ** (i % 4)
        x, y, z = to_world(placement, shape, point[0], point[1], point[2])
        x += size * rng.standard_normal()
        y += size * rng.standard_normal()
        z += size * rng.standard_normal()
        s, px, py, pz, _, _, _ = project(surface, placement, shape, x, y, z)
        x, y, z = to_world(placement, s, px, py, pz)
        if not contains(region, x, y, z):
            continue
        at = np.array([px, py, pz])
        cost = cost_at(surface, placement, measurement, friction, s, at)
        if cost < lowest:
            shape, point, lowest = s, at, cost
    return shape, point, lowest
