"""A client that dies in the middle of a goal frees the server."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
import rclpy
from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.qos import qos_profile_action_status_default
from rclpy.signals import SignalHandlerOptions

pytestmark = pytest.mark.graph

SEND_AND_LEAVE = """
import rclpy
from contact_stack_msgs.action import PlanThroughContact
from rclpy.action import ActionClient

rclpy.init()
node = rclpy.create_node("mayfly", namespace="lbr")
client = ActionClient(node, PlanThroughContact, "plan_through_contact")
client.wait_for_server()
goal = PlanThroughContact.Goal(example="hand_move", mode="zero", samples=200)
feedback = []
client.send_goal_async(goal, feedback.append)
while not feedback:
    rclpy.spin_once(node)
"""


def test_planning_stops_when_nobody_waits_for_the_plan(server) -> None:
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("observer", namespace="lbr")
    statuses: list[int] = []
    node.create_subscription(
        GoalStatusArray,
        "plan_through_contact/_action/status",
        lambda message: statuses.extend(goal.status for goal in message.status_list),
        qos_profile_action_status_default,
    )
    subprocess.run([sys.executable, "-c", SEND_AND_LEAVE], check=True, timeout=60)
    end = time.monotonic() + 30.0
    while GoalStatus.STATUS_ABORTED not in statuses and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    node.destroy_node()
    rclpy.shutdown()
    assert statuses[0] == GoalStatus.STATUS_EXECUTING
    assert statuses[-1] == GoalStatus.STATUS_ABORTED
