"""The contact particle filter as a whole: external torque in, contacts out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contact_aware_control.contact import ContactEstimate, ContactMode
from contact_aware_control.estimation.base import Estimator, EstimatorOutput, EstimatorStatus
from contact_aware_control.estimation.calibration import Calibration, prior
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.filter import RESIDUAL_TIME, FilterEstimate
from contact_aware_control.estimation.load import LoadClassifier, Verdict
from contact_aware_control.estimation.measurement import MeanTorque, Torques
from contact_aware_control.estimation.modes import MODE_RADIUS
from contact_aware_control.estimation.surface import new_placement, place
from contact_aware_control.estimation.tare import JumpingLowPass
from contact_aware_control.estimation.tool_surface import ToolSurface, check_held
from contact_aware_control.estimation.torque_balance import FreeTorque, TorqueBalance
from contact_aware_control.estimation.tracker import MISSING_RESIDUAL, ContactTracker, Track
from contact_aware_control.lever_arms import LeverArms
from contact_core.base.errors import ConfigError
from contact_core.multibody.collision.shapes import PlacedShape
from contact_core.robot.robot import Robot

TRUSTED_OVER_LEAST, MAX_OVER_LEAST = 10.0, 30.0
"""A force over the least one that causes its torques: up to where its contact may count as located
(on the outer links it reaches 7), and up to where it is believed (on link 4 it reaches 23)."""

TORQUE_TIME = 0.01
"""Time constant of the low-pass on the torque that detection and force use; jumps that noise does
not explain pass unfiltered [s]."""

MAX_IDENTIFIABLE_RESIDUAL, MIN_IDENTIFIABLE_WEIGHT = 3.0, 0.6
"""Residual above which a contact is not identifiable, and weight of its main mode below which it
is not."""

HELD_REACH = 0.1
"""How far a held object reaches from the tool's origin, for that least force [m]."""


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
        self._levers = LeverArms(robot, HELD_REACH)
        self.reset(config.seed)

    def reset(self, seed: int) -> None:
        """Forget everything and tare, see :meth:`Estimator.reset`."""
        config = self._config
        self._tracker = ContactTracker(self._surface, self._tool.body, config, seed)
        self._balance = TorqueBalance(self._robot, config, self._calibration)
        self._held = self._balance.held
        self._tool.hold(self._held)
        self._classifier = LoadClassifier(self._robot.n, config.load, config.detection.threshold)
        self._low_pass = JumpingLowPass(TORQUE_TIME)
        self._mean = JumpingLowPass(RESIDUAL_TIME)
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
        found = self._track(stamp_ns, free, smooth, evidence)
        touched = bool(self._tracker.tracks)
        threshold = self._config.detection.threshold
        # A contact that is lost for a moment, while the torque stays, is not over.
        judged = touched or evidence >= threshold
        verdict = self._judge(free, smooth) if judged else self._untouched()
        self._balance.learn(
            touched=touched, free=evidence < 0.5 * threshold, contact=self._classifier.contact
        )
        contacts = tuple(
            self._contact(track, estimate, stamp_ns, q, ambiguous=verdict is not Verdict.CONTACT)
            for track, estimate in found
        )
        if verdict is Verdict.LOAD:
            self._tracker.end_all(stamp_ns)
        return self._output(stamp_ns, self._status(contacts), contacts)

    def _untouched(self) -> Verdict:
        """Nothing is to be explained."""
        self._classifier.reset()
        return Verdict.CONTACT

    def _judge(self, free: FreeTorque, smooth: np.ndarray) -> Verdict:
        """Tell contact from load; one that was taken or left counts as known from now on."""
        covariance, matrix, balance = free.covariance, self._balance.load_matrix, self._balance
        verdict = self._classifier.update(
            smooth, covariance, matrix, balance.known_load, free.period
        )
        load, deviation = self._classifier.load, self._classifier.covariance
        found = balance.found_load
        if found.any() and (
            _squared(covariance, smooth + matrix @ found) < self._config.detection.threshold
        ):
            # The torque is that of an arm without load again.
            verdict, load, deviation = Verdict.LOAD, -found, np.zeros((4, 4))
        if verdict is Verdict.LOAD:
            balance.take_load(load, deviation)
            self._classifier.reset()
            self._low_pass.reset()
            self._mean.reset()
        return verdict

    def _track(
        self, stamp_ns: int, free: FreeTorque, smooth: np.ndarray, evidence: float
    ) -> list[tuple[Track, FilterEstimate]]:
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
        return found

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

    def _contact(
        self,
        track: Track,
        estimate: FilterEstimate,
        stamp_ns: int,
        q: np.ndarray,
        *,
        ambiguous: bool,
    ) -> ContactEstimate:
        link = self._links[estimate.shape]
        pose = self._robot.link_pose(link)
        located = estimate.modes[0][2]
        joints = int(self._surface.joints[estimate.shape])
        least = self._least_force(link, joints, estimate, q)
        ratio = float(np.linalg.norm(estimate.force_world)) / max(least, 1e-9)
        trusted = ratio <= TRUSTED_OVER_LEAST and not track.guessed
        return ContactEstimate(
            number=track.number,
            link=link,
            joints_moving=joints,
            point_world=estimate.point_world,
            point_link=pose.actInv(estimate.point_world),
            normal_world=estimate.normal_world,
            force_world=estimate.force_world / max(ratio / MAX_OVER_LEAST, 1.0),
            point_covariance=estimate.point_covariance,
            force_covariance=estimate.force_covariance,
            residual=estimate.residual,
            effective_sample_size=estimate.effective_sample_size,
            spread=estimate.spread,
            identifiable=trusted and self._identifiable(estimate, located),
            age=1e-9 * (stamp_ns - track.began_ns),
            modes=tuple(
                ContactMode(self._links[shape], point, weight)
                for shape, point, weight in estimate.modes
            ),
            ambiguous=ambiguous,
            same_wrench=trusted and self._identifiable(estimate, self._weight_of_wrench(estimate)),
        )

    def _least_force(
        self, link: str, joints: int, estimate: FilterEstimate, q: np.ndarray
    ) -> float:
        """Return the least force that causes the torques of a contact's force [N].

        Along the bones of the arm any force causes next to none.
        """
        torque = self._robot.torque_of_force(link, estimate.point_world, estimate.force_world)
        return self._levers.least_force(q, torque, joints)

    def _identifiable(self, estimate: FilterEstimate, weight: float) -> bool:
        limits = self._config.estimate
        return bool(
            self._surface.joints[estimate.shape] >= limits.identifiable_joints
            and estimate.residual < MAX_IDENTIFIABLE_RESIDUAL
            and estimate.unexplained_mean < MISSING_RESIDUAL
            and weight > MIN_IDENTIFIABLE_WEIGHT
            and _deviation(estimate.point_covariance) < limits.identifiable_spread
        )

    def _weight_of_wrench(self, estimate: FilterEstimate) -> float:
        """Return the weight of all modes where the same force does the same to the arm."""
        force = estimate.force_world
        along = force / max(float(np.linalg.norm(force)), 1e-9)
        joints, weight = self._surface.joints, 0.0
        for shape, point, share in estimate.modes:
            aside = np.cross(point - estimate.point_world, along)
            near = float(np.linalg.norm(aside)) < MODE_RADIUS
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
            load=self._balance.undeclared_mass,
        )


def _deviation(covariance: np.ndarray) -> float:
    """Root of the mean squared distance that a covariance stands for."""
    return float(np.sqrt(np.trace(covariance)))


def _squared(covariance: np.ndarray, torque: np.ndarray) -> float:
    """Return the squared whitened norm of a torque."""
    return float(torque @ np.linalg.solve(covariance, torque))
