"""An experiment in one process: simulator, estimator and controller, tick by tick, without ROS.

The order within a tick is that of the graph in lock-step: the plant's measurement, the
estimator's contacts, the controller's command, one period of the plant.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from contact_aware_control.config import ControllerConfig, GovernorConfig
from contact_aware_control.contact import ContactEstimate
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.estimation import (
    ESTIMATORS,
    ContactEstimator,
    Estimator,
    EstimatorConfig,
    EstimatorOutput,
    EstimatorStatus,
    MomentumObserver,
    ObserverConfig,
    make_estimator,
)
from contact_aware_control.estimation.calibration import EXACT, Calibration
from contact_aware_control.loop_state import LoopInputs
from contact_aware_control.reference import Goal
from contact_aware_control.reference.motion import tool_at
from contact_aware_control.safety.goal_checker import GoalChecker
from contact_aware_control.safety.status import Request
from contact_aware_control.tracking import pose_distance
from contact_core.multibody.collision.shapes import PlacedShape
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import RobotDescription
from contact_core.robot.gripper import GripperCommand
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_stack.demo.contact_tracking.experiments import Experiment, MugPlacement
from contact_stack.demo.contact_tracking.statistics import ContactSample, ExperimentData, summarize
from tamsi_sim.robot.plant import Plant
from tamsi_sim.robot.report import DriverReport, TrueContact

TARE_TIME = 0.5
"""Free space before the motion, in which the estimator tares [s]."""
MUG_CENTER = np.array([0.025, 0.0, 0.0])
"""Where the mug's centre of mass is while it is held, tool frame [m]."""
TRUTH = "truth"
"""The estimator that is told the true contacts."""


class TrueContacts(Estimator):
    """Reports the simulator's own contacts, as a perfect skin would."""

    def __init__(self, robot: Robot, config: EstimatorConfig) -> None:
        """Begin without contacts.

        Args:
            robot: The arm.
            config: Says whether the arm is calibrated.
        """
        self._robot = robot
        self._calibrated = bool(config.errors.calibration)
        self._contacts: tuple[TrueContact, ...] = ()

    def see(self, contacts: Iterable[TrueContact]) -> None:
        """Take the true contacts of the next update."""
        self._contacts = tuple(contacts)

    def reset(self, seed: int) -> None:
        """There is nothing to forget, see :meth:`Estimator.reset`."""

    def tare(self) -> None:
        """There is no bias, see :meth:`Estimator.tare`."""

    def set_payload(
        self,
        mass: float,
        center_of_mass: np.ndarray,
        start_ns: int,
        shapes: Sequence[PlacedShape] = (),
    ) -> None:
        """What is held makes no difference, see :meth:`Estimator.set_payload`."""

    def set_gripper(self, position: float) -> None:
        """Where the fingers are makes no difference, see :meth:`Estimator.set_gripper`."""

    def update(self, state: ArmState) -> EstimatorOutput:
        """Return the contacts that were seen, see :meth:`Estimator.update`."""
        found = tuple(_as_estimate(number, seen) for number, seen in enumerate(self._contacts))
        status = EstimatorStatus.CONTACT if found else EstimatorStatus.FREE
        return EstimatorOutput(
            state.stamp,
            status,
            found,
            state.external_torque,
            np.zeros(self._robot.n),
            calibrated=self._calibrated,
        )


ESTIMATORS.register(TRUTH, TrueContacts)


class ClosedLoopRun:
    """One run of an experiment; :meth:`run` can be called once.

    Attributes:
        experiment: What is done.
        plant: The simulator.
        loop: The control loop.
        estimator: The contact estimator.
        status: LoopStatus of every tick of the motion.
        found: What the estimator found in every tick of it.
        commands: (n) command that the arm has after every tick of it [rad].
        nominal: (n) command that there would be without contacts then [rad].
    """

    def __init__(
        self,
        controller: ControllerConfig,
        experiment: Experiment | None = None,
        *,
        seed: int = 0,
        scene: Scene | None = None,
        estimator: EstimatorConfig | None = None,
        observer: ObserverConfig | None = None,
        force_limits: dict[str, float] | None = None,
        arm: Callable[[], Robot] | None = None,
        load: Callable[[np.ndarray], np.ndarray] | None = None,
        signal: Callable[[float], np.ndarray] | None = None,
        calibrated: bool = True,
        calibration: Calibration | None = None,
        clock_waits: bool = False,
        before_tick: Callable[[Plant, float], None] | None = None,
    ) -> None:
        """Build everything.

        Args:
            controller: The controller's parameters.
            experiment: The experiment, by default the mug placement.
            seed: Seed of the sensor noise and of the particles.
            scene: The scene, by default the experiment's.
            estimator: The estimator's parameters, its name among them; by default the defaults.
            observer: Makes the estimator use a momentum observer's external torque.
            force_limits: Force limit [N] by link, where contact is planned.
            arm: Makes the arm that controller and estimator take it for, by default the
                true one.
            load: From q (n) to a torque (n) [Nm] that neither of them knows of; it acts on
                the joints and shows in the measured external torque.
            signal: From the time since the start [s] to a torque (n) that shows in the measured
                external torque alone [Nm].
            calibrated: Whether the estimator is told that the arm is as described, unless its
                parameters name a calibration.
            calibration: What the contact particle filter knows of the arm instead.
            clock_waits: Whether the reference waits for the arm. As in the paper, and in the
                demo, it does not: programmed times, whatever holds the arm.
            before_tick: Called before every tick of the motion with the simulator and the time
                since the start of the motion [s], to move what else is in the scene.
        """
        self.experiment = experiment or MugPlacement()
        scene = scene or Scene.load(self.experiment.scene)
        description: RobotDescription = scene.robot
        self.plant = Plant(scene, seed)
        arm = arm or (lambda: Robot.from_description(description))
        if not clock_waits:
            controller = dataclasses.replace(controller, governor=GovernorConfig(enabled=False))
        self.loop = ControlLoop(arm(), controller)
        self._checker = GoalChecker(arm(), controller)
        self._load = load
        self._signal = signal
        self._plant_stiffness = np.array(scene.config.robot.stiffness)
        self._tool = Robot.from_description(description)
        self._reference_arm = Robot.from_description(description)
        known = estimator or EstimatorConfig()
        if calibrated and not known.errors.calibration:
            exact = dataclasses.replace(known.errors, calibration=EXACT)
            known = dataclasses.replace(known, errors=exact)
        self.estimator = (
            make_estimator(arm(), known)
            if calibration is None
            else ContactEstimator(arm(), known, calibration)
        )
        self.estimator.reset(seed)
        if self.experiment.held is not None:
            self.estimator.set_payload(self.experiment.held.mass, MUG_CENTER, 0)
        self._observer = MomentumObserver(arm(), observer) if observer is not None else None
        self._seed = seed
        self._force_limits = force_limits or {}
        self._before_tick = before_tick
        self.status: list[Any] = []
        self.found: list[EstimatorOutput] = []
        self.commands: list[np.ndarray] = []
        self.nominal: list[np.ndarray] = []

    def run(self, until: float = math.inf) -> ExperimentData:
        """Run it.

        Args:
            until: When it ends, if that is before its settling time is over [s].

        Returns:
            The ticks from the start of the motion on.
        """
        measurement = self.plant.reset(self._seed)
        self._loop_state = self.loop.start()
        motion = self.experiment.motion(self._tool, measurement.commanded_position)
        period = self.loop.config.period
        duration = self.experiment.duration + self.experiment.settling
        ticks = round(min(until, duration) / period)
        for _ in range(round(TARE_TIME / period)):
            measurement = self._tick(measurement, None, None)[0]
        goal = Goal(motion, self._force_limits)
        self._checker.check(goal, measurement.commanded_position)
        rows: list[tuple[Any, ...]] = []
        for k in range(ticks):
            moment = k * period
            gripper = None
            release = self.experiment.release
            if release is not None and moment <= release.time < moment + period:
                gripper = GripperCommand(release.opening, release.effort)
                self.estimator.set_payload(0.0, MUG_CENTER, measurement.time_ns)
            if self._before_tick is not None:
                self._before_tick(self.plant, moment)
            measurement, estimates, tick_time = self._tick(measurement, goal, gripper)
            truth = self.plant.truth()
            self._tool.update(truth.joint_position[: self.plant.n])
            error = pose_distance(
                self._tool.tool_pose(), tool_at(motion, self._reference_arm, moment + period)
            )
            rows.append(
                (
                    moment + period,
                    truth.joint_position,
                    truth.joint_velocity[: self.plant.n],
                    tuple(_sample(c) for c in truth.contacts if c.body != self._held),
                    estimates,
                    *error,
                    tick_time,
                )
            )
        return self._data(rows)

    def handle(self, request: Request) -> bool:
        """Ask the control loop for something, see :meth:`ControlLoop.handle`.

        Args:
            request: What is asked.

        Returns:
            False if it is refused.
        """
        self._loop_state, done = self.loop.handle(self._loop_state, request)
        return done

    def summary(self, data: ExperimentData) -> dict[str, Any]:
        """Return the figures of a run, with the demo's definitions.

        Args:
            data: What :meth:`run` returned.
        """
        return summarize(data, self.loop.config.force.limit, self.experiment.passes)

    def _tick(
        self, measurement: DriverReport, goal: Goal | None, gripper: GripperCommand | None
    ) -> tuple[DriverReport, tuple[ContactSample, ...], float]:
        """Advance by one period; return what was measured, estimated, and the compute time."""
        now = measurement.time_ns
        sag = np.zeros(self.plant.n)
        if self._load is not None:
            torque = self._load(measurement.position)
            sag = torque / self._plant_stiffness
            measurement = dataclasses.replace(
                measurement, external_torque=measurement.external_torque + torque
            )
        sensed = measurement.external_torque
        if self._signal is not None:
            sensed = sensed + self._signal(1e-9 * now)
        state = ArmState(
            now,
            measurement.position,
            measurement.velocity,
            measurement.commanded_position,
            sensed,
            measurement.joint_torque,
        )
        self.estimator.set_gripper(measurement.gripper_position)
        found = self._estimate(state)
        contacts = found.contacts
        began = time.perf_counter()
        report = found.report(now)
        inputs = LoopInputs(now, state, report, goal)
        self._loop_state, command, status = self.loop.tick(self._loop_state, inputs)
        elapsed = time.perf_counter() - began
        # Without a new command the robot holds the last one.
        wanted = measurement.commanded_position if command is None else command.position
        if goal is not None:
            nominal = self._loop_state.nominal
            self.status.append(status)
            self.found.append(found)
            self.commands.append(wanted)
            self.nominal.append(wanted if nominal is None else nominal)
        estimates = tuple(
            ContactSample(c.link, c.point_world, c.force_world, c.identifiable) for c in contacts
        )
        # A torque on a joint moves the rest position of its spring.
        after = self.plant.tick(wanted + sag, gripper)
        after = dataclasses.replace(after, commanded_position=wanted)
        return after, estimates, elapsed

    def _estimate(self, state: ArmState) -> EstimatorOutput:
        if self._observer is not None:
            torque = self._observer.update(state)
            assert torque is not None
            state = dataclasses.replace(state, external_torque=torque)
        if isinstance(self.estimator, TrueContacts):
            self.estimator.see(c for c in self.plant.truth().contacts if c.body != self._held)
        return self.estimator.update(state)

    def _data(self, rows: list[tuple[Any, ...]]) -> ExperimentData:
        moment, position, velocity, contacts, estimates, shift, turn, tick_time = zip(
            *rows, strict=True
        )
        return ExperimentData(
            time=np.array(moment),
            period=self.loop.config.period,
            joint_position=np.array(position),
            joint_velocity=np.array(velocity),
            contacts=contacts,
            estimates=estimates,
            position_error=np.array(shift),
            rotation_error=np.array(turn),
            tick_time=np.array(tick_time),
            deadline_misses=0,
            control_rate=self.loop.config.rate,
            estimator_rate=self.loop.config.rate,
            outcome=self.experiment.outcome(self.plant.truth().pose_of),
        )

    @property
    def _held(self) -> str | None:
        """Name of the object in the gripper."""
        return self.experiment.held.name if self.experiment.held is not None else None


def _sample(contact: TrueContact) -> ContactSample:
    return ContactSample(contact.link, contact.point, contact.force)


def _as_estimate(number: int, contact: TrueContact) -> ContactEstimate:
    """What a perfect estimator would report."""
    return ContactEstimate(
        number=number,
        link=contact.link,
        joints_moving=7,
        point_world=contact.point,
        point_link=contact.point,
        normal_world=contact.normal,
        force_world=contact.force,
        point_covariance=np.zeros((3, 3)),
        force_covariance=np.zeros((3, 3)),
        residual=0.0,
        effective_sample_size=1.0,
        spread=0.0,
        identifiable=True,
        age=1.0,
        modes=(),
    )
