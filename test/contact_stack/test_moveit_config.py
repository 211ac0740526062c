"""What MoveIt is told of a robot can be read by others, and fits the robot and the graph."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
import yaml

from contact_aware_control.config import SelfCollisionConfig
from contact_aware_control.safety.command_guard import SelfCollision
from contact_core.base.errors import ConfigError
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_experiments.fake import DRIVERS
from contact_ros.driver_profile import PROFILES
from contact_stack import cli
from contact_stack.moveit_config import (
    move_group_parameters,
    named_by_driver,
    semantic_description,
)


def body(geometry: pin.GeometryModel, model: pin.Model, index: int) -> str:
    return str(model.frames[geometry.geometryObjects[index].parentFrame].name)


@pytest.mark.parametrize("name", ["iiwa14_wsg50", "iiwa7", "fr3_wsg50"])
def test_pinocchio_reads_home_and_the_pairs_that_the_controller_keeps_apart(
    name: str, tmp_path: Path
) -> None:
    description = RobotDescription.load(name)
    file = tmp_path / "robot.srdf"
    file.write_text(semantic_description(description))
    model = pin.buildModelFromXML(description.urdf)
    geometry = pin.buildGeomFromUrdfString(model, description.urdf, pin.GeometryType.COLLISION)
    geometry.addAllCollisionPairs()
    pin.removeCollisionPairs(model, geometry, str(file))
    left = {
        frozenset((body(geometry, model, pair.first), body(geometry, model, pair.second)))
        for pair in geometry.collisionPairs
    }
    watched = SelfCollision(Robot.from_description(description), SelfCollisionConfig()).pairs
    assert {pair for pair in left if len(pair) == 2} == {frozenset(pair) for pair in watched}

    pin.loadReferenceConfigurations(model, str(file), False)
    home = model.referenceConfigurations["home"]
    arm = [model.joints[model.getJointId(joint)].idx_q for joint in description.arm_joints]
    np.testing.assert_allclose(home[arm], description.joints.home, atol=1e-7)


def test_groups_and_passive_joints_are_of_the_urdf() -> None:
    description = RobotDescription.load("iiwa14_wsg50")
    root = ElementTree.fromstring(semantic_description(description))
    (chain,) = root.findall("group/chain")
    links = {link.get("name") for link in ElementTree.fromstring(description.urdf).findall("link")}
    assert {chain.get("base_link"), chain.get("tip_link")} <= links
    passive = [joint.get("name") for joint in root.findall("passive_joint")]
    assert passive == ["finger_left_joint", "finger_right_joint"]


def test_the_controller_is_one_that_the_graph_documents() -> None:
    manager = move_group_parameters(RobotDescription.load("iiwa7"))[
        "moveit_simple_controller_manager"
    ]
    (name,) = manager["controller_names"]
    action = f"{name}/{manager[name]['action_ns']}"
    documented = Path(__file__).resolve().parents[2] / "docs" / "graph.md"
    assert f"`{action}`" in documented.read_text()


@pytest.mark.parametrize("driver", PROFILES)
def test_joints_are_called_as_states_and_goals_call_them(driver: str) -> None:
    """By all that MoveIt reads: description, semantics, limits and the controller."""
    robot = RobotDescription.load("iiwa14_wsg50")
    # A robot that speaks FRI is told of by the messages of lbr_fri.
    kind = DRIVERS["lbr_fri" if driver == "fri" else driver]
    states = kind("/left", robot.arm_joints).joint_names
    parameters = move_group_parameters(named_by_driver(robot, driver, "left"))
    manager = parameters["moveit_simple_controller_manager"]
    assert tuple(manager[manager["controller_names"][0]]["joints"]) == states
    assert tuple(parameters["robot_description_planning"]["joint_limits"]) == states
    root = ElementTree.fromstring(parameters["robot_description_semantic"])
    assert tuple(joint.get("name") for joint in root.findall("group_state/joint")) == states
    passive = [joint.get("name") for joint in root.findall("passive_joint")]
    assert passive == ["finger_left_joint", "finger_right_joint"]

    model = pin.buildModelFromXML(parameters["robot_description"])
    assert set(model.names) == {"universe", *states, *passive}
    same = pin.buildModelFromXML(robot.urdf)
    pin.seed(0)
    q = pin.randomConfiguration(same, -np.ones(same.nq), np.ones(same.nq))
    for each in (model, same):
        each.data = each.createData()
        pin.framesForwardKinematics(each, each.data, q)
    tool = same.getFrameId(robot.tool_link)
    assert model.data.oMf[tool].isApprox(same.data.oMf[tool])


def test_a_driver_of_another_arm_is_refused() -> None:
    with pytest.raises(ConfigError, match="7 joints, the robot 6"):
        named_by_driver(RobotDescription.load("ur5e"), "kuka_drivers", "lbr")


def test_the_command_writes_a_parameter_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "moveit.yaml"
    assert cli.main(["moveit-config", "--robot", "iiwa7", "--out", str(file)]) == 0
    assert capsys.readouterr().out == str(file)
    content = yaml.safe_load(file.read_text())["/**/move_group"]["ros__parameters"]
    assert content == move_group_parameters(RobotDescription.load("iiwa7"))
    speeds = content["robot_description_planning"]["joint_limits"]
    assert all(limit["max_velocity"] > 0.5 for limit in speeds.values())
