"""The contacts the controller considers, and their Jacobian (4c).

An estimator reports contacts anew at every tick. Here they become the rows of the
quasistatic model: small forces are ignored with a hysteresis, contacts that the joint
torques cannot tell apart are merged, a contact keeps its identity (and so its force bias)
while its direction changes slowly, and the place of a lost contact is remembered, so that
it can be approached slowly instead of being hit again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from contact_aware_control.config import ForceConfig
from contact_aware_control.contact import ContactEstimate
from contact_core.robot import Robot

# Contacts of two ticks whose joint torques differ by less than 60 degrees are the same one.
SAME_CONTACT_COSINE = 0.5


@dataclass(slots=True)
class ContactConstraint:
    """One contact as the controller sees it.

    Attributes:
        link: Name of the link that is touched.
        point: (3) contact point C_i, world frame [m].
        direction: (3) u_i, unit vector of the force on the robot, world frame.
        row: (n) u_i^T J_Ci [m/rad], (4c).
        heading: (n) row in the metric K^-1, in which G is the Gram matrix, of length one.
        force: lam_i, measured [N].
        limit: Largest force allowed here [N].
        trusted: Whether the force was measured in this tick, at a place that is known.
        bias: Low-passed difference of the measured and the modelled force [N].
        predicted: Force predicted for the next tick [N].
        lost_for: How long the contact has been lost [s].
    """

    link: str
    point: np.ndarray
    direction: np.ndarray
    row: np.ndarray
    heading: np.ndarray
    force: float
    limit: float
    trusted: bool
    bias: float = 0.0
    predicted: float = math.nan
    lost_for: float = 0.0


class ContactSet:
    """The contacts considered now, and those lost a short while ago.

    Attributes:
        active: Contacts whose force is limited.
        lost: Contacts that are remembered.
    """

    def __init__(
        self, robot: Robot, stiffness: np.ndarray, config: ForceConfig, period: float
    ) -> None:
        """Start without contacts.

        Args:
            robot: The arm; has to be updated at q before :meth:`update`.
            stiffness: (n) diagonal of K [Nm/rad].
            config: Thresholds, angles and times.
            period: Time between updates [s].
        """
        self._robot = robot
        self._root_of_stiffness = np.sqrt(stiffness)
        self._config = config
        self._period = period
        self.active: list[ContactConstraint] = []
        self.lost: list[ContactConstraint] = []

    @property
    def jacobian(self) -> np.ndarray:
        """J (nc, n) of the active contacts [m/rad]."""
        rows = [contact.row for contact in self.active]
        return np.array(rows) if rows else np.zeros((0, self._robot.n))

    @property
    def forces(self) -> np.ndarray:
        """(nc) measured forces of the active contacts [N]."""
        return np.array([contact.force for contact in self.active])

    def clear(self) -> None:
        """Forget every contact."""
        self.active = []
        self.lost = []

    def update(
        self, estimates: Sequence[ContactEstimate], link_limits: Mapping[str, float]
    ) -> None:
        """Take over the contacts of one tick.

        Args:
            estimates: Estimated contacts, at the configuration of the robot.
            link_limits: Force limits [N] of links with a planned contact.
        """
        candidates = self._merged([self._constraint(c, link_limits) for c in estimates])
        previous = self.active
        self.active = []
        for candidate in candidates:
            known = self._closest(candidate, previous)
            if known is not None:
                previous = [contact for contact in previous if contact is not known]
            threshold = self._config.contact_on if known is None else self._config.contact_off
            if candidate.force < threshold:
                if known is not None:
                    previous.append(known)
                continue
            if known is not None:
                candidate.bias = known.bias
                candidate.predicted = known.predicted
            self.active.append(candidate)
        self._remember(previous)

    def keep(self) -> None:
        """Keep the contacts of the last update, at the new configuration of the robot."""
        for contact in self.active:
            self._place(contact)
            contact.trusted = False
        self._remember([])

    def _constraint(
        self, estimate: ContactEstimate, link_limits: Mapping[str, float]
    ) -> ContactConstraint:
        force = magnitude(estimate.force_world)
        direction = estimate.force_world / force if force > 0.0 else estimate.normal_world
        row = self._robot.torque_of_force(estimate.link, estimate.point_world, direction)
        return ContactConstraint(
            link=estimate.link,
            point=estimate.point_world,
            direction=direction,
            row=row,
            heading=self._heading(row),
            force=force,
            limit=link_limits.get(estimate.link, self._config.limit),
            trusted=estimate.identifiable,
        )

    def _place(self, contact: ContactConstraint) -> None:
        """Compute the row of a contact anew, at the configuration of the robot."""
        contact.row = self._robot.torque_of_force(contact.link, contact.point, contact.direction)
        contact.heading = self._heading(contact.row)

    def _heading(self, row: np.ndarray) -> np.ndarray:
        scaled: np.ndarray = row / self._root_of_stiffness
        length = magnitude(scaled)
        return scaled / length if length > 0.0 else scaled

    def _merged(self, contacts: list[ContactConstraint]) -> list[ContactConstraint]:
        """Merge contacts whose rows are nearly parallel: G would be singular."""
        merged: list[ContactConstraint] = []
        parallel = math.cos(self._config.merge_angle)
        for contact in sorted(contacts, key=lambda c: -c.force):
            for i, other in enumerate(merged):
                if contact.heading @ other.heading > parallel:
                    merged[i] = self._sum(other, contact)
                    break
            else:
                merged.append(contact)
        return merged

    def _sum(self, a: ContactConstraint, b: ContactConstraint) -> ContactConstraint:
        """Replace two contacts by one that carries both forces, with the smaller limit."""
        force = a.force + b.force
        share = a.force / force if force > 0.0 else 1.0
        row = share * a.row + (1.0 - share) * b.row
        return ContactConstraint(
            link=a.link,
            point=a.point,
            direction=a.direction,
            row=row,
            heading=self._heading(row),
            force=force,
            limit=min(a.limit, b.limit),
            trusted=a.trusted and b.trusted,
        )

    def _closest(
        self, contact: ContactConstraint, others: list[ContactConstraint]
    ) -> ContactConstraint | None:
        """Return the contact of ``others`` that is the same one, if any."""
        best, highest = None, SAME_CONTACT_COSINE
        for other in others:
            cosine = contact.heading @ other.heading
            if cosine >= highest:
                best, highest = other, cosine
        return best

    def _remember(self, lost: list[ContactConstraint]) -> None:
        """Age the memory, add what was lost, drop what is touched again or forgotten."""
        for contact in self.lost:
            contact.lost_for += self._period
        remembered = []
        for contact in [*self.lost, *lost]:
            if contact.lost_for >= self._config.memory:
                continue
            if self._closest(contact, self.active) is None:
                self._place(contact)
                remembered.append(contact)
        self.lost = remembered


def magnitude(vector: np.ndarray) -> float:
    """Return the Euclidean length of a short vector, ten times faster than numpy.linalg."""
    return math.sqrt(vector @ vector)
