"""The generated interfaces exist, keep every value on the wire, and match upstream's."""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from control_msgs import msg as control_msgs
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from control_msgs.msg import JointComponentTolerance, JointTolerance
from lbr_fri_idl.msg import (
    LBRJointPositionCommand,
    LBRState,
    LBRTorqueCommand,
    LBRWrenchCommand,
)
from rclpy.serialization import deserialize_message, serialize_message
from rosidl_parser import definition as idl
from tf2_msgs.msg import TFMessage

from bootstrap.interfaces import interface_packages
from bootstrap.setup_project import ROOT

PARTS = {"msg": (), "srv": ("Request", "Response"), "action": ("Goal", "Result", "Feedback")}


def interface_files() -> list:
    """List (package, file) of every interface in the repository."""
    return [
        pytest.param(package, path, id=f"{package}/{path.stem}")
        for package, folder in interface_packages(ROOT).items()
        for kind in PARTS
        for path in sorted(folder.glob(f"{kind}/*.{kind}"))
    ]


def message_types(package: str, path: Path) -> list[type]:
    """Import what was generated from an interface file."""
    kind = path.suffix[1:]
    interface = getattr(importlib.import_module(f"{package}.{kind}"), path.stem)
    return [getattr(interface, part) for part in PARTS[kind]] or [interface]


def random_message(message_type: type, rng: np.random.Generator) -> Any:
    """Make a message with random values in all fields, at every depth."""
    fields = message_type.get_fields_and_field_types()
    types = zip(fields, message_type.SLOT_TYPES, strict=True)
    return message_type(**{name: random_value(slot, rng) for name, slot in types})


def random_value(slot: Any, rng: np.random.Generator) -> Any:
    if isinstance(slot, idl.Array):
        return [random_value(slot.value_type, rng) for _ in range(slot.size)]
    if isinstance(slot, idl.AbstractSequence):
        return [random_value(slot.value_type, rng) for _ in range(3)]
    if isinstance(slot, idl.AbstractString):
        return "".join(rng.choice(list("abc_é 7"), size=8))
    if isinstance(slot, idl.NamespacedType):
        module = importlib.import_module(".".join(slot.namespaces))
        return random_message(getattr(module, slot.name), rng)
    if slot.typename == "boolean":
        return bool(rng.integers(2))
    if slot.typename in ("float", "double"):
        number = rng.normal(scale=1e3)
        return float(np.float32(number) if slot.typename == "float" else number)
    limits = np.iinfo(slot.typename)
    return int(rng.integers(limits.min, limits.max, dtype=slot.typename, endpoint=True))


@pytest.mark.parametrize(("package", "path"), interface_files())
def test_every_interface_keeps_its_values_on_the_wire(package: str, path: Path):
    rng = np.random.default_rng(0)
    for message_type in message_types(package, path):
        message = random_message(message_type, rng)
        assert deserialize_message(serialize_message(message), message_type) == message


def test_interface_files_and_build_files_agree():
    """No interface file is forgotten in a CMakeLists.txt."""
    for folder in interface_packages(ROOT).values():
        listed = (folder / "CMakeLists.txt").read_text()
        files = itertools.chain.from_iterable(folder.glob(f"{kind}/*.{kind}") for kind in PARTS)
        for path in files:
            assert f'"{path.relative_to(folder)}"' in listed


# Names, types and order of the fields are facts of the upstream packages (the versions in
# bootstrap/underlay/*/package.xml): only with all three equal do both sides understand each other.
POINT = "trajectory_msgs/JointTrajectoryPoint"
MULTI_POINT = "trajectory_msgs/MultiDOFJointTrajectoryPoint"
JOINTS = "double[7]"
GRIPPER = {
    "position": "double",
    "effort": "double",
    "stalled": "boolean",
    "reached_goal": "boolean",
}
UPSTREAM = {
    LBRState: {
        "sample_time": "double",
        "session_state": "int8",
        "connection_quality": "int8",
        "safety_state": "int8",
        "operation_mode": "int8",
        "drive_state": "int8",
        "client_command_mode": "int8",
        "overlay_type": "int8",
        "control_mode": "int8",
        "time_stamp_sec": "uint32",
        "time_stamp_nano_sec": "uint32",
        "measured_joint_position": JOINTS,
        "commanded_joint_position": JOINTS,
        "measured_torque": JOINTS,
        "commanded_torque": JOINTS,
        "external_torque": JOINTS,
        "ipo_joint_position": JOINTS,
        "tracking_performance": "double",
    },
    LBRJointPositionCommand: {"joint_position": JOINTS},
    LBRTorqueCommand: {"joint_position": JOINTS, "torque": JOINTS},
    LBRWrenchCommand: {"joint_position": JOINTS, "wrench": "double[6]"},
    TFMessage: {"transforms": "sequence<geometry_msgs/TransformStamped>"},
    JointTolerance: {
        "name": "string",
        "position": "double",
        "velocity": "double",
        "acceleration": "double",
    },
    JointComponentTolerance: {
        "joint_name": "string",
        "component": "uint16",
        "position": "double",
        "velocity": "double",
        "acceleration": "double",
    },
    FollowJointTrajectory.Goal: {
        "trajectory": "trajectory_msgs/JointTrajectory",
        "multi_dof_trajectory": "trajectory_msgs/MultiDOFJointTrajectory",
        "path_tolerance": "sequence<control_msgs/JointTolerance>",
        "component_path_tolerance": "sequence<control_msgs/JointComponentTolerance>",
        "goal_tolerance": "sequence<control_msgs/JointTolerance>",
        "component_goal_tolerance": "sequence<control_msgs/JointComponentTolerance>",
        "goal_time_tolerance": "builtin_interfaces/Duration",
    },
    FollowJointTrajectory.Result: {"error_code": "int32", "error_string": "string"},
    FollowJointTrajectory.Feedback: {
        "header": "std_msgs/Header",
        "joint_names": "sequence<string>",
        "desired": POINT,
        "actual": POINT,
        "error": POINT,
        "multi_dof_joint_names": "sequence<string>",
        "multi_dof_desired": MULTI_POINT,
        "multi_dof_actual": MULTI_POINT,
        "multi_dof_error": MULTI_POINT,
    },
    ParallelGripperCommand.Goal: {"command": "sensor_msgs/JointState"},
    ParallelGripperCommand.Result: {
        "state": "sensor_msgs/JointState",
        "stalled": "boolean",
        "reached_goal": "boolean",
    },
    ParallelGripperCommand.Feedback: {"state": "sensor_msgs/JointState"},
    control_msgs.GripperCommand: {"position": "double", "max_effort": "double"},
    GripperCommand.Goal: {"command": "control_msgs/GripperCommand"},
    GripperCommand.Result: GRIPPER,
    GripperCommand.Feedback: GRIPPER,
}


@pytest.mark.parametrize("message_type", UPSTREAM, ids=lambda item: item.__name__)
def test_stand_ins_have_the_fields_of_upstream(message_type: type):
    fields = message_type.get_fields_and_field_types()
    assert list(fields.items()) == list(UPSTREAM[message_type].items())
