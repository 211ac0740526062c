"""The robot's poses and Jacobians: finite differences and plain Pinocchio."""

import numpy as np
import pinocchio as pin
import pytest

from contact_core.base.errors import ModelError
from contact_core.robot.description import RobotDescription
from contact_core.robot.inverse_kinematics import InverseKinematics, InverseKinematicsStatus
from contact_core.robot.robot import GRAVITY, HELD_OBJECT, Robot

FINGER = (
    '<link name="finger"><collision name="pad"><origin xyz="0 0 0.1"/><geometry>'
    '<box size="0.012 0.02 0.08"/></geometry></collision></link>'
)


def arm_urdf(axis_of_second="0 1 0"):
    """A 7-joint arm with a capsule per link, a gripper with one prismatic joint, a tool."""
    parts = ['<robot name="arm"><link name="link_0"/>']
    for i in range(1, 8):
        axis = axis_of_second if i % 2 == 0 else "0 0 1"
        parts.append(
            f'<link name="link_{i}"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" '
            f'izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial><collision name="link_{i}_capsule">'
            '<origin xyz="0 0 0.1"/><geometry><cylinder radius="0.06" length="0.1"/></geometry>'
            f'</collision><collision_checking><capsule name="link_{i}_capsule"/>'
            f'</collision_checking></link><joint name="A{i}" type="revolute"><parent '
            f'link="link_{i - 1}"/><child link="link_{i}"/><origin xyz="0.01 0 0.18"/>'
            f'<axis xyz="{axis}"/><limit lower="-2" upper="2.1" velocity="{i}" effort="{10 * i}"/>'
            "</joint>"
        )
    parts.append(
        FINGER + '<link name="tool"/><joint name="slide" type="prismatic"><parent link="link_7"/>'
        '<child link="finger"/><axis xyz="1 0 0"/><origin xyz="0.02 0 0.05"/><limit lower="0" '
        'upper="0.05" velocity="1" effort="10"/></joint><joint name="grip" type="fixed"><parent '
        'link="link_7"/><child link="tool"/><origin xyz="0 0 0.2" rpy="0 0.3 0"/></joint></robot>'
    )
    return "".join(parts)


JOINTS = [f"A{i}" for i in range(1, 8)]


@pytest.fixture
def robot():
    return Robot(arm_urdf(), JOINTS, "tool")


def random_configurations(count, seed=0):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (count, 7))


def test_limits_names_and_shapes_come_from_the_description(robot):
    assert robot.n == 7
    assert robot.joint_names == tuple(JOINTS)
    np.testing.assert_allclose(robot.position_limits, [[-2.0] * 7, [2.1] * 7])
    np.testing.assert_allclose(robot.velocity_limits, np.arange(1, 8))
    np.testing.assert_allclose(robot.effort_limits, 10 * np.arange(1, 8))
    kinds = {shape.body: shape.shape.kind.name for shape in robot.collision_shapes}
    assert kinds == {**{f"link_{i}": "CAPSULE" for i in range(1, 8)}, "finger": "BOX"}


def test_poses_and_tool_jacobian_against_the_full_model_of_pinocchio(robot):
    full = pin.buildModelFromXML(arm_urdf())
    data = full.createData()
    tool = full.getFrameId("tool")
    arm_columns = [full.joints[full.getJointId(name)].idx_v for name in JOINTS]
    for q in random_configurations(5):
        q_full = pin.neutral(full)
        q_full[arm_columns] = q
        jacobian = pin.computeFrameJacobian(full, data, q_full, tool, pin.LOCAL)
        pin.framesForwardKinematics(full, data, q_full)
        robot.update(q)
        for link in robot.link_names:
            expected = data.oMf[full.getFrameId("tool" if link == HELD_OBJECT else link)]
            assert robot.link_pose(link).isApprox(expected, 1e-12)
        np.testing.assert_allclose(robot.tool_jacobian(), jacobian[:, arm_columns], atol=1e-12)
        for joint, name in enumerate(JOINTS):
            pose = data.oMi[full.getJointId(name)]
            np.testing.assert_allclose(robot.joint_origins[joint], pose.translation, atol=1e-12)
            np.testing.assert_allclose(robot.joint_rotations[joint], pose.rotation, atol=1e-12)


@pytest.mark.parametrize("link", ["link_3", "link_6", "finger"])
def test_point_jacobian_against_finite_differences(robot, link):
    step = 1e-6
    for q in random_configurations(3):
        robot.update(q)
        in_link = np.array([0.03, -0.05, 0.11])
        jacobian = robot.point_jacobian(link, robot.link_pose(link).act(in_link))
        for joint in range(7):
            moved = []
            for sign in (-1, 1):
                robot.update(q + sign * step * np.eye(7)[joint])
                moved.append(robot.link_pose(link).act(in_link))
            np.testing.assert_allclose(
                jacobian[:, joint], (moved[1] - moved[0]) / (2 * step), atol=1e-8
            )


def test_point_jacobian_from_joint_axes_and_origins(robot):
    robot.update(random_configurations(1)[0])
    point = np.array([0.3, -0.2, 0.7])
    columns = np.cross(robot.joint_axes, point - robot.joint_origins).T
    np.testing.assert_allclose(robot.point_jacobian("link_7", point), columns, atol=1e-12)


@pytest.mark.parametrize("link", ["link_0", "link_3", "finger"])
def test_torque_of_a_force_is_the_transposed_jacobian_times_the_force(robot, link):
    robot.update(random_configurations(1)[0])
    point, force = np.array([0.3, -0.2, 0.7]), np.array([4.0, -7.0, 11.0])
    torque = robot.torque_of_force(link, point, force)
    np.testing.assert_allclose(torque, robot.point_jacobian(link, point).T @ force, atol=1e-12)


def test_returned_poses_do_not_change_with_the_next_update(robot):
    robot.update(np.zeros(7))
    pose = robot.tool_pose()
    before = pose.homogeneous.copy()
    robot.update(np.full(7, 0.5))
    np.testing.assert_array_equal(pose.homogeneous, before)


def test_payload_torque_is_the_gradient_of_minus_its_potential_energy(robot):
    mass, center_of_mass, step = 0.7, np.array([0.01, 0.02, 0.05]), 1e-6
    for q in random_configurations(3):
        robot.update(q)
        torque = robot.gravity_torque_of_payload(mass, center_of_mass)
        for joint in range(7):
            energies = []
            for sign in (-1, 1):
                robot.update(q + sign * step * np.eye(7)[joint])
                energies.append(mass * GRAVITY * robot.tool_pose().act(center_of_mass)[2])
            gradient = (energies[1] - energies[0]) / (2 * step)
            assert torque[joint] == pytest.approx(-gradient, abs=1e-7)


def test_inverse_kinematics_reaches_the_pose_of_a_nearby_configuration(robot):
    solver = InverseKinematics(robot)
    rng = np.random.default_rng(1)
    for q in random_configurations(20):
        robot.update(q)
        target = robot.tool_pose()
        result = solver.solve(target, q + rng.uniform(-0.2, 0.2, 7))
        assert result.status is InverseKinematicsStatus.CONVERGED
        robot.update(result.q)
        assert np.linalg.norm(pin.log6(robot.tool_pose().actInv(target)).vector) < 2e-6


def test_inverse_kinematics_reports_what_it_cannot_reach(robot):
    solver = InverseKinematics(robot)
    q = np.array([0.1, 0.5, 0.2, -0.8, 0.1, 0.7, 0.2])
    robot.update(q)
    far = robot.tool_pose()
    far.translation += np.array([0.0, 0.0, 3.0])
    result = solver.solve(far, q)
    assert result.status is not InverseKinematicsStatus.CONVERGED
    assert result.position_error > 1.0
    full_turn = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 3.0), np.zeros(3)) * robot.tool_pose()
    limited = Robot(arm_urdf().replace('upper="2.1"', 'upper="0.9"'), JOINTS, "tool")
    result = InverseKinematics(limited).solve(full_turn, q)
    assert np.all(result.q <= 0.9)
    assert np.all(result.q >= -2.0)
    assert result.status is InverseKinematicsStatus.JOINT_LIMIT


def test_errors_name_the_bad_value_and_the_valid_ones(robot):
    with pytest.raises(ModelError, match=r"unknown link 'link_9'.*valid: .*link_1"):
        robot.link_pose("link_9")
    with pytest.raises(ModelError, match=r"unknown arm joint 'B1'.*A1"):
        Robot(arm_urdf(), ["B1"], "tool")
    with pytest.raises(ModelError, match="unknown tool link 'hand'"):
        Robot(arm_urdf(), JOINTS, "hand")
    with pytest.raises(ModelError, match="chain order"):
        Robot(arm_urdf(), JOINTS[::-1], "tool")
    with pytest.raises(ModelError, match="revolute"):
        Robot(arm_urdf(), [*JOINTS, "slide"], "tool")


@pytest.mark.parametrize("position", [0.0, 0.03, 0.055])
def test_fingers_are_where_the_gripper_has_put_them(position):
    """Both of them, and nothing else, as in a model of the arm that holds them there."""
    description = RobotDescription.load("iiwa14_wsg50")
    robot, expected = Robot.from_description(description), description.arm_model(position)
    robot.set_gripper(position)
    assert robot.finger_links == ("finger_left", "finger_right")
    for link in robot.link_names[1:-1]:
        frame = expected.frames[expected.getFrameId(link)]
        assert robot.in_joint(link).isApprox(frame.placement, 1e-12)
    assert robot.in_joint(HELD_OBJECT) == robot.in_joint("tool")


def test_a_gripper_stops_at_its_limits():
    robot = Robot.from_description(RobotDescription.load("iiwa14_wsg50"))
    robot.set_gripper(1.0)
    shift = robot.in_joint("gripper_body").actInv(robot.in_joint("finger_left").translation)
    assert shift[1] == pytest.approx(0.055)


def test_an_unknown_gripper_joint_is_refused():
    with pytest.raises(ModelError, match="unknown gripper joint 'thumb'"):
        Robot(arm_urdf(), JOINTS, "tool", "thumb")
