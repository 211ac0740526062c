"""Where a contact is on the robot's surface, and the force there."""

from __future__ import annotations

import numpy as np

from contact_aware_control.estimation.descent import Region, descend
from contact_aware_control.estimation.likelihood import Friction, best_force
from contact_aware_control.estimation.measurement import (
    KnownContact,
    Measurement,
    Torques,
    point_jacobian,
)
from contact_aware_control.estimation.surface import (
    Placement,
    Surface,
    outward_normal,
    to_world,
)

SLIDE_TRIALS = 48
"""Places tried when a contact may have slid."""

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
        self, surface: Surface, friction: Friction, slide_distance: float, rng: np.random.Generator
    ) -> None:
        """Start without a place.

        Args:
            surface: The robot's surface.
            friction: The friction pyramids.
            slide_distance: How far it may slide at once [m].
            rng: Random numbers.
        """
        self._surface = surface
        self._friction = friction
        self._slide_distance = slide_distance
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
            Region(center, 0.0, self._slide_distance),
            0.5 * self._slide_distance,
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
        point, _ = self.in_world(placement)
        origins, axes = torques.joint_origins, torques.joint_axes
        jacobian = point_jacobian(origins, axes, self.joints, point)
        return KnownContact(jacobian, self.usual_force, deviation)

    def force_noise(self, placement: Placement, measurement: Measurement) -> np.ndarray:
        """Return the covariance of a fitted force that the torque's noise causes.

        Args:
            placement: Where the shapes are.
            measurement: The torque.

        Returns:
            (3, 3) [N^2], bounded by a prior where the torques say nothing.
        """
        point, _ = self.in_world(placement)
        origins, axes = measurement.joint_origins, measurement.joint_axes
        jacobian = point_jacobian(origins, axes, self.joints, point)
        information = jacobian @ measurement.precision @ jacobian.T
        return np.asarray(np.linalg.inv(information + np.eye(3) / FORCE_PRIOR**2))
