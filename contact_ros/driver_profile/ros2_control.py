"""Arms behind the standard controllers of ros2_control, and the states of its broadcasters.

KUKA's own driver, kuka_drivers, is one of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from contact_core.robot.arm_state import ArmState
from contact_ros.driver_profile.base import DriverConfig, DriverProfile, Gravity
from contact_ros.driver_profile.messages import JointSelector, checked, joint_state
from contact_ros.stamps import NANOSECONDS, to_duration, to_nanoseconds
from contact_ros.validation import MessageError

STATE = "joint_states"
TORQUE = "external_torque_broadcaster/joint_states"

UNPAIRED = 1.0
"""Stamps that have not agreed for so long are no loss of messages [s]."""


class BroadcastDriver(DriverProfile):
    """A driver with a joint state broadcaster and a torque broadcaster.

    The two broadcasters stamp the samples of one cycle alike: a state is complete when
    both messages of a stamp have arrived. The driver does not report commands, so the
    commanded position is NaN.
    """

    state_topics: ClassVar[Mapping[str, type]] = {STATE: JointState, TORQUE: JointState}
    needed_topics: ClassVar[tuple[str, ...]] = (STATE, TORQUE)

    def __init__(
        self, config: DriverConfig, period: float | None = None, gravity: Gravity | None = None
    ) -> None:
        """Set the profile up; see :class:`DriverProfile`."""
        super().__init__(config, period, gravity)
        topics = (*self.state_topics, self.command_topic)
        self._joints = {topic: JointSelector(self.joint_names) for topic in topics}
        self._waiting: dict[str, JointState] = {}
        self._paired: int | None = None

    def encode_state(self, state: ArmState) -> Mapping[str, Any]:
        """Translate a state; see :class:`DriverProfile`."""
        joints = joint_state(
            state.stamp,
            self.joint_names,
            position=state.position,
            velocity=state.velocity,
            effort=self.reported_torque(state),
        )
        torque = joint_state(
            state.stamp, self.joint_names, effort=self.config.torque_sign * state.external_torque
        )
        return {STATE: joints, TORQUE: torque}

    def concerns(self, topic: str, message: Any) -> bool:
        """Tell whether a message is about this arm; see :class:`DriverProfile`."""
        return self._joints[topic].concerned(message.name)

    def decode_state(self, topic: str, message: Any) -> ArmState | None:
        """Translate a message; see :class:`DriverProfile`."""
        # Check before keeping, so that a bad message cannot spoil the next state.
        if self.decode_position(topic, message) is None:
            self._select(topic, message, "effort")
        replaced = self._waiting.get(topic)
        self._waiting[topic] = message
        stamp = to_nanoseconds(message.header.stamp)
        agree = self._stamps_agree()
        if agree or self._paired is None:
            self._paired = stamp
        if agree:
            return self._assemble()
        # One that is lost on the way is no fault of its sender.
        if replaced is not None and stamp - self._paired > UNPAIRED * NANOSECONDS:
            raise MessageError(f"{STATE} and {TORQUE} had no stamp in common for {UNPAIRED:g} s")
        return None

    def decode_position(self, topic: str, message: Any) -> NDArray[np.float64] | None:
        """Return where the joints are; see :class:`DriverProfile`."""
        return self._select(topic, message, "position") if topic == STATE else None

    def _select(self, topic: str, message: JointState, field: str) -> NDArray[np.float64]:
        return self._joints[topic].select(message.name, getattr(message, field), field)

    def _stamps_agree(self) -> bool:
        stamps = {to_nanoseconds(message.header.stamp) for message in self._waiting.values()}
        return len(self._waiting) == len(self.needed_topics) and len(stamps) == 1

    def _assemble(self) -> ArmState:
        state, torque = self._waiting.pop(STATE), self._waiting.pop(TORQUE)
        unknown = np.full(len(self.joint_names), np.nan)
        position = self._select(STATE, state, "position")
        velocity, effort = self._known(state, "velocity"), self._known(state, "effort")
        return ArmState(
            stamp=to_nanoseconds(state.header.stamp),
            position=position,
            velocity=unknown if velocity is None else velocity,
            commanded_position=unknown,
            external_torque=self.config.torque_sign * self._select(TORQUE, torque, "effort"),
            joint_torque=None if effort is None else self.joint_torque(effort, position),
        )

    def _known(self, state: JointState, field: str) -> NDArray[np.float64] | None:
        """Return what a state is as good without: a broadcaster fills it with NaN."""
        try:
            return self._select(STATE, state, field)
        except MessageError:
            return None


class Ros2Control(BroadcastDriver):
    """Commands go to a forward position controller."""

    name: ClassVar[str] = "ros2_control"
    default_joint_names: ClassVar[tuple[str, ...]] = ()
    command_topic: ClassVar[str] = "forward_position_controller/commands"
    command_type: ClassVar[type] = Float64MultiArray

    def encode_command(self, position: NDArray[np.float64]) -> Any:
        """Translate a command; see :class:`DriverProfile`."""
        return Float64MultiArray(data=array("d", position))

    def decode_command(self, message: Any) -> NDArray[np.float64]:
        """Translate a command; see :class:`DriverProfile`."""
        return checked(message.data, len(self.joint_names), "data")


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

    def encode_command(self, position: NDArray[np.float64]) -> Any:
        """Translate a command; see :class:`DriverProfile`."""
        ahead = to_duration(round(self.period * NANOSECONDS))
        point = JointTrajectoryPoint(positions=array("d", position), time_from_start=ahead)
        return JointTrajectory(joint_names=list(self.joint_names), points=[point])

    def decode_command(self, message: Any) -> NDArray[np.float64]:
        """Translate a command; see :class:`DriverProfile`."""
        if len(message.points) != 1:
            raise MessageError(f"a streamed trajectory has 1 point, got {len(message.points)}")
        return self._joints[self.command_topic].select(
            message.joint_names, message.points[0].positions, "positions"
        )
