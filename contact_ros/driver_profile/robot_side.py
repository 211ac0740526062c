"""The robot's side of a driver profile, which the simulator takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from contact_core.arm_state import ArmState
from contact_ros.driver_profile.base import RELIABLE, DriverProfile, MessageError
from contact_ros.driver_profile.rejections import Rejections
from contact_ros.qos import signal_publisher, signal_subscription


class RobotSide:
    """Publish states and receive commands as the driver of the hardware does.

    Attributes:
        rejections: The commands that could not be used.
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
        self._subscription = node.create_subscription(
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
