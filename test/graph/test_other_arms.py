"""The graph with an arm of six joints, and with nodes that mean different robots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from contact_stack_msgs.msg import ControllerStatus
from control_msgs.action import FollowJointTrajectory
from faults import diagnostic
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectoryPoint

from contact_core.robot.description import RobotDescription
from contact_ros.identity import FINGERPRINT_TOPIC
from contact_ros.qos import LATCHED
from contact_stack.launch import NodeGraph

pytestmark = pytest.mark.graph


@pytest.mark.parametrize("driver", ["ros2_control"], indirect=True)
def test_six_joints_move_until_somebody_means_another_robot(
    launch: Callable[..., NodeGraph], client: Any, driver: str
) -> None:
    launch(scene="free_space", robot="ur5e_wsg50")
    client.wait_until_ready()
    robot = RobotDescription.load("ur5e_wsg50")
    point = JointTrajectoryPoint(
        positions=np.add(robot.joints.home, 0.1).tolist(), time_from_start=Duration(sec=2)
    )
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names, goal.trajectory.points = list(robot.arm_joints), [point]
    result = client.result(client.joints, goal)
    assert result.error_code == FollowJointTrajectory.Result.SUCCESSFUL, result.error_string

    other = RobotDescription.load("iiwa14_wsg50")
    somebody = client.node.create_publisher(String, FINGERPRINT_TOPIC, LATCHED)
    somebody.publish(String(data=f"{client.node.get_name()} {other.fingerprint} {other.name}"))
    client.spin_until(lambda: client.latest("controller_status").status_name == "WRONG_ROBOT")
    assert client.latest("controller_status").mode == ControllerStatus.FAULT
    said = client.spin_until(lambda: diagnostic(client, "contact_aware_controller")[1].get("fault"))
    assert "test_client means robot iiwa14_wsg50" in said
