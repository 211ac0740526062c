"""The lbr_fri_ros2_stack driver of KUKA LBR arms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from lbr_fri_idl.msg import LBRJointPositionCommand, LBRState
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from contact_core.base.errors import ConfigError
from contact_core.robot.arm_state import ArmState, CommandMode, RobotCondition
from contact_ros.driver_profile.base import DriverConfig, DriverProfile, Gravity
from contact_ros.driver_profile.messages import checked, joint_state
from contact_ros.stamps import NANOSECONDS
from contact_ros.validation import MessageError

JOINTS = len(LBRJointPositionCommand().joint_position)
"""Joints of an LBR, as its messages have them."""

COMMANDED = "commanded_joint_position"
REPORTS_COMMAND = COMMANDED in LBRState.get_fields_and_field_types()
"""Whether the installed messages are those of FRI 1; those of FRI 2 have no command."""

UNKNOWN = np.full(JOINTS, np.nan)

PERIOD_TOLERANCE = 0.1
"""By how much of itself the robot's period may differ from ours."""

# Values of the Fast Robot Interface. One that is not here, or not known, is not fit for commands.
MONITORING_READY = 2
COMMANDING_ACTIVE = 4
CONNECTION_POOR = 0
CONNECTION_GOOD = 2
CONNECTION_EXCELLENT = 3
NORMAL_OPERATION = 0
STOP_REQUESTED = 1
AUTOMATIC = 2
DRIVES_OFF = 0
DRIVES_ACTIVE = 2
NO_OVERLAY = 0
JOINT_OVERLAY = 1
POSITION_CONTROL = 0
CARTESIAN_IMPEDANCE_CONTROL = 1
JOINT_IMPEDANCE_CONTROL = 2
COMMAND_MODES = {
    0: CommandMode.NONE,
    1: CommandMode.POSITION,
    2: CommandMode.WRENCH,
    3: CommandMode.TORQUE,
    4: CommandMode.POSE,
}
CLIENT_COMMANDS = {mode: number for number, mode in COMMAND_MODES.items()}


class LbrFri(DriverProfile):
    """Streamed ``LBRState`` and ``LBRJointPositionCommand``.

    The state has no joint velocity, so a controller gets NaN. The commanded position is the
    robot's own record of it, and NaN where there is none (FRI 2): the interpolator's is that of
    the motion below the commands, here one that holds the arm where the session found it.

    Measured and commanded torques are negated, external ones are not: at rest the measured torque
    is tau_ext - g.
    """

    name: ClassVar[str] = "lbr_fri"
    default_joint_names: ClassVar[tuple[str, ...]] = tuple(f"lbr_A{i}" for i in range(1, 8))
    state_topics: ClassVar[Mapping[str, type]] = {"state": LBRState, "joint_states": JointState}
    needed_topics: ClassVar[tuple[str, ...]] = ("state",)
    command_topic: ClassVar[str] = "command/joint_position"
    command_type: ClassVar[type] = LBRJointPositionCommand
    default_joint_torque_sign: ClassVar[float] = -1.0

    def __init__(
        self, config: DriverConfig, period: float | None = None, gravity: Gravity | None = None
    ) -> None:
        """Set the profile up; see :class:`DriverProfile`."""
        super().__init__(config, period, gravity)
        self._held: NDArray[np.float64] | None = None
        if len(self.joint_names) != JOINTS:
            raise ConfigError(
                f"driver '{self.name}' has {JOINTS} joints, joint_names has {len(self.joint_names)}"
            )

    def encode_state(self, state: ArmState) -> Mapping[str, Any]:
        """Translate a state; see :class:`DriverProfile`."""
        measured = self.reported_torque(state)
        torque = UNKNOWN if measured is None else measured
        condition, commanding = state.condition, state.condition.commanding
        seconds, nanoseconds = divmod(state.stamp, NANOSECONDS)
        if not commanding:
            self._held = None
        elif self._held is None:
            self._held = state.commanded_position.copy()
        message = LBRState(
            sample_time=self.period,
            session_state=COMMANDING_ACTIVE if commanding else MONITORING_READY,
            connection_quality=(
                CONNECTION_POOR if condition.connected_well is False else CONNECTION_EXCELLENT
            ),
            safety_state=STOP_REQUESTED if condition.safe is False else NORMAL_OPERATION,
            operation_mode=AUTOMATIC,
            drive_state=DRIVES_OFF if condition.drives_on is False else DRIVES_ACTIVE,
            client_command_mode=CLIENT_COMMANDS[
                state.command_mode if commanding else CommandMode.NONE
            ],
            overlay_type=(
                JOINT_OVERLAY if commanding and condition.overlay is not False else NO_OVERLAY
            ),
            control_mode=_control_mode(state),
            time_stamp_sec=seconds,
            time_stamp_nano_sec=nanoseconds,
            measured_joint_position=state.position,
            measured_torque=torque,
            # The joints are controlled by torque: they exert what they are told to.
            commanded_torque=torque,
            external_torque=self.config.torque_sign * state.external_torque,
            ipo_joint_position=UNKNOWN if self._held is None else self._held,
            tracking_performance=1.0 if commanding else 0.0,
            **({COMMANDED: state.commanded_position} if REPORTS_COMMAND else {}),
        )
        joints = joint_state(
            state.stamp,
            self.joint_names,
            position=state.position,
            velocity=state.velocity,
            effort=measured,
        )
        return {"state": message, "joint_states": joints}

    def decode_state(self, topic: str, message: Any) -> ArmState | None:
        """Translate a message; see :class:`DriverProfile`."""
        self._check_period(message.sample_time)
        torque = checked(message.external_torque, JOINTS, "external_torque")
        position = checked(message.measured_joint_position, JOINTS, "measured_joint_position")
        measured = np.array(message.measured_torque, dtype=np.float64)
        return ArmState(
            stamp=message.time_stamp_sec * NANOSECONDS + message.time_stamp_nano_sec,
            position=position,
            velocity=UNKNOWN.copy(),
            commanded_position=np.array(getattr(message, COMMANDED, UNKNOWN)),
            external_torque=self.config.torque_sign * torque,
            joint_torque=(
                self.joint_torque(measured, position) if np.isfinite(measured).all() else None
            ),
            condition=RobotCondition(
                commanding=message.session_state == COMMANDING_ACTIVE,
                drives_on=message.drive_state == DRIVES_ACTIVE,
                safe=message.safety_state == NORMAL_OPERATION,
                impedance=message.control_mode == JOINT_IMPEDANCE_CONTROL,
                connected_well=(
                    CONNECTION_GOOD <= message.connection_quality <= CONNECTION_EXCELLENT
                ),
                overlay=message.overlay_type == JOINT_OVERLAY,
            ),
            command_mode=COMMAND_MODES.get(message.client_command_mode, CommandMode.UNKNOWN),
        )

    def decode_position(self, topic: str, message: Any) -> NDArray[np.float64]:
        """Return where the joints are; see :class:`DriverProfile`."""
        return checked(message.measured_joint_position, JOINTS, "measured_joint_position")

    def encode_command(self, position: NDArray[np.float64]) -> Any:
        """Translate a command; see :class:`DriverProfile`."""
        return LBRJointPositionCommand(joint_position=np.asarray(position, dtype=np.float64))

    def decode_command(self, message: Any) -> NDArray[np.float64]:
        """Translate a command; see :class:`DriverProfile`."""
        return checked(message.joint_position, JOINTS, "joint_position")

    def _check_period(self, sample_time: float) -> None:
        """Refuse a robot that sends at another period than it is to be commanded at.

        A listener takes any, and mock hardware states none (0).
        """
        expected = self._period
        if expected is None or sample_time == 0.0:
            return
        # NaN is not near anything.
        if not abs(sample_time - expected) <= PERIOD_TOLERANCE * expected:
            raise MessageError(
                f"the robot sends every {1e3 * sample_time:g} ms instead of every "
                f"{1e3 * expected:g} ms: set the driver's FRI send period and update_rate"
            )


class Fri(LbrFri):
    """The driver of this stack for robots that speak FRI: the same messages.

    It knows what it has told a robot with FRI 2, and reports that as the commanded position.
    """

    name: ClassVar[str] = "fri"


def _control_mode(state: ArmState) -> int:
    """Return the robot's control mode that a state stands for."""
    if state.command_mode is CommandMode.WRENCH:
        return CARTESIAN_IMPEDANCE_CONTROL
    return POSITION_CONTROL if state.condition.impedance is False else JOINT_IMPEDANCE_CONTROL
