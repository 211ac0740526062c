"""Nodes leave shared memory alone, unless the user's environment says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String

from contact_ros import entry_point

Start = Callable[..., subprocess.Popen[str]]

TALKER = """
from rclpy.node import Node
from std_msgs.msg import String
from contact_ros.entry_point import run

class Talker(Node):
    def __init__(self):
        super().__init__("talker")
        maps = open("/proc/self/maps").read()
        text = "shared" if "/dev/shm/fastrtps_" in maps else "not shared"
        publisher = self.create_publisher(String, "memory", 1)
        self.create_timer(0.02, lambda: publisher.publish(String(data=text)))

raise SystemExit(run(Talker))
"""


@pytest.mark.parametrize(
    ("environment", "added"),
    [
        ({}, {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}),
        ({entry_point.RANGE: "SUBNET"}, {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}),
        ({entry_point.RANGE: "LOCALHOST", entry_point.TRANSPORTS: "SHM"}, {}),
        ({entry_point.RANGE: "LOCALHOST", entry_point.PROFILES: "mine.xml"}, {}),
        ({entry_point.RANGE: "LOCALHOST", "ROS_STATIC_PEERS": "10.0.0.7"}, {}),
    ],
)
def test_what_the_user_decided_stays(
    environment: dict[str, str], added: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = dict(environment)
    monkeypatch.setattr(os, "environ", changed)
    entry_point.avoid_shared_memory()
    assert changed == environment | added


def test_another_middleware_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its discovery must not become wider than what the user asked for."""
    changed = {entry_point.RANGE: "LOCALHOST"}
    monkeypatch.setattr(os, "environ", changed)
    monkeypatch.setattr(entry_point, "get_rmw_implementation_identifier", lambda: "rmw_zenoh_cpp")
    entry_point.avoid_shared_memory()
    assert changed == {entry_point.RANGE: "LOCALHOST"}


@pytest.mark.parametrize(("transports", "memory"), [("", "not shared"), ("DEFAULT", "shared")])
def test_a_node_is_heard_by_one_that_uses_shared_memory(
    transports: str, memory: str, start_process: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On this machine only: the listener's range is LOCALHOST."""
    if transports:
        monkeypatch.setenv(entry_point.TRANSPORTS, transports)
    talker = start_process(sys.executable, "-c", TALKER)
    rclpy.init()
    listener = Node("listener")
    executor = SingleThreadedExecutor()
    executor.add_node(listener)
    heard: list[String] = []
    listener.create_subscription(String, "memory", heard.append, 1)
    for _ in range(400):
        executor.spin_once(timeout_sec=0.05)
        if heard:
            break
    executor.shutdown()
    listener.destroy_node()
    rclpy.shutdown()
    talker.terminate()
    talker.wait()
    assert [message.data for message in heard[:1]] == [memory]
