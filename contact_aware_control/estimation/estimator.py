"""The contact particle filter as a whole: external torque in, contacts out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from contact_aware_control.contact import ContactEstimate, ContactMode, within
from contact_aware_control.estimation.base import Estimator, EstimatorOutput, EstimatorStatus
from contact_aware_control.estimation.calibration import Calibration, prior
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.filter import FilterEstimate
from contact_aware_control.estimation.load import LoadClassifier, Verdict
from contact_aware_control.estimation.measurement import MeanTorque, Torques, diagonal, squared_norm
from contact_aware_control.estimation.modes import MODE_RADIUS
from contact_aware_control.estimation.surface import new_placement, place
from contact_aware_control.estimation.tool_surface import ToolSurface, check_held, check_opening
from contact_aware_control.estimation.torque_balance import CompensatedTorque, TorqueBalance
from contact_aware_control.estimation.tracker import MISSING_RESIDUAL, ContactTracker, Told, Track
from contact_aware_control.lever_arms import LeverArms
from contact_core.base.errors import ConfigError
from contact_core.multibody.collision.shapes import PlacedShape
from contact_core.robot.arm_state import ArmState
from contact_core.robot.robot import Robot

TRUSTED_OVER_LEAST, MAX_OVER_LEAST = 10.0, 30.0
"""A force over the least one that causes its torques: up to where its contact may count as located
(on the outer links it reaches 7), and up to where it is believed (on link 4 it reaches 23)."""

MIN_IDENTIFIABLE_JOINTS = 5
"""Contacts on links moved by fewer joints are not identifiable: a force has three components, its
point on a surface two coordinates."""

MAX_IDENTIFIABLE_RESIDUAL, MIN_IDENTIFIABLE_WEIGHT = 3.0, 0.6
"""Residual above which a contact is not identifiable, and weight of its main mode below which it
is not."""

MAX_IDENTIFIABLE_WITHIN = 0.3
"""The place of what may be farther away than this, as on another link, is not told [m]."""

STEADY = 1.25
"""By how much these, and the spread, are relaxed for a contact whose place has been told: what is
as it was should not be told and doubted in turn."""

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
        self._residual = 0.0

    @property
    def particles(self) -> np.ndarray:
        """Where the contacts may be (N, 3): the places of all particles, world frame [m]."""
        followed = [track.filter.points for track in self._tracker.tracks]
        return np.concatenate(followed) if followed else np.zeros((0, 3))

    @property
    def torque_errors(self) -> np.ndarray:
        """(n, n) covariance of what may be wrong in the last torque beside noise [Nm^2]."""
        now = self._balance.now
        return now.covariance - np.diag(now.noise**2)

    def memory(self) -> dict[str, np.ndarray]:
        """Return what an estimator that is made later can go on with; empty before a tare."""
        return self._balance.memory()

    def recall(self, memory: Mapping[str, np.ndarray]) -> None:
        """Go on with the :meth:`memory` of another one, without a tare: what touches is felt."""
        self._balance.recall(memory)

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
        self._tool.set_gripper(check_opening(position))

    def update(self, state: ArmState) -> EstimatorOutput:
        """Process one sample, see :meth:`Estimator.update`."""
        stamp_ns, q = state.stamp, state.position
        external = self._balance.update(state)  # without bias, errors and payload
        if external is None:
            return self._decide(stamp_ns, None)
        self._take_held(stamp_ns)
        evidence = squared_norm(external.covariance, external.smooth)
        found = self._track(stamp_ns, external, evidence)  # predict, weigh, resample
        verdict = self._judge(external, evidence)  # a contact, or a load
        contacts = tuple(
            self._contact(track, estimate, stamp_ns, q, ambiguous=verdict is not Verdict.CONTACT)
            for track, estimate in found
        )
        if verdict is Verdict.LOAD:  # it is known from the next sample on
            self._tracker.end_all(stamp_ns)
        least = self._levers.least_force(q, external.smooth) if found else 0.0
        deviations = [estimate.deviation for _, estimate in found]
        return self._decide(stamp_ns, contacts, deviations, least)

    def _take_held(self, stamp_ns: int) -> None:
        """Change the surface with what is held; nothing is known of contacts there."""
        if self._held is not self._balance.held:
            self._held = self._balance.held
            self._tool.hold(self._held)
            self._tracker.forget(stamp_ns)

    def _track(
        self, stamp_ns: int, external: CompensatedTorque, evidence: float
    ) -> list[tuple[Track, FilterEstimate]]:
        """Start, follow and end contacts: predict, weigh and resample; return those to report."""
        robot, torque, smooth = self._robot, external.torque, external.smooth
        covariance = external.covariance.copy()
        # Gains of the sensors are not exact either.
        diagonal(covariance)[:] += self._config.noise.relative**2 * float(smooth @ smooth)
        found: list[tuple[Track, FilterEstimate]] = []
        if self._tracker.tracks or evidence >= self._config.detection.threshold:
            origins = robot.joint_origins
            place(self._surface, robot.joint_rotations, origins, self._placement)
            mean = MeanTorque(external.mean, (1.0 - external.mean_share) * external.noise**2)
            torques = Torques(torque, smooth, covariance, origins, robot.joint_axes, mean)
            period = external.period
            found = self._tracker.update(stamp_ns, self._placement, torques, evidence, period)
        if len(found) == 1:
            self._residual = found[0][1].residual
        else:
            for _, contact in found:
                smooth = smooth - self._torque_of(contact)
            left = smooth if found else torque
            self._residual = squared_norm(covariance, left) / robot.n
        return found

    def _judge(self, external: CompensatedTorque, evidence: float) -> Verdict:
        """Tell contact from load, and learn from what is neither.

        A load that was taken or left counts as known from now on.
        """
        balance, threshold = self._balance, self._config.detection.threshold
        touched, verdict = bool(self._tracker.tracks), Verdict.CONTACT
        if not touched and evidence < threshold:
            self._classifier.reset()
        else:
            # A contact that is lost for a moment, while the torque stays, is not over.
            verdict = self._explain(external)
        balance.learn(
            touched=touched, free=evidence < 0.5 * threshold, contact=self._classifier.contact
        )
        return verdict

    def _explain(self, external: CompensatedTorque) -> Verdict:
        """Tell what the torque is of: a contact, a load that was taken, or one that was left."""
        balance, smooth, covariance = self._balance, external.smooth, external.covariance
        matrix, found, known = external.load_matrix, balance.found_load, balance.known_load
        verdict = self._classifier.update(smooth, covariance, matrix, known, external.period)
        load, deviation = self._classifier.load, self._classifier.covariance
        if found.any() and (
            squared_norm(covariance, smooth + matrix @ found) < self._config.detection.threshold
        ):
            # The torque is that of an arm without load again.
            verdict, load, deviation = Verdict.LOAD, -found, np.zeros((4, 4))
        if verdict is Verdict.LOAD:
            balance.take_load(load, deviation)
            self._classifier.reset()
        return verdict

    def _torque_of(self, contact: FilterEstimate) -> np.ndarray:
        link = self._links[contact.shape]
        return self._robot.torque_of_force(link, contact.point_world, contact.force_world)

    def _contact(
        self,
        track: Track,
        estimate: FilterEstimate,
        stamp_ns: int,
        q: np.ndarray,
        *,
        ambiguous: bool,
    ) -> ContactEstimate:
        """Return what is told of a track, and decide whether its place and line may be told."""
        link = self._links[estimate.shape]
        pose = self._robot.link_pose(link)
        main_weight = estimate.modes[0][2]
        joints = int(self._surface.joints[estimate.shape])
        # Along the bones of the arm any force causes next to no torque.
        least = self._levers.least_force(q, self._torque_of(estimate), joints)
        ratio = math.hypot(*estimate.force_world) / max(least, 1e-9)
        doubted = track.guessed or self._tracker.doubted
        trusted = ratio <= TRUSTED_OVER_LEAST and not doubted
        period = self._balance.now.period
        if track.joints != joints:
            # What was told of a place says nothing of one that other joints move.
            track.joints, track.place_told, track.wrench_told = joints, Told(), Told()
        place_told, wrench_told = track.place_told, track.wrench_told
        known = self._identifiable(estimate, main_weight, place_told.is_told)
        near = known and within(estimate.point_covariance) < MAX_IDENTIFIABLE_WITHIN
        place_told.update(near, period)
        weight = self._weight_of_wrench(estimate)
        wrench_told.update(self._identifiable(estimate, weight, wrench_told.is_told), period)
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
            identifiable=trusted and place_told.is_told,
            age=1e-9 * (stamp_ns - track.began_ns),
            modes=tuple(
                ContactMode(self._links[shape], point, weight)
                for shape, point, weight in estimate.modes
            ),
            ambiguous=ambiguous,
            same_wrench=trusted and wrench_told.is_told,
        )

    def _identifiable(self, estimate: FilterEstimate, weight: float, told: bool) -> bool:
        """Tell whether the torques determine a place, or a line of force, with a mode's weight."""
        slack = STEADY if told else 1.0
        return bool(
            self._surface.joints[estimate.shape] >= MIN_IDENTIFIABLE_JOINTS
            and estimate.residual < slack * MAX_IDENTIFIABLE_RESIDUAL
            and estimate.unexplained_mean < slack * MISSING_RESIDUAL
            and weight * slack > MIN_IDENTIFIABLE_WEIGHT
            and estimate.deviation < slack * self._config.estimate.identifiable_spread
        )

    def _weight_of_wrench(self, estimate: FilterEstimate) -> float:
        """Return the weight of all modes where the same force does the same to the arm."""
        fx, fy, fz = estimate.force_world.tolist()
        x, y, z = estimate.point_world.tolist()
        joints, reach = self._surface.joints, MODE_RADIUS * math.hypot(fx, fy, fz)
        weight = 0.0
        for shape, point, share in estimate.modes:
            dx, dy, dz = point[0] - x, point[1] - y, point[2] - z
            moment = math.hypot(dy * fz - dz * fy, dz * fx - dx * fz, dx * fy - dy * fx)
            if moment <= reach and joints[shape] == joints[estimate.shape]:
                weight += share
        return weight

    def _decide(
        self,
        stamp_ns: int,
        contacts: tuple[ContactEstimate, ...] | None,
        deviations: Sequence[float] = (),
        least: float = 0.0,
    ) -> EstimatorOutput:
        """Tell what was found; None stands for a sample that was refused."""
        balance = self._balance
        return EstimatorOutput(
            stamp_ns=stamp_ns,
            status=self._status(contacts, deviations),
            contacts=contacts or (),
            torque=balance.now.torque,
            bias=balance.bias,
            tare=balance.tare_status,
            rejected=balance.rejected,
            residual=self._residual,
            calibrated=balance.calibrated,
            load=balance.undeclared_mass,
            least_force=least,
        )

    def _status(
        self, contacts: tuple[ContactEstimate, ...] | None, deviations: Sequence[float]
    ) -> EstimatorStatus:
        """Return the worst of what is known about the contacts, whose particles deviate so [m]."""
        if contacts is None:
            return EstimatorStatus.REJECTED
        if not contacts:
            return EstimatorStatus.FREE
        if all(contact.ambiguous for contact in contacts):
            return EstimatorStatus.AMBIGUOUS
        if all(contact.identifiable for contact in contacts):
            return EstimatorStatus.CONTACT
        limits = self._config.estimate
        if all(
            contact.identifiable
            or (
                contact.joints_moving >= MIN_IDENTIFIABLE_JOINTS
                and deviation >= limits.identifiable_spread
            )
            for contact, deviation in zip(contacts, deviations, strict=True)
        ):
            return EstimatorStatus.CONVERGING
        return EstimatorStatus.NOT_IDENTIFIABLE
