"""contact-stack calibrate: from a scene to a robot file that the estimator's node reads."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import rclpy
import yaml

from contact_aware_control.estimation.calibration import read_calibration
from contact_core.base.errors import CommunicationError
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.client import GraphClient
from contact_ros.driver_profile import DriverConfig
from contact_stack.calibrate.recording import CONTROLLER, profile_of
from contact_stack.cli import main

SCENE = """
name: wrong
robot:
  description: iiwa14
  initial_positions: [0.0, 0.4, 0.0, -1.7, 0.0, -0.5, 0.0]
  effective_armature: [0.338, 0.338, 0.338, 0.338, 0.132, 0.116, 0.116]
  friction: {kinetic: [0.2, 0.3, 0.1, 0.2, 0.2, 0.1, 0.1]}
  errors: {tilt: [0.03, 0.0], friction_seen: true}
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.yaml"
    path.write_text(SCENE)
    return path


def test_a_simulated_arm_gets_a_robot_file(
    scene: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "arm.yaml"
    numbers = tmp_path / "numbers.json"
    words = ["--scene", str(scene), "--duration", "12", "--out", str(out), "--json", str(numbers)]
    assert main(["calibrate", *words]) == 0
    printed = capsys.readouterr().out
    assert "lbr_A7" in printed
    assert str(out) in printed
    assert out.with_suffix(".png").stat().st_size > 10_000
    assert yaml.safe_load(out.read_text())["calibration"] == "arm.json"
    description = RobotDescription.load(str(out))
    assert description.calibration is not None
    found = read_calibration(description.calibration, Robot.from_description(description))
    np.testing.assert_allclose(found.mean[21:23], [0.03, 0.0], atol=0.01)
    assert json.loads(numbers.read_text())["tilt_rad"]["mean"] == found.mean[21:23].tolist()


def test_another_robot_in_the_scene_is_the_one_that_is_calibrated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "arm.yaml"
    words = ["--scene", "free_space", "--robot", "fr3", "--duration", "10", "--out", str(out)]
    assert main(["calibrate", *words]) == 0
    assert "fr3_joint7" in capsys.readouterr().out
    assert yaml.safe_load(out.read_text())["extends"] == "fr3"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--out", "arm.json"], "is a robot file and ends in .yaml"),
        (["--scene", "nowhere"], "nowhere"),
        (["--robot", "nobody"], "nobody"),
        (["--scene", "free_space", "--robot", "nobody"], "nobody"),
        (["--scene", "free_space", "--driver", "lbr_fri"], "--scene takes no --driver"),
        (["--scene", "free_space", "--robot-name", "left"], "--scene takes no --robot-name"),
    ],
)
def test_what_is_asked_wrongly_is_named(
    words: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", *words]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [("--speed", "inf"), ("--amplitude", "nan"), ("--duration", "1e300"), ("--duration", "3601")],
)
def test_a_motion_that_has_no_end_is_refused(
    words: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["calibrate", "--scene", "nowhere", *words])
    assert f"argument {words[0]}: {words[1]} (valid: " in capsys.readouterr().err


@pytest.mark.graph
def test_the_controller_tells_how_it_talks_with_the_arm(ros_domain):
    """Torques of the other sign would make a calibration of an arm that there is not."""
    joints = RobotDescription.load("iiwa14_wsg50").arm_joints
    names = [f"a{k}" for k in range(7)]
    with GraphClient("calibrate") as client:
        with pytest.raises(CommunicationError, match="nobody serves 'contact_aware_controller/"):
            client.parameters(CONTROLLER, ["driver"], timeout=0.2)
        controller = rclpy.create_node(CONTROLLER, namespace="lbr", context=client.node.context)
        config = DriverConfig(joint_names=tuple(names), torque_sign=-1.0)
        controller.declare_parameter("driver", "ros2_control")
        for name, value in dataclasses.asdict(config).items():
            value = list(value) if isinstance(value, tuple) else value
            controller.declare_parameter(f"arm.{name}", value)
        client._executor.add_node(controller)
        profile = profile_of(client, None, joints, "lbr")
        assert profile.joint_names == tuple(names)
        assert profile.config.torque_sign == -1.0
        assert profile_of(client, "lbr_fri", joints, "lbr").name == "lbr_fri"
        controller.destroy_node()
