"""Targets on topics move the arm, and stop it when they stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from client import GraphClient
from contact_stack_msgs.msg import ControllerStatus
from geometry_msgs.msg import TwistStamped
from sensor_msgs.msg import JointState

from contact_ros.stamps import to_time

pytestmark = pytest.mark.graph


def stream_until(
    done: Callable[[], bool], client: Any, kind: type, topic: str, make: Callable[[], Any]
) -> None:
    """Publish at 30 Hz, for a while."""
    publisher = client.node.create_publisher(kind, topic, 1)
    end = time.monotonic() + 20.0
    while not done():
        assert time.monotonic() < end, f"what {topic} asks for did not happen"
        message = make()
        message.header.stamp = to_time(time.monotonic_ns())
        publisher.publish(message)
        client.spin_for(1.0 / 30.0)


@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_targets_move_the_arm_and_stop_it(held: GraphClient, driver: str) -> None:
    client = held

    def command() -> np.ndarray:
        return np.array(client.latest("controller_status").joint_command)

    before = command()
    up = TwistStamped()
    up.twist.linear.z = 0.03
    stream_until(
        lambda: np.abs(command() - before).max() > 0.03, client, TwistStamped, "target_twist",
        lambda: up,
    )  # fmt: skip
    client.spin_until(lambda: client.latest("controller_status").status_name == "REFERENCE_STALE")
    assert client.latest("controller_status").mode == ControllerStatus.HOLD
    after = command()
    wanted = after + 0.1 * np.eye(7)[6]
    target = JointState(name=[f"lbr_A{i}" for i in range(7, 0, -1)], position=wanted[::-1].tolist())
    stream_until(
        lambda: np.abs(command() - wanted).max() < 5e-3, client, JointState, "target_joint",
        lambda: target,
    )  # fmt: skip
