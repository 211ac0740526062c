"""Commands with a wrench: what is sent arrives, nothing bad gets through."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from lbr_fri_idl.msg import LBRWrenchCommand
from rclpy.node import Node

from contact_stack.core.arm_state import ArmState
from contact_stack.core.errors import ConfigError
from contact_stack.ros.driver_profile import (
    DriverConfig,
    Rejections,
    WrenchReader,
    WrenchWriter,
    driver_profile,
)
from contact_stack.ros.driver_profile.wrench_overlay import TOPIC
from contact_stack.ros.qos import signal_publisher

POSITION, WRENCH = np.arange(7.0) / 3.0, np.arange(6.0) / 7.0


@pytest.mark.graph
def test_a_command_arrives_bit_by_bit(graph) -> None:
    commands: list[tuple[np.ndarray, np.ndarray]] = []
    rejections = Rejections()
    reader = WrenchReader(
        graph.node("robot"), "lbr_fri", True, lambda *command: commands.append(command), rejections
    )
    WrenchWriter(graph.node("client"), True).publish_command(POSITION, WRENCH)
    graph.spin_until(lambda: bool(commands))
    np.testing.assert_array_equal(commands[0][0], POSITION)
    np.testing.assert_array_equal(commands[0][1], WRENCH)
    assert rejections.count == 0
    assert reader is not None


@pytest.mark.graph
def test_a_wrench_that_is_not_finite_is_counted_and_not_passed_on(graph) -> None:
    commands: list[object] = []
    rejections = Rejections()
    robot: Node = graph.node("robot")
    reader = WrenchReader(
        robot, "lbr_fri", True, lambda *command: commands.append(command), rejections
    )
    publisher = graph.node("client").create_publisher(
        LBRWrenchCommand, TOPIC, signal_publisher(True)
    )
    publisher.publish(LBRWrenchCommand(joint_position=POSITION, wrench=np.full(6, np.nan)))
    graph.spin_until(lambda: rejections.count == 1)
    assert rejections.reason.startswith("command/wrench: wrench is not finite")
    assert not commands
    assert reader is not None


@pytest.mark.graph
def test_a_driver_without_wrenches_is_refused(graph) -> None:
    with pytest.raises(ConfigError, match=r"'ros2_control' cannot .* \(valid: lbr_fri\)"):
        WrenchReader(graph.node("robot"), "ros2_control", True, lambda p, w: None, Rejections())


@pytest.mark.parametrize("takes_wrench", [False, True])
def test_the_state_says_whether_the_arm_takes_wrenches(takes_wrench: bool) -> None:
    profile = driver_profile("lbr_fri", DriverConfig(), 0.005)
    state = dataclasses.replace(ArmState(1, *[POSITION] * 4), takes_wrench=takes_wrench)
    message = profile.encode_state(state)["state"]
    # Values of the Fast Robot Interface.
    assert message.client_command_mode == (2 if takes_wrench else 1)
    assert message.control_mode == (1 if takes_wrench else 2)
    received = profile.decode_state("state", message)
    assert received is not None
    assert received.takes_wrench is takes_wrench
