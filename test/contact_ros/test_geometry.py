"""Conversions of poses: there and back again, and against scipy's rotations."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from geometry_msgs.msg import Pose, Quaternion, TransformStamped
from scipy.spatial.transform import Rotation
from tf2_msgs.msg import TFMessage

from contact_core.robot.description import RobotDescription
from contact_ros.geometry import (
    BaseFrames,
    checked_pose,
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
from contact_ros.validation import MessageError


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


def test_frames_fixed_to_the_base_are_known_and_all_others_are_named() -> None:
    frames = BaseFrames(RobotDescription.load("two_iiwas"))
    for name in ("", "world", "lbr_link_0"):
        assert frames.pose(name).isIdentity()
        frames.check_base(name)
    other = frames.pose("right_link_0")
    np.testing.assert_allclose(other.translation, [1.2, -0.1, 0.0])
    np.testing.assert_allclose(other.rotation, np.diag([-1.0, -1.0, 1.0]), atol=1e-9)
    for name in ("camera_optical_frame", "lbr_link_1", "right_link_1"):
        with pytest.raises(MessageError, match=rf"'{name}' \(.*valid: lbr_link_0, world, right_"):
            frames.pose(name)
    with pytest.raises(MessageError, match=r"world, right_link_0, tool\)"):
        frames.pose("moon", "tool")
    with pytest.raises(MessageError, match="unknown frame 'right_link_0'"):
        frames.check_base("right_link_0")


@pytest.mark.parametrize("quaternion", [(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 2.0), (np.nan,) * 4])
def test_a_quaternion_that_is_no_rotation_is_refused(quaternion) -> None:
    message = Pose(orientation=to_quaternion(quaternion))
    with pytest.raises(MessageError, match=r"norm of the quaternion of pose 1 is .* \(valid: 0.99"):
        checked_pose(message, "pose 1", 1.0)
