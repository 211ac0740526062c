"""The two ends of a driver's connection: the robot's, and those of who reads and commands it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy

from contact_core.base.low_pass import LowPass
from contact_core.robot.arm_state import ArmState, SoundCommand
from contact_ros.diagnostics import AgeMonitor, Health, Level
from contact_ros.driver_profile.base import RELIABLE, DriverProfile
from contact_ros.qos import signal_publisher, signal_subscription
from contact_ros.rivals import PositionOrder, StampOrder, publishers
from contact_ros.validation import MessageError, Rejections


class RobotSide:
    """Publish states and receive commands as the driver of the hardware does.

    Attributes:
        rejections: The commands that could not be used.
        subscription: Of the commands.
    """

    def __init__(
        self,
        node: Node,
        profile: DriverProfile,
        lockstep: bool,
        on_command: Callable[[NDArray[np.float64]], None],
    ) -> None:
        """Create publishers and subscription.

        Args:
            node: The simulator's node.
            profile: The driver to be.
            lockstep: True in lock-step, False in real time.
            on_command: Called with each valid command q_cmd, shape (n,) [rad].
        """
        self.rejections = Rejections(node.get_logger().warning)
        self._profile = profile
        self._on_command = on_command
        self._publishers = {
            topic: node.create_publisher(
                message_type, profile.topic(topic), signal_publisher(lockstep)
            )
            for topic, message_type in profile.state_topics.items()
        }
        self.subscription = node.create_subscription(
            profile.command_type,
            profile.topic(profile.command_topic),
            self._command,
            signal_subscription(lockstep, reliable=profile.config.reliability == RELIABLE),
        )

    def publish_state(self, state: ArmState) -> None:
        """Publish a state on all topics of the driver.

        Args:
            state: The state.
        """
        for topic, message in self._profile.encode_state(state).items():
            self._publishers[topic].publish(message)

    def _command(self, message: Any) -> None:
        try:
            command = self._profile.decode_command(message)
        except MessageError as error:
            self.rejections.add(f"{self._profile.command_topic}: {error}")
            return
        self._on_command(command)


MAX_NAMES = 16
"""So many joints of others are named."""

STALE_AFTER = 1.0
"""Age of the latest state above which a reader says that none arrive [s]."""


class CommandWriter:
    """Publish commands; a graph has exactly one."""

    def __init__(self, node: Node, profile: DriverProfile, lockstep: bool) -> None:
        """Create the publisher.

        Args:
            node: The controller's node.
            profile: The driver.
            lockstep: True in lock-step, False in real time.
        """
        self._profile = profile
        self._publisher = node.create_publisher(
            profile.command_type, profile.topic(profile.command_topic), signal_publisher(lockstep)
        )

    def publish_command(self, command: SoundCommand) -> None:
        """Publish a command.

        Args:
            command: What a gate has passed.
        """
        self._publisher.publish(self._profile.encode_command(command.position))


class StateReader:
    """Receive states; any number of nodes may.

    Attributes:
        rejections: The messages that could not be used.
        others: Joints of the latest message that was not about this arm; empty without one.
        subscriptions: One for each topic that is needed.
    """

    def __init__(
        self,
        node: Node,
        profile: DriverProfile,
        lockstep: bool,
        on_state: Callable[[ArmState], None],
    ) -> None:
        """Create the subscriptions.

        Args:
            node: The reading node.
            profile: The driver.
            lockstep: True in lock-step, False in real time.
            on_state: Called with each valid state.
        """
        self.rejections = Rejections(node.get_logger().warning)
        self.others = ""
        self._node = node
        self._profile = profile
        self._on_state = on_state
        self._age = AgeMonitor(STALE_AFTER)
        cutoff = profile.config.torque_cutoff
        self._low_pass = LowPass(cutoff) if cutoff > 0.0 else None
        self._stamp: int | None = None
        self._sources = {topic: StampOrder() for topic in profile.needed_topics}
        self._positions = {topic: PositionOrder() for topic in profile.needed_topics}
        self.subscriptions = [
            node.create_subscription(
                profile.state_topics[topic],
                profile.topic(topic),
                partial(self._message, topic),
                signal_subscription(lockstep, reliable=profile.config.reliability == RELIABLE),
            )
            for topic in profile.needed_topics
        ]

    @property
    def pollable(self) -> list[Any]:
        """The subscriptions, if the latest message of each is a state.

        Messages that only together are one must not be left in their queues.
        """
        return self.subscriptions if len(self.subscriptions) == 1 else []

    @property
    def absence(self) -> str:
        """What is known of a driver whose states do not arrive, and the remedy."""
        for topic in map(self._profile.topic, self._profile.needed_topics):
            name = self._node.resolve_topic_name(topic)
            names = publishers(self._node, topic)
            if not names:
                domain = self._node.context.get_domain_id()
                return (
                    f"no joint states: no node is discovered that publishes {name}; check that the "
                    f"driver or simulator runs, in ROS_DOMAIN_ID {domain} and by this robot_name"
                )
            best_effort = all(
                info.qos_profile.reliability is ReliabilityPolicy.BEST_EFFORT
                for info in self._node.get_publishers_info_by_topic(name)
            )
            if best_effort and self._profile.config.reliability == RELIABLE:
                return (
                    f"no joint states: {names[0]} does not publish {name} as reliably as is asked "
                    "for; set arm.reliability to best_effort"
                )
        said = f"no joint states, though {name} is published by {' and '.join(names)}"
        if self.others:
            return f"{said}: only those of other joints arrive, {self.others}; check robot"
        return f"{said}: check the robot's session, the network and rejected_messages"

    def health(self) -> Health:
        """Return how well states arrive, for a node that has nothing else to report."""
        if self._age.stale:
            return self.rejections.report(Health(Level.STALE, self.absence))
        return self.rejections.report(Health(Level.OK, "states arrive"))

    def interleaved(self, topic: str) -> bool:
        """Tell whether two sources have published this arm's joints since the last call.

        Args:
            topic: One of the needed topics of a profile that knows its period.
        """
        stamps, positions = self._sources[topic], self._positions[topic]
        odd = stamps.interleaved(0.5 * self._profile.period) or positions.mixed(time.monotonic())
        stamps.forget()
        return odd

    def _message(self, topic: str, message: Any) -> None:
        if not self._profile.concerns(topic, message):
            self.others = ", ".join(message.name[:MAX_NAMES])
            return
        self._sources[topic].heard(message)
        try:
            state = self._profile.decode_state(topic, message)
            positions = self._profile.decode_position(topic, message)
        except MessageError as error:
            self.rejections.add(f"{topic}: {error}")
            return
        if positions is not None:
            self._positions[topic].heard(positions, time.monotonic())
        if state is not None:
            self._age.arrived()
            self._on_state(self._filtered(state))

    def _filtered(self, state: ArmState) -> ArmState:
        if self._low_pass is None:
            return state
        # A sample may have got lost, and after a restart the robot's clock may be behind.
        before, self._stamp = self._stamp, state.stamp
        period = 0.0 if before is None else max(0.0, 1e-9 * (state.stamp - before))
        torque = self._low_pass.update(state.external_torque, period)
        return dataclasses.replace(state, external_torque=torque)
