"""hardware.launch.xml with the drivers' own launch files under the real launch.

Needs launch_ros, and checkouts of the drivers in the folder that DRIVER_SOURCE names, by the
pins in config/drivers. Stubs stand for all executables.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from driver_stubs import Started, StubWorkspace

DRIVER_SOURCE = "CONTACT_STACK_DRIVER_SOURCE"
LBR_CONTROLLER = "lbr_joint_position_command_controller"
RATE = 200


@pytest.fixture
def workspace(tmp_path: Path, request: pytest.FixtureRequest) -> StubWorkspace:
    """A workspace with the drivers; the test is skipped without them or without launch_ros."""
    spec = importlib.util.find_spec("launch_ros")
    if spec is None or spec.origin is None:
        pytest.skip("launch_ros is not installed")
    if DRIVER_SOURCE not in os.environ:
        pytest.skip(f"{DRIVER_SOURCE} does not name a folder with checkouts of the drivers")
    source = Path(os.environ[DRIVER_SOURCE])
    repository = request.node.get_closest_marker("needs").args[0]
    if not (source / repository).is_dir():
        pytest.skip(f"{source} has no {repository}")
    return StubWorkspace(tmp_path, source)


def named(started: list[Started], executable: str) -> list[Started]:
    """Return the processes of an executable."""
    return [process for process in started if process.executable == executable]


def spawned(started: list[Started]) -> set[str]:
    """Return the words in the command lines of all spawners, controllers among them."""
    return {word for process in named(started, "spawner") for word in process.arguments}


def yaml_of(path: str) -> Any:
    """Read a file."""
    return yaml.safe_load(Path(path).read_text())


@pytest.mark.needs("lbr_fri_ros2_stack")
@pytest.mark.parametrize("robot_name", ["lbr", "left"])
@pytest.mark.parametrize(("fri", "major", "minor"), [("1.15", 1, 15), ("2.5", 2, 5)])
def test_lbr_fri_starts_with_our_controller(
    workspace: StubWorkspace, robot_name: str, fri: str, major: int, minor: int
) -> None:
    def complete(started: list[Started]) -> bool:
        ours = named(started, "preflight")
        return bool(ours) and {LBR_CONTROLLER, "lbr_state_broadcaster"} <= spawned(started)

    started, output = workspace.run(
        complete, driver="lbr_fri", robot_name=robot_name, fri=fri, port="30201", view="false"
    )
    assert complete(started), output
    (manager,) = named(started, "ros2_control_node")
    assert f"__ns:=/{robot_name}" in manager.arguments
    assert manager.parameter("controller_manager", "update_rate") == RATE
    for controller in (LBR_CONTROLLER, "lbr_state_broadcaster"):
        assert manager.parameter(controller, "robot_name") == robot_name
    assert manager.parameter("force_torque_broadcaster", "frame_id") == f"{robot_name}_link_ee"
    xacro, *_ = named(started, "xacro")
    values = dict(word.split(":=") for word in xacro.arguments if ":=" in word)
    assert (values["robot_name"], values["mode"]) == (robot_name, "hardware")
    assert xacro.arguments[0].endswith("iiwa14.xacro")
    hardware = yaml_of(values["system_config_path"])["hardware"]
    assert hardware["fri_client_sdk"] == {"major_version": major, "minor_version": minor}
    assert hardware["port_id"] == 30201
    assert hardware["external_torque_tau"] == pytest.approx(0.016)


@pytest.mark.needs("kuka_drivers")
@pytest.mark.parametrize("robot_name", ["lbr", "left"])
def test_kuka_drivers_start_with_their_joints_and_our_rate(
    workspace: StubWorkspace, robot_name: str
) -> None:
    def complete(started: list[Started]) -> bool:
        return bool(named(started, "preflight")) and len(named(started, "spawner")) == 9

    started, output = workspace.run(
        complete, driver="kuka_drivers", robot_name=robot_name, port="30201", view="false"
    )
    assert complete(started), output
    (manager,) = named(started, "control_node")
    assert f"__ns:=/{robot_name}" in manager.arguments
    assert manager.parameter("controller_manager", "update_rate") == RATE
    xacro, *_ = named(started, "xacro")
    values = dict(word.split(":=") for word in xacro.arguments if ":=" in word)
    assert (values["prefix"], values["client_port"]) == (f"{robot_name}_", "30201")
    (ours,) = [file for file in named(started, "contact_aware_controller")[0].parameters[:1]]
    assert ours["/**/contact_aware_controller"]["ros__parameters"]["hardware"] is True
    joints = [f"{robot_name}_joint_{i}" for i in range(1, 8)]
    files = {p.arguments[0]: p for p in named(started, "spawner") if "--param-file" in p.arguments}
    for controller in ("joint_trajectory_controller", "external_torque_broadcaster"):
        file = yaml_of(files[controller].option("--param-file"))
        assert file[f"/**/{controller}"]["ros__parameters"]["joints"] == joints
    assert all(p.option("-n") == robot_name for p in named(started, "spawner"))
