"""The contacts the controller considers, and their Jacobian (4c).

An estimator reports contacts anew at every tick. Here they become the rows of the
quasistatic model: small forces are ignored with a hysteresis, contacts that the joint
torques cannot tell apart are merged, a contact keeps its identity (and so its force bias)
while its direction changes slowly, and the place of a lost contact is remembered, so that
it can be approached slowly instead of being hit again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from contact_aware_control.config import ForceConfig
from contact_aware_control.contact import ContactEstimate
from contact_core.base.kernel import kernel
from contact_core.robot.robot import Robot

# Contacts of two ticks whose joint torques differ by less than 60 degrees are the same one.
SAME_CONTACT_COSINE = 0.5

MERGE_ANGLE = 0.2
"""Contacts whose joint torques differ by a smaller angle count as one [rad]."""

PARALLEL = math.cos(MERGE_ANGLE)

TINY = 1e-6
"""Forces below are none [N]."""

NOWHERE = np.full(3, np.nan)
"""The place of a contact that only torques tell of."""


class ContactConstraint(NamedTuple):
    """One contact as the controller sees it.

    Attributes:
        link: Name of the link that is touched.
        point: (3) contact point C_i, world frame [m]; NaN if only torques tell of it.
        direction: (3) u_i, unit vector of the force on the robot, world frame; NaN likewise.
        row: (n) u_i^T J_Ci [m/rad], (4c).
        heading: (n) row in the metric K^-1, in which G is the Gram matrix, of length one.
        length: Of the row in that metric.
        force: lam_i, measured [N].
        limit: Largest force allowed here [N].
        trusted: Whether the force was measured in this tick, at a place that is known.
        lost_for: How long the contact has been lost [s].
    """

    link: str
    point: np.ndarray
    direction: np.ndarray
    row: np.ndarray
    heading: np.ndarray
    length: float
    force: float
    limit: float
    trusted: bool
    lost_for: float = 0.0


class ForceMemory(NamedTuple):
    """What is remembered of the force of a contact.

    Attributes:
        bias: b, low-passed difference of the measured and the modelled force [N].
        rate: r, at which the motion of what is touched changes the force [N/s].
        lagging: The modelled force, as late as the measured one [N]; NaN at first.
        force: The last measured one [N]; NaN at first.
    """

    bias: float = 0.0
    rate: float = 0.0
    lagging: float = math.nan
    force: float = math.nan

    def times(self, share: float) -> ForceMemory:
        """Return what is remembered of the same torque by another lever arm.

        Args:
            share: The new force over the old one.
        """
        bias, rate, lagging, force = self
        return ForceMemory(share * bias, share * rate, share * lagging, share * force)


UNKNOWN = ForceMemory()


class ContactSet(NamedTuple):
    """The nc contacts considered now, and those lost a short while ago.

    Attributes:
        active: Contacts whose force is limited.
        memories: (nc) what is remembered of their forces.
        predicted: (nc) forces predicted for the next tick [N]; NaN where there is no prediction.
        lost: Contacts that are remembered.
        position: (n) measured q of this tick [rad]; None before the first one.
        reach: Longest lever arms of the links that are likely touched, over those of the whole
            arm, low-passed; NaN without a contact at an unknown place.
    """

    active: tuple[ContactConstraint, ...] = ()
    memories: tuple[ForceMemory, ...] = ()
    predicted: tuple[float, ...] = ()
    lost: tuple[ContactConstraint, ...] = ()
    position: np.ndarray | None = None
    reach: float = math.nan

    @property
    def forces(self) -> np.ndarray:
        """(nc) measured forces [N]."""
        return np.array(list(map(attrgetter("force"), self.active)))

    @property
    def limits(self) -> np.ndarray:
        """(nc) largest forces allowed [N]."""
        return np.array(list(map(attrgetter("limit"), self.active)))

    def jacobian(self, joints: int) -> np.ndarray:
        """Return J (nc, n) of the active contacts [m/rad], for a number n of joints."""
        rows = list(map(attrgetter("row"), self.active))
        return np.array(rows) if rows else np.zeros((0, joints))


class ContactSelection:
    """Decides which estimated contacts are considered, and which of them are those of before."""

    def __init__(
        self, robot: Robot, stiffness: np.ndarray, config: ForceConfig, period: float
    ) -> None:
        """Take thresholds.

        Args:
            robot: The arm; has to be updated at q before :meth:`update` and :meth:`keep`.
            stiffness: (n) diagonal of K [Nm/rad].
            config: Thresholds and times.
            period: Time between updates [s].
        """
        self._robot = robot
        self._roots = np.sqrt(stiffness)
        self._config = config
        self._period = period

    def update(
        self,
        before: ContactSet,
        estimates: Sequence[ContactEstimate],
        link_limits: Mapping[str, float],
        unlocated: ContactConstraint | None = None,
    ) -> ContactSet:
        """Take over the contacts of one tick.

        Args:
            before: The contacts of the last tick.
            estimates: Estimated contacts, at the configuration of the robot.
            link_limits: Force limits [N] of links with a planned contact.
            unlocated: From :meth:`unlocated`, if there is one.

        Returns:
            The contacts now.
        """
        if unlocated is None and not (estimates or before.active or before.lost):
            return ContactSet(position=before.position)
        active: list[ContactConstraint] = []
        memories: list[ForceMemory] = []
        predicted: list[float] = []
        unmatched = list(range(len(before.active)))
        candidates = self._constraints(estimates, link_limits)
        if unlocated is not None:
            candidates.append(unlocated)
        for candidate in self._merged(candidates):
            known = _closest(candidate, before.active, unmatched)
            if known is not None:
                unmatched.remove(known)
            threshold = self._config.contact_on if known is None else self._config.contact_off
            if candidate.force >= threshold:
                active.append(candidate)
                memory, expected = UNKNOWN, math.nan
                if known is not None:
                    # A place that is better known gives the same torque another force.
                    share = before.active[known].length / candidate.length
                    memory = before.memories[known].times(share)
                    expected = share * before.predicted[known]
                memories.append(memory)
                predicted.append(expected)
            elif known is not None:
                unmatched.append(known)
        lost: tuple[ContactConstraint, ...] = ()
        if unmatched or before.lost:
            lost = self._remembered(before.lost, [before.active[i] for i in unmatched], active)
        return ContactSet(tuple(active), tuple(memories), tuple(predicted), lost, before.position)

    def unlocated(
        self, torque: np.ndarray, force: float, link: str, limit: float
    ) -> ContactConstraint:
        """Bound a contact at an unknown place through the torque.

        One contact presses with J^T u lam = tau_ext exactly, wherever it is. So its row is
        tau_ext over its force.

        Args:
            torque: (n) tau_ext that no located contact explains [Nm].
            force: That it stands for [N].
            link: Name of the link that is most likely touched.
            limit: Largest force allowed [N].

        Returns:
            The contact; its place and direction are not known, NaN.
        """
        row = torque / max(force, TINY)
        return ContactConstraint(
            link, NOWHERE, NOWHERE, row, *_heading(row, self._roots), force, limit, trusted=True
        )

    def keep(self, before: ContactSet) -> ContactSet:
        """Keep the contacts of the last tick, at the new configuration of the robot.

        Args:
            before: The contacts of the last tick.

        Returns:
            The same contacts, not trusted.
        """
        active = tuple(self._placed(c)._replace(trusted=False) for c in before.active)
        lost = self._remembered(before.lost, [], active)
        return before._replace(active=active, lost=lost)

    def _constraints(
        self, estimates: Sequence[ContactEstimate], link_limits: Mapping[str, float]
    ) -> list[ContactConstraint]:
        """Return estimated contacts as the controller sees them."""
        if not estimates:
            return []
        links, points, directions = [], [], []
        for contact in estimates:
            links.append(contact.link)
            points.append(contact.point_world)
            pressing = contact.force > 0.0
            directions.append(
                contact.force_world / contact.force if pressing else contact.normal_world
            )
        rows = self._robot.torques_of_forces(links, np.array(points), np.array(directions))
        return [
            ContactConstraint(
                contact.link,
                contact.point_world,
                direction,
                row,
                heading,
                length,
                contact.force,
                link_limits.get(contact.link, self._config.limit),
                contact.wrench_known,
            )
            for contact, direction, row, heading, length in zip(
                estimates, directions, rows, *_headings(rows, self._roots), strict=True
            )
        ]

    def _placed(self, contact: ContactConstraint, lost_for: float = 0.0) -> ContactConstraint:
        """Return a contact with its row at the configuration of the robot, if it has a place."""
        if contact.point is NOWHERE:
            return contact._replace(lost_for=lost_for)
        row = self._robot.torque_of_force(contact.link, contact.point, contact.direction)
        heading, length = _heading(row, self._roots)
        return contact._replace(row=row, heading=heading, length=length, lost_for=lost_for)

    def _merged(self, contacts: list[ContactConstraint]) -> list[ContactConstraint]:
        """Merge contacts whose rows are nearly parallel: G would be singular."""
        if len(contacts) < 2:
            return contacts
        merged: list[ContactConstraint] = []
        for contact in sorted(contacts, key=attrgetter("force"), reverse=True):
            for i, other in enumerate(merged):
                if contact.heading @ other.heading > PARALLEL:
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
            a.link,
            a.point,
            a.direction,
            row,
            *_heading(row, self._roots),
            force,
            limit=min(a.limit, b.limit),
            trusted=a.trusted and b.trusted,
        )

    def _remembered(
        self,
        lost: Sequence[ContactConstraint],
        newly_lost: Sequence[ContactConstraint],
        active: Sequence[ContactConstraint],
    ) -> tuple[ContactConstraint, ...]:
        """Age the memory, add what was lost, drop what is touched again or forgotten."""
        aged = [(contact, contact.lost_for + self._period) for contact in lost]
        return tuple(
            self._placed(contact, lost_for)
            for contact, lost_for in [*aged, *((contact, 0.0) for contact in newly_lost)]
            if lost_for < self._config.memory
            and _closest(contact, active, range(len(active))) is None
        )


def _closest(
    contact: ContactConstraint, others: Sequence[ContactConstraint], among: Iterable[int]
) -> int | None:
    """Return the index of the contact of ``others`` that is the same one, if any."""
    best, highest = None, SAME_CONTACT_COSINE
    for i in among:
        cosine = contact.heading @ others[i].heading
        if cosine >= highest:
            best, highest = i, cosine
    return best


@kernel
def _headings(rows: np.ndarray, roots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    headings, lengths = np.empty_like(rows), np.empty(len(rows))
    for i in range(len(rows)):
        headings[i], lengths[i] = _heading(rows[i], roots)
    return headings, lengths


@kernel
def _heading(row: np.ndarray, root_of_stiffness: np.ndarray) -> tuple[np.ndarray, float]:
    heading = row / root_of_stiffness
    length = math.sqrt((heading * heading).sum())
    if length > 0.0:
        heading /= length
    return heading, max(length, TINY)
