"""The simulated arm behind the Fast Robot Interface: a robot on the wire, in the driver's place."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node

from contact_core.robot.arm_state import CommandMode
from contact_core.robot.robot import Robot
from contact_ros.validation import Rejections
from tamsi_sim.cabinet import (
    VERSIONS,
    ArmLimits,
    Cabinet,
    CabinetConfig,
    ClientConnection,
    encode_monitoring,
)
from tamsi_sim.robot.report import DriverReport

FOREIGN = "a datagram of another sender than the client"


class CabinetSide:
    """Takes commands from a FRI client, and tells it what the arm does.

    Attributes:
        rejections: The answers that were refused.
        connected: Whether the cable is in.
    """

    def __init__(
        self,
        node: Node,
        config: CabinetConfig,
        port: int,
        arm: Robot,
        position: np.ndarray,
        mode: CommandMode,
    ) -> None:
        """Open the port.

        Args:
            node: The simulator's node.
            config: Of the cabinet.
            port: Where the client listens.
            arm: The arm.
            position: (7) where it is [rad].
            mode: What clients command.

        Raises:
            ConfigError: If the arm has not 7 joints, modes do not go together, an address is
                unknown or the port is taken.
        """
        self.rejections = Rejections(node.get_logger().warning)
        self.connected = True
        self._config = config
        lowest, highest = arm.position_limits
        limits = ArmLimits(lowest, highest, arm.velocity_limits)
        self._cabinet = Cabinet(config, limits, position, mode, node.get_logger().info)
        self._connection = ClientConnection(config.client, port, config.source)
        node.get_logger().info(
            f"FRI {config.version} from {self._connection.address} to {config.client}:{port}"
        )

    def command(
        self, now: float, position: np.ndarray, cancelled: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Begin a cycle: return what the client, or the cabinet itself, commands.

        Args:
            now: The time [s].
            position: (7) where the arm is [rad].
            cancelled: Whether somebody has ended the application's motion.

        Returns:
            (7) joint positions [rad], and what is to be exerted besides, None for nothing.
        """
        for datagram in self._connection.receive():
            if self.connected and (reason := self._cabinet.take(datagram)):
                self.rejections.add(reason)
        for _ in range(self._connection.take_foreign()):
            self.rejections.add(FOREIGN)
        self._cabinet.cancelled = cancelled
        self._cabinet.advance(now, position)
        return self._cabinet.command, self._cabinet.overlay

    def send(self, report: DriverReport, stamp: int) -> None:
        """End a cycle: tell the client.

        Args:
            report: What the arm does.
            stamp: Unix time [ns].
        """
        if self.connected:
            message = self._cabinet.message(
                stamp, report.position, report.joint_torque, report.external_torque
            )
            self._connection.send(encode_monitoring(VERSIONS[self._config.version], message))

    def restart(self, now: float, position: np.ndarray) -> None:
        """Begin again, elsewhere.

        Args:
            now: The time [s].
            position: (7) where the arm is [rad].
        """
        self._cabinet.close("the simulation was reset", now, position)

    def values(self) -> dict[str, object]:
        """Return what the report of the node says of session and connection."""
        cabinet = self._cabinet
        return {"fri_session": cabinet.session.name, "fri_quality": cabinet.quality.name}

    def close(self) -> None:
        """Close the port."""
        self._connection.close()
