"""A copy of a driver's own files, for one robot at our rate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from contact_aware_control.config import ControllerConfig
from contact_core.base.config import from_mapping
from contact_stack import cli
from contact_stack.fri.node import FriDriverConfig

# What matters of the drivers' files, in their words.
LBR_CONTROLLERS = """
/**/controller_manager:
  ros__parameters:
    update_rate: 100
    lbr_state_broadcaster: {type: lbr_ros2_control/LBRStateBroadcaster}
/**/lbr_state_broadcaster: {ros__parameters: {robot_name: lbr}}
/**/force_torque_broadcaster: {ros__parameters: {frame_id: lbr_link_ee}}
/**/joint_trajectory_controller: {ros__parameters: {joints: [lbr_A1, lbr_A2]}}
"""
LBR_SYSTEM = """
hardware:
  fri_client_sdk: {major_version: 1, minor_version: 15}
  port_id: 30200
  joint_position_tau: 0.04
  external_torque_tau: 0.1
  open_loop: true
estimated_ft_sensor: {chain_root: lbr_link_0}
"""
KUKA = {
    "ros2_controller_config.yaml": """
/**/controller_manager:
  ros__parameters: {update_rate: 100, joint_trajectory_controller: {type: joint_trajectory}}
""",
    "joint_trajectory_controller_config.yaml": """
/**/joint_trajectory_controller:
  ros__parameters: {joints: [joint_1, joint_2], state_publish_rate: 50.0}
""",
}

Configure = Callable[..., tuple[int, Path]]


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Install both drivers' files and run the command."""
    index = tmp_path / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    description = tmp_path / "share/lbr_description/ros2_control"
    kuka = tmp_path / "share/kuka_sunrise_fri_driver/config"
    for folder in (description, kuka):
        folder.mkdir(parents=True)
        (index / folder.parent.name).touch()
    (description / "lbr_controllers.yaml").write_text(LBR_CONTROLLERS)
    (description / "lbr_system_config.yaml").write_text(LBR_SYSTEM)
    for name, text in KUKA.items():
        (kuka / name).write_text(text)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))

    def run(*words: str) -> tuple[int, Path]:
        out = tmp_path / "out"
        return cli.main(["driver-config", *words, "--out", str(out)]), out

    return run


def read(path: Path, node: str = "") -> Any:
    content = yaml.safe_load(path.read_text())
    return content[f"/**/{node}"]["ros__parameters"] if node else content


@pytest.mark.parametrize("robot_name", ["lbr", "left"])
def test_lbr_fri(configure: Configure, capsys, robot_name: str) -> None:
    code, out = configure("lbr_fri", "--robot-name", robot_name, "--fri", "2.5", "--port", "30201")
    assert code == 0
    assert capsys.readouterr().out == str(out)
    controllers, system = out / "controllers.yaml", read(out / "system.yaml")
    manager = read(controllers, "controller_manager")
    assert manager["update_rate"] * ControllerConfig().period == pytest.approx(1.0)
    assert manager["lbr_state_broadcaster"]["type"] == "lbr_ros2_control/LBRStateBroadcaster"
    assert read(controllers, "lbr_state_broadcaster") == {"robot_name": robot_name}
    assert read(controllers, "force_torque_broadcaster") == {"frame_id": f"{robot_name}_link_ee"}
    joints = read(controllers, "joint_trajectory_controller")["joints"]
    assert joints == [f"{robot_name}_A1", f"{robot_name}_A2"]
    assert system["hardware"] == {
        "fri_client_sdk": {"major_version": 2, "minor_version": 5},
        "port_id": 30201,
        "joint_position_tau": 0.04,
        "external_torque_tau": 0.016,
        "open_loop": False,
    }
    assert system["estimated_ft_sensor"] == {"chain_root": f"{robot_name}_link_0"}


def test_the_newest_file_of_controllers_is_taken(configure: Configure, tmp_path: Path) -> None:
    newest = tmp_path / "share/lbr_description/ros2_control/hardware_controllers.yaml"
    newest.write_text(LBR_CONTROLLERS.replace("lbr_state_broadcaster:", "newest:"))
    _, out = configure("lbr_fri")
    assert read(out / "controllers.yaml", "newest")


def test_fri_gets_version_and_port_as_its_node_reads_them(configure: Configure) -> None:
    _, out = configure("fri", "--fri", "2.5", "--port", "30201")
    parameters = read(out / "fri_driver.yaml", "fri_driver")
    config = from_mapping(FriDriverConfig, {**parameters, "robot": "iiwa14"})
    assert (config.version, config.port) == ("2.5", 30201)


def test_kuka_drivers(configure: Configure) -> None:
    _, out = configure("kuka_drivers", "--robot-name", "left")
    assert {path.name for path in out.iterdir()} == set(KUKA)
    assert read(out / "ros2_controller_config.yaml", "controller_manager")["update_rate"] == 200
    trajectories = out / "joint_trajectory_controller_config.yaml"
    assert read(trajectories, "joint_trajectory_controller") == {
        "joints": ["left_joint_1", "left_joint_2"],
        "state_publish_rate": 50.0,
    }


@pytest.mark.parametrize("file", ["lbr_system_config.yaml", "lbr_controllers.yaml", "neither"])
def test_a_version_whose_positions_are_commands_is_refused(
    configure: Configure, tmp_path: Path, capsys, file: str
) -> None:
    """At first its files were elsewhere, then the filter of commands was a PID controller."""
    folder = tmp_path / "share/lbr_description/ros2_control"
    system = folder / "lbr_system_config.yaml"
    if file == "neither":
        system.write_text(LBR_SYSTEM.replace("joint_position_tau: 0.04", "pid_p: 0.1"))
    else:
        (folder / file).unlink()
    code, out = configure("lbr_fri")
    assert code == 2
    assert "too old" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("lbr_fri", "--robot-name", "my/arm"), "--robot-name 'my/arm' is no name"),
        (("fri", "--rate", "100"), "fri takes no --rate: it is for lbr_fri and kuka_drivers"),
    ],
)
def test_a_wrong_argument_is_named(
    configure: Configure, capsys, words: tuple[str, ...], message: str
) -> None:
    code, out = configure(*words)
    assert code == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "valid"),
    [
        (("--fri", "9.9"), "'2.7'"),
        (("--port", "99999999"), "1 to 65535"),
        (("--rate", "-3"), "1 to 1000"),
    ],
)
def test_a_value_that_no_driver_can_have_is_refused(
    configure: Configure, capsys, words: tuple[str, ...], valid: str
) -> None:
    with pytest.raises(SystemExit):
        configure("lbr_fri", *words)
    error = capsys.readouterr().err
    assert f"argument {words[0]}: " in error and valid in error


def test_a_driver_that_is_not_installed_is_named(
    configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "empty"))
    code, _ = configure("lbr_fri")
    assert code == 2
    assert "package 'lbr_description' is not installed" in capsys.readouterr().err
