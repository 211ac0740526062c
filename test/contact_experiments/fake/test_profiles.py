"""Two readings of the drivers' files that share no code understand each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import RobotDescription
from contact_experiments.fake import DRIVERS, FakeConfig, FakeRobot
from contact_ros.driver_profile import DriverConfig, DriverProfile, driver_profile

PROFILE = {"lbr_fri2": "lbr_fri"}
NAMESPACE = "/left"


@pytest.fixture(params=DRIVERS)
def robot(request: pytest.FixtureRequest) -> FakeRobot:
    config = FakeConfig(
        driver=request.param,
        namespace=NAMESPACE,
        position_noise=0.0,
        torque_noise=0.0,
        torque_time=0.0,
    )
    return FakeRobot(replace(config, guard=False))


@pytest.fixture
def profile(robot: FakeRobot) -> DriverProfile:
    name = robot.driver.name
    joints = RobotDescription.load(robot.config.robot).arm_joints
    return driver_profile(
        PROFILE.get(name, name), DriverConfig(), robot.config.period, joints, NAMESPACE
    )


def received(robot: FakeRobot, profile: DriverProfile) -> ArmState:
    """Return what the profile makes of a period's messages; all but one are parts of it."""
    sent = [item for item in robot.step() if item.topic in profile.needed_topics]
    states = [profile.decode_state(item.topic, item.message) for item in sent]
    (state,) = [state for state in states if state is not None]
    return state


def test_a_state_is_what_the_arm_does(robot: FakeRobot, profile: DriverProfile) -> None:
    robot.inject("pushed")
    for _ in range(20):
        state = received(robot, profile)
    np.testing.assert_allclose(state.position, robot.arm.q)
    np.testing.assert_allclose(state.external_torque, robot.arm.external_torque)
    np.testing.assert_allclose(state.joint_torque, robot.arm.joint_torque)
    assert state.condition is None or state.condition.commanding
    if np.isfinite(state.velocity).any():
        np.testing.assert_allclose(state.velocity, robot.arm.v)


def test_stamps_keep_the_robot_s_time(robot: FakeRobot, profile: DriverProfile) -> None:
    stamps = [received(robot, profile).stamp for _ in range(3)]
    assert np.diff(stamps).tolist() == [5_000_000] * 2


def test_a_command_arrives(robot: FakeRobot, profile: DriverProfile) -> None:
    command = robot.arm.q + np.arange(7.0)
    robot.take(profile.encode_command(command))
    np.testing.assert_array_equal(robot.target, command)


def test_another_arm_than_an_lbr_is_read_alike() -> None:
    config = FakeConfig(driver="ros2_control", namespace=NAMESPACE, robot="ur5e", guard=False)
    robot = FakeRobot(replace(config, position_noise=0.0))
    joints = RobotDescription.load("ur5e").arm_joints
    profile = driver_profile("ros2_control", DriverConfig(), 0.005, joints, NAMESPACE)
    assert tuple(profile.joint_names) == robot.driver.joint_names
    np.testing.assert_allclose(received(robot, profile).position, robot.arm.q)
    command = robot.arm.q + np.arange(6.0)
    robot.take(profile.encode_command(command))
    np.testing.assert_array_equal(robot.target, command)


def test_both_read_the_same_topics(robot: FakeRobot, profile: DriverProfile) -> None:
    assert profile.command_topic == robot.driver.command_topic
    assert profile.command_type is robot.driver.command_type
    for topic in profile.needed_topics:
        assert profile.state_topics[topic] is robot.driver.state_topics[topic]
    assert tuple(profile.joint_names) == robot.driver.joint_names
