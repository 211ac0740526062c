"""What a client of the lbr_fri driver lays over the arm's impedance control.

That is joint torques or, in Cartesian impedance control, a wrench at the tool. Driver and
robot are in such a mode from the start, or not at all: the state says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from lbr_fri_idl.msg import LBRTorqueCommand, LBRWrenchCommand
from numpy.typing import NDArray
from rclpy.node import Node

from contact_core.base.errors import ConfigError
from contact_core.robot.arm_state import CommandMode, SoundCommand
from contact_ros.driver_profile.messages import checked
from contact_ros.qos import signal_publisher, signal_subscription
from contact_ros.validation import MessageError, Rejections, numbers

JOINTS = len(LBRTorqueCommand().torque)
DRIVER = "lbr_fri"
"""The only driver with such commands."""

STRONGEST = 1e3
"""Largest torque [Nm] or force [N] that is sent or believed."""

OnCommand = Callable[[NDArray[np.float64], NDArray[np.float64]], None]


@dataclass(frozen=True)
class Overlay:
    """A kind of command that carries more than positions.

    Attributes:
        topic: Where it is sent.
        message: Its type.
        field: The field besides the positions.
        size: How many numbers that has.
    """

    topic: str
    message: type
    field: str
    size: int


OVERLAYS: Mapping[CommandMode, Overlay] = {
    CommandMode.TORQUE: Overlay("command/torque", LBRTorqueCommand, "torque", JOINTS),
    CommandMode.WRENCH: Overlay("command/wrench", LBRWrenchCommand, "wrench", 6),
}


class OverlayWriter:
    """Publish positions with an overlay; a graph has exactly one source of commands."""

    def __init__(self, node: Node, mode: CommandMode, lockstep: bool) -> None:
        """Create the publisher.

        Args:
            node: The commanding node.
            mode: TORQUE or WRENCH.
            lockstep: True in lock-step, False in real time.
        """
        self._overlay = OVERLAYS[mode]
        self._publisher = node.create_publisher(
            self._overlay.message, self._overlay.topic, signal_publisher(lockstep)
        )

    def publish_command(self, command: SoundCommand, overlay: NDArray[np.float64]) -> None:
        """Publish a command.

        Args:
            command: Where the springs are at rest, as a gate has passed it.
            overlay: What the robot should exert on top of the springs: (n) joint torques [Nm],
                or (6) force [N] and torque [Nm] at the tool.

        Raises:
            MessageError: If a number is not finite, or absurd.
        """
        field = self._overlay.field
        numbers(overlay.tolist(), f"commanded {field}", STRONGEST)
        fields = {"joint_position": command.position, field: np.asarray(overlay, float)}
        self._publisher.publish(self._overlay.message(**fields))


class OverlayReader:
    """Receive positions with an overlay, on the robot's side."""

    def __init__(
        self,
        node: Node,
        driver: str,
        mode: CommandMode,
        lockstep: bool,
        on_command: OnCommand,
        rejections: Rejections,
    ) -> None:
        """Create the subscription.

        Args:
            node: The simulator's node.
            driver: The driver to be.
            mode: TORQUE or WRENCH.
            lockstep: True in lock-step, False in real time.
            on_command: Called with position (n) [rad] and overlay, see
                :meth:`OverlayWriter.publish_command`, of each valid command.
            rejections: Where the others are counted.

        Raises:
            ConfigError: If the driver has no such command.
        """
        overlay = OVERLAYS[mode]
        if driver != DRIVER:
            raise ConfigError(
                f"driver '{driver}' cannot command a {overlay.field} (valid: {DRIVER})"
            )
        self._overlay = overlay
        self._on_command = on_command
        self._rejections = rejections
        self._subscription = node.create_subscription(
            overlay.message, overlay.topic, self._command, signal_subscription(lockstep)
        )

    def _command(self, message: Any) -> None:
        field, size = self._overlay.field, self._overlay.size
        try:
            position = checked(message.joint_position, JOINTS, "joint_position")
            overlay = checked(getattr(message, field), size, field)
            numbers(overlay.tolist(), field, STRONGEST)
        except MessageError as error:
            self._rejections.add(f"{self._overlay.topic}: {error}")
            return
        self._on_command(position, overlay)
