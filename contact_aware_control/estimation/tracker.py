"""Several contacts: one particle set each, added and removed as the torques demand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.filter import (
    ACQUISITION_ROUNDS,
    ContactParticleFilter,
    FilterEstimate,
)
from contact_aware_control.estimation.measurement import KnownContact, Sample, Torques
from contact_aware_control.estimation.surface import Placement, RobotSurface
from contact_core.base.seeds import generator

END_SHARE = 0.25
"""Share of the detection threshold below which the evidence for contact is gone."""

MEMORY_TIME = 0.5
"""How long a contact's place is remembered after its end [s]."""

SETTLING_TIME = 0.1
"""Time after which a contact that explains the torque is established: it stays where it is when the
torque changes in a way that its force does not explain [s]."""

FORCE_CHANGE = 5.0
"""Standard deviation of the change of a contact's force when another one comes [N]."""

MISSING_RESIDUAL, SUPERFLUOUS_RESIDUAL = 1.0, 0.3
"""Squared whitened residual of the low-passed torque, per joint, above which a contact may be
missing, and that a contact must explain beside the others."""

ADD_TIME, REMOVE_TIME = 0.03, 0.05
"""Time of unexplained torque after which a contact is added, and for which the others must do
without one to remove it [s]."""

DOUBT_TIME = 0.1
"""How long the place of a contact is doubted before it is not told any more [s]."""

TURN_PERIOD = 0.01
"""Time between the turns of the search for one contact in place of several [s]."""

MIN_CHANGE_TIME = 0.2
"""Time between adding or removing contacts [s]."""


@dataclass
class Told:
    """Whether something is told of a contact: at once when it is known, until it is doubted.

    When the force changes, little is known for a moment; the contact is where it was all the same.

    Attributes:
        is_told: Whether it is.
        doubted_for: How long it has been doubted [s].
    """

    is_told: bool = False
    doubted_for: float = 0.0

    def update(self, known: bool, period: float) -> None:
        """Take in whether it is known now.

        Args:
            known: Whether it is; of what is told already, whether it is not doubted.
            period: Time since the last update [s].
        """
        self.doubted_for = 0.0 if known else self.doubted_for + period
        self.is_told = known or (self.is_told and self.doubted_for <= DOUBT_TIME)


@dataclass
class Track:
    """One contact that is followed.

    Attributes:
        number: Counts the contacts.
        filter: Its particle set.
        began_ns: When it began [ns].
        estimate: Of the last update.
        reported: True once its force has exceeded the threshold.
        superfluous_for: How long the others have explained the torque without it [s].
        guessed: True if it, or one that it depends on, was not located before another one came:
            two places and forces are more unknowns than there are torques.
        place_told: Whether its place is told.
        wrench_told: Whether its line of force is.
        joints: Number of joints that move the link of which they are told.
    """

    number: int
    filter: ContactParticleFilter
    began_ns: int
    estimate: FilterEstimate | None = None
    reported: bool = False
    superfluous_for: float = 0.0
    guessed: bool = False
    place_told: Told = field(default_factory=Told)
    wrench_told: Told = field(default_factory=Told)
    joints: int = 0


class OneInstead:
    """Seeks one contact that explains the torque as well as several do, on the whole surface.

    When one of several ends, the one that stays may explain the torque together with what is still
    reckoned with of the other one, from a place that is not its own any more.

    Attributes:
        filter: Its particle set.
        fits_for: How long it has explained the torque as well [s].
        told_apart: Whether it has not, for a while, since the last of them came. Until then one
            is as likely as several, and later it shows that others have ended.
    """

    def __init__(self, filter: ContactParticleFilter) -> None:
        """Start without a place.

        Args:
            filter: Its particle set.
        """
        self.filter = filter
        self.reset()

    def reset(self) -> None:
        """Begin anew, with other contacts."""
        self.fits_for = self._fails_for = 0.0
        self.told_apart = False
        self._turn, self._waited, self._searched = 0, 0.0, 0.0

    def update(
        self,
        placement: Placement,
        torques: Torques,
        residual: Callable[[], float],
        period: float,
    ) -> None:
        """Search on, by one turn every :data:`TURN_PERIOD`.

        Args:
            placement: Where the robot's shapes are.
            torques: The external torque.
            residual: Returns the squared whitened one per joint that the contacts leave of its
                mean, which is needed at the end of a search alone.
            period: Time since the last update [s].
        """
        self._waited += period
        if self._waited < TURN_PERIOD:
            return
        left = self.filter.search(placement, torques.alone.mean, self._turn)
        self._searched, self._waited = self._searched + self._waited, 0.0
        self._turn = (self._turn + 1) % ACQUISITION_ROUNDS
        if self._turn == 0:
            time, self._searched = self._searched, 0.0
            fits = left < min(residual() + SUPERFLUOUS_RESIDUAL, MISSING_RESIDUAL)
            self.fits_for = self.fits_for + time if fits else 0.0
            self._fails_for = self._fails_for + time if left > MISSING_RESIDUAL else 0.0
        self.told_apart = self.told_apart or self._fails_for > SETTLING_TIME


class ContactTracker:
    """Follows all contacts of the robot.

    Attributes:
        tracks: The contacts followed, in the order in which they began.
    """

    def __init__(
        self, surface: RobotSurface, body: np.ndarray, config: EstimatorConfig, seed: int
    ) -> None:
        """Allocate the particle sets.

        Args:
            surface: The robot's surface, S shapes.
            body: (S) number of the link each shape belongs to.
            config: Parameters.
            seed: Seed of the particles.
        """
        self._detection = config.detection
        self._most = config.contacts.most
        self._unused = [
            ContactParticleFilter(
                surface, body, config.particles, generator(seed, f"contact particles {i}")
            )
            for i in range(self._most)
        ]
        single = generator(seed, "one contact in place of several")
        self._one = OneInstead(ContactParticleFilter(surface, body, config.particles, single))
        self.tracks: list[Track] = []
        self._count = 0
        self._ended_ns: int | None = None
        self._changed_ns = 0
        self._missing_for = 0.0
        self._waiting = False

    def update(
        self, stamp_ns: int, placement: Placement, torques: Torques, evidence: float, period: float
    ) -> list[tuple[Track, FilterEstimate]]:
        """Process one sample; where no contact is followed, it is the first of one.

        Args:
            stamp_ns: Its time [ns].
            placement: Where the robot's shapes are.
            torques: The external torque.
            evidence: Squared whitened norm of the low-passed torque.
            period: Time since the last update [s].

        Returns:
            The contacts to be reported and their estimates.
        """
        if not self.tracks:
            self._add(stamp_ns, placement, torques)
        self._watch(placement, torques, period)
        if 1e-9 * (stamp_ns - self._changed_ns) >= MIN_CHANGE_TIME:
            self._change(stamp_ns, placement, torques)
        for track in self.tracks:
            sample = self._beside_others(placement, torques, [track])
            track.estimate = track.filter.update(placement, sample, period, self._is_fixed(track))
        self._share_torque(placement, torques)
        self._end_weak(stamp_ns, evidence)
        return self._reported()

    @property
    def doubted(self) -> bool:
        """Whether one contact explains the torque as well as several, ever since the last came."""
        return len(self.tracks) > 1 and self._one.fits_for > 0.0 and not self._one.told_apart

    def _is_fixed(self, track: Track) -> bool:
        """Tell whether a contact was located before another one came or goes, and stays there.

        Two contacts have more unknowns than there are torques: an established contact that
        were free to move would drift, or explain the new contact by a place of its own; and one
        that stays, what is still reckoned with of another one that has ended.
        """
        ends = any(other.superfluous_for > 0.0 for other in self.tracks if other is not track)
        return self._waiting or ends or (track is not self.tracks[-1] and not track.guessed)

    def _beside_others(
        self, placement: Placement, torques: Torques, without: list[Track]
    ) -> Sample:
        """Return the torques that remain beside all contacts but those given."""
        others = [track for track in self.tracks if track not in without]
        if not others:
            return torques.alone
        return torques.beside([self._known(track, placement, torques) for track in others])

    def _known(self, track: Track, placement: Placement, torques: Torques) -> KnownContact:
        """Return what is known of a contact when another one is looked for."""
        place, deviation = track.filter.place, FORCE_CHANGE
        if track.guessed:
            # Its force is what it was when it had to explain everything.
            deviation += math.hypot(*place.usual_force)
        return place.known(placement, torques, deviation)

    def _share_torque(self, placement: Placement, torques: Torques) -> None:
        """Change the forces of earlier contacts so that they explain what the last one leaves."""
        *earlier, last = self.tracks
        if not earlier or last.estimate is None:
            return
        known = [self._known(track, placement, torques) for track in earlier]
        torque = last.filter.place.jacobian(placement, torques).T @ last.estimate.force_world
        forces = torques.forces(known, torque)
        for track, force in zip(earlier, forces, strict=True):
            if track.estimate is not None:
                track.estimate = replace(track.estimate, force_world=force)

    def _end_weak(self, stamp_ns: int, evidence: float) -> None:
        """End all contacts with the evidence for them, or a single one with its force.

        A single one that does not explain the torque stays: something does touch the robot.
        """
        over = evidence < END_SHARE * self._detection.threshold
        if len(self.tracks) == 1 and self._missing_for == 0.0:
            over = over or _force(self.tracks[0]) < self._detection.contact_off
        if over:
            self.end_all(stamp_ns)

    def end_all(self, stamp_ns: int) -> None:
        """End all contacts.

        Args:
            stamp_ns: Now [ns].
        """
        while self.tracks:
            self._remove(self.tracks[-1], stamp_ns)

    def forget(self, stamp_ns: int) -> None:
        """End all contacts, and remember none of them: where they were may not exist any more.

        Args:
            stamp_ns: Now [ns].
        """
        self.end_all(stamp_ns)
        self._ended_ns = None

    def _watch(self, placement: Placement, torques: Torques, period: float) -> None:
        """Measure for how long a contact has been missing or superfluous."""
        residual = self._unexplained(placement, torques, None) if self.tracks else 0.0
        if residual > MISSING_RESIDUAL:
            residual = min(residual, self._slide(placement, torques))
        missing = residual > MISSING_RESIDUAL
        established = all(self._is_established(track) for track in self.tracks)
        if not missing:
            self._missing_for = 0.0
            self._waiting = False
        else:
            self._waiting = self._waiting or (established and len(self.tracks) < self._most)
            self._missing_for += period
        for track in self.tracks:
            superfluous = len(self.tracks) > 1 and (
                self._unexplained(placement, torques, track) < residual + SUPERFLUOUS_RESIDUAL
            )
            track.superfluous_for = track.superfluous_for + period if superfluous else 0.0
        if len(self.tracks) > 1:
            left = partial(self._unexplained_mean, placement, torques)
            self._one.update(placement, torques, left, period)

    def _is_established(self, track: Track) -> bool:
        """Tell whether a contact had been located, up to the last sample."""
        estimate = track.estimate
        return (
            track.filter.settled_for >= SETTLING_TIME
            and not track.guessed
            and estimate is not None
            and estimate.unexplained_mean < MISSING_RESIDUAL
        )

    def _slide(self, placement: Placement, torques: Torques) -> float:
        """Let one contact slide if that explains the torque; return the residual per joint."""
        lowest = np.inf
        for track in self.tracks:
            smooth = self._beside_others(placement, torques, [track]).smooth
            residual = track.filter.place.slide(placement, smooth, MISSING_RESIDUAL)
            if residual < MISSING_RESIDUAL:
                return residual
            lowest = min(lowest, residual)
        return lowest

    def _unexplained(self, placement: Placement, torques: Torques, without: Track | None) -> float:
        """Return the residual per joint at the contacts' places.

        Without one of them, another may have slid: that must not take a further contact.
        """
        rest = next(track for track in self.tracks if track is not without)
        excluded = [rest] if without is None else [rest, without]
        smooth = self._beside_others(placement, torques, excluded).smooth
        if without is None:
            return rest.filter.place.residual(placement, smooth)
        return rest.filter.place.slide(placement, smooth, enough=0.0)

    def _unexplained_mean(self, placement: Placement, torques: Torques) -> float:
        """Return the residual per joint that all contacts leave of the torque's mean."""
        first = self.tracks[0]
        mean = self._beside_others(placement, torques, [first]).mean
        return first.filter.place.residual(placement, mean)

    def _change(self, stamp_ns: int, placement: Placement, torques: Torques) -> None:
        """Remove a contact that is superfluous, or add one that is missing; one at a time."""
        superfluous = [t for t in self.tracks if t.superfluous_for > REMOVE_TIME]
        if superfluous:
            self._remove(superfluous[-1], stamp_ns)
        elif len(self.tracks) > 1 and self._one.told_apart and self._one.fits_for > REMOVE_TIME:
            self._replace(placement, stamp_ns)
        elif self._missing_for > ADD_TIME:
            if len(self.tracks) < self._most:
                self._add(stamp_ns, placement, torques)
            elif len(self.tracks) > 1:
                # As many contacts as allowed do not explain the torque: search without the
                # oldest. A single one searches the whole surface by itself.
                self._remove(self.tracks[0], stamp_ns)

    def _add(self, stamp_ns: int, placement: Placement, torques: Torques) -> None:
        measured = self._beside_others(placement, torques, []).measured
        self._count += 1
        track = Track(self._count, self._unused.pop(), stamp_ns)
        if self.tracks and not self._waiting:
            for other in (*self.tracks, track):
                other.guessed = True
        track.filter.start(placement, measured, self._remembers(stamp_ns))
        self._one.reset()
        self.tracks.append(track)
        self._changed_ns = stamp_ns
        self._missing_for = 0.0
        self._waiting = False

    def _remove(self, track: Track, stamp_ns: int) -> None:
        self.tracks.remove(track)
        if len(self.tracks) == 1:
            self.tracks[0].guessed = False
        self._unused.append(track.filter)
        self._changed_ns = self._ended_ns = stamp_ns
        self._missing_for = 0.0
        self._waiting = False

    def _replace(self, placement: Placement, stamp_ns: int) -> None:
        """Leave one contact, of those there are the nearest, where it explains the torque alone."""
        found = self._one.filter
        track = min(self.tracks, key=lambda t: t.filter.place.distance(placement, found.place))
        for other in [t for t in self.tracks if t is not track]:
            self._remove(other, stamp_ns)
        track.filter, self._one.filter = found, track.filter

    def _remembers(self, stamp_ns: int) -> bool:
        """Tell whether the last contact ended so recently that it may have come back."""
        if self.tracks or self._ended_ns is None:
            return False
        return 1e-9 * (stamp_ns - self._ended_ns) < MEMORY_TIME

    def _reported(self) -> list[tuple[Track, FilterEstimate]]:
        """Select the contacts whose force is above the thresholds."""
        reported = []
        for track in self.tracks:
            force = _force(track)
            track.reported = track.reported or force >= self._detection.contact_on
            held = force >= self._detection.contact_off or len(self.tracks) == 1
            if track.estimate is not None and track.reported and held:
                reported.append((track, track.estimate))
        return reported


def _force(track: Track) -> float:
    return 0.0 if track.estimate is None else math.hypot(*track.estimate.force_world)
