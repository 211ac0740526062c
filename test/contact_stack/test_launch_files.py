"""A launch file starts what its expectation file says: an independent description of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml
from rclpy.node import Node

from contact_core.base.errors import LaunchError
from contact_core.base.files import share
from contact_stack.launch import NodeAction, find_launch_file, parse
from contact_stack.launch.runner import command_line
from contact_stack.robot_frames import RobotFramesNode
from tamsi_sim.node.simulator import SimulatorNode

sys.path.insert(0, str(Path(__file__).parent))
import launch_ros_reader

EXPECTATIONS = Path(__file__).parent / "launch_expectations"
EXPECTED = sorted(file.stem for file in EXPECTATIONS.glob("*.yaml"))
LAUNCH_FILES = sorted(file.name.split(".")[0] for file in share("launch").glob("*.launch.xml"))


def described(node: NodeAction) -> dict[str, Any]:
    """Describe a node in the words of the expectation files."""
    values = [p for p in node.parameters if isinstance(p, dict)]
    description = {
        "executable": node.executable,
        "namespace": node.namespace,
        "files": [p.name for p in node.parameters if isinstance(p, Path)],
        "parameters": {name: value for mapping in values for name, value in mapping.items()},
        "remaps": dict(node.remappings),
    }
    return {key: value for key, value in description.items() if value}


def test_every_launch_file_has_its_expectation_file() -> None:
    assert EXPECTED == LAUNCH_FILES


@pytest.mark.parametrize("name", EXPECTED)
def test_a_launch_file_starts_what_is_expected(name: str) -> None:
    expected = yaml.safe_load((EXPECTATIONS / f"{name}.yaml").read_text())
    nodes = parse(find_launch_file(name), expected.get("arguments", {})).nodes
    assert [described(node) for node in nodes] == expected["nodes"]
    package = "moveit_ros_move_group" if name == "moveit" else "contact_stack"
    assert all(node.package == package for node in nodes)
    assert all(node.name == node.executable for node in nodes)


@pytest.mark.parametrize("name", EXPECTED)
def test_launch_ros_reads_a_launch_file_as_we_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It looks for executables; that of MoveIt need not be installed.
    (tmp_path / "share/ament_index/resource_index/packages").mkdir(parents=True)
    (tmp_path / "share/ament_index/resource_index/packages/moveit_ros_move_group").touch()
    stub = tmp_path / "lib/moveit_ros_move_group/move_group"
    stub.parent.mkdir(parents=True)
    stub.touch(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path), prepend=os.pathsep)
    expected = yaml.safe_load((EXPECTATIONS / f"{name}.yaml").read_text())
    arguments = expected.get("arguments", {})
    try:
        theirs = launch_ros_reader.read(find_launch_file(name), arguments, monkeypatch)
    except ImportError as error:
        pytest.skip(f"launch_ros is not installed: {error}")
    assert theirs == [described(node) for node in parse(find_launch_file(name), arguments).nodes]


@pytest.mark.parametrize("name", EXPECTED)
def test_only_hardware_talks_beyond_this_machine_unasked(name: str) -> None:
    arguments = yaml.safe_load((EXPECTATIONS / f"{name}.yaml").read_text()).get("arguments", {})

    def networks(**asked: str) -> set[str]:
        nodes = parse(find_launch_file(name), {**arguments, **asked}).nodes
        ours = [node for node in nodes if node.package == "contact_stack"]
        return {node.environment["CONTACT_STACK_NETWORK"] for node in ours}

    if name in ("driver", "moveit"):
        assert networks() == set()
        return
    on_hardware = name in ("hardware", "gripper", "fri_driver")
    assert networks() == {"environment" if on_hardware else "localhost"}
    assert networks(network="localhost") == {"localhost"}
    assert networks(network="environment") == {"environment"}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_launch_ends_with_who_it_cannot_do_without_and_restarts_the_others(name: str) -> None:
    """By attributes that `ros2 launch` knows; a failed pre-flight check is such an end."""
    expected = yaml.safe_load((EXPECTATIONS / f"{name}.yaml").read_text())
    for node in parse(find_launch_file(name), expected.get("arguments", {})).nodes:
        critical = node.name in ("tamsi_sim", "contact_aware_controller", "preflight")
        assert (node.ends_launch, node.respawn_delay) == (critical, None if critical else 1.0)


NODES: dict[str, Callable[[], Node]] = {"robot_frames": RobotFramesNode, "tamsi_sim": SimulatorNode}
"""Those that launch files remap something of."""


@pytest.mark.graph
@pytest.mark.parametrize("executable", NODES)
def test_a_remap_changes_a_name_that_the_node_has(executable: str, ros_domain: int) -> None:
    nodes = parse(find_launch_file("two_robots"), {"lockstep": "true"}).nodes
    assert {node.executable for node in nodes if node.remappings} == set(NODES)
    action = next(node for node in nodes if node.executable == executable)
    rclpy.init(args=command_line(action))
    try:
        node = NODES[executable]()
        topics = {name for name, _ in node.get_topic_names_and_types()}
        for source, _ in action.remappings:
            assert node.resolve_topic_name(source) in topics
            assert source not in topics
        node.destroy_node()
    finally:
        rclpy.shutdown()


@pytest.mark.parametrize("name", LAUNCH_FILES)
def test_a_launch_file_is_short(name: str) -> None:
    assert len(find_launch_file(name).read_text().splitlines()) <= 40


@pytest.mark.parametrize(
    ("driver", "package", "file"),
    [
        ("lbr_fri", "lbr_bringup", "hardware.launch.py"),
        ("kuka_drivers", "kuka_sunrise_fri_driver", "startup.launch.py"),
    ],
)
def test_hardware_includes_the_drivers_own_launch_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: str, package: str, file: str
) -> None:
    """Which is in Python: with our runner a person is sent to `ros2 launch`."""
    index = tmp_path / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    for installed in (package, "contact_stack"):
        (index / installed).touch()
    (tmp_path / "share" / package / "launch").mkdir(parents=True)
    (tmp_path / "share" / package / "launch" / file).touch()
    command = tmp_path / "lib/contact_stack/contact-stack"
    command.parent.mkdir(parents=True)
    command.write_text("#!/bin/sh\nprintf %s /tmp\n")
    command.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    with pytest.raises(LaunchError, match=rf"{file} needs launch_ros"):
        parse(find_launch_file("hardware"), {"driver": driver})


def test_hardware_starts_our_own_driver_with_what_it_is_told() -> None:
    arguments = {"driver": "fri", "fri": "2.7", "host": "192.170.10.2"}
    nodes = parse(find_launch_file("hardware"), arguments).nodes
    driver = described(next(node for node in nodes if node.executable == "fri_driver"))
    assert driver["parameters"]["version"] == "2.7"
    assert driver["parameters"]["robot"] == "iiwa14_wsg50"
    told = [described(node)["parameters"].get("driver") for node in nodes]
    assert set(told) == {"fri", None}


def test_ros2_control_has_no_driver_to_start() -> None:
    with_bringup, without = (
        parse(find_launch_file("hardware"), {"driver": "ros2_control", "bringup": bringup}).nodes
        for bringup in ("true", "false")
    )
    assert with_bringup == without != ()
