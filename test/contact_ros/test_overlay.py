"""Positions with a wrench or with torques: what is sent arrives, nothing bad gets through."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from lbr_fri_idl.msg import LBRWrenchCommand
from rclpy.node import Node

from contact_core.base.errors import ConfigError
from contact_core.robot.arm_state import ArmState, CommandMode, SoundCommand
from contact_ros.driver_profile import (
    OVERLAYS,
    DriverConfig,
    MessageError,
    OverlayReader,
    OverlayWriter,
    Rejections,
    driver_profile,
)
from contact_ros.qos import signal_publisher

POSITION = np.arange(7.0) / 3.0


def ignore(position: Any, overlay: Any) -> None:
    """Take no notice of a command."""


@pytest.mark.graph
@pytest.mark.parametrize("mode", OVERLAYS)
def test_a_command_arrives_bit_by_bit(graph, mode: CommandMode) -> None:
    commands: list[tuple[np.ndarray, np.ndarray]] = []
    rejections = Rejections(print)
    reader = OverlayReader(
        *(graph.node("robot"), "lbr_fri", mode, True),
        lambda *command: commands.append(command),
        rejections,
    )
    overlay = np.arange(float(OVERLAYS[mode].size)) / 7.0
    OverlayWriter(graph.node("client"), mode, True).publish_command(SoundCommand(POSITION), overlay)
    graph.spin_until(lambda: bool(commands))
    np.testing.assert_array_equal(commands[0][0], POSITION)
    np.testing.assert_array_equal(commands[0][1], overlay)
    assert rejections.count == 0
    assert reader is not None


@pytest.mark.graph
def test_a_wrench_that_is_not_finite_is_counted_and_not_passed_on(graph) -> None:
    commands: list[object] = []
    rejections = Rejections(print)
    robot: Node = graph.node("robot")
    reader = OverlayReader(
        *(robot, "lbr_fri", CommandMode.WRENCH, True),
        lambda *command: commands.append(command),
        rejections,
    )
    publisher = graph.node("client").create_publisher(
        LBRWrenchCommand, "command/wrench", signal_publisher(True)
    )
    publisher.publish(LBRWrenchCommand(joint_position=POSITION, wrench=np.full(6, np.nan)))
    graph.spin_until(lambda: rejections.count == 1)
    assert rejections.reason.startswith("command/wrench: wrench is not finite")
    assert not commands
    assert reader is not None


@pytest.mark.graph
@pytest.mark.parametrize("mode", OVERLAYS)
def test_a_driver_without_such_commands_is_refused(graph, mode: CommandMode) -> None:
    with pytest.raises(ConfigError, match=r"'ros2_control' cannot .* \(valid: lbr_fri\)"):
        OverlayReader(graph.node("robot"), "ros2_control", mode, True, ignore, Rejections(print))


# Client command mode and control mode, values of the Fast Robot Interface.
@pytest.mark.parametrize(
    ("mode", "numbers"),
    [
        (CommandMode.POSITION, (1, 2)),
        (CommandMode.WRENCH, (2, 1)),
        (CommandMode.TORQUE, (3, 2)),
    ],
)
def test_the_state_says_what_the_arm_takes(mode: CommandMode, numbers: tuple[int, int]) -> None:
    profile = driver_profile("lbr_fri", DriverConfig(), 0.005)
    state = dataclasses.replace(ArmState(1, *[POSITION] * 4), command_mode=mode)
    message = profile.encode_state(state)["state"]
    assert (message.client_command_mode, message.control_mode) == numbers
    received = profile.decode_state("state", message)
    assert received is not None
    assert received.command_mode is mode


@pytest.mark.graph
@pytest.mark.parametrize("bad", [np.nan, 1e6])
def test_an_absurd_wrench_is_not_sent(graph, bad: float) -> None:
    writer = OverlayWriter(graph.node("client"), CommandMode.WRENCH, True)
    with pytest.raises(MessageError, match="commanded wrench"):
        writer.publish_command(SoundCommand(POSITION), np.full(6, bad))
