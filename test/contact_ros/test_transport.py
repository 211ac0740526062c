"""How far nodes talk, and over what, unless the user says otherwise."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from contact_core.base.errors import ConfigError
from contact_ros import network
from contact_ros.environment import profiles_variable
from tamsi_sim.node import simulator

Start = Callable[..., subprocess.Popen[str]]

TALKER = """
from rclpy.node import Node
from std_msgs.msg import String
from contact_ros.entry_point import run

class Talker(Node):
    def __init__(self):
        super().__init__("talker")
        maps = open("/proc/self/maps").read()
        text = "shared" if "/dev/shm/fast" in maps else "not shared"
        publisher = self.create_publisher(String, "memory", 1)
        self.create_timer(0.02, lambda: publisher.publish(String(data=text)))

raise SystemExit(run(Talker, reach={reach!r}))
"""

LISTENER = """
import rclpy
from rclpy.node import Node
from std_msgs.msg import String
from contact_ros import network

{enter}
rclpy.init()
node = Node("listener")
heard = []
node.create_subscription(String, "memory", heard.append, 1)
while not heard:
    rclpy.spin_once(node)
print(heard[0].data)
"""

FAR_REACHING = {
    network.RANGE: "SUBNET",
    network.TRANSPORTS: "DEFAULT",
    "ROS_STATIC_PEERS": "10.17.0.2",
    "ROS_LOCALHOST_ONLY": "0",
    "ROS_DISCOVERY_SERVER": "10.17.0.2:11811",
}


@pytest.mark.parametrize(
    ("environment", "added"),
    [
        ({}, {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}),
        ({network.RANGE: "SUBNET"}, {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}),
        ({network.RANGE: "LOCALHOST", network.TRANSPORTS: "SHM"}, {}),
        ({network.RANGE: "LOCALHOST", network.PROFILES: "mine.xml"}, {}),
        ({network.RANGE: "LOCALHOST", "ROS_STATIC_PEERS": "10.0.0.7"}, {}),
    ],
)
def test_what_the_user_decided_stays(
    environment: dict[str, str], added: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = dict(environment)
    monkeypatch.setattr(os, "environ", changed)
    network.avoid_shared_memory()
    assert changed == environment | added


def test_another_middleware_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its discovery must not become wider than what the user asked for."""
    changed = {network.RANGE: "LOCALHOST"}
    monkeypatch.setattr(os, "environ", changed)
    monkeypatch.setattr(network, "get_rmw_implementation_identifier", lambda: "rmw_zenoh_cpp")
    network.avoid_shared_memory()
    assert changed == {network.RANGE: "LOCALHOST"}


def test_localhost_is_stronger_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {**FAR_REACHING, network.PROFILES: "mine.xml", "CYCLONEDDS_URI": "file:///mine.xml"}
    monkeypatch.setattr(os, "environ", changed)
    network.enter(network.LOCALHOST)
    assert changed.pop(network.PROFILES).endswith("loopback.xml")
    assert changed == {network.RANGE: "SYSTEM_DEFAULT", network.SKIP_PROFILES_OF_FOLDER: "1"}


def test_who_asks_for_the_environment_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {**FAR_REACHING, network.NETWORK: network.ENVIRONMENT}
    monkeypatch.setattr(os, "environ", changed)
    network.enter(network.LOCALHOST)
    assert changed == {**FAR_REACHING, network.NETWORK: network.ENVIRONMENT}


def test_an_unknown_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(network.NETWORK, "subnet")
    with pytest.raises(ConfigError, match=r"'subnet' \(valid: localhost, environment\)"):
        network.enter(network.LOCALHOST)


def test_a_simulator_keeps_to_its_machine_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, str] = {}
    monkeypatch.setattr(simulator, "run", lambda node, reach: asked.update(reach=reach) or 0)
    assert simulator.main() == 0
    assert asked == {"reach": network.LOCALHOST}


@pytest.mark.graph
def test_a_process_that_keeps_to_its_machine_has_no_socket_beyond(
    start_process: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in FAR_REACHING.items():
        monkeypatch.setenv(name, value)
    talker = start_process(sys.executable, "-c", TALKER.format(reach=network.LOCALHOST))
    end = time.monotonic() + 30.0
    while len(addresses(talker.pid)) < 1:
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(0.5)
    assert addresses(talker.pid) == {"0100007F"}  # 127.0.0.1
    talker.terminate()
    talker.wait()


def addresses(pid: int) -> set[str]:
    """Return the addresses that the UDP sockets of a process are bound to, as in /proc."""
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            sockets.add(os.readlink(link))
    rows = [
        row.split()
        for table in ("udp", "udp6")
        for row in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    return {row[1].partition(":")[0] for row in rows if f"socket:[{row[9]}]" in sockets}


@pytest.mark.graph
@pytest.mark.parametrize(("transports", "memory"), [("", "not shared"), ("DEFAULT", "shared")])
def test_a_node_is_heard_by_one_that_uses_shared_memory(
    transports: str, memory: str, start_process: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(profiles_variable())
    monkeypatch.setenv(network.RANGE, "LOCALHOST")
    listener = start_process(sys.executable, "-c", LISTENER.format(enter=""))
    if transports:
        monkeypatch.setenv(network.TRANSPORTS, transports)
    talker = start_process(sys.executable, "-c", TALKER.format(reach=network.ENVIRONMENT))
    heard, _ = listener.communicate(timeout=60.0)
    assert heard.strip() == memory
    talker.terminate()
    talker.wait()


PARTICIPANTS = 110
"""Processes in a domain beside the two of the test; it has ports for 120."""


@pytest.mark.graph
def test_nodes_find_each_other_among_many(start_process: Start, ros_domain: int) -> None:
    """The others are sockets on the ports that as many participants would have."""
    first = 7400 + 250 * ros_domain + 10
    with contextlib.ExitStack() as stack:
        for port in range(first, first + 2 * PARTICIPANTS):
            taken = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
            with contextlib.suppress(OSError):  # it is taken already
                taken.bind(("127.0.0.1", port))
        talker = start_process(sys.executable, "-c", TALKER.format(reach=network.LOCALHOST))
        listener = start_process(
            sys.executable, "-c", LISTENER.format(enter="network.enter(network.LOCALHOST)")
        )
        assert listener.wait(timeout=60.0) == 0
        talker.terminate()
        talker.wait()
