"""What the tests of the controller's node share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import rclpy
from rclpy.node import Node


@pytest.fixture
def node(ros_domain: int) -> Iterator[Node]:
    """A node without services, on a domain of its own."""
    rclpy.init()
    node = rclpy.create_node("controller", start_parameter_services=False)
    yield node
    node.destroy_node()
    rclpy.shutdown()
