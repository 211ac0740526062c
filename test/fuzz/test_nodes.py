"""Nothing that enters a node ends it, keeps it busy, or makes it publish what is not finite.

Everything is found in the node itself: its subscriptions, services, actions and parameters, and
from their interface definitions what can be sent there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from contact_stack_msgs.msg import Contact, ContactArray
from geometry_msgs.msg import Vector3
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from contact_core.base.errors import ConfigError

sys.path.insert(0, str(Path(__file__).parent))
from nodes import attack, executables, running

FEW = 150
"""Strikes on every node in a fast test."""

MANY = 11_200
"""In the long one: 1e5 on all of them."""

EXECUTABLES = sorted(executables())


def strike(executable: str, count: int) -> None:
    with running(executable) as target:
        try:
            attack(target, count)
        finally:
            target.close()


@pytest.mark.parametrize("executable", EXECUTABLES)
def test_a_node_survives_what_enters(executable: str, ros_domain: int) -> None:
    strike(executable, FEW)


@pytest.mark.parametrize("executable", EXECUTABLES)
def test_a_node_refuses_a_parameter_file_for_others(
    executable: str, ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "others.yaml"
    file.write_text(f"/left/{executable}:\n  ros__parameters:\n    use_sim_time: true\n")
    monkeypatch.setattr(sys, "argv", [executable, "--ros-args", "--params-file", str(file)])
    with (
        pytest.raises(ConfigError, match=f"{file} is for the node /lbr/{executable};"),
        running(executable),
    ):
        pass


KILLERS = {
    "robot_frames": ("gripper/joint_states", JointState(name=["a", "b"], position=[1.0])),
    "viewer": ("gripper/joint_states", JointState(name=["a", "b"], position=[1.0])),
    "tamsi_sim": ("tamsi_sim/push", Vector3(x=1e300)),
    "contact_aware_controller": (
        "contacts",
        ContactArray(contacts=[Contact(link="lbr_link_6", residual=1e308)]),
    ),
}
"""Executable -> topic and message that ended its node."""


@pytest.mark.parametrize("executable", KILLERS)
def test_what_once_ended_a_node_is_rejected(executable: str, ros_domain: int) -> None:
    topic, message = KILLERS[executable]
    with running(executable) as target:
        node = target.node
        (subscription,) = [s for s in node.subscriptions if s.topic_name == f"/lbr/{topic}"]
        target.strike(topic, lambda: subscription.callback(serialize_message(message)))
        target.pass_time()
        target.check("time has passed")
        reader = getattr(node, "_reader", node)
        assert node.rejections.count + reader.rejections.count >= 1
        target.close()


@pytest.mark.verify
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("executable", EXECUTABLES)
def test_a_node_survives_very_much(executable: str, ros_domain: int) -> None:
    strike(executable, MANY)
