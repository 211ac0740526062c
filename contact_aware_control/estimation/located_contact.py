"""Where a contact is on the robot's surface, and the force there."""

from __future__ import annotations

import math

import numpy as np

from contact_aware_control.estimation.companions import Companions, write_companion
from contact_aware_control.estimation.descent import Region, descend
from contact_aware_control.estimation.likelihood import Friction, best_force
from contact_aware_control.estimation.measurement import Measurement
from contact_aware_control.estimation.surface import (
    Placement,
    Surface,
    outward_normal,
    to_world,
)

SLIDE_TRIALS = 48
"""Places tried when a contact may have slid."""


class LocatedContact:
    """The place a particle set has settled on; it moves with the link.

    Attributes:
        shape: The shape that is touched; -1 while there is none.
        point: (3) frame of the shape [m].
        force: (3) of the last fit, world frame [N].
        usual_force: (3) mean force while it explained the torque, world frame [N].
    """

    def __init__(
        self,
        surface: Surface,
        friction: Friction,
        slide_distance: float,
        rng: np.random.Generator,
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

    def fit(
        self, placement: Placement, measurement: Measurement, companions: Companions
    ) -> tuple[float, np.ndarray]:
        """Fit the force.

        Args:
            placement: Where the shapes are.
            measurement: The torque.
            companions: The other contacts.

        Returns:
            L, and the (3) force [N].
        """
        point, inward = self.in_world(placement)
        at_point = (self.joints, *point, *inward, self._friction)
        cost, *force = best_force(measurement, companions, *at_point)
        return cost, np.array(force)

    def residual(
        self, placement: Placement, measurement: Measurement, companions: Companions
    ) -> float:
        """Return the squared whitened torque per joint that the contact does not explain.

        Args:
            placement: Where the shapes are.
            measurement: The torque.
            companions: The other contacts.
        """
        return self.fit(placement, measurement, companions)[0] / measurement.torque.size

    def slide(
        self,
        placement: Placement,
        measurement: Measurement,
        companions: Companions,
        enough: float,
    ) -> float:
        """Look for a place nearby that explains the torque, and go there.

        Args:
            placement: Where the shapes are.
            measurement: The torque.
            companions: The other contacts.
            enough: Squared whitened residual per joint below which the contact moves.

        Returns:
            The residual of the best place.
        """
        center = np.array(to_world(placement, self.shape, *self.point))
        shape, point, cost = descend(
            self._surface,
            placement,
            measurement,
            companions,
            self._friction,
            self.shape,
            self.point,
            Region(center, 0.0, self._slide_distance),
            0.5 * self._slide_distance,
            SLIDE_TRIALS,
            self._rng,
        )
        residual = cost / measurement.torque.size
        if residual < enough:
            self.shape, self.point = int(shape), point
        return residual

    def write_companion(
        self,
        placement: Placement,
        measurement: Measurement,
        companions: Companions,
        index: int,
    ) -> None:
        """Write what this contact contributes to the fit of another one.

        Args:
            placement: Where the shapes are.
            measurement: Kinematics and precision of the torque.
            companions: Written.
            index: Index of this contact among them.
        """
        point, inward = self.in_world(placement)
        along = self.force @ inward
        sideways = float(np.linalg.norm(self.force - along * inward))
        # A circle inside the narrow pyramid has this radius.
        narrow = math.sqrt(2.0) * sideways <= self._friction.usual * along
        width = self._friction.usual if narrow else self._friction.largest
        write_companion(measurement, self.joints, point, inward, width, companions, index)
        companions.force[index] = self.usual_force
