"""Fingers that move and things that are held, as part of the surface."""

import numpy as np
import pinocchio as pin
import pytest

from contact_aware_control.estimation.surface import hidden, new_placement, place, project, to_world
from contact_aware_control.estimation.tool_surface import MAX_HELD_SHAPES, ToolSurface, check_held
from contact_core.base.errors import ModelError
from contact_core.multibody.collision.shapes import PlacedShape, Shape, ShapeKind
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import HELD_OBJECT, Robot

OPEN = 0.04
FINGERS = ("finger_left", "finger_right")


@pytest.fixture
def tool():
    return ToolSurface(Robot.from_description(RobotDescription.load("iiwa14_wsg50")))


def held(kind=ShapeKind.CYLINDER, size=(0.04, 0.05, 0.0), xyz=(0.0, 0.0, 0.1)):
    return PlacedShape("mug", HELD_OBJECT, Shape(kind, size), pin.SE3(np.eye(3), np.array(xyz)))


def nearest(tool, robot, point):
    """Return link, point and normal of the surface nearest to a point, all in the tool frame."""
    surface, placement = tool.surface, new_placement(tool.surface)
    robot.update(np.zeros(7))
    place(surface, robot.joint_rotations, robot.joint_origins, placement)
    pose = robot.tool_pose()
    start = tool.links.index("gripper_body")
    shape, *local = project(surface, placement, start, *pose.act(np.array(point)))
    found = pose.actInv(np.array(to_world(placement, shape, *local[:3])))
    assert not hidden(surface, placement, shape, *pose.act(found))
    normal = pose.rotation.T @ placement.rotation[shape] @ np.array(local[3:])
    return tool.links[shape], found, normal


def test_fingers_are_where_they_are_and_one_body(tool):
    robot = tool._robot
    tool.set_gripper(OPEN)
    for side, link in zip((1.0, -1.0), FINGERS, strict=True):
        name, point, normal = nearest(tool, robot, (0.0, side * 0.1, -0.03))
        assert name == link
        # A finger is 18 mm thick with its pads.
        np.testing.assert_allclose(point, (0.0, side * (OPEN + 0.018), -0.03), atol=1e-9)
        np.testing.assert_allclose(normal, (0.0, side, 0.0), atol=1e-9)
    numbers = {tool.body[tool.links.index(link)] for link in FINGERS}
    assert len(numbers) == 1
    assert len(set(tool.body)) == len(set(tool.links)) - 1


@pytest.mark.parametrize("y", [-0.03, -0.001, 0.0, 0.02])
def test_what_presses_on_both_fingers_presses_between_them(tool, y):
    """A table under the tips, with nothing but the palm in between."""
    robot = tool._robot
    tool.set_gripper(OPEN)
    name, point, normal = nearest(tool, robot, (0.0, y, 0.06))
    assert name in FINGERS
    np.testing.assert_allclose(point[:2], (0.0, y), atol=1e-9)
    assert point[2] == pytest.approx(0.02, abs=3e-3)
    np.testing.assert_allclose(normal, (0.0, 0.0, 1.0), atol=1e-9)
    tool.set_gripper(0.0)
    assert not tool.surface.candidate[
        [i for i, s in enumerate(tool._shapes) if s.name == "way"]
    ].any()


def test_a_held_object_joins_the_surface_and_leaves_it(tool):
    robot, empty = tool._robot, tuple(array.copy() for array in tool.surface)
    arrays = tuple(id(array) for array in tool.surface)
    check_held([held()])
    tool.hold([held()])
    name, point, _ = nearest(tool, robot, (0.1, 0.0, 0.1))
    assert name == HELD_OBJECT
    np.testing.assert_allclose(point, (0.04, 0.0, 0.1), atol=1e-9)
    tool.hold([])
    assert nearest(tool, robot, (0.1, 0.0, 0.1))[0] in FINGERS
    for before, after in zip(empty, tool.surface, strict=True):
        np.testing.assert_array_equal(before, after)
    assert tuple(id(array) for array in tool.surface) == arrays


def test_links_that_may_not_be_touched_stay_out(tool):
    robot = tool._robot
    only = ToolSurface(robot, ("lbr_link_6",))
    only.set_gripper(OPEN)
    only.hold([held()])
    touchable = {only.links[i] for i in np.flatnonzero(only.surface.candidate)}
    assert touchable == {"lbr_link_6", HELD_OBJECT}


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([held()] * (MAX_HELD_SHAPES + 1), "has 5 shapes"),
        ([held(ShapeKind.HALF_SPACE)], "cannot be a half_space"),
        ([held(size=(0.0, 0.0, 0.0))], "sizes must be positive"),
        ([held(size=(0.1, -0.05, 0.0))], "sizes must be positive"),
    ],
)
def test_what_cannot_be_held_is_refused(shapes, message):
    with pytest.raises(ModelError, match=message):
        check_held(shapes)
