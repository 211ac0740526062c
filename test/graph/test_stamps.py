"""Stamps of simulator and fake robot are the ROS clock's, also after they could not keep up."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from lbr_fri_idl.msg import LBRState
from rclpy.qos import qos_profile_sensor_data

from contact_ros.client import GraphClient
from contact_ros.stamps import NANOSECONDS
from contact_stack.launch import LaunchPlan, NodeGraph, find_launch_file, parse

pytestmark = pytest.mark.graph

HELD_UP = 0.3
"""How long a process does not run [s]."""

PERIOD = 0.005
"""Of the states [s]."""

MESSAGES = 400
"""The quickest of so many was held up by nobody else."""


def lags(client: GraphClient) -> list[float]:
    """Return how old states are when they arrive [s]."""
    heard: list[float] = []
    clock = client.node.get_clock()

    def receive(state: LBRState) -> None:
        stamp = state.time_stamp_sec * NANOSECONDS + state.time_stamp_nano_sec
        heard.append(1e-9 * (clock.now().nanoseconds - stamp))

    subscription = client.node.create_subscription(
        LBRState, "state", receive, qos_profile_sensor_data
    )
    client.wait_until(lambda: len(heard) >= MESSAGES, 60.0)
    client.node.destroy_subscription(subscription)
    return heard


def assert_stamps_keep_to_the_clock(pid: int) -> None:
    """Listen, hold the process up, and listen again."""
    with GraphClient("listener") as client:
        client.wait_for(LBRState, "state", timeout=60.0)
        before = lags(client)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(HELD_UP)
        os.kill(pid, signal.SIGCONT)
        after = lags(client)
    for heard in (before, after):
        print(f"lag: quickest {1e3 * min(heard):.1f} ms, slowest {1e3 * max(heard):.1f} ms")
    # A period, and as much for the way here; what was held up was older for ever after.
    assert -PERIOD < min(before) < 2.0 * PERIOD
    assert -PERIOD < min(after) < 2.0 * PERIOD


@pytest.mark.usefixtures("ros_domain")
def test_stamps_of_the_simulator() -> None:
    simulator = parse(find_launch_file("sim"), {"scene": "free_space"}).nodes[0]
    with NodeGraph(LaunchPlan((simulator,)), io.StringIO()) as graph:
        assert_stamps_keep_to_the_clock(graph.pids[0])


def test_stamps_of_the_fake_robot(start_process: Callable[..., subprocess.Popen[str]]) -> None:
    fake = start_process(sys.executable, "-m", "contact_stack.cli", "fake", "lbr_fri")
    assert_stamps_keep_to_the_clock(fake.pid)
    fake.terminate()
    assert fake.wait(20.0) == 0
