"""Two graphs with the same names in one domain would corrupt each other: the second is refused."""

from __future__ import annotations

import pytest
import rclpy

from contact_core.base.errors import LaunchError
from contact_stack.launch import find_launch_file, parse, refuse_second_graph

pytestmark = pytest.mark.graph


def sim(robot_name: str):
    return parse(find_launch_file("sim"), {"robot_name": robot_name})


def test_a_graph_beside_another_robots_may_start(ros_domain: int) -> None:
    rclpy.init()
    try:
        other = rclpy.create_node("tamsi_sim", namespace="right")
        refuse_second_graph(sim("left"))
        other.destroy_node()
    finally:
        rclpy.shutdown()


def test_a_graph_in_the_place_of_another_is_refused(ros_domain: int) -> None:
    rclpy.init()
    try:
        other = rclpy.create_node("tamsi_sim", namespace="lbr")
        with pytest.raises(LaunchError, match=rf"'/lbr/tamsi_sim' .* ROS domain {ros_domain}: "):
            refuse_second_graph(sim("lbr"))
        other.destroy_node()
        refuse_second_graph(sim("lbr"))
    finally:
        rclpy.shutdown()
