"""Conversion of the simulator's measurements and ground truth to messages."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from contact_stack_msgs.msg import Contact, ContactArray
from geometry_msgs.msg import Transform, TransformStamped
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from contact_core.arm_state import ArmState, CommandMode
from contact_ros.geometry import to_point, to_quaternion, to_vector
from tamsi_sim.robot.report import DriverReport, TrueContact, Truth


def arm_state(
    measurement: DriverReport,
    stamp: int,
    commanding: bool = True,
    command_mode: CommandMode = CommandMode.POSITION,
) -> ArmState:
    """Return what the driver reports about the arm.

    Args:
        measurement: The measurement.
        stamp: Its time on the clock of the graph [ns].
        commanding: Whether the robot follows commands now.
        command_mode: What its commands consist of.

    Returns:
        The state.
    """
    return ArmState(
        stamp=stamp,
        position=measurement.position,
        velocity=measurement.velocity,
        commanded_position=measurement.commanded_position,
        external_torque=measurement.external_torque,
        commanding=commanding,
        joint_torque=measurement.joint_torque,
        command_mode=command_mode,
    )


def gripper_state(measurement: DriverReport, joint: str, stamp: Time) -> JointState:
    """Return what the gripper's driver reports.

    Args:
        measurement: The measurement.
        joint: Name of the gripper's joint.
        stamp: Its time.

    Returns:
        The message.
    """
    message = JointState(
        name=[joint],
        position=[measurement.gripper_position],
        velocity=[measurement.gripper_velocity],
        effort=[measurement.gripper_effort],
    )
    message.header.stamp = stamp
    return message


def true_joint_states(truth: Truth, stamp: Time) -> JointState:
    """Return the true positions and velocities of the robot's joints, the arm's first.

    Args:
        truth: The ground truth.
        stamp: Its time.

    Returns:
        The message.
    """
    message = JointState(
        name=list(truth.joint_names),
        position=truth.joint_position,
        velocity=truth.joint_velocity,
    )
    message.header.stamp = stamp
    return message


def true_contacts(truth: Truth, frame: str, stamp: Time) -> ContactArray:
    """Return the true contacts of the robot.

    Args:
        truth: The ground truth.
        frame: Name of the world frame.
        stamp: Its time.

    Returns:
        The message.
    """
    contacts = [_contact(index, contact) for index, contact in enumerate(truth.contacts)]
    state = ContactArray.CONVERGED if contacts else ContactArray.FREE
    message = ContactArray(contacts=contacts, state=state)
    message.header.stamp = stamp
    message.header.frame_id = frame
    return message


def true_objects(truth: Truth, frame: str, stamp: Time) -> TFMessage:
    """Return the poses of the objects, the fixed ones included.

    Args:
        truth: The ground truth.
        frame: Name of the world frame.
        stamp: Its time.

    Returns:
        The message; the child frames are the names of the objects.
    """
    message = TFMessage()
    for item in truth.objects:
        frame_of_object = TransformStamped(
            child_frame_id=item.name,
            transform=Transform(
                translation=to_vector(item.position), rotation=to_quaternion(item.quaternion)
            ),
        )
        frame_of_object.header.stamp = stamp
        frame_of_object.header.frame_id = frame
        message.transforms.append(frame_of_object)
    return message


def _contact(index: int, contact: TrueContact) -> Contact:
    return Contact(
        id=index,
        link=contact.link,
        other=contact.body,
        point=to_point(contact.point),
        normal=to_vector(contact.normal),
        force=to_vector(contact.force),
        identifiable=True,
    )
