"""The frame of a pose or a vector that enters the controller counts, whatever brings it."""

from __future__ import annotations

import dataclasses
import threading
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from builtin_interfaces.msg import Duration
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import PoseTrajectoryPoint
from geometry_msgs.msg import PoseStamped, TwistStamped

from contact_aware_control.node.config import GoalConfig
from contact_aware_control.node.target_topics import TargetTopics
from contact_aware_control.node.touch_goals import TouchContext
from contact_aware_control.node.trajectory_goals import PoseGoal
from contact_aware_control.reference.stream import bounds_of
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.geometry import BaseFrames, to_pose
from contact_ros.validation import MessageError

HALF_TURN = pin.SE3(np.diag([-1.0, -1.0, 1.0]), np.zeros(3))
"""Of the frame `base`, which the driver's URDF of a UR has, from that of `base_link`."""

BASE = """<link name="base"/><joint name="base_fixed" type="fixed"><parent link="base_link"/>
<child link="base"/><origin xyz="0 0 0" rpy="0 0 3.141592653589793"/></joint></robot>"""


@pytest.fixture(scope="module")
def ur5e() -> RobotDescription:
    found = RobotDescription.load("ur5e_wsg50")
    return dataclasses.replace(found, urdf=found.urdf.replace("</robot>", BASE))


@pytest.fixture
def topics(ur5e: RobotDescription) -> SimpleNamespace:
    """What topics of targets make of messages, without a graph."""
    heard = SimpleNamespace(targets=[], refused=[], callbacks={}, now=1)
    node = SimpleNamespace(
        create_subscription=lambda kind, topic, callback, qos: heard.callbacks.update(
            {topic: callback}
        )
    )
    keeper = SimpleNamespace(put=lambda target, now: heard.targets.append(target))
    heard.topics = TargetTopics(
        node, keeper, tuple(ur5e.arm_joints), BaseFrames(ur5e), ur5e.tool_link, threading.Lock(),
        lambda: heard.now, heard.refused.append,
    )  # fmt: skip
    return heard


def test_targets_are_transformed_from_frames_fixed_to_the_base(topics, ur5e) -> None:
    pose = pin.SE3(np.eye(3), np.array([0.4, 0.1, 0.3]))
    message = PoseStamped(pose=to_pose(pose))
    twist = TwistStamped()
    twist.twist.linear.x, twist.twist.angular.y = 0.1, 0.2
    for frame, turned in (("", pin.SE3.Identity()), ("world", pin.SE3.Identity()),
                          ("base", HALF_TURN)):  # fmt: skip
        message.header.frame_id = twist.header.frame_id = frame
        topics.callbacks["target_pose"](message)
        topics.callbacks["target_twist"](twist)
        place, speed = topics.targets[-2:]
        np.testing.assert_allclose(place.place.homogeneous, (turned * pose).homogeneous, atol=1e-9)
        wanted = np.concatenate((turned.rotation @ [0.1, 0, 0], turned.rotation @ [0, 0.2, 0]))
        np.testing.assert_allclose(speed.velocity, wanted, atol=1e-9)
    twist.header.frame_id = ur5e.tool_link
    topics.callbacks["target_twist"](twist)
    assert topics.targets[-1].in_tool
    assert not topics.refused


def test_targets_in_other_frames_are_refused_by_name(topics, ur5e) -> None:
    message = PoseStamped(pose=to_pose(pin.SE3.Identity()))
    message.header.frame_id = ur5e.tool_link
    topics.callbacks["target_pose"](message)
    twist = TwistStamped()
    twist.header.frame_id = "forearm_link"
    topics.callbacks["target_twist"](twist)
    assert not topics.targets
    assert topics.refused[0].startswith("target_pose: unknown frame 'tool' (")
    assert "base_link, world" in topics.refused[0]
    assert topics.refused[1].startswith("target_twist: unknown frame 'forearm_link' (")
    assert ur5e.tool_link in topics.refused[1]


def test_a_target_without_a_rotation_is_refused(topics) -> None:
    message = PoseStamped()
    message.pose.orientation.w = 2.0
    topics.callbacks["target_pose"](message)
    assert topics.refused == [
        "target_pose: norm of the quaternion of the target is 2 (valid: 0.99 .. 1.01)"
    ]


def test_a_pose_trajectory_is_followed_in_its_frame_or_refused(ur5e) -> None:
    """It was executed as if any frame were the base's."""
    robot, frames = Robot.from_description(ur5e), BaseFrames(ur5e)
    start = robot.tool_pose()
    request = FollowPoseTrajectory.Goal()
    request.trajectory.points = [
        PoseTrajectoryPoint(pose=to_pose(HALF_TURN * start), time_from_start=Duration(sec=1))
    ]
    request.trajectory.header.frame_id = "base"
    goal = PoseGoal(request, robot, start, frames)
    np.testing.assert_allclose(
        goal.goal.reference.sample(1.0).homogeneous, start.homogeneous, atol=1e-9
    )
    request.trajectory.header.frame_id = "camera_optical_frame"
    with pytest.raises(MessageError, match=r"unknown frame 'camera_optical_frame' \(valid: "):
        PoseGoal(request, robot, start, frames)


def test_directions_of_moves_that_touch_follow_the_same_rule(ur5e) -> None:
    robot = Robot.from_description(ur5e)
    context = TouchContext(
        robot, BaseFrames(ur5e), ur5e.arm_joints, bounds_of(6, (1.0, 1.0, 1.0)), 0.005, GoalConfig()
    )
    q = np.array(ur5e.joints.home)
    ahead = np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(ahead @ context.axes("world", q), ahead)
    np.testing.assert_allclose(ahead @ context.axes("base", q), -ahead, atol=1e-9)
    robot.update(q)
    tool = robot.tool_pose().rotation[:, 0]
    np.testing.assert_allclose(ahead @ context.axes(ur5e.tool_link, q), tool)
    with pytest.raises(MessageError, match="unknown frame 'forearm_link'"):
        context.axes("forearm_link", q)


def test_topics_that_are_silent_are_followed_no_longer(topics) -> None:
    topics.callbacks["target_twist"](TwistStamped())
    assert topics.topics.followed() == ["target_twist"]
    topics.now += 2_000_000_000
    assert topics.topics.followed() == []
