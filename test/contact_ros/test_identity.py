"""A node that is for a real robot notices a simulator in its place."""

from __future__ import annotations

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor

from contact_ros.driver_profile import DriverConfig, driver_profile
from contact_ros.identity import PERIOD, RobotIdentity, announce_simulator

pytestmark = pytest.mark.graph


def test_a_simulator_is_noticed_while_it_is_there_and_where_it_matters(ros_domain: int) -> None:
    rclpy.init()
    node, simulator = rclpy.create_node("controller"), rclpy.create_node("simulator")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    now = [0.0]
    ours = driver_profile("lbr_fri", DriverConfig(), 0.005)
    other = driver_profile("lbr_fri", DriverConfig(namespace="/other"), 0.005)
    hardware = RobotIdentity(node, ours, True, lambda: now[0])
    simulation = RobotIdentity(node, ours, False, lambda: now[0])
    elsewhere = RobotIdentity(node, other, True, lambda: now[0])
    try:
        assert not hardware.wrong
        announcement = announce_simulator(simulator, ours, "a scene")
        assert not hardware.wrong  # it looks now and then only
        now[0] += PERIOD
        assert hardware.wrong
        assert not simulation.wrong
        assert not elsewhere.wrong
        simulator.destroy_publisher(announcement)
        now[0] += PERIOD
        assert not hardware.wrong
    finally:
        executor.shutdown()
        node.destroy_node()
        simulator.destroy_node()
        rclpy.shutdown()
