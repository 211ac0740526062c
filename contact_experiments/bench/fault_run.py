"""One fault, lived through: the fake robot, its driver profile, estimator and control loop.

Everything between robot and command is the real thing; only DDS is left out, so that a run is
reproducible bit by bit and faster than time.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pinocchio as pin
from rclpy.node import Node

from contact_aware_control import ContactReport, ControllerConfig, ControlLoop, Goal, LoopInputs
from contact_aware_control.estimation.base import EstimatorStatus
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_aware_control.reference import PoseTrajectory
from contact_aware_control.safety.status import Mode, Request, Status
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_experiments.bench.fri_robot import NAME as FRI
from contact_experiments.bench.fri_robot import FriRobot
from contact_experiments.fake import FakeConfig, FakeRobot, Wall
from contact_ros.driver_profile import CommandWriter, DriverConfig, StateReader, driver_profile

PROFILE = {"lbr_fri2": "lbr_fri"}
"""The profile of a driver where it has another name."""

START = (0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0)
"""Where the arm stands at the start [rad]."""

WALL = Wall("lbr_link_6", (-0.002, 0.052, 0.09), (0.0, -1.0, 0.0), -0.1165)
"""What the wrist meets 6.5 mm beside where it starts, where its torques tell the place."""
STROKE = (0.0, 0.1, 0.0)
"""How far the tool goes, and back again [m]."""
STROKE_TIME = 2.5
REST = 0.6
"""Time at rest, in which the estimator tares [s]."""
LEAD = 1.2
"""Time of motion, or of contact, before a fault [s]."""
NANOSECONDS = 1_000_000_000
NO_CONTROLLER = Mode.INACTIVE, Status.OK, ""
"""What is said while there is none."""


class Wire:
    """Topics within the process: what endpoints of the drivers need of a node, without DDS."""

    def __init__(self) -> None:
        """Connect nobody."""
        self._listeners: dict[str, list[Callable[[Any], None]]] = {}

    def create_publisher(self, kind: type, topic: str, qos: Any) -> WirePublisher:
        """Return what publishes on a topic."""
        return WirePublisher(self, topic)

    def create_subscription(
        self, kind: type, topic: str, callback: Callable[[Any], None], qos: Any
    ) -> None:
        """Have a topic's messages handed over."""
        self._listeners.setdefault(topic, []).append(callback)

    def get_logger(self) -> Wire:
        """Return what drops lines of the log."""
        return self

    def warning(self, line: str) -> None:
        """Drop a line."""

    def send(self, topic: str, message: Any) -> None:
        """Hand a message to all who listen."""
        for listener in self._listeners.get(topic, ()):
            listener(message)

    def node(self) -> Node:
        """Return this in the place of a node."""
        return cast(Node, self)


class WirePublisher:
    """Publishes on a :class:`Wire`."""

    def __init__(self, wire: Wire, topic: str) -> None:
        """Connect it.

        Args:
            wire: The wire.
            topic: The topic.
        """
        self._wire, self._topic = wire, topic

    def publish(self, message: Any) -> None:
        """Hand a message to all who listen."""
        self._wire.send(self._topic, message)


@dataclasses.dataclass(frozen=True)
class Tick:
    """What happened in one period.

    Attributes:
        time: [s].
        fault: What was wrong.
        mode: Of the control loop.
        status: Of the control loop.
        detail: In words.
        command: (7) what was sent [rad]; None if nothing was.
        held: (7) what the driver was following before it [rad].
        commanding: Whether the robot followed commands.
        position: (7) true joint positions [rad].
        velocity: (7) true joint velocities [rad/s].
        force: True contact force [N].
    """

    time: float
    fault: str
    mode: Mode
    status: Status
    detail: str
    command: np.ndarray | None
    held: np.ndarray
    commanding: bool
    position: np.ndarray
    velocity: np.ndarray
    force: float


class FaultRun:
    """A robot in motion or in contact, period by period.

    Attributes:
        robot: The fake robot.
        loop: The control loop.
        ticks: What happened so far.
        sha256: Hash of every command and true joint position so far.
    """

    def __init__(
        self,
        driver: str,
        contact: bool,
        seed: int = 0,
        config: ControllerConfig | None = None,
        keep: bool = True,
    ) -> None:
        """Connect everything.

        Args:
            driver: What the fake robot is.
            contact: Whether there is a wall beside the wrist.
            seed: Of noise and particles.
            config: The controller's parameters.
            keep: Whether to remember every tick.
        """
        config = config or ControllerConfig()
        self.period = config.period
        fake = FakeConfig(position=START, surface=WALL if contact else None, guard=False, seed=seed)
        self.robot: FakeRobot | FriRobot = (
            FriRobot(fake) if driver == FRI else FakeRobot(dataclasses.replace(fake, driver=driver))
        )
        description = RobotDescription.load(self.robot.config.robot)
        self._tool = Robot.from_description(description)
        self._estimator = ContactEstimator(Robot.from_description(description), EstimatorConfig())
        self._estimator.reset(seed)
        self.loop = ControlLoop(Robot.from_description(description), config)
        self._state = self.loop.start()
        self._wire = Wire()
        node, name = self._wire.node(), PROFILE.get(driver, driver)
        joints = description.arm_joints
        profile = driver_profile(name, DriverConfig(), config.period, joints)
        self._writer = CommandWriter(node, profile, False)
        self._reader = StateReader(node, profile, False, self._state_arrived)
        self._estimator_reader = StateReader(
            node, driver_profile(name, DriverConfig(), joints=joints), False, self._estimate
        )
        self._wire.create_subscription(
            profile.command_type, profile.command_topic, self._command_sent, None
        )
        self._keep = keep
        self._goal: Goal | None = None
        self._arm: ArmState | None = None
        self._report: ContactReport | None = None
        self._arrived: list[ArmState] = []
        self._rejected = 0
        self._sent: np.ndarray | None = None
        self.sha256 = ""
        self.ticks: list[Tick] = []

    def start(self) -> None:
        """Rest until the estimator is tared; then begin to move, and come to speed or contact."""
        self.go(REST)
        self.move()
        self.go(LEAD)

    def move(self) -> None:
        """Let the tool go aside and back again, from where it starts."""
        self._tool.update(np.array(START))
        home = self._tool.tool_pose()
        aside = pin.SE3(home.rotation, home.translation + np.array(STROKE))
        poses = [home, *(aside, home) * 20]
        times = [STROKE_TIME * k for k in range(len(poses))]
        self._goal = Goal(PoseTrajectory(times, poses))

    def go(self, duration: float) -> list[Tick]:
        """Let time pass.

        Args:
            duration: How much [s].

        Returns:
            What happened in it.
        """
        return [self.tick() for _ in range(round(duration / self.period))]

    def ask(self, request: Request) -> bool:
        """Call a service of the controller; return whether it does what is asked.

        Args:
            request: What to ask.
        """
        self._state, done = self.loop.handle(self._state, request)
        return done

    def tick(self) -> Tick:
        """Let one period pass: the robot's, then the control loop's."""
        fault = self.robot.fault
        for sent in self.robot.step():
            self._wire.send(sent.topic, sent.message)
        if not self.robot.controlled:
            self._sent = None
            return self._noted(fault, NO_CONTROLLER, self.robot.target, self.robot.commanding)
        if self.robot.controller_restarted:
            self.robot.controller_restarted, self._state = False, self.loop.start()
            self.move()
        rejections = self._reader.rejections
        for _ in range(rejections.count - self._rejected):
            self._state, _ = self.loop.handle(self._state, Request.REJECT_INPUT, rejections.reason)
        self._rejected = rejections.count
        earlier = tuple(self._arrived[:-1])
        self._arm = self._arrived[-1] if self._arrived else self._arm
        self._arrived = []
        inputs = LoopInputs(self._now, self._arm, self._report, self._goal, earlier)
        self._state, command, status = self.loop.tick(self._state, inputs)
        held, commanding, self._sent = self.robot.target, self.robot.commanding, None
        if command is not None:
            self._writer.publish_command(command)
        said = status.mode, status.status, status.detail
        return self._noted(fault or self.robot.fault, said, held, commanding)

    @property
    def _now(self) -> int:
        return round(self.robot.time * NANOSECONDS)

    def _state_arrived(self, state: ArmState) -> None:
        self._arrived.append(dataclasses.replace(state, stamp=self._now, driver_stamp=state.stamp))

    def _estimate(self, state: ArmState) -> None:
        output = self._estimator.update(state)
        if output.status is not EstimatorStatus.REJECTED:
            self._report = output.report(self._now)

    def _command_sent(self, message: Any) -> None:
        self._sent = self.robot.driver.decode(message)
        self.robot.take(message)

    def _noted(
        self,
        fault: str,
        status: tuple[Mode, Status, str],
        held: np.ndarray,
        commanding: bool,
    ) -> Tick:
        arm = self.robot.arm
        tick = Tick(
            self.robot.time,
            fault,
            *status,
            self._sent,
            held,
            commanding,
            arm.q,
            arm.v,
            arm.contact_force,
        )
        sent = b"" if self._sent is None else self._sent.tobytes()
        chain = self.sha256.encode() + sent + arm.q.tobytes()
        self.sha256 = hashlib.sha256(chain).hexdigest()
        if self._keep:
            self.ticks.append(tick)
        return tick
