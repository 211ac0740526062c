"""The type hashes that the doctor lists are those that nodes compare on the wire."""

from __future__ import annotations

import importlib
import json
import time

import pytest
import rclpy

from contact_stack import cli
from contact_stack.checks.software import interface_packages


def test_every_package_of_the_stack_is_listed_with_its_version() -> None:
    packages = {package.name: package for package in interface_packages()}
    assert set(packages) == {"contact_stack_msgs", "control_msgs", "lbr_fri_idl", "tf2_msgs"}
    assert all(package.version and package.types for package in packages.values())


def test_an_underlay_type_has_upstreams_hash() -> None:
    """That of ROS 2 Jazzy's own tf2_msgs."""
    hashes = {item.name: item.hash for package in interface_packages() for item in package.types}
    assert hashes["tf2_msgs/msg/TFMessage"] == (
        "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"
    )


def test_they_are_printed_for_people_and_programs(capsys) -> None:
    assert cli.main(["doctor", "--types"]) == 0
    text = capsys.readouterr().out
    assert "lbr_fri_idl/msg/LBRState  RIHS01_" in text
    assert cli.main(["doctor", "--types", "--json"]) == 0
    listed = {package["name"]: package for package in json.loads(capsys.readouterr().out)}
    assert all(item["hash"] in text for item in listed["control_msgs"]["types"])


@pytest.mark.graph
def test_nodes_announce_the_same_hashes(ros_domain: int) -> None:
    """Oracle: what the middleware itself tells about a publisher of each message type."""
    rclpy.init()
    node = rclpy.create_node("types")
    messages = {
        item.name: item.hash
        for package in interface_packages()
        for item in package.types
        if "/msg/" in item.name
    }
    for name in messages:
        package, kind, message = name.split("/")
        message_type = getattr(importlib.import_module(f"{package}.{kind}"), message)
        node.create_publisher(message_type, name, 1)
    announced = {}
    end = time.monotonic() + 20.0
    while len(announced) < len(messages) and time.monotonic() < end:
        for name in messages:
            for publisher in node.get_publishers_info_by_topic(f"/{name}"):
                announced[name] = str(publisher.topic_type_hash)
        rclpy.spin_once(node, timeout_sec=0.05)
    node.destroy_node()
    rclpy.shutdown()
    assert announced == messages
