"""Estimator and controller as processes, beside the fake robot in the driver's place."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ContactArray, ControllerStatus, PoseTrajectoryPoint
from rclpy.action import ActionClient
from rclpy.duration import Duration
from rclpy.qos import qos_profile_sensor_data

from contact_core.base.files import share
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.client import GraphClient
from contact_ros.geometry import to_pose
from contact_stack.launch import NodeGraph, find_launch_file, parse

Start = Callable[..., "subprocess.Popen[str]"]
STROKE = 0.06
STROKE_TIME = 3.0


class FakeGraph:
    """What tests ask of the graph.

    Attributes:
        client: A node of the test.
        robot: The fake robot's process.
        pids: All processes.
        changes: Time of arrival [s] and name of each status that differs from the one before.
    """

    def __init__(
        self, client: GraphClient, robot: subprocess.Popen[str], nodes: tuple[int, ...]
    ) -> None:
        self.client, self.robot, self.pids = client, robot, (robot.pid, *nodes)
        self.changes: list[tuple[float, str]] = []
        self.mode = ControllerStatus.INACTIVE
        client.node.create_subscription(
            ControllerStatus, "controller_status", self._status, qos_profile_sensor_data
        )
        self._motion = ActionClient(client.node, FollowPoseTrajectory, "follow_pose_trajectory")

    def _status(self, message: ControllerStatus) -> None:
        self.mode = message.mode
        if not self.changes or self.changes[-1][1] != message.status_name:
            self.changes.append((time.monotonic(), message.status_name))

    def wait_until_ready(self) -> None:
        """Wait until the estimator is tared and the arm is held."""
        self.client.wait_for(
            ContactArray, "contacts", lambda m: m.state != ContactArray.UNTARED, timeout=120.0
        )
        self.client.wait_for(
            ControllerStatus, "controller_status", lambda m: m.mode == ControllerStatus.HOLD
        )

    def goal(self, strokes: int) -> FollowPoseTrajectory.Goal:
        """Return a goal that leads the tool down and up again, some times."""
        description = RobotDescription.load("iiwa14_wsg50")
        robot = Robot.from_description(description)
        robot.update(np.array(description.joints.home))
        goal = FollowPoseTrajectory.Goal()
        for k in range(2 * strokes):
            moment = Duration(seconds=(k + 1) * STROKE_TIME).to_msg()
            point = PoseTrajectoryPoint(time_from_start=moment, pose=to_pose(robot.tool_pose()))
            point.pose.position.z -= STROKE * (1 - k % 2)
            goal.trajectory.points.append(point)
        return goal

    def send(self, strokes: int) -> None:
        """Begin to move; nobody waits for the end."""
        self.client.wait_for(ControllerStatus, "controller_status")
        assert self._motion.wait_for_server(30.0)
        self._motion.send_goal_async(self.goal(strokes))
        self.client.wait_for(
            ControllerStatus,
            "controller_status",
            lambda m: m.mode in (ControllerStatus.TRACKING, ControllerStatus.CONSERVATIVE),
        )


@contextmanager
def fake_graph(start_process: Start, driver: str, *options: str) -> Iterator[FakeGraph]:
    """Start everything, and stop it again."""
    profile = driver.rstrip("2")
    robot = start_process(sys.executable, "-m", "contact_stack.cli", "fake", driver, *options)
    config = str(share("config", "contact_aware_controller.yaml"))
    free = {"hardware": "false", "controller_config": config}
    plan = parse(find_launch_file("control"), {"driver": profile, **free})
    output = io.StringIO()
    try:
        with NodeGraph(plan, output) as nodes, GraphClient("test_client") as client:
            graph = FakeGraph(client, robot, nodes.pids)
            graph.wait_until_ready()
            yield graph
            nodes.check()
    finally:
        robot.terminate()
        text = "".join(robot.communicate(timeout=20))
    assert robot.returncode == 0, text
    assert "Traceback" not in text + output.getvalue()
