"""The contact particle filter: one particle set for one contact."""

from __future__ import annotations

import math

import numpy as np

from contact_aware_control.estimation import modes, particles
from contact_aware_control.estimation.config import EstimateConfig, ParticleConfig
from contact_aware_control.estimation.filter_estimate import FilterEstimate
from contact_aware_control.estimation.joint_fit import Companions, force_noise
from contact_aware_control.estimation.likelihood import (
    Friction,
    Measurement,
    evaluate,
    whitened_jacobian,
)
from contact_aware_control.estimation.located_contact import LocatedContact
from contact_aware_control.estimation.rival import Rival
from contact_aware_control.estimation.surface import (
    Placement,
    Surface,
    closest_on_shape,
    to_world,
)

COARSEST_STEP = 0.08
"""Motion step [m] of the first acquisition round: about the distance between particles."""


class ContactParticleFilter:
    """Follows one contact on the robot's surface.

    Each update: motion, likelihood, estimate of the main mode, resampling.

    Attributes:
        place: The estimate.
    """

    def __init__(
        self,
        surface: Surface,
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
        self._body = body
        self._config = config
        self._estimate = estimate
        self._rng = rng
        self._friction = Friction(
            config.friction, config.largest_friction, config.friction_surprise
        )
        self._particles = particles.new_particles(config.count)
        self._spare = particles.new_particles(config.count)
        self._members = np.zeros(config.count, dtype=np.int64)
        self._centers = np.zeros((modes.MOST_MODES, 3))
        self._weights = np.zeros(modes.MOST_MODES)
        self._share = np.zeros(surface.kind.size)
        self._rival = Rival(
            surface,
            self._friction,
            estimate.rival_distance,
            config.search_spread,
            estimate.evidence_time,
            rng,
        )
        self.place = LocatedContact(surface, self._friction)
        self._residual = math.nan
        self._main = 0  # the mode the estimate follows
        # For how long the estimate has explained the torque, or has not [s].
        self._settled_for = 0.0
        self._unexplained_for = 0.0

    def start(
        self,
        placement: Placement,
        measurement: Measurement,
        companions: Companions,
        remembered: bool,
    ) -> None:
        """Find a new contact from the first torque that shows it.

        Args:
            placement: Where the shapes are.
            measurement: The torque.
            companions: The contacts that are known already.
            remembered: True if the last contact may well have come back: half of the
                particles then start where it was.
        """
        kept = self._config.count // 2 if remembered and self.place.shape >= 0 else 0
        if not kept:
            self.place.shape = -1
        self._residual = math.nan
        self._settled_for = 0.0
        self._unexplained_for = 0.0
        self._rival.reset()
        self._acquire(placement, measurement, companions, kept)

    @property
    def settled_for(self) -> float:
        """How long the estimate has explained the torque [s]."""
        return self._settled_for

    def slide(
        self, placement: Placement, smooth: Measurement, companions: Companions, enough: float
    ) -> float:
        """Look for a place near the estimate that explains the torque, and go there.

        Args:
            placement: Where the shapes are.
            smooth: The torque, low-passed.
            companions: The other contacts.
            enough: Residual below which the estimate moves.

        Returns:
            The squared whitened residual per joint of the best place.
        """
        distance = self._estimate.slide_distance
        return self.place.slide(placement, smooth, companions, distance, enough, self._rng)

    def unexplained(
        self, placement: Placement, smooth: Measurement, companions: Companions
    ) -> float:
        """Return the squared whitened residual per joint at the estimate.

        Args:
            placement: Where the shapes are.
            smooth: The torque, low-passed.
            companions: The other contacts.

        Returns:
            The residual of the joint fit.
        """
        return self.place.fit(placement, smooth, companions)[0] / smooth.torque.size

    def update(
        self,
        placement: Placement,
        measurement: Measurement,
        smooth: Measurement,
        companions: Companions,
        period: float,
        mobility: float = 1.0,
    ) -> FilterEstimate:
        """Process one torque sample.

        Args:
            placement: Where the shapes are.
            measurement: The torque as measured, for the particles.
            smooth: The torque low-passed, for the force.
            companions: The other contacts.
            period: Time since the last update [s].
            mobility: Factor on the steps of the motion model. Below 1 the set stays where it
                is and does not search elsewhere; with 0 even the estimate does not move.

        Returns:
            The estimate.
        """
        kept = self._keep_best()
        if mobility < 1.0:
            self._move(placement, mobility * self._config.motion_spread, kept, exploration=0.0)
        else:
            if self._unexplained_for > self._estimate.restart_time:
                self._unexplained_for = 0.0
                self._acquire(placement, measurement, companions, kept)
                kept = self._keep_best()
            searching = self._unexplained_for > 0.0
            spread = self._config.search_spread if searching else self._config.motion_spread
            self._move(placement, spread, kept, self._config.exploration)
        effective = self._weigh(placement, measurement, companions)
        count = self._find_modes(placement)
        if mobility > 0.0:
            self._follow_main_mode(placement, period)
        estimate = self._assemble(
            placement, measurement, smooth, companions, period, effective, count
        )
        self._judge(estimate, period)
        self._resample()
        return estimate

    def _judge(self, estimate: FilterEstimate, period: float) -> None:
        """Count for how long the estimate has explained the torque, or has not."""
        if estimate.unexplained > self._estimate.search_residual:
            self._unexplained_for += period
            self._settled_for = 0.0
        else:
            # Starts as a mean, goes on as a low-pass.
            remembered = min(self._settled_for, self._estimate.force_time)
            gain = period / (remembered + period) if remembered > 0.0 else 1.0
            change = self.place.force - self.place.usual_force
            self.place.usual_force = self.place.usual_force + gain * change
            self._unexplained_for = 0.0
            self._settled_for += period

    def _acquire(
        self, placement: Placement, measurement: Measurement, companions: Companions, kept: int
    ) -> None:
        """Search the whole surface, from coarse to fine, keeping some particles."""
        particles.scatter(self._surface, placement, self._particles, kept, self._rng)
        rounds = self._config.acquisition_rounds
        finest = self._config.motion_spread
        for i in range(rounds):
            self._weigh(placement, measurement, companions)
            self._resample()
            step = finest * (COARSEST_STEP / finest) ** (1.0 - (i + 1) / rounds)
            self._move(placement, step, 0, self._config.exploration)

    def _keep_best(self) -> int:
        """Put estimate and rival, the best over time, among the particles; return how many."""
        if self.place.shape < 0:
            return 0
        normal = self.place.outward
        particles.set_particle(self._particles, 0, self.place.shape, *self.place.point, *normal)
        rival = self._rival.place
        if rival is None:
            return 1
        particles.set_particle(self._particles, 1, rival.shape, *rival.point, *rival.normal)
        return 2

    def _move(self, placement: Placement, spread: float, first: int, exploration: float) -> None:
        p = self._particles
        particles.move(self._surface, placement, p, first, spread, exploration, self._rng)

    def _weigh(
        self, placement: Placement, measurement: Measurement, companions: Companions
    ) -> float:
        p = self._particles
        evaluate(
            measurement,
            companions,
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

    def _find_modes(self, placement: Placement) -> int:
        """Cluster the particles; the mode that the last estimate is in is favoured."""
        count = modes.find_modes(
            self._particles,
            self._estimate.mode_radius,
            self._estimate.smallest_mode,
            self._centers,
            self._weights,
            self._members,
        )
        if self.place.shape >= 0 and count > 1:
            last = np.array(to_world(placement, self.place.shape, *self.place.point))
            near = np.linalg.norm(self._centers[:count] - last, axis=1) < self._estimate.mode_radius
            favour = np.where(near, self._estimate.switch_ratio, 1.0)
            main = int(np.argmax(favour * self._weights[:count]))
        else:
            main = 0
        self._main = main
        return count

    def _follow_main_mode(self, placement: Placement, period: float) -> None:
        """Move the estimate towards the main mode, on the mode's shape."""
        center = self._centers[self._main]
        favoured = int(self._body[self.place.shape]) if self.place.shape >= 0 else -1
        shape = self._main_shape(self._main, favoured)
        if self.place.shape >= 0:
            last = np.array(to_world(placement, self.place.shape, *self.place.point))
            if np.linalg.norm(center - last) < self._estimate.mode_radius:
                gain = 1.0 - math.exp(-period / max(self._estimate.point_time, 1e-9))
                center = last + gain * (center - last)
        self.place.shape = shape
        self.place.point = closest_on_shape(self._surface, placement, shape, center)

    def _main_shape(self, mode: int, favoured: int) -> int:
        ratio = self._estimate.switch_ratio
        return modes.main_shape(
            self._particles, self._members, mode, self._body, favoured, ratio, self._share
        )

    def _assemble(
        self,
        placement: Placement,
        measurement: Measurement,
        smooth: Measurement,
        companions: Companions,
        period: float,
        effective: float,
        count: int,
    ) -> FilterEstimate:
        """Evaluate force, residual and second moments at the estimated point."""
        point, inward = self.place.in_world(placement)
        cost, force = self.place.fit(placement, smooth, companions)
        self.place.force = force
        residual = self.place.fit(placement, measurement, companions)[0] / measurement.torque.size
        if math.isnan(self._residual):
            self._residual = residual
        gain = 1.0 - math.exp(-period / max(self._estimate.residual_time, 1e-9))
        self._residual += gain * (residual - self._residual)
        point_covariance, force_covariance = np.zeros((3, 3)), np.zeros((3, 3))
        p = self._particles
        spread = modes.covariances(
            p, self._members, self._main, point, force, point_covariance, force_covariance
        )
        joints = self.place.joints
        whitened = whitened_jacobian(measurement, joints, point)
        rival = self._rival.update(
            placement, self._particles, smooth, companions, point, cost, period
        )
        return FilterEstimate(
            shape=self.place.shape,
            point_world=point,
            point_shape=self.place.point.copy(),
            normal_world=inward,
            force_world=force,
            point_covariance=point_covariance,
            force_covariance=force_covariance + force_noise(whitened, companions),
            residual=self._residual,
            unexplained=cost / smooth.torque.size,
            effective_sample_size=effective,
            spread=spread,
            modes=self._modes(placement, point, count, rival),
        )

    def _modes(
        self, placement: Placement, point: np.ndarray, count: int, rival: float
    ) -> tuple[tuple[int, np.ndarray, float], ...]:
        """List main mode, other modes and the rival, whose probability is given."""
        order = [self._main, *(mode for mode in range(count) if mode != self._main)]
        found = [self._mode(placement, mode, point) for mode in order]
        if self._rival.place is None or rival < self._estimate.smallest_mode:
            return tuple(found)
        shape, in_shape, _ = self._rival.place
        place = np.array(to_world(placement, shape, *in_shape))
        # Particles that sit where the rival is are the rival.
        found = [
            (s, p, (1.0 - rival) * weight)
            for s, p, weight in found
            if np.linalg.norm(p - place) > self._estimate.mode_radius
        ]
        return (*found, (shape, place, rival))

    def _mode(
        self, placement: Placement, mode: int, point: np.ndarray
    ) -> tuple[int, np.ndarray, float]:
        """Return shape, point and weight of a mode; the main one is where the estimate is."""
        weight = float(self._weights[mode])
        if mode == self._main:
            return self.place.shape, point, weight
        shape = self._main_shape(mode, -1)
        in_shape = closest_on_shape(self._surface, placement, shape, self._centers[mode])
        return shape, np.array(to_world(placement, shape, *in_shape)), weight
