"""The frames of the robot: those of the model, in a tree whose root is the base link."""

from __future__ import annotations

import numpy as np
import pytest

from contact_core.description import RobotDescription
from contact_core.robot import Robot
from contact_stack.robot_frames import RobotTree

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])


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
