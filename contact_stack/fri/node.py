"""The driver ``fri`` in the graph: states of a robot that speaks FRI, and commands for it."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, replace

import numpy as np
from lbr_fri_idl.msg import LBRState
from sensor_msgs.msg import JointState

from contact_core.base.config import nested, parameter
from contact_core.base.errors import CommunicationError, ConfigError
from contact_core.robot.robot import Robot
from contact_ros.diagnostics import Diagnostics, Health, Level
from contact_ros.driver_profile import DriverConfig, driver_profile
from contact_ros.driver_profile.lbr_fri import (
    COMMANDED,
    DRIVES_ACTIVE,
    NORMAL_OPERATION,
    REPORTS_COMMAND,
    UNKNOWN,
)
from contact_ros.driver_profile.messages import joint_state
from contact_ros.entry_point import freeze_garbage_collector, run
from contact_ros.guarded_node import GuardedNode
from contact_ros.identity import RobotNodeConfig, announce_robot
from contact_ros.loop import ErrorRelay, MessageThread
from contact_ros.parameters import read
from contact_ros.qos import signal_publisher, signal_subscription
from contact_ros.real_time import RealTimeConfig, enter_real_time, keep_up_with_main_thread
from contact_ros.stamps import NANOSECONDS
from contact_stack.fri import wire
from contact_stack.fri.answering import AnsweringReport, AnsweringSetup, Heard
from contact_stack.fri.gate import GateConfig
from contact_stack.fri.link import Link
from contact_stack.fri.session import ORDINARY_PERIOD, SessionStatus
from contact_stack.fri.wire import UNTOLD, CabinetMessage, LinkQuality

NAME = "fri_driver"

DRIVER = "fri"
"""The profile that the driver speaks."""

LEVELS = {
    SessionStatus.SILENT: Level.STALE,
    SessionStatus.CLOSED: Level.WARN,
    SessionStatus.MONITORED: Level.WARN,
    SessionStatus.POOR: Level.WARN,
    SessionStatus.STARTING: Level.OK,
    SessionStatus.COMMANDED: Level.OK,
}
"""How bad a status is; the others are errors."""


@dataclass(frozen=True)
class FriDriverConfig(RobotNodeConfig):
    """The driver of robots that speak FRI."""

    version: str = parameter("1.15", "version of the robot's FRI", options=wire.VERSIONS)
    port: int = parameter(
        30200, "UDP port of this machine that the robot sends to", low=1, high=65535
    )
    host: str = parameter(
        "", "address of the robot; empty: the first that sends, until it has left"
    )
    timeout: float = parameter(
        1.0, "a robot that is silent for longer has left", unit="s", low=0.2, high=60.0
    )
    allow_late: bool = parameter(
        False,
        f"command the robot faster than every {ORDINARY_PERIOD} ms even without real-time "
        "permission",
    )
    gate: GateConfig = nested(GateConfig)
    real_time: RealTimeConfig = nested(RealTimeConfig, priority=80)


class FriDriverNode(GuardedNode):
    """Publish what the robot says, and hand over what it is told."""

    def __init__(self) -> None:
        """Take the port, and answer from now on.

        Raises:
            ContactStackError: If a parameter or the robot is wrong, protobuf is not installed, or
                another process has the port.
        """
        super().__init__(NAME)
        self._config = config = read(self, FriDriverConfig)
        description = config.description()
        robot = Robot.from_description(description)
        if robot.n != wire.JOINTS:
            raise ConfigError(f"the robot {description.name} has {robot.n} joints, FRI has 7")
        profile = driver_profile(
            DRIVER, DriverConfig(), None, description.arm_joints, self.get_namespace()
        )
        self._joints = profile.joint_names
        wire.message_class("Monitoring")
        quality = signal_publisher(lockstep=False)
        self._announcement = announce_robot(self, description)
        self._states = self.create_publisher(LBRState, "state", quality)
        self._joint_states = self.create_publisher(JointState, "joint_states", quality)
        commands = self.create_subscription(
            profile.command_type,
            profile.command_topic,
            lambda message: self._link.command(profile.decode_command(message)),
            signal_subscription(lockstep=False),
        )
        self._report: AnsweringReport | None = None
        self._diagnostics = Diagnostics(self, self._health, f"{NAME} port {config.port}")
        lowest, highest = robot.position_limits
        setup = AnsweringSetup(
            config.version,
            _address_of(config.host),
            config.timeout,
            config.allow_late,
            lowest,
            highest,
            robot.velocity_limits,
            config.gate,
            config.real_time,
        )
        freeze_garbage_collector()
        self._link, self._closing = Link(setup, config.port), False
        self._entered = threading.Event()
        relay = ErrorRelay(self)
        self._commands = MessageThread(self, relay, commands, on_start=self._enter_real_time)
        self._telling = threading.Thread(
            target=self._listen, args=(relay,), name="states", daemon=True
        )
        self._telling.start()

    def close(self) -> None:
        """Bring the robot to rest, then answer no more: its session ends, and it holds."""
        self._closing = True
        self._link.stop()
        self._commands.stop()
        self._telling.join()
        self._link.close()

    def _enter_real_time(self) -> None:
        # Below the process that answers, which asks and reports by itself.
        wanted = self._config.real_time
        enter_real_time(replace(wanted, priority=wanted.priority // 2))
        self._entered.set()

    def _listen(self, relay: ErrorRelay) -> None:
        """Publish states, and log changes, as the process that answers tells them."""
        self._entered.wait()
        keep_up_with_main_thread()
        try:
            while (told := self._link.receive()) is not None:
                if isinstance(told, AnsweringReport):
                    before, self._report = self._report, told
                    self._say_change(before, told)
                    continue
                self._states.publish(lbr_state(told))
                self._joint_states.publish(
                    joint_state(
                        self.get_clock().now().nanoseconds,
                        self._joints,
                        position=told.message.position,
                        effort=told.message.torque,
                    )
                )
            if not self._closing:
                raise CommunicationError("the process that answers the robot has ended")
        except BaseException as error:
            relay(error)

    def _say_change(self, before: AnsweringReport | None, now: AnsweringReport) -> None:
        if before is None and "not permitted" in now.scheduling:
            limit = "" if now.fast else f"; send periods below {ORDINARY_PERIOD} ms are refused"
            self.get_logger().warning(
                f"{now.scheduling}. Beside busy programs answers will be late, and the robot "
                f"ends motions{limit}"
            )
        if now.refused and (before is None or now.refused != before.refused):
            self.rejections.add(f"from the network: {now.problem}")
        if before is not None and now.status is before.status:
            return
        text = f"the robot is {now.status.remedy}"
        # The logger takes one severity for each line of code.
        if LEVELS.get(now.status) is Level.OK:
            self.get_logger().info(text)
        else:
            self.get_logger().warning(text)

    def _health(self) -> Health:
        report = self._report
        if report is None:
            return Health(Level.STALE, "the process that answers the robot is starting")
        values: dict[str, object] = {
            "version": self._config.version,
            "scheduling": report.scheduling,
            **report.counts,
            **report.refused,
        }
        if report.problem:
            values["last_refused_datagram"] = report.problem
        if report.refused_command:
            values["last_refused_command"] = report.refused_command
        message, peer = report.message, report.peer
        if message is not None and peer is not None:
            values |= {
                "robot_address": f"{peer[0]}:{peer[1]}",
                "session": message.session.name.lower(),
                "quality": message.quality.name.lower(),
                "send_period_ms": message.period,
                "receive_multiplier": message.multiplier,
                "tracking_performance": f"{message.tracking:.3f}",
                "safety_state": message.safety,
                "operation_mode": message.operation,
                "drive_state": message.drives,
                "control_mode": message.control,
            }
        level, text = LEVELS.get(report.status, Level.ERROR), report.status.remedy
        if message is not None and level is Level.OK and (reason := _held_by(message)):
            level, text = Level.WARN, f"{text}, though {reason}"
        return Health(level, f"the robot is {text}", values)


def lbr_state(state: Heard) -> LBRState:
    """Make a message of what the robot said.

    Args:
        state: What it said, and what it was told.

    Returns:
        The message; the commanded position of FRI 2 is what was sent, NaN when nothing was.
    """
    message, sent = state.message, state.sent
    seconds, nanoseconds = divmod(message.stamp, NANOSECONDS)
    told = message.commanded if message.commanded is not None else sent
    interpolated = message.interpolated
    return LBRState(
        sample_time=1e-3 * message.period,
        session_state=int(message.session),
        connection_quality=int(message.quality),
        safety_state=_small(message.safety),
        operation_mode=_small(message.operation),
        drive_state=_small(message.drives),
        client_command_mode=_small(message.command_mode),
        overlay_type=_small(message.overlay),
        control_mode=_small(message.control),
        time_stamp_sec=seconds,
        time_stamp_nano_sec=nanoseconds,
        measured_joint_position=message.position,
        measured_torque=message.torque,
        commanded_torque=message.commanded_torque,
        external_torque=message.external,
        ipo_joint_position=UNKNOWN if interpolated is None else interpolated,
        tracking_performance=message.tracking,
        **({COMMANDED: UNKNOWN if told is None else told} if REPORTS_COMMAND else {}),
    )


def _address_of(host: str) -> str:
    """Return the number of an address, by which senders are told apart; empty stays empty."""
    try:
        return socket.gethostbyname(host.strip()) if host.strip() else ""
    except OSError as error:
        raise ConfigError(f"host '{host}' is no address of a robot: {error}") from error


def _held_by(message: CabinetMessage) -> str:
    """Say why a robot that is commanded may not move, or not well; empty if nothing is known."""
    if message.safety == UNTOLD:
        return "it does not tell its safety state: see its panel"
    if message.safety != NORMAL_OPERATION:
        return "it has stopped for safety: see its panel"
    if message.drives != DRIVES_ACTIVE:
        return "its drives are not active: see its panel"
    return (
        f"its connection is {message.quality.name.lower()}"
        if message.quality < LinkQuality.GOOD
        else ""
    )


def main() -> int:
    """Run the driver's node.

    Returns:
        The exit code.
    """
    return run(FriDriverNode)


def _small(number: int) -> int:
    """Return a number as the message has room for it; an unknown one stays unknown."""
    return int(np.clip(number, -128, 127))
