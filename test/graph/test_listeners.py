"""Who only listens shows the arm where it is: the live page and the frames of tf."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import numpy as np
import pinocchio as pin
import pytest
from client import GraphClient, shared_graph
from faults import at_rest, diagnostic, goal_down
from lbr_fri_idl.msg import LBRState
from page import Shown, visit
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from contact_core.robot.description import RobotDescription
from contact_ros.geometry import to_se3
from contact_ros.qos import LATCHED, signal_publisher
from contact_ros.stamps import to_nanoseconds

pytestmark = pytest.mark.graph

TOLERANCE = 1e-3
"""How far the page may be off the arm, which is at rest [rad or m]."""

READERS = ("contact_estimator", "contact_aware_controller", "viewer", "robot_frames")


class Truth:
    """Where pinocchio says the links are at the simulator's true joint positions."""

    def __init__(self, description: RobotDescription) -> None:
        self._arm_joints = description.arm_joints
        self._model = description.model()
        self._data = self._model.createData()

    def move(self, message: JointState) -> None:
        q = pin.neutral(self._model)
        for joint, position in zip(self._arm_joints, message.position, strict=False):
            q[self._model.joints[self._model.getJointId(joint)].idx_q] = position
        pin.framesForwardKinematics(self._model, self._data, q)

    def joints(self) -> dict[str, pin.SE3]:
        return {name: self._data.oMi[self._model.getJointId(name)] for name in self._arm_joints}

    def link(self, name: str) -> pin.SE3:
        return self._data.oMf[self._model.getFrameId(name, pin.FrameType.BODY)]


class Frames:
    """The frames of tf, as a tool hears them."""

    def __init__(self, client: GraphClient) -> None:
        self.moving: list[TFMessage] = []
        self._fixed: list[TFMessage] = []
        client.node.create_subscription(TFMessage, "/tf", self.moving.append, QoSProfile(depth=100))
        client.node.create_subscription(TFMessage, "/tf_static", self._fixed.append, LATCHED)

    def pose(self, moving: TFMessage, base: str, link: str) -> pin.SE3:
        """Compose the chain from the base to a link."""
        frames = {
            frame.child_frame_id: frame
            for message in (*self._fixed, moving)
            for frame in message.transforms
        }
        pose = pin.SE3.Identity()
        while link != base:
            pose = to_se3(frames[link].transform) * pose
            link = frames[link].header.frame_id
        return pose


@pytest.fixture(scope="module")
def running(driver: str) -> Iterator[GraphClient]:
    """The graph with everyone who listens."""
    with shared_graph(driver, view="true", frames="true") as client:
        yield client


def test_the_page_and_tf_show_the_arm_where_it_is(running: GraphClient) -> None:
    """After a motion, for every driver."""
    client = running
    description = RobotDescription.load("iiwa14_wsg50")
    truth, frames = Truth(description), Frames(client)
    start = client.latest("truth/joint_states").position
    client.result(client.pose, goal_down(client, 0.05, 0.5))
    address = client.spin_until(lambda: re.search(r"live page at (\S+)", client.output.getvalue()))[
        1
    ]
    client.spin_until(lambda: frames.moving)
    client.spin_until(lambda: at_rest(client))
    end = client.latest("truth/joint_states").position
    assert np.abs(np.subtract(end, start)).max() > 5 * TOLERANCE

    truth.move(client.latest("truth/joint_states"))

    def arrived() -> Shown | None:
        page = visit(address)
        shown = (page.poses[f"/robot/{joint}"] for joint in truth.joints())
        close = map(partial(np.allclose, atol=TOLERANCE), shown, truth.joints().values())
        return page if all(close) else None

    page = client.spin_until(arrived)  # on a busy machine it shows what was before
    shown_time = re.match(r"[A-Z_: ]+ at (\S+) s", page.words["state"][0])
    assert shown_time and 0.0 < float(shown_time[1]) < 600.0, page.words

    # The stamp of a frame tells which state it shows.
    heard = client.heard["truth/joint_states"]
    states = {to_nanoseconds(state.header.stamp): state for _, state in heard}
    shown = [message for message in frames.moving if stamp(message) in states]
    assert shown
    for message in shown:
        truth.move(states[stamp(message)])
        tool = frames.pose(message, description.base_link, description.tool_link)
        np.testing.assert_allclose(tool, truth.link(description.tool_link), atol=1e-9)


def stamp(frames: TFMessage) -> int:
    return to_nanoseconds(frames.transforms[0].header.stamp)


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_whoever_rejects_a_state_says_so(running: GraphClient) -> None:
    """In the log and on /diagnostics: not even the page falls silent without a reason."""
    client = running
    publisher = client.node.create_publisher(LBRState, "state", signal_publisher(lockstep=False))
    client.spin_until(lambda: publisher.get_subscription_count() == len(READERS))
    bad = LBRState(measured_joint_position=np.full(7, np.nan))

    def reasons() -> list[str]:
        publisher.publish(bad)  # again and again: good states replace some of them unread
        return [diagnostic(client, node)[1].get("last_rejection", "") for node in READERS]

    client.spin_until(lambda: all(reasons()))
    expected = "state: measured_joint_position is not finite"
    for node, reason in zip(READERS, reasons(), strict=True):
        assert reason.startswith(expected)
        assert f"[lbr.{node}]: message rejected: {expected}" in client.output.getvalue()
