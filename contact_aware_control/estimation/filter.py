"""The contact particle filter: one particle set for one contact."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from contact_aware_control.estimation import particles
from contact_aware_control.estimation.alternative import Alternative
from contact_aware_control.estimation.config import EstimateConfig, ParticleConfig
from contact_aware_control.estimation.likelihood import FrictionPyramids, evaluate
from contact_aware_control.estimation.located_contact import LocatedContact
from contact_aware_control.estimation.measurement import Measurement, Sample
from contact_aware_control.estimation.modes import ModeFinder
from contact_aware_control.estimation.surface import (
    Placement,
    RobotSurface,
    closest_on_shape,
    to_world,
)

COARSEST_STEP = 0.08
"""Motion step [m] of the first acquisition round: about the distance between particles."""


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
        estimate: EstimateConfig,
        rng: np.random.Generator,
    ) -> None:
        """Allocate the set.

        Args:
            surface: The robot's surface, S shapes.
            body: (S) number of the link each shape belongs to.
            config: The set and its motion.
            estimate: How the set becomes an estimate.
            rng: Random numbers.
        """
        self._surface = surface
        self._config = config
        self._estimate = estimate
        self._rng = rng
        self._friction = FrictionPyramids(
            config.friction, config.largest_friction, config.friction_surprise
        )
        self._particles = particles.new_particles(config.count)
        self._spare = particles.new_particles(config.count)
        self._modes = ModeFinder(surface, body, config.count, estimate)
        self._alternative = Alternative(
            surface,
            self._friction,
            estimate.rival_distance,
            config.search_spread,
            estimate.evidence_time,
            rng,
        )
        self.place = LocatedContact(surface, self._friction, estimate.slide_distance, rng)
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
        self, placement: Placement, sample: Sample, period: float, mobility: float = 1.0
    ) -> FilterEstimate:
        """Process one torque sample.

        Args:
            placement: Where the shapes are.
            sample: The torque: as measured for the particles, low-passed for the force.
            period: Time since the last update [s].
            mobility: Factor on the steps of the motion model. Below 1 the set stays where it
                is and does not search elsewhere; with 0 even the estimate does not move.

        Returns:
            The estimate.
        """
        self._predict(placement, sample.measured, mobility)
        effective = self._weigh(placement, sample.measured)
        self._modes.find(self._particles, self._last_point(placement))
        if mobility > 0.0:
            self._follow_main_mode(placement, period)
        estimate = self._assemble(placement, sample, period, effective)
        self._judge(estimate, period)
        self._resample()
        return estimate

    def _predict(self, placement: Placement, measurement: Measurement, mobility: float) -> None:
        """Move the particles, further the less they explain the torque."""
        config = self._config
        kept = self._keep_best()
        if mobility < 1.0:
            self._move(placement, mobility * config.motion_spread, kept, exploration=0.0)
            return
        if self._unexplained_for > self._estimate.restart_time:
            self._unexplained_for = 0.0
            self._acquire(placement, measurement, kept)
            kept = self._keep_best()
        searching = self._unexplained_for > 0.0
        spread = config.search_spread if searching else config.motion_spread
        self._move(placement, spread, kept, config.exploration)

    def _judge(self, estimate: FilterEstimate, period: float) -> None:
        """Count for how long the estimate has explained the torque, or has not."""
        if estimate.unexplained > self._estimate.search_residual:
            self._unexplained_for += period
            self.settled_for = 0.0
        else:
            # Starts as a mean, goes on as a low-pass.
            remembered = min(self.settled_for, self._estimate.force_time)
            gain = period / (remembered + period) if remembered > 0.0 else 1.0
            change = self.place.force - self.place.usual_force
            self.place.usual_force = self.place.usual_force + gain * change
            self._unexplained_for = 0.0
            self.settled_for += period

    def _acquire(self, placement: Placement, measurement: Measurement, kept: int) -> None:
        """Search the whole surface, from coarse to fine, keeping some particles."""
        particles.scatter(self._surface, placement, self._particles, kept, self._rng)
        rounds = self._config.acquisition_rounds
        finest = self._config.motion_spread
        for i in range(rounds):
            self._weigh(placement, measurement)
            self._resample()
            step = finest * (COARSEST_STEP / finest) ** (1.0 - (i + 1) / rounds)
            self._move(placement, step, 0, self._config.exploration)

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
        return particles.weigh(p, self._config.effective_share)

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
        if last is not None and np.linalg.norm(center - last) < self._estimate.mode_radius:
            gain = 1.0 - math.exp(-period / max(self._estimate.point_time, 1e-9))
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
        gain = 1.0 - math.exp(-period / max(self._estimate.residual_time, 1e-9))
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
        if residual > self._estimate.search_residual:
            residual = min(residual, self.place.slide(placement, mean, enough=0.0))
        return residual

    def _all_modes(
        self, placement: Placement, point: np.ndarray, alternative: float
    ) -> tuple[tuple[int, np.ndarray, float], ...]:
        """List main mode, other modes and the alternative, whose probability is given."""
        main = (self.place.shape, point, self._modes.weight)
        found = [main, *self._modes.others(placement)]
        if alternative < self._estimate.smallest_mode:
            return tuple(found)
        shape = self._alternative.shape
        place = np.array(to_world(placement, shape, *self._alternative.point))
        # Particles that sit where the alternative is are the alternative.
        found = [
            (s, p, (1.0 - alternative) * weight)
            for s, p, weight in found
            if np.linalg.norm(p - place) > self._estimate.mode_radius
        ]
        return (*found, (shape, place, alternative))
