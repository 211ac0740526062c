"""Two robots in one graph: each moves exactly as if it were alone."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import numpy as np
import pytest
import rclpy
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ControllerStatus, PoseTrajectoryPoint
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.geometry import to_pose
from contact_ros.lockstep import Participant, TickInputs
from contact_ros.qos import LOCKSTEP
from contact_ros.stamps import NANOSECONDS, to_duration, to_nanoseconds, to_time
from contact_stack.launch import LaunchPlan, NodeGraph, find_launch_file, parse

pytestmark = [pytest.mark.graph, pytest.mark.verify]

SEEDS = {"left": "0", "right": "1"}
WAYS_DOWN = {"left": 0.2, "right": 0.1}
COMMON = {"lockstep": "true", "client": "observer", "held_mass": "0.1"}
QUIET = {"view": "false", "frames": "false"}
GOAL_TICK = 60


class Observer(Node):
    """Sends one goal at a tick, and hashes every true position bit by bit."""

    def __init__(self, namespace: str, ticks: int) -> None:
        super().__init__("observer", namespace=namespace)
        self.hash = hashlib.sha256()
        self.moved = False
        self.clocks: list[int] = []
        self._ticks = ticks
        self._way_down = WAYS_DOWN[namespace]
        self._k = 0
        self._inputs = TickInputs(["joints", "status"], self._handle)
        self._participant = Participant(self, "observer", self._inputs.tick)
        for message_type, topic, name in (
            (JointState, "truth/joint_states", "joints"),
            (ControllerStatus, "controller_status", "status"),
        ):
            self.create_subscription(
                message_type,
                topic,
                lambda m, name=name: self._inputs.put(name, to_nanoseconds(m.header.stamp), m),
                LOCKSTEP,
            )
        self.create_subscription(
            Clock, "clock", lambda m: self.clocks.append(to_nanoseconds(m.clock)), 10
        )
        self._action = ActionClient(self, FollowPoseTrajectory, "follow_pose_trajectory")

    @property
    def finished(self) -> bool:
        return self._k >= self._ticks

    def ready(self) -> bool:
        return bool(self._action.server_is_ready())

    def announce(self) -> None:
        self._participant.announce()

    def _handle(self, k: int, samples: dict[str, Any]) -> None:
        joints: JointState = samples["joints"]
        self._k = k
        if k <= self._ticks:  # the other robot may still be behind
            self.hash.update(joints.position.tobytes())
        self.moved |= samples["status"].mode == ControllerStatus.TRACKING
        if k != GOAL_TICK:
            self._participant.done(k)
            return
        future = self._action.send_goal_async(_goal_down(joints, self._way_down))
        future.add_done_callback(lambda _: self._participant.done(k))


def _goal_down(joints: JointState, distance: float) -> FollowPoseTrajectory.Goal:
    """Return a goal that moves the tool down in 4 s, from 0.1 s later on."""
    robot = Robot.from_description(RobotDescription.load("iiwa14_wsg50"))
    robot.update(np.array(joints.position[:7]))
    pose = robot.tool_pose()
    pose.translation[2] -= distance
    point = PoseTrajectoryPoint(pose=to_pose(pose), time_from_start=to_duration(4 * NANOSECONDS))
    goal = FollowPoseTrajectory.Goal()
    goal.trajectory.header.stamp = to_time(
        to_nanoseconds(joints.header.stamp) + round(0.1 * NANOSECONDS)
    )
    goal.trajectory.points = [point]
    return goal


def run(plan: LaunchPlan, robots: list[str], ticks: int) -> dict[str, Observer]:
    """Run a graph for some ticks and return what was seen of each robot."""
    rclpy.init()
    executor = SingleThreadedExecutor()
    observers = {robot: Observer(robot, ticks) for robot in robots}
    for observer in observers.values():
        executor.add_node(observer)
    try:
        with NodeGraph(plan, io.StringIO()) as graph:
            waiting = list(observers.values())
            while not all(observer.finished for observer in observers.values()):
                executor.spin_once(timeout_sec=0.5)
                for observer in [node for node in waiting if node.ready()]:
                    observer.announce()
                    waiting.remove(observer)
                graph.check()
    finally:
        executor.shutdown()
        for observer in observers.values():
            observer.destroy_node()
        rclpy.shutdown()
    return observers


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("ticks", [400, 12_000])
def test_each_of_two_robots_moves_as_if_alone(ros_domain: int, ticks: int) -> None:
    """Bit by bit, each with a seed, a clock and a goal of its own; 12 000 ticks are 60 s."""
    both = run(parse(find_launch_file("two_robots"), COMMON | QUIET), list(SEEDS), ticks)
    for robot, seed in SEEDS.items():
        arguments = {"robot_name": robot, "seed": seed, "clock": "clock", **COMMON, **QUIET}
        alone = run(parse(find_launch_file("sim"), arguments), [robot], ticks)[robot]
        assert both[robot].hash.hexdigest() == alone.hash.hexdigest()
        assert both[robot].moved
        assert sorted(both[robot].clocks) == both[robot].clocks
    assert both["left"].hash.hexdigest() != both["right"].hash.hexdigest()
