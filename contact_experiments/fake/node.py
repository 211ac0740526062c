"""The fake robot as a node, in real time."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

from geometry_msgs.msg import Vector3
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from contact_experiments.fake.faults import FAULTS, FakeConfig, FakeRobot
from contact_experiments.fake.robot_manager import DRIVES, DriverSettings, RobotManager
from contact_ros.entry_point import freeze_garbage_collector
from contact_ros.guarded_node import GuardedNode
from contact_ros.loop import ErrorRelay, FixedRateLoop
from contact_ros.qos import LATCHED
from contact_ros.stamps import NANOSECONDS
from contact_ros.validation import vector

NAME = "fake_robot"
STRONGEST_PUSH = 200.0
"""Strongest push that is taken [N]."""


class FakeRobotNode(GuardedNode):
    """Publishes what the fake robot does, and gives it the commands that arrive."""

    def __init__(
        self,
        config: FakeConfig,
        namespace: str,
        fault: str,
        at: float,
        lasts: float | None,
        by_hand: bool,
    ) -> None:
        """Connect the robot and let time pass.

        Args:
            config: What the robot is.
            namespace: Of its topics.
            fault: What goes wrong; empty for nothing.
            at: When [s].
            lasts: For how long [s]; None for the fault's own time.
            by_hand: Whether it does nothing before its ``robot_manager`` is active.

        Raises:
            ConfigError: If driver or fault are unknown.
        """
        super().__init__(NAME, namespace=namespace)
        self._robot = FakeRobot(config)
        self._fault, self._at, self._lasts = fault, at, lasts
        self._lock = threading.Lock()
        self._other: Node | None = None
        driver = self._robot.driver
        # It is no robot, and whoever wants one has to see that before the first state.
        self._identity = self.create_publisher(String, "simulated_robot", LATCHED)
        self._identity.publish(String(data=f"{NAME}: {config.driver}"))
        self._qos = QoSProfile(depth=driver.depth)
        self._topics = {0: self._publishers_of(self)}
        self._intruder: Any = None
        self.create_subscription(driver.command_type, driver.command_topic, self._take, self._qos)
        self.create_subscription(Vector3, f"{NAME}/push", self._push, 1)
        freeze_garbage_collector()
        self._stopped = ""
        self._relay = ErrorRelay(self)
        self._loop = self._new_loop()
        self._manager: RobotManager | None = None
        if by_hand:
            self._manager = RobotManager(namespace, self._start_as_told, lambda: self._loop.stop())
            # What will run this node runs that one too.
            self._adoption = self.create_timer(0.0, self._adopt)
        else:
            self._loop.start()

    def close(self) -> None:
        """Let time stop."""
        self._loop.stop()
        self._let_in(False, False)
        if self._manager is not None:
            self._manager.destroy_node()

    def _adopt(self) -> None:
        self._adoption.cancel()
        assert self.executor is not None and self._manager is not None
        self.executor.add_node(self._manager)

    def _start_as_told(self, settings: DriverSettings) -> None:
        """Be a robot with these settings, at rest where it was."""
        old = self._robot
        config = replace(
            old.config,
            position=tuple(old.arm.q),
            period=1e-3 * settings.cycle_time,
            stiffness=settings.joint_stiffness,
        )
        with self._lock:
            self._robot = FakeRobot(config)
            self._robot.arm.drive = DRIVES[settings.control_mode]
        self._loop = self._new_loop()
        self._loop.start()

    def _new_loop(self) -> FixedRateLoop:
        period = self._robot.config.period
        return FixedRateLoop(period, self._step, self._relay, on_start=self._begin)

    def _publishers_of(self, node: Node) -> dict[str, Any]:
        topics = self._robot.driver.state_topics.items()
        return {topic: node.create_publisher(kind, topic, self._qos) for topic, kind in topics}

    def _let_in(self, states: bool, commands: bool) -> None:
        """Put somebody else on the wire while states or commands are theirs, and only then."""
        if self._other is None and (states or commands):
            self._other = Node(
                "somebody_else", namespace=self.get_namespace(), context=self.context
            )
            if states:
                self._topics[1] = self._publishers_of(self._other)
            if commands:
                driver = self._robot.driver
                self._intruder = self._other.create_publisher(
                    driver.command_type, driver.command_topic, self._qos
                )
        elif self._other is not None and not (states or commands):
            self._other.destroy_node()
            self._other = self._intruder = None

    def _take(self, message: Any) -> None:
        with self._lock:
            self._robot.take(message)

    def _push(self, force: Vector3) -> None:
        push = vector(force, "push", STRONGEST_PUSH)
        with self._lock:
            self._robot.arm.push = push

    def _begin(self) -> None:
        # The first period ends with the first tick, which is now.
        self._robot.epoch = time.time_ns() - round(NANOSECONDS * self._robot.config.period)

    def _step(self) -> None:
        robot = self._robot
        now = time.time_ns() - self._loop.delay
        with self._lock:
            if self._fault and robot.time >= self._at:
                self.get_logger().warning(f"{self._fault}: {FAULTS[self._fault].summary()}")
                robot.inject(self._fault, self._lasts)
                self._fault = ""
            sent = robot.step_until(now)
            intruder = robot.intruder
        if sent:
            self._let_in(any(item.publisher for item in sent), intruder is not None)
        for item in sent:
            self._topics[item.publisher][item.topic].publish(item.message)
        if self._intruder is not None and intruder is not None:
            self._intruder.publish(robot.driver.encode_command(intruder))
        if robot.stopped != self._stopped:
            self._stopped = robot.stopped
            self.get_logger().error(f"the robot stopped: {robot.stopped}")
