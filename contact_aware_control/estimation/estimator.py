"""The contact particle filter as a whole: external torque in, contacts out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contact_aware_control.contact import ContactEstimate, ContactMode
from contact_aware_control.estimation.base import Estimator, EstimatorOutput, EstimatorStatus
from contact_aware_control.estimation.calibration import Calibration, prior
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.filter import FilterEstimate
from contact_aware_control.estimation.load import LoadHypothesis, Verdict
from contact_aware_control.estimation.measurement import MeanTorque, Torques
from contact_aware_control.estimation.surface import new_placement, place
from contact_aware_control.estimation.tare import JumpingLowPass
from contact_aware_control.estimation.tool_surface import ToolSurface, check_held
from contact_aware_control.estimation.torque_balance import FreeTorque, TorqueBalance
from contact_aware_control.estimation.tracker import ContactTracker, Track
from contact_core.collision.shapes import PlacedShape
from contact_core.errors import ConfigError
from contact_core.robot import Robot


class ContactEstimator(Estimator):
    """The contact particle filter, from joint positions and external torques to contacts."""

    def __init__(
        self,
        robot: Robot,
        config: EstimatorConfig | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        """Prepare an estimator; it starts with a tare.

        Args:
            robot: The arm; the estimator updates its configuration.
            config: Parameters.
            calibration: What is known of the arm, by default what the parameters say.

        Raises:
            ConfigError: If the thresholds contradict each other.
            ModelError: If a candidate link is unknown.
        """
        self._robot = robot
        self._config = config = config or EstimatorConfig()
        self._calibration = calibration or prior(robot, config.errors)
        on, off = config.detection.contact_on, config.detection.contact_off
        if off > on:
            raise ConfigError(f"contact_off is {off} N, more than contact_on, {on} N")
        self._tool = ToolSurface(robot, config.links)
        self._surface, self._links = self._tool.surface, self._tool.links
        self._placement = new_placement(self._surface)
        self.reset(config.seed)

    def reset(self, seed: int) -> None:
        """Forget everything and tare, see :meth:`Estimator.reset`."""
        config = self._config
        self._tracker = ContactTracker(self._surface, self._tool.body, config, seed)
        self._balance = TorqueBalance(self._robot, config, self._calibration)
        self._held = self._balance.held
        self._tool.hold(self._held)
        self._hypothesis = LoadHypothesis(config.load, config.errors.correlation_time)
        self._load = np.zeros(4)
        self._low_pass = JumpingLowPass(config.detection.torque_time)
        self._mean = JumpingLowPass(config.estimate.residual_time)
        self._torque = np.zeros(self._robot.n)
        self._residual = 0.0

    @property
    def particles(self) -> np.ndarray:
        """Where the contacts may be (N, 3): the places of all particles, world frame [m]."""
        followed = [track.filter.points for track in self._tracker.tracks]
        return np.concatenate(followed) if followed else np.zeros((0, 3))

    def tare(self) -> None:
        """Measure the bias anew, see :meth:`Estimator.tare`."""
        self._balance.tare()

    def set_payload(
        self,
        mass: float,
        center_of_mass: np.ndarray,
        start_ns: int,
        shapes: Sequence[PlacedShape] = (),
    ) -> None:
        """Tell what the robot holds from a time on, see :meth:`Estimator.set_payload`."""
        check_held(shapes)
        self._balance.set_payload(mass, center_of_mass, start_ns, shapes)

    def set_gripper(self, position: float) -> None:
        """Tell where the gripper's fingers are, see :meth:`Estimator.set_gripper`."""
        self._tool.set_gripper(position)

    def update(self, stamp_ns: int, q: np.ndarray, external_torque: np.ndarray) -> EstimatorOutput:
        """Process one sample, see :meth:`Estimator.update`."""
        free = self._balance.update(stamp_ns, q, external_torque)
        if free is None:
            return self._output(stamp_ns, EstimatorStatus.REJECTED)
        self._torque = free.torque
        if self._held is not self._balance.held:
            self._held = self._balance.held
            self._tool.hold(self._held)
            self._tracker.forget(stamp_ns)
        deviation = np.sqrt(free.covariance.diagonal())
        smooth = self._low_pass.update(self._torque, deviation, free.period)
        evidence = _squared(free.covariance, smooth)
        contacts = self._track(stamp_ns, free, smooth, evidence)
        touched = bool(self._tracker.tracks)
        threshold = self._config.detection.threshold
        self._balance.learn(touched=touched, free=evidence < 0.5 * threshold)
        if not touched:
            self._hypothesis.reset()
        elif self._is_load(free, smooth):
            self._tracker.end_all(stamp_ns)
        return self._output(stamp_ns, self._status(contacts), contacts)

    def _is_load(self, free: FreeTorque, smooth: np.ndarray) -> bool:
        """Tell whether a load was taken or left, which is counted as one from now on."""
        covariance, matrix = free.covariance, self._balance.load_matrix
        verdict = self._hypothesis.update(smooth, covariance, matrix, free.period)
        load, deviation = self._hypothesis.load, self._hypothesis.covariance
        if self._load.any() and (
            _squared(covariance, smooth + matrix @ self._load) < self._config.detection.threshold
        ):
            # The torque is that of an arm without load again.
            load, deviation = -self._load, np.zeros((4, 4))
        elif verdict is not Verdict.LOAD:
            return False
        self._balance.take_load(load, deviation)
        self._load = self._load + load
        self._low_pass.reset()
        self._mean.reset()
        return True

    def _track(
        self, stamp_ns: int, free: FreeTorque, smooth: np.ndarray, evidence: float
    ) -> tuple[ContactEstimate, ...]:
        """Start, follow and end contacts; return those to be reported."""
        robot, origins = self._robot, self._robot.joint_origins
        if self._tracker.tracks or evidence >= self._config.detection.threshold:
            place(self._surface, robot.joint_rotations, origins, self._placement)
        model_error = self._config.noise.relative * np.linalg.norm(smooth)
        covariance = free.covariance + model_error**2 * np.eye(robot.n)
        mean = self._mean.update(self._torque, np.sqrt(free.covariance.diagonal()), free.period)
        averaged = MeanTorque(mean, (1.0 - self._mean.variance_share) * free.noise**2)
        axes = robot.joint_axes
        torques = Torques(self._torque, smooth, covariance, origins, axes, averaged)
        found = self._tracker.update(stamp_ns, self._placement, torques, evidence, free.period)
        if len(found) > 1:
            self._residual = self._unexplained(found, smooth, covariance)
        else:
            left = found[0][1].residual if found else _squared(covariance, self._torque) / robot.n
            self._residual = left
        return tuple(self._contact(track, estimate, stamp_ns) for track, estimate in found)

    def _unexplained(
        self,
        found: list[tuple[Track, FilterEstimate]],
        torque: np.ndarray,
        covariance: np.ndarray,
    ) -> float:
        """Return the squared whitened torque per joint that contacts leave together."""
        for _, contact in found:
            link = self._links[contact.shape]
            torque = torque - self._robot.torque_of_force(
                link, contact.point_world, contact.force_world
            )
        return _squared(covariance, torque) / self._robot.n

    def _contact(self, track: Track, estimate: FilterEstimate, stamp_ns: int) -> ContactEstimate:
        link = self._links[estimate.shape]
        pose = self._robot.link_pose(link)
        located = estimate.modes[0][2]
        return ContactEstimate(
            number=track.number,
            link=link,
            joints_moving=int(self._surface.joints[estimate.shape]),
            point_world=estimate.point_world,
            point_link=pose.actInv(estimate.point_world),
            normal_world=estimate.normal_world,
            force_world=estimate.force_world,
            point_covariance=estimate.point_covariance,
            force_covariance=estimate.force_covariance,
            residual=estimate.residual,
            effective_sample_size=estimate.effective_sample_size,
            spread=estimate.spread,
            identifiable=not track.guessed and self._identifiable(estimate, located),
            age=1e-9 * (stamp_ns - track.began_ns),
            modes=tuple(
                ContactMode(self._links[shape], point, weight)
                for shape, point, weight in estimate.modes
            ),
            ambiguous=self._hypothesis.verdict is not Verdict.CONTACT,
            same_wrench=not track.guessed
            and self._identifiable(estimate, self._weight_of_wrench(estimate)),
        )

    def _identifiable(self, estimate: FilterEstimate, weight: float) -> bool:
        limits = self._config.estimate
        return bool(
            self._surface.joints[estimate.shape] >= limits.identifiable_joints
            and estimate.residual < limits.identifiable_residual
            and estimate.unexplained_mean < self._config.contacts.add_residual
            and weight > limits.identifiable_weight
            and _deviation(estimate.point_covariance) < limits.identifiable_spread
        )

    def _weight_of_wrench(self, estimate: FilterEstimate) -> float:
        """Return the weight of all modes where the same force does the same to the arm."""
        force = estimate.force_world
        along = force / max(float(np.linalg.norm(force)), 1e-9)
        joints, weight = self._surface.joints, 0.0
        for shape, point, share in estimate.modes:
            aside = np.cross(point - estimate.point_world, along)
            near = float(np.linalg.norm(aside)) < self._config.estimate.mode_radius
            if near and joints[shape] == joints[estimate.shape]:
                weight += share
        return weight

    def _status(self, contacts: tuple[ContactEstimate, ...]) -> EstimatorStatus:
        """Return the worst of what is known about the contacts."""
        if not contacts:
            return EstimatorStatus.FREE
        if all(contact.ambiguous for contact in contacts):
            return EstimatorStatus.AMBIGUOUS
        doubtful = [contact for contact in contacts if not contact.identifiable]
        if not doubtful:
            return EstimatorStatus.CONTACT
        limits = self._config.estimate
        if all(
            contact.joints_moving >= limits.identifiable_joints
            and _deviation(contact.point_covariance) >= limits.identifiable_spread
            for contact in doubtful
        ):
            return EstimatorStatus.CONVERGING
        return EstimatorStatus.NOT_IDENTIFIABLE

    def _output(
        self,
        stamp_ns: int,
        status: EstimatorStatus,
        contacts: tuple[ContactEstimate, ...] = (),
    ) -> EstimatorOutput:
        return EstimatorOutput(
            stamp_ns=stamp_ns,
            status=status,
            contacts=contacts,
            torque=self._torque.copy(),
            bias=self._balance.bias.copy(),
            tare=self._balance.tare_status,
            rejected=self._balance.rejected,
            residual=self._residual,
            calibrated=self._balance.calibrated,
            load=float(self._load[0]),
        )


def _deviation(covariance: np.ndarray) -> float:
    """Root of the mean squared distance that a covariance stands for."""
    return float(np.sqrt(np.trace(covariance)))


def _squared(covariance: np.ndarray, torque: np.ndarray) -> float:
    """Return the squared whitened norm of a torque."""
    return float(torque @ np.linalg.solve(covariance, torque))
