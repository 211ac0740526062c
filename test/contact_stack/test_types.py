"""The type hashes that the doctor lists are those that nodes compare on the wire."""

from __future__ import annotations

import importlib
import json
import time

import pytest
import rclpy
from lbr_fri_idl.msg import LBRState

from contact_stack import cli
from contact_stack.checks.software import interface_packages

# First half of the hashes, made from upstream's own text by ROS 2 Jazzy's generator: control_msgs
# 5.8.0 (f901df26, jazzy), lbr_fri_idl e422bff2 (fri-1) and a54bc110 (fri-2), tf2_msgs of geometry2
# 646342c6 (jazzy).
UPSTREAM = {
    "control_msgs/action/FollowJointTrajectory": "738ebcb7a2d7cfa42f9f1001cc99ce3a",
    "control_msgs/action/GripperCommand": "e17c0e644eccf14bea84a0a93e097718",
    "control_msgs/action/ParallelGripperCommand": "adfd3c1ebe8abc38ebcc0e454b6423d2",
    "control_msgs/msg/GripperCommand": "57eb8f326c9889ca8bb34ead82cc94cc",
    "control_msgs/msg/JointComponentTolerance": "739ea7566931944d33830fa10f1bf5e7",
    "control_msgs/msg/JointTolerance": "c254f9cece0f3b733017b6990fd46d13",
    "lbr_fri_idl/msg/LBRJointPositionCommand": "e291f8c58a8214c80ae5760397b4e8d0",
    "lbr_fri_idl/msg/LBRState": "0bd506fb2deecf20210a7bcd3336737c",
    "lbr_fri_idl/msg/LBRTorqueCommand": "7cc062fe08eef66bd9bcc385ee6c309d",
    "lbr_fri_idl/msg/LBRWrenchCommand": "66a2c7ac87e716026f267cd2ef42ec2c",
    "tf2_msgs/msg/TFMessage": "e369d0f05a23ae52508854b66f6aa043",
}
STATE_OF_FRI_2 = "fd177ecc6baa43da48eb4def81ca8527"


def test_every_package_of_the_stack_is_listed_with_its_version() -> None:
    packages = {package.name: package for package in interface_packages()}
    assert set(packages) == {"contact_stack_msgs", "control_msgs", "lbr_fri_idl", "tf2_msgs"}
    assert all(package.version and package.types for package in packages.values())


@pytest.mark.parametrize("package", ["control_msgs", "lbr_fri_idl", "tf2_msgs"])
def test_every_underlay_type_has_upstreams_hash(package: str) -> None:
    (found,) = (item for item in interface_packages() if item.name == package)
    expected = {name: text for name, text in UPSTREAM.items() if name.startswith(f"{package}/")}
    if package == "lbr_fri_idl" and not hasattr(LBRState(), "commanded_joint_position"):
        expected["lbr_fri_idl/msg/LBRState"] = STATE_OF_FRI_2
    hashes = {item.name: item.hash.removeprefix("RIHS01_") for item in found.types}
    assert {name: text[:32] for name, text in hashes.items()} == expected


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
