"""KUKA's own driver, kuka_drivers, for arms with the Fast Robot Interface."""

from __future__ import annotations

from array import array
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from contact_ros.driver_profile.base import DriverConfig, Gravity
from contact_ros.driver_profile.messages import JointSelector
from contact_ros.driver_profile.ros2_control import BroadcastDriver
from contact_ros.stamps import NANOSECONDS, to_duration
from contact_ros.validation import MessageError


class KukaDrivers(BroadcastDriver):
    """Commands go to a joint trajectory controller, as trajectories of one point.

    The point is one period ahead. Its trajectory has no stamp, which means at once, and
    replaces the one before.
    """

    name: ClassVar[str] = "kuka_drivers"
    default_joint_names: ClassVar[tuple[str, ...]] = tuple(f"joint_{i}" for i in range(1, 8))
    command_topic: ClassVar[str] = "joint_trajectory_controller/joint_trajectory"
    command_type: ClassVar[type] = JointTrajectory
    # The effort is the measured torque of the Fast Robot Interface as it comes.
    default_joint_torque_sign: ClassVar[float] = -1.0

    @classmethod
    def joints_in(cls, namespace: str) -> tuple[str, ...]:
        """Return the names of the joints, after the namespace; see :class:`DriverProfile`."""
        prefix = namespace.strip("/")
        return tuple(f"{prefix}_{name}" if prefix else name for name in cls.default_joint_names)

    def __init__(
        self, config: DriverConfig, period: float | None = None, gravity: Gravity | None = None
    ) -> None:
        """Set the profile up; see :class:`DriverProfile`."""
        super().__init__(config, period, gravity)
        self._joints_of_command = JointSelector(self.joint_names)

    def encode_command(self, position: NDArray[np.float64]) -> Any:
        """Translate a command; see :class:`DriverProfile`."""
        ahead = to_duration(round(self.period * NANOSECONDS))
        point = JointTrajectoryPoint(positions=array("d", position), time_from_start=ahead)
        return JointTrajectory(joint_names=list(self.joint_names), points=[point])

    def decode_command(self, message: Any) -> NDArray[np.float64]:
        """Translate a command; see :class:`DriverProfile`."""
        if len(message.points) != 1:
            raise MessageError(f"a streamed trajectory has 1 point, got {len(message.points)}")
        return self._joints_of_command.select(
            message.joint_names, message.points[0].positions, "positions"
        )
