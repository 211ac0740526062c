"""Any arm behind the standard controllers of ros2_control."""

from __future__ import annotations

from array import array
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from std_msgs.msg import Float64MultiArray

from contact_ros.driver_profile.broadcast_driver import BroadcastDriver
from contact_ros.driver_profile.fields import checked


class Ros2Control(BroadcastDriver):
    """Commands go to a forward position controller."""

    name: ClassVar[str] = "ros2_control"
    default_joint_names: ClassVar[tuple[str, ...]] = tuple(f"lbr_A{i}" for i in range(1, 8))
    command_topic: ClassVar[str] = "forward_position_controller/commands"
    command_type: ClassVar[type] = Float64MultiArray

    def encode_command(self, position: NDArray[np.float64]) -> Any:
        """Translate a command; see :class:`DriverProfile`."""
        return Float64MultiArray(data=array("d", position))

    def decode_command(self, message: Any) -> NDArray[np.float64]:
        """Translate a command; see :class:`DriverProfile`."""
        return checked(message.data, len(self.joint_names), "data")
