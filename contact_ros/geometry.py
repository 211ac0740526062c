"""Conversions between arrays or poses and the messages of geometry_msgs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion, Transform, TransformStamped, Vector3
from numpy.typing import ArrayLike, NDArray
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from contact_core.base.errors import choices
from contact_core.robot.description import RobotDescription
from contact_core.robot.scene_config import WORLD
from contact_ros.validation import MessageError, number, vector

UNIT = 1e-2
"""How far the norm of a quaternion may be from 1: what is farther is no rotation."""


class BaseFrames:
    """The frames in which messages may give poses and vectors: those fixed to the arm's base."""

    def __init__(self, description: RobotDescription) -> None:
        """Find them.

        Args:
            description: The robot. The base is its root link, whose frame is the world frame.
        """
        model, base = description.model(), description.base_link
        fixed = {
            frame.name: frame.placement
            for frame in model.frames
            if frame.type == pin.FrameType.BODY and frame.parentJoint == 0
        }
        self._poses = {base: pin.SE3.Identity(), WORLD: pin.SE3.Identity(), **fixed}
        self._poses[""] = pin.SE3.Identity()

    def pose(self, name: str, moving: str = "") -> pin.SE3:
        """Return where a frame is.

        Args:
            name: The frame a message names; empty for the base.
            moving: A frame that is valid there as well, and looked up by the caller before.

        Returns:
            Its pose in the frame of the base.

        Raises:
            MessageError: If it is not fixed to the base.
        """
        if name not in self._poses:
            valid = [known for known in (*self._poses, moving) if known]
            raise MessageError(f"unknown frame '{name}' ({choices(valid, name)})")
        return self._poses[name]

    def check_base(self, name: str) -> None:
        """Check that a frame is that of the base, whatever it is called.

        Args:
            name: The frame a message names; empty for the base.

        Raises:
            MessageError: If it is another one.
        """
        if self._poses.get(name) != pin.SE3.Identity():
            valid = [known for known, pose in self._poses.items() if known and pose.isIdentity()]
            raise MessageError(f"unknown frame '{name}' ({choices(valid, name)})")


def checked_pose(message: Pose | Transform, field: str, largest: float) -> pin.SE3:
    """Convert a pose that comes from outside.

    Args:
        message: The message.
        field: Its name, for the error.
        largest: Largest plausible magnitude of a coordinate [m].

    Returns:
        The pose.

    Raises:
        MessageError: If a number is not finite or too large, or the quaternion is no rotation.
    """
    if isinstance(message, Pose):
        translation, rotation = message.position, message.orientation
    else:
        translation, rotation = message.translation, message.rotation
    vector(translation, f"position of {field}", largest)
    norm = float(np.linalg.norm(quaternion_to_array(rotation)))
    number(norm, f"norm of the quaternion of {field}", 1.0 - UNIT, 1.0 + UNIT)
    return to_se3(message)


def to_point(position: ArrayLike) -> Point:
    """Convert a position.

    Args:
        position: (3) [m].

    Returns:
        The message.
    """
    x, y, z = np.asarray(position, dtype=float).tolist()
    return Point(x=x, y=y, z=z)


def without_points(message: Any) -> Any:
    """Return a message in which every point is one that nobody knows.

    Args:
        message: Its fields of the type Point become NaN.
    """
    for name, kind in message.get_fields_and_field_types().items():
        if kind == "geometry_msgs/Point":
            setattr(message, name, to_point(np.full(3, np.nan)))
    return message


def to_vector(vector: ArrayLike) -> Vector3:
    """Convert a vector, e.g. a force [N].

    Args:
        vector: (3).

    Returns:
        The message.
    """
    x, y, z = np.asarray(vector, dtype=float).tolist()
    return Vector3(x=x, y=y, z=z)


def to_quaternion(quaternion: ArrayLike) -> Quaternion:
    """Convert a quaternion.

    Args:
        quaternion: (4) x, y, z, w.

    Returns:
        The message.
    """
    x, y, z, w = np.asarray(quaternion, dtype=float).tolist()
    return Quaternion(x=x, y=y, z=z, w=w)


def to_pose(pose: pin.SE3) -> Pose:
    """Convert a pose.

    Args:
        pose: Rotation and translation [m].

    Returns:
        The message.
    """
    return Pose(
        position=to_point(pose.translation),
        orientation=to_quaternion(pin.Quaternion(pose.rotation).coeffs()),
    )


def to_transform(pose: pin.SE3) -> Transform:
    """Convert a pose to the message of tf.

    Args:
        pose: Rotation and translation [m].

    Returns:
        The message.
    """
    return Transform(
        translation=to_vector(pose.translation),
        rotation=to_quaternion(pin.Quaternion(pose.rotation).coeffs()),
    )


def to_frame(name: str, transform: Transform, parent: str, stamp: Time) -> TransformStamped:
    """Return a frame as tf has it.

    Args:
        name: Its name.
        transform: Where it is in its parent.
        parent: The name of that.
        stamp: When.
    """
    header = Header(stamp=stamp, frame_id=parent)
    return TransformStamped(header=header, child_frame_id=name, transform=transform)


def to_array(message: Point | Vector3) -> NDArray[np.float64]:
    """Convert a point or vector message.

    Args:
        message: The message.

    Returns:
        (3) in the message's unit.
    """
    return np.array([message.x, message.y, message.z])


def quaternion_to_array(message: Quaternion) -> NDArray[np.float64]:
    """Convert a quaternion message.

    Args:
        message: The message.

    Returns:
        (4) x, y, z, w.
    """
    return np.array([message.x, message.y, message.z, message.w])


def to_se3(message: Pose | Transform) -> pin.SE3:
    """Convert a pose or transform message.

    Args:
        message: The message; the norm of its quaternion need not be exactly one.

    Returns:
        The pose. It is not finite if the message is not, or if its quaternion is zero.
    """
    if isinstance(message, Pose):
        translation, rotation = message.position, message.orientation
    else:
        translation, rotation = message.translation, message.rotation
    quaternion = quaternion_to_array(rotation)
    with np.errstate(invalid="ignore"):
        unit = quaternion / np.linalg.norm(quaternion)
    return pin.SE3(pin.Quaternion(unit).matrix(), to_array(translation))


def frame_pose(frames: TFMessage, name: str) -> pin.SE3:
    """Return the pose of one of several frames.

    Args:
        frames: The frames, for instance the objects of a scene.
        name: Name of the frame.

    Returns:
        Its pose in its parent frame, its own copy.

    Raises:
        KeyError: If there is no such frame.
    """
    poses = {frame.child_frame_id: frame.transform for frame in frames.transforms}
    return to_se3(poses[name])
