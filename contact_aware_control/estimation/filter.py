"""The contact particle filter: one particle set for one contact."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from contact_aware_control.estimation import particles
from contact_aware_control.estimation.alternative import Alternative
from contact_aware_control.estimation.config import ParticleConfig
from contact_aware_control.estimation.likelihood import FrictionPyramids, evaluate
from contact_aware_control.estimation.located_contact import LocatedContact
from contact_aware_control.estimation.measurement import Measurement, Sample
from contact_aware_control.estimation.modes import MIN_MODE_WEIGHT, MODE_RADIUS, ModeFinder
from contact_aware_control.estimation.surface import (
    Placement,
    RobotSurface,
    closest_on_shape,
    to_world,
)

MOTION_SPREAD, SEARCH_SPREAD = 0.002, 0.03
"""Step of the motion model per update and axis, and while no particle explains the torque [m]."""

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

RESIDUAL_TIME = 0.05
"""Time constant of the low-pass on the residual, and of a mean torque that tells how much of it is
no noise [s]."""

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
    modes: tuple[tuple[int, np.ndarray, float], ...]


class ContactParticleFilter:
    """Follows one contact on the robot's surface.

    Each update: motion, likelihood, estimate of the main mode, resampling.

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
        self._config = config
        self._rng = rng
        self._friction = FrictionPyramids(
            config.friction, config.largest_friction, FRICTION_SURPRISE
        )
        self._particles = particles.new_particles(config.count)
        self._spare = particles.new_particles(config.count)
        self._modes = ModeFinder(surface, body, config.count)
        self._alternative = Alternative(surface, self._friction, SEARCH_SPREAD, rng)
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
        self._alternative.reset()
        self._acquire(placement, measurement, kept)
        # What the particles say, until the estimate explains the torque.
        self.place.usual_force = self._particles.force.mean(axis=0)

    def update(
        self, placement: Placement, sample: Sample, period: float, fixed: bool = False
    ) -> FilterEstimate:
        """Process one torque sample.

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
        self._modes.find(self._particles, self._last_point(placement))
        if not fixed:
            self._follow_main_mode(placement, period)
        estimate = self._assemble(placement, sample, period, effective)
        self._judge(estimate, period)
        self._resample()
        return estimate

    def _predict(self, placement: Placement, measurement: Measurement, fixed: bool) -> None:
        """Move the particles, further the less they explain the torque."""
        kept = self._keep_best()
        if fixed:
            self._move(placement, 0.0, kept, exploration=0.0)
            return
        if self._unexplained_for > RESTART_TIME:
            self._unexplained_for = 0.0
            self._acquire(placement, measurement, kept)
            kept = self._keep_best()
        searching = self._unexplained_for > 0.0
        spread = SEARCH_SPREAD if searching else MOTION_SPREAD
        self._move(placement, spread, kept, EXPLORATION)

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
            left = 1.0 - (i + 1) / ACQUISITION_ROUNDS
            step = MOTION_SPREAD * (COARSEST_STEP / MOTION_SPREAD) ** left
            self._move(placement, step, 0, EXPLORATION)

    def _keep_best(self) -> int:
        """Put the best over time among the particles: estimate, alternative; return how many."""
        best = [place for place in (self.place, self._alternative) if place.shape >= 0]
        for i, place in enumerate(best):
            particles.set_particle(self._particles, i, place.shape, *place.point, *place.outward)
        return len(best)

    def _move(self, placement: Placement, spread: float, first: int, exploration: float) -> None:
        p = self._particles
        particles.move(self._surface, placement, p, first, spread, exploration, self._rng)

    def _weigh(self, placement: Placement, measurement: Measurement) -> float:
        p = self._particles
        evaluate(
            measurement,
            placement,
            self._surface.joints,
            self._friction,
            p.shape,
            p.point,
            p.normal,
            p.point_world,
            p.force,
            p.cost,
        )
        return particles.weigh(p, MIN_EFFECTIVE_SHARE)

    def _resample(self) -> None:
        particles.resample(self._particles, self._spare, self._rng)
        self._particles, self._spare = self._spare, self._particles

    def _last_point(self, placement: Placement) -> np.ndarray | None:
        """Return where the last estimate is now, (3) world frame [m]."""
        if self.place.shape < 0:
            return None
        return np.array(to_world(placement, self.place.shape, *self.place.point))

    def _follow_main_mode(self, placement: Placement, period: float) -> None:
        """Move the estimate towards the main mode, on the mode's shape."""
        center = self._modes.center
        last = self._last_point(placement)
        if last is not None and np.linalg.norm(center - last) < MODE_RADIUS:
            gain = 1.0 - math.exp(-period / POINT_TIME)
            center = last + gain * (center - last)
        self.place.shape = self._modes.shape(favoured=self.place.shape)
        self.place.point = closest_on_shape(self._surface, placement, self.place.shape, center)

    def _assemble(
        self, placement: Placement, sample: Sample, period: float, effective: float
    ) -> FilterEstimate:
        """Evaluate force, residual and second moments at the estimated point."""
        point, inward = self.place.in_world(placement)
        cost, force = self.place.fit(placement, sample.smooth)
        self.place.force = force
        residual = self.place.residual(placement, sample.measured)
        if math.isnan(self._residual):
            self._residual = residual
        gain = 1.0 - math.exp(-period / RESIDUAL_TIME)
        self._residual += gain * (residual - self._residual)
        point_covariance, force_covariance, spread = self._modes.covariances(point, force)
        alternative = self._alternative.update(
            placement, self._particles, sample.smooth, point, cost, period
        )
        return FilterEstimate(
            shape=self.place.shape,
            point_world=point,
            normal_world=inward,
            force_world=force,
            point_covariance=point_covariance,
            force_covariance=force_covariance + self.place.force_noise(placement, sample.smooth),
            residual=self._residual,
            unexplained=cost / sample.smooth.weighted.size,
            unexplained_mean=self._unexplained_near(placement, sample.mean),
            effective_sample_size=effective,
            spread=spread,
            modes=self._all_modes(placement, point, alternative),
        )

    def _unexplained_near(self, placement: Placement, mean: Measurement) -> float:
        """Return the residual per joint; that near the estimate where its own says something."""
        residual = self.place.residual(placement, mean)
        if residual > SEARCH_RESIDUAL:
            residual = min(residual, self.place.slide(placement, mean, enough=0.0))
        return residual

    def _all_modes(
        self, placement: Placement, point: np.ndarray, alternative: float
    ) -> tuple[tuple[int, np.ndarray, float], ...]:
        """List main mode, other modes and the alternative, whose probability is given."""
        main = (self.place.shape, point, self._modes.weight)
        found = [main, *self._modes.others(placement)]
        if alternative < MIN_MODE_WEIGHT:
            return tuple(found)
        shape = self._alternative.shape
        place = np.array(to_world(placement, shape, *self._alternative.point))
        # Particles that sit where the alternative is are the alternative.
        found = [
            (s, p, (1.0 - alternative) * weight)
            for s, p, weight in found
            if np.linalg.norm(p - place) > MODE_RADIUS
        ]
        return (*found, (shape, place, alternative))
