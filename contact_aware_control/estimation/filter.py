"""The contact particle filter: one particle set for one contact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation import particles
from contact_aware_control.estimation.config import ParticleConfig
from contact_aware_control.estimation.likelihood import FrictionPyramids, evaluate, evaluate_at
from contact_aware_control.estimation.measurement import Measurement, Sample
from contact_aware_control.estimation.modes import MIN_MODE_WEIGHT, MODE_RADIUS, locate, new_modes
from contact_aware_control.estimation.place import LocatedContact, Rivals
from contact_aware_control.estimation.surface import Placement, RobotSurface, to_world
from contact_aware_control.estimation.torque_balance import MEAN_TIME

MOTION_SPREAD, SEARCH_SPREAD = 0.002, 0.03
"""Step of the motion model per update and axis, and while no estimate explains the torque [m]."""

EXPLORATION = 0.05
"""Share of the particles that are redrawn uniformly at each update."""

MIN_EFFECTIVE_SHARE = 0.05
"""Share of effective particles below which the likelihood is flattened."""

FRICTION_SURPRISE = 1.0
"""Squared whitened residual, per sample, that a force outside the usual friction pyramid counts as:
larger trusts the usual friction more."""

ACQUISITION_ROUNDS = 5
"""Motion and resampling rounds on the first torque of a contact."""

COARSEST_STEP = 0.08
"""Motion step [m] of the first acquisition round: about the distance between particles."""

POINT_TIME = 0.03
"""Time constant of the low-pass on the point [s]."""

FORCE_TIME = 0.3
"""Time constant of the low-pass on the force that is expected to stay when another contact comes
[s]."""

SEARCH_RESIDUAL = 2.0
"""Squared whitened residual of the low-passed torque, per joint, above which a set searches."""

RESTART_TIME = 0.03
"""Time of unexplained torque after which the whole surface is searched again [s]."""


@dataclass(frozen=True)
class FilterEstimate:
    """What a particle set says about its contact; world frame.

    Attributes:
        shape: The shape that is touched.
        point_world: (3) [m].
        normal_world: (3) unit vector into the robot.
        force_world: (3) force on the robot [N].
        point_covariance: (3, 3) [m^2].
        force_covariance: (3, 3) [N^2].
        residual: Squared whitened torque residual per joint, low-passed.
        unexplained: The same of the low-passed torque: it shows at once that the estimate does
            not explain the torque any more.
        unexplained_mean: The same of the slowly low-passed torque, at the best place near the
            estimate: what is left there is no noise.
        effective_sample_size: Of the weights before resampling.
        spread: Root mean square distance of the particles to the point [m].
        deviation: The same of the particles of the main mode.
        modes: (shape, point in the world frame, weight) of every mode, main mode first.
    """

    shape: int
    point_world: np.ndarray
    normal_world: np.ndarray
    force_world: np.ndarray
    point_covariance: np.ndarray
    force_covariance: np.ndarray
    residual: float
    unexplained: float
    unexplained_mean: float
    effective_sample_size: float
    spread: float
    deviation: float
    modes: tuple[tuple[int, np.ndarray, float], ...]


class Evaluation(NamedTuple):
    """What the torques say at the estimate, see :func:`evaluate_at`.

    Attributes:
        cost: L of the low-passed torque.
        residual: L of the torque as measured.
        mean: L of its slow mean.
        spread: Root mean square distance of all particles to the estimate [m].
        moments: (9, 3) world frame: point [m]; normal into the robot; force [N]; covariance of
            the point [m^2]; of the force [N^2].
    """

    cost: float
    residual: float
    mean: float
    spread: float
    moments: np.ndarray


class ContactParticleFilter:
    """Follows one contact on the robot's surface.

    Attributes:
        place: The estimate.
        settled_for: How long the estimate has explained the torque [s].
    """

    def __init__(
        self,
        surface: RobotSurface,
        body: np.ndarray,
        config: ParticleConfig,
        rng: np.random.Generator,
    ) -> None:
        """Allocate the set.

        Args:
            surface: The robot's surface, S shapes.
            body: (S) number of the link each shape belongs to.
            config: The set, and the friction to reckon with.
            rng: Random numbers.
        """
        self._surface = surface
        self._body = body
        self._config = config
        self._rng = rng
        self._friction = FrictionPyramids(
            config.friction, config.largest_friction, FRICTION_SURPRISE
        )
        self._particles = particles.new_particles(config.count)
        self._spare = particles.new_particles(config.count)
        self._modes = new_modes(config.count, surface.kind.size)
        self._rivals = Rivals(surface, self._friction, SEARCH_SPREAD, rng)
        self.place = LocatedContact(surface, self._friction, rng)
        self._residual = math.nan
        self.settled_for = 0.0
        self._unexplained_for = 0.0

    @property
    def points(self) -> np.ndarray:
        """The places (N, 3) of all particles, equally likely, world frame [m]."""
        return self._particles.point_world

    def start(self, placement: Placement, measurement: Measurement, remembered: bool) -> None:
        """Find a new contact from the first torque that shows it.

        Args:
            placement: Where the shapes are.
            measurement: The torque.
            remembered: True if the last contact may well have come back: half of the
                particles then start where it was.
        """
        kept = self._config.count // 2 if remembered and self.place.shape >= 0 else 0
        if not kept:
            self.place.shape = -1
        self._residual = math.nan
        self.settled_for = 0.0
        self._unexplained_for = 0.0
        self._rivals.reset()
        self._acquire(placement, measurement, kept)
        # What the particles say, until the estimate explains the torque.
        self.place.usual_force = self._particles.force.mean(axis=0)

    def update(
        self, placement: Placement, sample: Sample, period: float, fixed: bool = False
    ) -> FilterEstimate:
        """Process one torque sample: predict, weigh, estimate, resample.

        Args:
            placement: Where the shapes are.
            sample: The torque: as measured for the particles, low-passed for the force.
            period: Time since the last update [s].
            fixed: Whether set and estimate stay where they are.

        Returns:
            The estimate.
        """
        self._predict(placement, sample.measured, fixed)
        effective = self._weigh(placement, sample.measured)
        estimate = self._estimate(placement, sample, period, fixed, effective)
        self._resample()
        self._judge(estimate, period)
        return estimate

    def search(self, placement: Placement, measurement: Measurement, turn: int) -> float:
        """Search the whole surface in :data:`ACQUISITION_ROUNDS` turns, and go to the best place.

        Args:
            placement: Where the shapes are.
            measurement: The torque.
            turn: From 0 on, one at an update.

        Returns:
            Squared whitened residual per joint of the best place so far.
        """
        kept, place = self._keep_best(), self.place
        if turn == 0:
            particles.scatter(self._surface, placement, self._particles, kept, self._rng)
        self._weigh(placement, measurement)
        p, best = self._particles, int(self._particles.cost.argmin())
        place.shape, place.point = int(p.shape[best]), p.point[best].copy()
        place.usual_force = p.force[best].copy()
        self._resample()
        self._narrow(placement, turn)
        return place.slide(placement, measurement, enough=math.inf)

    def _predict(self, placement: Placement, measurement: Measurement, fixed: bool) -> None:
        """Move the particles, further the less they explain the torque, but for the best."""
        kept = self._keep_best()
        if not fixed and self._unexplained_for > RESTART_TIME:
            self._unexplained_for = 0.0
            self._acquire(placement, measurement, kept)
            kept = self._keep_best()
        spread = SEARCH_SPREAD if self._unexplained_for > 0.0 else MOTION_SPREAD
        if fixed:
            self._move(placement, kept, 0.0, 0.0)
        else:
            self._move(placement, kept, spread, EXPLORATION)

    def _move(self, placement: Placement, kept: int, spread: float, exploration: float) -> None:
        p = self._particles
        particles.move(self._surface, placement, p, kept, spread, exploration, self._rng)

    def _judge(self, estimate: FilterEstimate, period: float) -> None:
        """Count for how long the estimate has explained the torque, or has not."""
        if estimate.unexplained > SEARCH_RESIDUAL:
            self._unexplained_for += period
            self.settled_for = 0.0
        else:
            # Starts as a mean, goes on as a low-pass.
            remembered = min(self.settled_for, FORCE_TIME)
            gain = period / (remembered + period) if remembered > 0.0 else 1.0
            change = self.place.force - self.place.usual_force
            self.place.usual_force = self.place.usual_force + gain * change
            self._unexplained_for = 0.0
            self.settled_for += period

    def _acquire(self, placement: Placement, measurement: Measurement, kept: int) -> None:
        """Search the whole surface, from coarse to fine, keeping some particles."""
        particles.scatter(self._surface, placement, self._particles, kept, self._rng)
        for i in range(ACQUISITION_ROUNDS):
            self._weigh(placement, measurement)
            self._resample()
            self._narrow(placement, i)

    def _narrow(self, placement: Placement, turn: int) -> None:
        """Move the particles, less at each turn of a search."""
        left = 1.0 - (turn + 1) / ACQUISITION_ROUNDS
        step = MOTION_SPREAD * (COARSEST_STEP / MOTION_SPREAD) ** left
        self._move(placement, 0, step, EXPLORATION)

    def _keep_best(self) -> int:
        """Put the best over time among the particles: estimate, alternative; return how many."""
        place, other = self.place, self._rivals
        best = (place.shape, place.point, int(other.shape[0]), other.point[0])
        return particles.keep(self._surface, self._particles, *best)

    def _weigh(self, placement: Placement, measurement: Measurement) -> float:
        p = self._particles
        evaluate(measurement, self._surface, placement, self._friction, *p[:-1])
        return particles.weigh(p, MIN_EFFECTIVE_SHARE)

    def _resample(self) -> None:
        particles.resample(self._particles, self._spare, self._rng)
        self._particles, self._spare = self._spare, self._particles

    def _estimate(
        self, placement: Placement, sample: Sample, period: float, fixed: bool, effective: float
    ) -> FilterEstimate:
        """Follow the main mode, and tell what the torques say there, and of places elsewhere."""
        place, joints = self.place, sample.smooth.weighted.size
        count, main, found = self._follow(placement, sample, period, fixed)
        point, normal, place.force = found.moments[:3]
        if math.isnan(self._residual):
            self._residual = found.residual / joints
        gain = 1.0 - math.exp(-period / MEAN_TIME)
        self._residual += gain * (found.residual / joints - self._residual)
        self._rivals.update(placement, self._particles, sample, point, place.force, period)
        covariance = found.moments[3:6]
        deviation = math.sqrt(covariance.trace())
        covariance += self._rivals.spread(point, found.mean)
        alternative = self._rivals.alternative(found.cost)
        left = found.mean / joints
        if left > SEARCH_RESIDUAL:
            # A place nearby counts where that of the estimate says little.
            left = min(left, place.slide(placement, sample.mean, enough=0.0))
        return FilterEstimate(
            shape=place.shape,
            point_world=point,
            normal_world=normal,
            force_world=place.force,
            point_covariance=covariance,
            force_covariance=found.moments[6:],
            residual=self._residual,
            unexplained=found.cost / joints,
            unexplained_mean=left,
            effective_sample_size=effective,
            spread=found.spread,
            deviation=deviation,
            modes=self._all_modes(placement, count, main, point, alternative),
        )

    def _follow(
        self, placement: Placement, sample: Sample, period: float, fixed: bool
    ) -> tuple[int, int, Evaluation]:
        """Follow the main mode, but for no place that explains the torque less well.

        Returns:
            (number of modes, the main one, what the torques say at the estimate).
        """
        place, joints = self.place, sample.smooth.weighted.size
        before = place.shape, place.point.copy()
        count, main, place.shape = locate(
            self._surface,
            placement,
            self._particles,
            self._body,
            self._modes,
            place.shape,
            place.point,
            1.0 - math.exp(-period / POINT_TIME),
            fixed,
        )
        found = self._evaluate(placement, sample, main)
        if found.cost > SEARCH_RESIDUAL * joints and self.settled_for > 0.0:
            moved = place.shape, place.point.copy()
            place.shape, place.point[:] = before
            if place.residual(placement, sample.smooth) <= found.cost / joints:
                found = self._evaluate(placement, sample, main)
            else:
                place.shape, place.point[:] = moved
        return count, main, found

    def _evaluate(self, placement: Placement, sample: Sample, main: int) -> Evaluation:
        place, moments = self.place, np.empty((9, 3))
        said = evaluate_at(
            self._surface,
            placement,
            self._particles,
            self._modes,
            self._friction,
            sample,
            main,
            place.shape,
            place.point,
            moments,
        )
        return Evaluation(*said, moments)

    def _all_modes(
        self, placement: Placement, count: int, main: int, point: np.ndarray, alternative: float
    ) -> tuple[tuple[int, np.ndarray, float], ...]:
        """List main mode, other modes and the alternative, whose probability is given."""
        modes = self._modes
        found = [(self.place.shape, point, float(modes.weight[main]))]
        found += [
            (int(modes.shape[mode]), modes.point[mode].copy(), float(modes.weight[mode]))
            for mode in range(count)
            if mode != main
        ]
        if alternative < MIN_MODE_WEIGHT:
            return tuple(found)
        shape = int(self._rivals.shape[0])
        place = np.array(to_world(placement, shape, *self._rivals.point[0]))
        # Particles that sit where the alternative is are the alternative.
        found = [
            (s, p, (1.0 - alternative) * weight)
            for s, p, weight in found
            if math.dist(p, place) > MODE_RADIUS
        ]
        return (*found, (shape, place, alternative))
