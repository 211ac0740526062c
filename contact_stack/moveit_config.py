"""The command ``contact-stack moveit-config``: what MoveIt has to know of one robot.

``moveit.launch.xml`` runs it. Everything comes from the robot's file, but for the names of the
joints, which are the driver's: MoveIt then checks the links for collision that the controller keeps
apart, and plans at the speeds it allows. It plans for the
arm; the fingers are passive joints for it, moved by the gripper's own action.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml

from contact_aware_control.config import SelfCollisionConfig
from contact_aware_control.safety.command_guard import SelfCollision
from contact_core.base.files import cache_folder, replacement
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_ros.driver_profile import PROFILES, DriverConfig, driver_profile
from contact_ros.identity import CONTROLLER
from contact_stack.driver_config import LBR_NAME, namespace

EPILOG = """examples:
  contact-stack moveit-config
  contact-stack moveit-config --robot iiwa7 --out moveit.yaml
  contact-stack moveit-config --driver kuka_drivers --robot-name left

It prints the file: parameters of MoveIt's node move_group, for the namespace of the robot."""

GROUP = "arm"

ACCELERATION = 10.0
"""Bound on the acceleration of a joint [rad/s^2], as of the controller's commands."""

SHARE = 0.1
"""Of speed and acceleration that is planned with, unless a request says otherwise."""


def named_by_driver(description: RobotDescription, driver: str, namespace: str) -> RobotDescription:
    """Give a robot's joints the names that its driver has for them.

    Args:
        description: The robot.
        driver: Name of the driver.
        namespace: That of the robot.

    Returns:
        The same robot; its states and goals have the driver's names.

    Raises:
        ConfigError: If there is no such driver, or it has another number of joints.
    """
    joints = description.arm_joints
    profile = driver_profile(driver, DriverConfig(), joints=joints, namespace=namespace)
    names = dict(zip(joints, profile.joint_names, strict=True))
    root = ElementTree.fromstring(description.urdf)
    for kind, attribute in (("joint", "name"), ("mimic", "joint")):
        for element in root.iter(kind):
            name = element.get(attribute, "")
            element.set(attribute, names.get(name, name))
    urdf = ElementTree.tostring(root, encoding="unicode")
    return replace(description, urdf=urdf, arm_joints=tuple(names.values()))


def semantic_description(description: RobotDescription) -> str:
    """Write the SRDF of a robot.

    Args:
        description: The robot.

    Returns:
        The XML: the group of the arm, its home, and the pairs of links not to be checked.
    """
    robot = Robot.from_description(description)
    root = ElementTree.Element("robot", name=description.name)
    group = ElementTree.SubElement(root, "group", name=GROUP)
    ElementTree.SubElement(
        group, "chain", base_link=description.base_link, tip_link=description.tool_link
    )
    home = ElementTree.SubElement(root, "group_state", name="home", group=GROUP)
    for name, position in zip(description.arm_joints, description.joints.home, strict=True):
        ElementTree.SubElement(home, "joint", name=name, value=f"{position:.8f}")
    for joint in ElementTree.fromstring(description.urdf).findall("joint"):
        name = joint.get("name", "")
        if joint.get("type") != "fixed" and name not in description.arm_joints:
            ElementTree.SubElement(root, "passive_joint", name=name)
    checked = SelfCollision(robot, SelfCollisionConfig()).pairs
    links = dict.fromkeys(shape.body for shape in description.shapes())
    for pair in combinations(links, 2):
        if pair not in checked and pair[::-1] not in checked:
            reason = {"link1": pair[0], "link2": pair[1], "reason": "Adjacent"}
            ElementTree.SubElement(root, "disable_collisions", reason)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")


def move_group_parameters(description: RobotDescription) -> dict[str, Any]:
    """Return what move_group has to be given.

    Args:
        description: The robot.
    """
    speeds = np.array(Robot.from_description(description).velocity_limits).tolist()
    limits = {
        name: {
            "has_velocity_limits": True,
            "max_velocity": speed,
            "has_acceleration_limits": True,
            "max_acceleration": ACCELERATION,
        }
        for name, speed in zip(description.arm_joints, speeds, strict=True)
    }
    request, response = "default_planning_request_adapters", "default_planning_response_adapters"
    return {
        "robot_description": description.urdf,
        "robot_description_semantic": semantic_description(description),
        "robot_description_kinematics": {
            GROUP: {
                "kinematics_solver": "kdl_kinematics_plugin/KDLKinematicsPlugin",
                "kinematics_solver_search_resolution": 0.005,
                "kinematics_solver_timeout": 0.05,
            }
        },
        "robot_description_planning": {
            "default_velocity_scaling_factor": SHARE,
            "default_acceleration_scaling_factor": SHARE,
            "joint_limits": limits,
        },
        "planning_pipelines": ["ompl"],
        "default_planning_pipeline": "ompl",
        "ompl": {
            "planning_plugins": ["ompl_interface/OMPLPlanner"],
            "request_adapters": [
                f"{request}/ResolveConstraintFrames",
                f"{request}/ValidateWorkspaceBounds",
                f"{request}/CheckStartStateBounds",
                f"{request}/CheckStartStateCollision",
            ],
            "response_adapters": [
                f"{response}/AddTimeOptimalParameterization",
                f"{response}/ValidateSolution",
                f"{response}/DisplayMotionPath",
            ],
        },
        "moveit_controller_manager": (
            "moveit_simple_controller_manager/MoveItSimpleControllerManager"
        ),
        "moveit_simple_controller_manager": {
            "controller_names": [CONTROLLER],
            CONTROLLER: {
                "type": "FollowJointTrajectory",
                "action_ns": "follow_joint_trajectory",
                "default": True,
                "joints": list(description.arm_joints),
            },
        },
        # The controller slows down and stops where something is in the way, and says so itself.
        "trajectory_execution": {"execution_duration_monitoring": False},
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line.

    Args:
        parser: The parser of this command.
    """
    parser.epilog = EPILOG
    parser.add_argument("--robot", default="iiwa14_wsg50", help="description (iiwa14_wsg50)")
    parser.add_argument(
        "--driver", default="lbr_fri", choices=tuple(PROFILES), help="who names joints (lbr_fri)"
    )
    parser.add_argument("--robot-name", default=LBR_NAME, help=f"namespace ({LBR_NAME})")
    parser.add_argument("--out", type=Path, help="file to write to (in the user's cache)")


def main(args: argparse.Namespace) -> int:
    """Run the command.

    Args:
        args: The parsed command line.

    Returns:
        The exit code.

    Raises:
        ConfigError: If there is no such robot, its file is wrong, or the driver's is another arm.
        ModelError: If its parts do not fit together.
    """
    robot_name = namespace(args.robot_name)
    description = named_by_driver(RobotDescription.load(args.robot), args.driver, robot_name)
    file = args.out or cache_folder("moveit") / robot_name / f"{description.name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {"/**/move_group": {"ros__parameters": move_group_parameters(description)}}
    with replacement(file) as path:
        path.write_text(yaml.safe_dump(content, sort_keys=False))
    # A launch file takes all that is printed, a line's end too.
    print(file.resolve(), end="")
    return 0
