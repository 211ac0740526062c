"""Hands push and pull the arm as they say, and let go."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from contact_stack_msgs.msg import Pull
from geometry_msgs.msg import Point, Vector3

from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.validation import MessageError
from tamsi_sim.node.hand import DAMPING_TIME, PATIENCE, STRONGEST_PULL, HandForces

Q = np.array([0.1, 0.5, -0.2, -1.3, 0.2, 0.9, 0.1])
STILL = np.zeros(7)


class Bench:
    """Hands without a graph."""

    def __init__(self):
        self.now, self.listeners = 0, {}
        node = SimpleNamespace(create_subscription=self.subscribe)
        description = RobotDescription.load("iiwa14_wsg50")
        self.robot = Robot.from_description(description)
        self.robot.update(Q)
        own = Robot.from_description(description)
        self.hands = HandForces(node, "tamsi_sim", own, threading.Lock(), lambda: self.now)

    def subscribe(self, kind, topic, callback, qos):
        self.listeners[topic] = callback

    def pull(self, link, offset, stiffness=300.0, point=(0.01, 0.02, 0.03)):
        """Hold a point of a link from a place beside it (3) [m]; return the point."""
        held = self.robot.link_pose(link).act(np.array(point))
        x, y, z = held + offset
        px, py, pz = point
        self.listeners["tamsi_sim/pull"](
            Pull(link=link, point=Point(x=px, y=py, z=pz), hand=Point(x=x, y=y, z=z),
                 stiffness=stiffness)
        )  # fmt: skip
        return held


@pytest.mark.parametrize("link", ["lbr_link_3", "lbr_link_6", "gripper_body"])
def test_a_pull_is_the_force_of_a_spring_at_the_point_that_is_held(link):
    bench = Bench()
    offset = np.array([0.02, -0.05, 0.03])
    held = bench.pull(link, offset)
    expected = bench.robot.torque_of_force(link, held, 300.0 * offset)
    np.testing.assert_allclose(bench.hands.torque(Q, STILL), expected, atol=1e-9)


def test_a_pull_takes_energy_out_of_what_it_holds():
    bench = Bench()
    held = bench.pull("lbr_link_6", np.zeros(3))
    velocity = np.full(7, 0.2)
    moves = bench.robot.point_jacobian("lbr_link_6", held) @ velocity
    power = bench.hands.torque(Q, velocity) @ velocity
    assert power == pytest.approx(-300.0 * DAMPING_TIME * moves @ moves)


def test_a_pull_has_a_largest_force():
    bench = Bench()
    held = bench.pull("lbr_link_6", np.array([2.0, 0.0, 0.0]))
    expected = bench.robot.torque_of_force("lbr_link_6", held, np.array([STRONGEST_PULL, 0.0, 0.0]))
    np.testing.assert_allclose(bench.hands.torque(Q, STILL), expected, atol=1e-9)


def test_who_pulls_lets_go_by_saying_so_or_by_silence():
    bench = Bench()
    offset = np.array([0.0, 0.1, 0.0])
    bench.pull("lbr_link_6", offset)
    bench.now = PATIENCE
    assert bench.hands.torque(Q, STILL).any()
    bench.now = PATIENCE + 1
    assert not bench.hands.torque(Q, STILL).any()
    bench.pull("lbr_link_6", offset)
    bench.pull("lbr_link_6", offset, stiffness=0.0)
    assert not bench.hands.torque(Q, STILL).any()
    bench.pull("lbr_link_6", offset)
    bench.hands.let_go()
    assert not bench.hands.torque(Q, STILL).any()


def test_a_push_on_the_tool_adds_to_a_pull():
    bench = Bench()
    bench.listeners["tamsi_sim/push"](Vector3(x=1.0, y=2.0, z=3.0))
    tool = bench.robot.tool_pose().translation
    pushed = bench.robot.torque_of_force(bench.robot.tool_link, tool, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(bench.hands.torque(Q, STILL), pushed, atol=1e-9)
    held = bench.pull("lbr_link_4", np.array([0.0, 0.0, 0.1]))
    pulled = bench.robot.torque_of_force("lbr_link_4", held, np.array([0.0, 0.0, 30.0]))
    np.testing.assert_allclose(bench.hands.torque(Q, STILL), pushed + pulled, atol=1e-9)


def test_nonsense_is_rejected_and_changes_nothing():
    bench = Bench()
    for link, offset, stiffness, reason in (
        ("lbr_link_9", 0.1, 300.0, "lbr_link_9"),
        ("lbr_link_6", np.nan, 300.0, "hand"),
        ("lbr_link_6", 0.1, -1.0, "stiffness"),
        ("lbr_link_6", 0.1, 1e9, "stiffness"),
    ):
        with pytest.raises(MessageError, match=reason):
            listener = bench.listeners["tamsi_sim/pull"]
            listener(Pull(link=link, hand=Point(x=offset), stiffness=stiffness))
    assert not bench.hands.torque(Q, STILL).any()
