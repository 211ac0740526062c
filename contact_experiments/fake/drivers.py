"""What the drivers put on the wire, and what they take from it, after their own files.

- The Fast Robot Interface (FRI) reports measured and commanded joint torques negated: the arm's own
  weight is a measured torque of -g. External torques are positive where the environment pushes the
  joint positive. Both drivers of it pass them on as they come.
- ``lbr_fri``: lbr_fri_ros2_stack with FRI 1 or 2. States come from its state broadcaster and a
  joint state broadcaster, each with a queue of one. The interpolator's position is that of the
  motion which the client's commands overlay, not the command, and there is one only while commands
  are awaited or followed; FRI 2 reports no command at all.
- ``kuka_drivers``: KUKA's own driver. Positions and measured torques on one joint state
  broadcaster, external torques as the effort of a second one, commands to a joint trajectory
  controller. A joint state broadcaster fills what has no interface, here velocities, with NaN.
- ``ros2_control``: the same two broadcasters with velocities, and a forward position controller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from builtin_interfaces.msg import Time
from lbr_fri_idl.msg import LBRJointPositionCommand, LBRState
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

JOINTS = 7
"""Of an LBR, in every message of the Fast Robot Interface."""

# Values of the Fast Robot Interface.
MONITORING_READY, COMMANDING_WAIT, COMMANDING_ACTIVE = 2, 3, 4
POOR, EXCELLENT = 0, 3
NORMAL_OPERATION, SAFETY_STOP = 0, 2
AUTOMATIC = 2
DRIVES_OFF, DRIVES_ACTIVE = 0, 2
POSITION_CONTROL, JOINT_IMPEDANCE_CONTROL = 0, 2
NO_COMMANDS, POSITION_COMMANDS = 0, 1
NO_OVERLAY, JOINT_OVERLAY = 0, 1
TORQUE_SIGN = -1.0
"""Of measured and commanded joint torques, against positive where they accelerate the joint."""


@dataclass(frozen=True)
class Reading:
    """What a driver knows in one cycle, before it becomes messages.

    Attributes:
        stamp: The robot's clock, in Unix time [ns].
        position: (n) measured joint positions [rad].
        velocity: (n) joint velocities [rad/s].
        command: (n) the command in use [rad].
        interpolator: (n) position of the motion below the commands [rad]; NaN when monitored.
        joint_torque: (n) measured joint torques, positive where they accelerate the joint [Nm].
        external_torque: (n) estimated torque of the environment [Nm].
        sample_time: Send period of the robot [s].
        session: Session state of the Fast Robot Interface.
        quality: Its connection quality.
        safety: Its safety state.
        drives: Its drive state.
        control_mode: Its control mode.
        publisher: Who publishes it: 0 the driver, 1 another node.
    """

    stamp: int
    position: np.ndarray
    velocity: np.ndarray
    command: np.ndarray
    interpolator: np.ndarray
    joint_torque: np.ndarray
    external_torque: np.ndarray
    sample_time: float
    session: int = COMMANDING_ACTIVE
    quality: int = EXCELLENT
    safety: int = NORMAL_OPERATION
    drives: int = DRIVES_ACTIVE
    control_mode: int = JOINT_IMPEDANCE_CONTROL
    publisher: int = 0


class Driver(ABC):
    """The messages of one driver.

    Attributes:
        name: What the command line calls it.
        namespace: Where it runs, without slashes around it; empty for the root.
        joint_names: What it calls the joints.
        state_topics: Topic -> type of its states.
        command_topic: Where it takes commands.
        command_type: Their type.
        depth: Length of its queues.
        smoothing: Time constant of the low-pass on commands [s].
        has_guard: Whether it checks commands itself, and ends where one is beyond a limit.
        moves_any_arm: Whether it moves other arms than KUKA's LBR.
    """

    name: ClassVar[str]
    joint_names: tuple[str, ...]
    state_topics: ClassVar[Mapping[str, type]]
    command_topic: ClassVar[str]
    command_type: ClassVar[type]
    depth: ClassVar[int] = 1
    smoothing: ClassVar[float] = 0.0
    has_guard: ClassVar[bool] = False
    moves_any_arm: ClassVar[bool] = False

    def __init__(self, namespace: str = "/", arm_joints: Sequence[str] = ()) -> None:
        """Start in a namespace.

        Args:
            namespace: That of the driver, from the root.
            arm_joints: (n) what the robot's file calls the joints, for a driver that has no names
                of its own.
        """
        self.namespace = namespace.strip("/")

    @abstractmethod
    def encode(self, reading: Reading) -> list[tuple[str, Any]]:
        """Turn a reading into messages.

        Args:
            reading: What the driver knows.

        Returns:
            (topic, message) in the order of publishing.
        """

    @abstractmethod
    def decode(self, message: Any) -> np.ndarray | None:
        """Take a command.

        Args:
            message: The message.

        Returns:
            (n) joint positions [rad]; None if the driver's controller refuses it.
        """

    @abstractmethod
    def encode_command(self, position: np.ndarray) -> Any:
        """Make a command, as somebody else would.

        Args:
            position: (n) joint positions [rad].

        Returns:
            The message.
        """


class LbrFri1(Driver):
    """The lbr_fri_ros2_stack on FRI 1."""

    name = "lbr_fri"
    joint_names = tuple(f"lbr_A{i}" for i in range(1, JOINTS + 1))
    state_topics: ClassVar[Mapping[str, type]] = {"state": LBRState, "joint_states": JointState}
    command_topic = "command/joint_position"
    command_type = LBRJointPositionCommand
    smoothing = 0.04
    has_guard = True
    reports_command: ClassVar[bool] = True

    def encode(self, reading: Reading) -> list[tuple[str, Any]]:
        """Turn a reading into messages; see :class:`Driver`."""
        seconds, nanoseconds = divmod(reading.stamp, 1_000_000_000)
        overlaid = reading.session in (COMMANDING_WAIT, COMMANDING_ACTIVE)
        torque = TORQUE_SIGN * reading.joint_torque
        state = LBRState(
            sample_time=reading.sample_time,
            session_state=reading.session,
            connection_quality=reading.quality,
            safety_state=reading.safety,
            operation_mode=AUTOMATIC,
            drive_state=reading.drives,
            client_command_mode=POSITION_COMMANDS if overlaid else NO_COMMANDS,
            overlay_type=JOINT_OVERLAY if overlaid else NO_OVERLAY,
            control_mode=reading.control_mode,
            time_stamp_sec=seconds,
            time_stamp_nano_sec=nanoseconds,
            measured_joint_position=reading.position,
            measured_torque=torque,
            # Its joints exert what they are told to.
            commanded_torque=torque,
            external_torque=reading.external_torque,
            ipo_joint_position=reading.interpolator,
            tracking_performance=1.0 if reading.session == COMMANDING_ACTIVE else 0.0,
        )
        # The messages of FRI 2 have no such field.
        if hasattr(state, "commanded_joint_position"):
            unknown = np.full(JOINTS, np.nan)
            state.commanded_joint_position = reading.command if self.reports_command else unknown
        joints = _joint_state(self, reading, reading.position, reading.velocity, torque)
        return [("state", state), ("joint_states", joints)]

    def decode(self, message: Any) -> np.ndarray | None:
        """Take a command; see :class:`Driver`."""
        return np.array(message.joint_position)

    def encode_command(self, position: np.ndarray) -> Any:
        """Make a command; see :class:`Driver`."""
        return LBRJointPositionCommand(joint_position=position)


class LbrFri2(LbrFri1):
    """The same on FRI 2, which does not report commands."""

    name = "lbr_fri2"
    reports_command = False


class Broadcasters(Driver):
    """Two joint state broadcasters, whose messages of one cycle have one stamp."""

    state_topics: ClassVar[Mapping[str, type]] = {
        "joint_states": JointState,
        "external_torque_broadcaster/joint_states": JointState,
    }
    depth = 10
    has_velocity: ClassVar[bool] = True
    torque_sign: ClassVar[float] = 1.0

    def encode(self, reading: Reading) -> list[tuple[str, Any]]:
        """Turn a reading into messages; see :class:`Driver`."""
        unknown = np.full(len(self.joint_names), np.nan)
        velocity = reading.velocity if self.has_velocity else unknown
        measured = self.torque_sign * reading.joint_torque
        joints = _joint_state(self, reading, reading.position, velocity, measured)
        torque = _joint_state(self, reading, unknown, unknown, reading.external_torque)
        return list(zip(self.state_topics, (joints, torque), strict=True))


class Ros2ControlDriver(Broadcasters):
    """A forward position controller, which copies what it is sent."""

    name = "ros2_control"
    command_topic = "forward_position_controller/commands"
    command_type = Float64MultiArray
    moves_any_arm = True

    def __init__(self, namespace: str = "/", arm_joints: Sequence[str] = ()) -> None:
        """Start in a namespace, with the joints of the robot's file; see :class:`Driver`."""
        super().__init__(namespace)
        self.joint_names = tuple(arm_joints)

    def decode(self, message: Any) -> np.ndarray | None:
        """Take a command; one of another size is refused."""
        return np.array(message.data) if len(message.data) == len(self.joint_names) else None

    def encode_command(self, position: np.ndarray) -> Any:
        """Make a command; see :class:`Driver`."""
        return Float64MultiArray(data=array("d", position))


class KukaSunriseDriver(Broadcasters):
    """A joint trajectory controller; trajectories of one point, a period ahead.

    The launch file of the driver puts its namespace before the names of the joints.
    """

    name = "kuka_drivers"
    command_topic = "joint_trajectory_controller/joint_trajectory"
    command_type = JointTrajectory
    has_velocity = False
    torque_sign = TORQUE_SIGN

    def __init__(self, namespace: str = "/", arm_joints: Sequence[str] = ()) -> None:
        """Start in a namespace; see :class:`Driver`."""
        super().__init__(namespace)
        prefix = f"{self.namespace}_" if self.namespace else ""
        self.joint_names = tuple(f"{prefix}joint_{i}" for i in range(1, JOINTS + 1))

    def decode(self, message: Any) -> np.ndarray | None:
        """Take a command; one that does not name every joint is refused."""
        if sorted(message.joint_names) != sorted(self.joint_names) or not message.points:
            return None
        positions = message.points[-1].positions
        if len(positions) != JOINTS:
            return None
        values = dict(zip(message.joint_names, positions, strict=True))
        return np.array([values[name] for name in self.joint_names])

    def encode_command(self, position: np.ndarray) -> Any:
        """Make a command; see :class:`Driver`."""
        point = JointTrajectoryPoint(positions=array("d", position))
        return JointTrajectory(joint_names=list(self.joint_names), points=[point])


DRIVERS: dict[str, type[Driver]] = {
    driver.name: driver for driver in (LbrFri1, LbrFri2, KukaSunriseDriver, Ros2ControlDriver)
}
"""The drivers the fake robot can be."""


def _joint_state(
    driver: Driver,
    reading: Reading,
    position: np.ndarray,
    velocity: np.ndarray,
    effort: np.ndarray,
) -> JointState:
    seconds, nanoseconds = divmod(reading.stamp, 1_000_000_000)
    message = JointState(
        name=list(driver.joint_names),
        position=array("d", position),
        velocity=array("d", velocity),
        effort=array("d", effort),
    )
    message.header.stamp = Time(sec=seconds, nanosec=nanoseconds)
    return message
