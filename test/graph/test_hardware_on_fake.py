"""hardware.launch.xml from the first state to a motion, with the fake robot for each driver."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ControllerStatus, PoseTrajectoryPoint
from geometry_msgs.msg import Vector3
from rclpy.duration import Duration
from rclpy.publisher import Publisher
from std_srvs.srv import Trigger

from contact_core.description import RobotDescription
from contact_core.files import share
from contact_core.robot import Robot
from contact_experiments.fake import DRIVERS
from contact_experiments.fake.robot import START
from contact_ros.client import GraphClient
from contact_ros.geometry import to_pose
from contact_stack.launch import NodeGraph, find_launch_file, parse

CHECKS = ("state rate", "joints", "limits", "tare", "payload", "torque sign", "stiffness")
ACCEPTING = """/**:
  ros__parameters:
    accept_simulator: true
"""

ATTEMPTS = 2
"""On a busy machine a state may be late, and the arm is held."""

pytestmark = [pytest.mark.graph, pytest.mark.verify]


def short_way_down() -> FollowPoseTrajectory.Goal:
    """A goal 3 mm below where the fake robot starts."""
    robot = Robot.from_description(RobotDescription.load("iiwa14_wsg50"))
    robot.update(np.array(START))
    point = PoseTrajectoryPoint(
        time_from_start=Duration(seconds=2.0).to_msg(), pose=to_pose(robot.tool_pose())
    )
    point.pose.position.z -= 0.003
    goal = FollowPoseTrajectory.Goal()
    goal.trajectory.points = [point]
    return goal


def push(hand: Publisher, direction: Vector3, force: float) -> None:
    """Push for more than a second, beginning and ending as gently as a hand."""
    rising = np.linspace(0.0, 1.0, 11).tolist()
    for part in (*rising, *rising[::-1]):
        strength = part * force
        hand.publish(
            Vector3(x=strength * direction.x, y=strength * direction.y, z=strength * direction.z)
        )
        time.sleep(1.0 if part == 1.0 else 0.03)


def moves(client: GraphClient) -> bool:
    """Tell whether a goal succeeds; on a busy machine states are late or lost: the arm is held."""
    result = client.run(
        FollowPoseTrajectory, "follow_pose_trajectory", short_way_down(), timeout=30.0
    )
    if result.error_string:
        print(result.error_string)
        for service in ("reset", "resume"):
            client.call(Trigger, f"contact_aware_controller/{service}", Trigger.Request())
    return not result.error_string


@pytest.fixture(params=DRIVERS)
def fake(
    request: pytest.FixtureRequest, start_process: Callable[..., subprocess.Popen[str]]
) -> Iterator[str]:
    """A fake robot; the name of its driver."""
    robot = start_process(sys.executable, "-m", "contact_stack.cli", "fake", request.param)
    yield str(request.param)
    robot.terminate()
    assert robot.wait(20.0) == 0


def test_only_after_the_push_the_arm_may_move(fake: str, tmp_path: Path) -> None:
    preflight, controller = tmp_path / "preflight.yaml", tmp_path / "controller.yaml"
    preflight.write_text(ACCEPTING)
    accepting = "ros__parameters:\n    accept_simulator: true\n"
    for_hardware = share("config", "contact_aware_controller_hardware.yaml").read_text()
    controller.write_text(for_hardware.replace("ros__parameters:\n", accepting))
    arguments = {
        "driver": fake.rstrip("2"),
        "bringup": "false",
        "gripper": "false",
        "view": "false",
        "preflight_config": str(preflight),
        "controller_config": str(controller),
    }
    output = io.StringIO()

    def says(text: str) -> Callable[[ControllerStatus], bool]:
        def said(status: ControllerStatus) -> bool:
            graph.check()
            return text in output.getvalue()

        return said

    plan = parse(find_launch_file("hardware"), arguments)
    with NodeGraph(plan, output) as graph, GraphClient("hand") as client:
        hand = client.node.create_publisher(Vector3, "fake_robot/push", 1)
        asking = client.wait_for(ControllerStatus, "controller_status", says("PUSH"), timeout=90.0)
        assert asking.mode == ControllerStatus.INACTIVE
        is_active = says("is active")
        for _ in range(ATTEMPTS):
            push(hand, Vector3(y=1.0), 15.0)
            push(hand, Vector3(z=-1.0), 15.0)
            time.sleep(1.0)
            if is_active(client.wait_for(ControllerStatus, "controller_status")):
                break
        for check in CHECKS:
            assert f"OK    {check}: " in output.getvalue()
        client.wait_for(
            ControllerStatus, "controller_status", lambda s: s.mode == ControllerStatus.HOLD
        )
        assert any(moves(client) for _ in range(ATTEMPTS))
