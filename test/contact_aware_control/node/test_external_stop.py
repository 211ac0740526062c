"""The external stop hears whoever publishes, also what was pressed before it listened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Bool

from contact_aware_control.node.config import ExternalStopConfig
from contact_aware_control.node.controller_parts import ExternalStop
from contact_aware_control.safety.status import Request
from contact_ros.executor import GuardedExecutor
from contact_ros.guarded_node import GuardedNode

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
SENSOR = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


@pytest.fixture
def node(ros_domain: int) -> Iterator[GuardedNode]:
    rclpy.init()
    node = GuardedNode("controller")
    yield node
    node.destroy_node()
    rclpy.shutdown()


@pytest.mark.parametrize("quality", [LATCHED, SENSOR, QoSProfile(depth=1)])
def test_a_button_is_heard_whatever_its_quality_of_service(
    node: GuardedNode, quality: QoSProfile
) -> None:
    asked: list[Request] = []
    button = node.create_publisher(Bool, "external_stop", quality)
    kept = quality is LATCHED
    if kept:
        button.publish(Bool(data=True))  # before anybody listens
    stop = ExternalStop(node, ExternalStopConfig(), lambda request, detail: asked.append(request))
    executor = GuardedExecutor()
    executor.add_node(node)
    for _ in range(2000):
        if asked:
            break
        if not kept:
            button.publish(Bool(data=True))
        executor.spin_once(timeout_sec=0.01)
    assert asked == [Request.PRESS_EXTERNAL_STOP]
    assert stop.pressed
    executor.shutdown()
