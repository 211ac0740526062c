"""The wrench that a client of the lbr_fri driver lays over Cartesian impedance control.

Driver and robot are in this mode from the start, or not at all: the state says which.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from lbr_fri_idl.msg import LBRWrenchCommand
from numpy.typing import NDArray
from rclpy.node import Node

from contact_stack.core.errors import ConfigError
from contact_stack.ros.driver_profile.base import MessageError
from contact_stack.ros.driver_profile.fields import checked
from contact_stack.ros.driver_profile.rejections import Rejections
from contact_stack.ros.qos import signal_publisher, signal_subscription

TOPIC = "command/wrench"
JOINTS = 7
AXES = 6
DRIVER = "lbr_fri"
"""The only driver with such a command."""

OnWrench = Callable[[NDArray[np.float64], NDArray[np.float64]], None]


class WrenchWriter:
    """Publish positions with wrenches; a graph has exactly one source of commands."""

    def __init__(self, node: Node, lockstep: bool) -> None:
        """Create the publisher.

        Args:
            node: The commanding node.
            lockstep: True in lock-step, False in real time.
        """
        self._publisher = node.create_publisher(LBRWrenchCommand, TOPIC, signal_publisher(lockstep))

    def publish_command(self, position: NDArray[np.float64], wrench: NDArray[np.float64]) -> None:
        """Publish a command.

        Args:
            position: (7) where the springs of the tool are at rest [rad].
            wrench: (6) force [N] and torque [Nm] that the robot should exert at the tool, on
                top of the springs.
        """
        self._publisher.publish(
            LBRWrenchCommand(
                joint_position=np.asarray(position, dtype=np.float64),
                wrench=np.asarray(wrench, dtype=np.float64),
            )
        )


class WrenchReader:
    """Receive positions with wrenches, on the robot's side."""

    def __init__(
        self,
        node: Node,
        driver: str,
        lockstep: bool,
        on_command: OnWrench,
        rejections: Rejections,
    ) -> None:
        """Create the subscription.

        Args:
            node: The simulator's node.
            driver: The driver to be.
            lockstep: True in lock-step, False in real time.
            on_command: Called with position (7) [rad] and wrench (6) [N, Nm] of each valid
                command.
            rejections: Where the others are counted.

        Raises:
            ConfigError: If the driver has no such command.
        """
        if driver != DRIVER:
            raise ConfigError(
                f"driver '{driver}' cannot command an arm in Cartesian impedance control "
                f"(valid: {DRIVER})"
            )
        self._on_command = on_command
        self._rejections = rejections
        self._subscription = node.create_subscription(
            LBRWrenchCommand, TOPIC, self._command, signal_subscription(lockstep)
        )

    def _command(self, message: LBRWrenchCommand) -> None:
        try:
            position = checked(message.joint_position, JOINTS, "joint_position")
            wrench = checked(message.wrench, AXES, "wrench")
        except MessageError as error:
            self._rejections.add(f"{TOPIC}: {error}")
            return
        self._on_command(position, wrench)
