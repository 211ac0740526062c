"""Conversions between arrays or poses and the messages of geometry_msgs."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import Point, Pose, Quaternion, Transform, Vector3
from numpy.typing import ArrayLike, NDArray
from tf2_msgs.msg import TFMessage


def to_point(position: ArrayLike) -> Point:
    """Convert a position.

    Args:
        position: (3) [m].

    Returns:
        The message.
    """
    x, y, z = np.asarray(position, dtype=float).tolist()
    return Point(x=x, y=y, z=z)


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
