"""The frames of the robot: those of the model, in a tree whose root is the base link."""

from __future__ import annotations

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.executors import SingleThreadedExecutor
from tf2_msgs.msg import TFMessage

from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.guarded_node import GuardedNode
from contact_stack.robot_frames import TF, RivalFrames, RobotTree

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])


class Frames(GuardedNode):
    """Publishes frames when it is told to."""

    def __init__(self, namespace: str, prefix: str = "") -> None:
        super().__init__("robot_frames", namespace=namespace)
        self.names = [f"{prefix}link_{k}" for k in range(3)]
        self._tf = self.create_publisher(TFMessage, "/tf", TF)
        self.rivals = RivalFrames(self, self.names)
        self.rivals._timer.cancel()

    def send(self) -> None:
        frames = [TransformStamped(child_frame_id=name) for name in self.names]
        self._tf.publish(TFMessage(transforms=frames))
        self.rivals.sent += 1


@pytest.mark.graph
def test_who_publishes_the_same_frames_is_named_until_it_is_gone(ros_domain: int) -> None:
    """At once, though the values agree, as those of two simulations at their start do."""
    rclpy.init()
    executor = SingleThreadedExecutor()
    nodes: list[Frames] = []

    def start(*words: str) -> Frames:
        nodes.append(Frames(*words))
        executor.add_node(nodes[-1])
        return nodes[-1]

    def look(times: int, senders: list[Frames]) -> None:
        for _ in range(times):
            for _ in range(5):
                for node in senders:
                    node.send()
                for _ in range(len(senders) * len(nodes)):
                    executor.spin_once(timeout_sec=0.003)
            for node in nodes:
                node.rivals._update()

    try:
        left, other = start("/left"), start("/other", "other/")
        look(10, [left, other])
        assert left.rivals._subscription is not None
        assert not left.rivals.problem and not other.rivals.problem

        right = start("/right")
        for _ in range(20):
            look(1, [left, other, right])
            if left.rivals.problem and right.rivals.problem:
                break
        assert left.rivals.problem.startswith(
            "link_0 and 2 more frames on /tf are also published by /other/robot_frames or "
            "/right/robot_frames: launch with tf:=tf"
        )
        assert "/left/robot_frames" in right.rivals.problem
        assert not other.rivals.problem
        look(10, [left, other, right])
        assert left.rivals.problem

        look(10, [left, other])
        assert not left.rivals.problem
    finally:
        executor.shutdown()
        for node in nodes:
            node.destroy_node()
        rclpy.shutdown()


@pytest.fixture(scope="module")
def description() -> RobotDescription:
    return RobotDescription.load("iiwa14_wsg50")


def chain(tree: RobotTree, link: str) -> list[tuple[str, str]]:
    """Return the links from the root to a link."""
    parents = {child: parent for parent, child in (*tree.fixed, *tree.moving)}
    links: list[tuple[str, str]] = []
    while link in parents:
        links.insert(0, (parents[link], link))
        link = parents[link]
    return links


@pytest.mark.parametrize("link", ["tool", "lbr_link_4", "finger_left"])
def test_the_product_of_the_frames_is_the_pose_of_the_link(
    description: RobotDescription, link: str
) -> None:
    tree = RobotTree(description)
    tree.move(dict(zip([*description.arm_joints, "unknown"], [*Q, 1.0], strict=True)))
    tree.update()
    links = chain(tree, link)
    assert links[0][0] == description.base_link
    product = np.eye(4)
    for parent, child in links:
        product = product @ tree.pose(parent, child).homogeneous
    robot = Robot.from_description(description)
    robot.update(Q)
    if link != "finger_left":
        np.testing.assert_allclose(product, robot.link_pose(link).homogeneous, atol=1e-12)
    else:
        assert np.isfinite(product).all()


def test_the_other_finger_follows_the_first(description: RobotDescription) -> None:
    tree = RobotTree(description)
    fingers = [pair for pair in tree.moving if pair[1].startswith("finger_")]
    tree.update()
    closed = [tree.pose(*pair).translation for pair in fingers]
    tree.move({description.gripper_joint: 0.03})
    tree.update()
    moved = [
        np.linalg.norm(tree.pose(*p).translation - c) for p, c in zip(fingers, closed, strict=True)
    ]
    np.testing.assert_allclose(moved, 0.03, atol=1e-12)
    assert len(moved) == 2


def test_every_link_has_one_parent(description: RobotDescription) -> None:
    tree = RobotTree(description)
    children = [child for _, child in (*tree.fixed, *tree.moving)]
    assert len(set(children)) == len(children)
    assert {parent for parent, _ in (*tree.fixed, *tree.moving)} - set(children) == {
        description.base_link
    }
