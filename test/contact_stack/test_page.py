"""The page: who may talk to it, and what a person's hands become."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
import viser
from page import visit
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from contact_core.description import RobotDescription
from contact_core.robot import Robot
from contact_stack.viewer.cast import cast_of
from contact_stack.viewer.node import Pace
from contact_stack.viewer.page import Page
from contact_stack.viewer.snapshot import Snapshot

Q = np.array([0.1, 0.5, -0.2, -1.3, 0.2, 0.9, 0.1])
LINK = "lbr_link_4"


class Asked:
    """Commands that are only noted."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *arguments: self.calls.append((name, *arguments))


@pytest.fixture(scope="module")
def robot():
    return RobotDescription.load("iiwa14_wsg50")


@pytest.fixture
def page(robot):
    page = Page(cast_of("", "iiwa14_wsg50"), "127.0.0.1", 8400, history=10)
    page.draw(Snapshot(joints=dict(zip(robot.arm_joints, Q, strict=True))))
    yield page
    page.close()


@pytest.fixture
def asked(page, robot):
    asked = Asked()
    links = Robot.from_description(robot).link_names
    page.offer(asked, robot.tool_link, links, 15.0)
    return asked


@pytest.mark.parametrize(
    ("origin", "welcome"),
    [
        ("http://127.0.0.1:8400", True),
        ("http://localhost:8888", True),
        (None, True),
        ("https://evil.example", False),
        ("http://127.0.0.1.evil.example", False),
        ("null", False),
    ],
)
def test_pages_of_other_sites_may_not_talk_to_it(page, origin, welcome):
    address = page.address.replace("http", "ws", 1)
    protocols = [f"viser-v{viser.__version__}"]
    if welcome:
        with connect(address, subprotocols=protocols, origin=origin, max_size=None) as server:
            assert server.recv(timeout=10)
    else:
        with pytest.raises(InvalidStatus, match="403"):
            connect(address, subprotocols=protocols, origin=origin)


def drag(page, phase, start, end):
    """Let the mouse drag the link."""
    solid = page._robot.solids[LINK][0]
    event = SimpleNamespace(phase=phase, start_position=start, end_position=end)
    asyncio.run(solid._impl.drag_cb[0].callback(event))


def test_a_link_is_held_where_the_mouse_took_it(page, asked, robot):
    arm = Robot.from_description(robot)
    arm.update(Q)
    held = arm.link_pose(LINK).act(np.array([0.05, 0.0, 0.1]))
    hand = np.add(held, (0.0, 0.1, 0.0))
    drag(page, "start", tuple(held), tuple(held))
    drag(page, "update", tuple(held), tuple(hand))
    name, grip = asked.calls[-1]
    assert (name, grip.link) == ("pull", LINK)
    np.testing.assert_allclose(grip.point, [0.05, 0.0, 0.1], atol=1e-6)
    np.testing.assert_allclose(grip.hand, hand)
    page.draw(Snapshot(joints=dict(zip(robot.arm_joints, Q, strict=True))))
    # The arrow goes from the point to the hand.
    np.testing.assert_allclose(visit(page.address).arrows["/hand"], [[held, hand]], atol=1e-5)
    drag(page, "end", tuple(held), tuple(hand))
    assert asked.calls[-1] == ("pull", None)


def test_the_goal_of_the_tool_begins_at_the_tool_and_ends_with_it(page, asked, robot):
    arm = Robot.from_description(robot)
    arm.update(Q)
    controls = page._controls
    controls._show_goal(True)
    goal = controls._goal
    shown = pin.SE3(pin.Quaternion(*goal.wxyz).matrix(), goal.position)
    np.testing.assert_allclose(shown.homogeneous, arm.tool_pose().homogeneous, atol=1e-6)
    controls._show_goal(False)
    assert asked.calls[-1] == ("drive", None)


def test_who_only_looks_finds_nothing_to_press(page):
    looks = [solid for solids in page._robot.solids.values() for solid in solids]
    assert not any(solid._impl.drag_cb for solid in looks)
    assert "/hand" not in visit(page.address).nodes


def test_what_the_controller_says_is_shown_with_its_remedy_and_quoted(page):
    page.draw(Snapshot(state="FAULT", status="STOPPED", remedy="call reset <b>", pace=0.5))
    status = visit(page.address).status
    assert "FAULT: STOPPED</strong> at 0.00 s, 0.50 of real time" in status
    assert "call reset &lt;b&gt;" in status


def test_the_commanded_arm_and_friction_cones_are_shown_on_request(page, robot):
    pushed = Snapshot(
        joints=dict(zip(robot.arm_joints, Q, strict=True)),
        command=(Q + 0.1).tolist(),
        estimated_points=[np.array([0.5, 0.0, 0.5])],
        estimated_forces=[np.array([0.0, 10.0, 0.0])],
        estimated_normals=[np.array([0.0, 1.0, 0.0])],
    )
    page.draw(pushed)
    assert "/contacts/cones/0" not in visit(page.address).nodes
    page._command_shown.value = page._cones_shown.value = True
    page.draw(pushed)
    poses = visit(page.address).poses
    cone = poses["/contacts/cones/0"]
    np.testing.assert_allclose(cone.rotation[:, 2], [0.0, 1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(cone.translation, [0.5, 0.0, 0.5], atol=1e-6)
    arm = Robot.from_description(robot)
    arm.update(Q + 0.1)
    last = poses[f"/ghost/{robot.arm_joints[-1]}"]
    np.testing.assert_allclose(last.homogeneous, arm.link_pose("lbr_link_7").homogeneous, atol=1e-6)


def test_the_pace_of_a_simulation_is_that_of_the_last_second():
    pace = Pace()
    assert np.isnan(pace.measure(0.0, 100.0))
    for k in range(1, 60):
        measured = pace.measure(0.25 * k / 30.0, 100.0 + k / 30.0)
    assert measured == pytest.approx(0.25)
    assert np.isnan(pace.measure(0.0, 102.0))
