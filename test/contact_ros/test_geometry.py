"""Conversions of poses: there and back again, and against scipy's rotations."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from geometry_msgs.msg import Pose, Quaternion, TransformStamped
from scipy.spatial.transform import Rotation
from tf2_msgs.msg import TFMessage

from contact_ros.geometry import (
    frame_pose,
    quaternion_to_array,
    to_array,
    to_point,
    to_pose,
    to_quaternion,
    to_se3,
    to_transform,
    to_vector,
)


@pytest.fixture
def pose() -> pin.SE3:
    pin.seed(3)
    return pin.SE3.Random()


@pytest.mark.parametrize("convert", [to_pose, to_transform])
def test_a_pose_survives_the_round_trip(pose: pin.SE3, convert) -> None:
    np.testing.assert_allclose(to_se3(convert(pose)).homogeneous, pose.homogeneous, atol=1e-15)


def test_quaternions_are_x_y_z_w(pose: pin.SE3) -> None:
    ours = quaternion_to_array(to_pose(pose).orientation)
    oracle = Rotation.from_matrix(pose.rotation).as_quat()
    np.testing.assert_allclose(ours * np.sign(ours @ oracle), oracle, atol=1e-14)


@pytest.mark.parametrize("convert", [to_point, to_vector])
def test_three_numbers_survive_bit_by_bit(convert) -> None:
    numbers = np.random.default_rng(1).normal(size=3)
    np.testing.assert_array_equal(to_array(convert(numbers)), numbers)
    np.testing.assert_array_equal(to_array(convert(list(numbers))), numbers)


def test_a_quaternion_survives_bit_by_bit() -> None:
    numbers = np.random.default_rng(1).normal(size=4)
    np.testing.assert_array_equal(quaternion_to_array(to_quaternion(numbers)), numbers)


def test_the_length_of_a_quaternion_does_not_scale_the_rotation() -> None:
    message = Pose(orientation=Quaternion(x=0.0, y=0.0, z=3.0, w=3.0))
    quarter = Rotation.from_rotvec([0.0, 0.0, np.pi / 2]).as_matrix()
    np.testing.assert_allclose(to_se3(message).rotation, quarter, atol=1e-15)


def test_the_pose_of_one_of_several_frames():
    """Found by its name; every one keeps its own place."""
    frames = TFMessage()
    for name, x in (("mug", 0.1), ("box", 0.2)):
        frame = TransformStamped(child_frame_id=name)
        frame.transform = to_transform(pin.SE3(np.eye(3), np.array([x, 0.0, 0.0])))
        frames.transforms.append(frame)
    assert frame_pose(frames, "box").translation[0] == 0.2
    with pytest.raises(KeyError, match="cup"):
        frame_pose(frames, "cup")
