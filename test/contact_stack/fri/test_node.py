"""The driver's node beside a scripted cabinet: parameters, messages, and what it reports."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import rclpy
from fri_datagrams import (
    COMMANDING_ACTIVE,
    COMMANDING_WAIT,
    HOME,
    MONITORING_READY,
    Script,
    answer,
)
from lbr_fri_idl.msg import LBRJointPositionCommand, LBRState

from contact_core.base.errors import CommunicationError, ConfigError
from contact_ros.client import GraphClient
from contact_ros.diagnostics import Health, Level
from contact_stack.fri import wire
from contact_stack.fri.answering import Heard
from contact_stack.fri.node import FriDriverNode, lbr_state

ORDINARY = ("real_time.priority:=0", "real_time.lock_memory:=false", "robot:=iiwa14_wsg50")


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def driver(*parameters: str) -> Iterator[FriDriverNode]:
    words = [word for p in (*ORDINARY, *parameters) for word in ("-p", p)]
    rclpy.init(args=["--ros-args", "-r", "__ns:=/lbr", *words])
    try:
        node = FriDriverNode()
        try:
            yield node
        finally:
            node.close()
            node.destroy_node()
    finally:
        rclpy.try_shutdown()


class Cabinet:
    """A socket and a script in the robot's place."""

    def __init__(self, port: int, **script: Any) -> None:
        self.script = Script(stamp=time.time_ns(), **script)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(0.3)
        self.address = "127.0.0.1", port

    def ask(self, state: int) -> Any:
        """Send a datagram; return the answer, or None."""
        self.socket.sendto(self.script.next(state).encode(), self.address)
        try:
            return answer(self.socket.recv(2000), self.script.version)
        except TimeoutError:
            return None

    def until(self, state: int) -> Any:
        """Send datagrams until there is an answer."""
        for _ in range(50):
            if (answered := self.ask(state)) is not None:
                return answered
            time.sleep(0.02)
        raise AssertionError("no answer")


def report(node: FriDriverNode, condition: Callable[[Health], object]) -> Health:
    """Wait for a report, which comes ten times a second."""
    end = time.monotonic() + 10.0
    while not condition(health := node._health()):
        assert time.monotonic() < end, health
        time.sleep(0.01)
    return health


def test_states_and_commands_go_through(ros_domain: int) -> None:
    port = free_port()
    arguments = (f"port:={port}", "version:='2.5'", "host:=localhost")
    with driver(*arguments) as node, GraphClient("client") as client:
        cabinet = Cabinet(port, version="2.5")
        commands = client.node.create_publisher(
            LBRJointPositionCommand, "command/joint_position", 1
        )
        states: list[LBRState] = []
        client.node.create_subscription(LBRState, "state", states.append, 10)
        client.wait_until(lambda: commands.get_subscription_count() == 1)
        assert cabinet.until(MONITORING_READY).position is None
        assert cabinet.until(COMMANDING_WAIT).position == HOME
        cabinet.until(COMMANDING_ACTIVE)
        target = np.array(HOME) + 0.001

        def follows() -> bool:
            commands.publish(LBRJointPositionCommand(joint_position=target))
            return bool(np.allclose(cabinet.until(COMMANDING_ACTIVE).position, target))

        client.wait_until(follows)
        client.wait_until(lambda: states and states[-1].commanded_joint_position[0] == target[0])
        assert states[-1].sample_time == 0.005 and states[-1].session_state == 4
        health = report(node, lambda health: health.message == "the robot is commanded")
        assert health.level is Level.OK
        assert health.values["session"] == "commanding_active"
        assert health.values["send_period_ms"] == 5
        assert health.values["robot_address"] == f"127.0.0.1:{cabinet.socket.getsockname()[1]}"
        # A command that is no command is refused, and named.
        commands.publish(LBRJointPositionCommand(joint_position=target + 1.0))

        def refused() -> bool:
            cabinet.until(COMMANDING_ACTIVE)
            return "last_refused_command" in node._health().values

        client.wait_until(refused)
        assert "1 rad from the last" in str(node._health().values["last_refused_command"])
        assert node._health().values["refused_commands"] == 1
        # It is commanded still, and does not move.
        for safety, why in (
            (None, "does not tell its safety state"),
            (1, "has stopped for safety"),
        ):
            said = cabinet.script.next(COMMANDING_ACTIVE, safety=safety)
            cabinet.socket.sendto(said.encode(), cabinet.address)
            health = report(node, lambda health, why=why: why in health.message)
            assert health.level is Level.WARN
            assert health.message == f"the robot is commanded, though it {why}: see its panel"
        assert health.values["safety_state"] == 1


@pytest.mark.parametrize(
    ("parameters", "sent", "expected"),
    [
        ((), "2.5", "refused_version"),
        (("host:=10.0.0.1",), "1.15", "refused_sender"),
    ],
)
def test_what_is_set_is_what_is_taken(
    ros_domain: int, parameters: tuple[str, ...], sent: str, expected: str
) -> None:
    port = free_port()
    with driver(f"port:={port}", *parameters) as node:
        cabinet = Cabinet(port, version=sent)
        while expected not in node._health().values:
            assert cabinet.ask(MONITORING_READY) is None
        assert node._health().level is Level.STALE
        assert "check address, port" in node._health().message


@pytest.mark.parametrize("allow", [False, True])
def test_short_periods_need_permission_or_a_word(ros_domain: int, allow: bool) -> None:
    port = free_port()
    with driver(f"port:={port}", f"allow_late:={str(allow).lower()}", "timeout:=0.3") as node:
        cabinet = Cabinet(port, period=2)
        cabinet.until(MONITORING_READY)
        mirrored = cabinet.until(COMMANDING_WAIT).position
        assert mirrored == (HOME if allow else None)
        said = "about to be commanded" if allow else "which needs real-time permission"
        report(node, lambda health: said in health.message)
        report(node, lambda health: "not heard" in health.message)


def test_a_second_driver_and_a_wrong_robot_are_refused_by_name(ros_domain: int) -> None:
    port = free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("0.0.0.0", port))
        with pytest.raises(CommunicationError, match="another driver"), driver(f"port:={port}"):
            pass
    with pytest.raises(ConfigError, match="6 joints, FRI has 7"), driver("robot:=ur5e"):
        pass
    with pytest.raises(ConfigError, match=r"valid: 1\.11"), driver("version:='3.0'"):
        pass


def test_the_message_says_what_the_robot_said() -> None:
    script = Script()
    datagram = script.next(COMMANDING_ACTIVE, safety=1, operation=1, drives=(1,) * 7, control=300)
    message = wire.decode(datagram.encode(), "1.15")
    state = lbr_state(Heard(message, None))
    assert state.measured_joint_position.tolist() == list(HOME)
    assert state.commanded_joint_position.tolist() == list(HOME)
    assert state.measured_torque.tolist() == list(datagram.torque)
    assert state.external_torque.tolist() == list(datagram.external)
    assert state.time_stamp_sec * 10**9 + state.time_stamp_nano_sec == datagram.stamp
    assert (state.safety_state, state.operation_mode, state.drive_state) == (1, 1, 1)
    assert (state.client_command_mode, state.overlay_type, state.control_mode) == (1, 1, 127)
    silent = wire.decode(Script("2.5").next(MONITORING_READY).encode(), "2.5")
    assert np.isnan(lbr_state(Heard(silent, None)).commanded_joint_position).all()
    assert np.isnan(lbr_state(Heard(silent, None)).ipo_joint_position).all()
