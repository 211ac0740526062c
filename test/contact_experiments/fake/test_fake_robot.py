"""The fake robot behaves by physics, and misbehaves as its faults say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import yaml

from contact_core.base.errors import ConfigError
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_experiments.bench.fault_run import START
from contact_experiments.fake import DRIVERS, FAULTS, FakeConfig, FakeRobot, Wall
from contact_experiments.fake.command import floor
from contact_experiments.fake.drivers import COMMANDING_ACTIVE

FREE = FakeConfig(position=START, position_noise=0.0, torque_noise=0.0)
STIFFNESS = RobotDescription.load(FREE.robot).joints.stiffness
FLOOR = Wall("tool", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.2)


def go(robot: FakeRobot, target: np.ndarray, ticks: int) -> list[Any]:
    """Command a position, at 0.5 rad/s and then at rest; return all that was published."""
    sent = []
    for _ in range(ticks):
        towards = robot.target + np.clip(target - robot.target, -0.0025, 0.0025)
        robot.take(robot.driver.encode_command(towards))
        sent += robot.step()
    return sent


def motion(fault: str = "") -> tuple[FakeRobot, list[str]]:
    """Move for 0.8 s, from the twentieth tick on with a fault."""
    robot = FakeRobot(replace(FREE, guard=False, torque_noise=0.1))
    sent = []
    for tick in range(160):
        if fault and tick == 20:
            robot.inject(fault)
        robot.take(robot.driver.encode_command(np.array(START) + 1e-3 * tick))
        sent.append(str(robot.step()))
    return robot, sent


def five_joints(folder: Path) -> str:
    """Write the file of an arm that is an UR5e up to its fifth joint; return its path."""
    whole = RobotDescription.load("ur5e")
    urdf = folder / "five.urdf"
    urdf.write_text(whole.urdf)
    joints = whole.joints
    values = {
        "name": "five",
        "arm": {"urdf": str(urdf)},
        "arm_joints": list(whole.arm_joints[:5]),
        "tool_link": "wrist_2_link",
        "joints": {
            "home": list(joints.home[:5]),
            "stiffness": list(joints.stiffness[:5]),
            "spring_torque": list(joints.spring_torque[:5]),
        },
    }
    path = folder / "five.yaml"
    path.write_text(yaml.safe_dump(values))
    return str(path)


@pytest.fixture(scope="module")
def sound() -> list[str]:
    """What is published where nothing is wrong."""
    return motion()[1]


def test_rests_where_its_springs_and_the_surface_are_in_balance() -> None:
    robot = FakeRobot(replace(FREE, surface=FLOOR))
    target = np.array(START) + 0.1 * np.eye(7)[1]
    go(robot, target, 250)
    spring = np.array(STIFFNESS) * (target - robot.arm.q)
    np.testing.assert_allclose(spring + robot.arm.external_torque, 0.0, atol=1e-3)
    depth = FLOOR.offset - robot.arm.point("tool", np.zeros(3))[2]
    assert robot.arm.contact_force == pytest.approx(FLOOR.stiffness * depth, rel=1e-3)
    assert robot.arm.contact_force > 10.0


def test_a_hand_s_push_moves_it_as_far_as_its_springs_say() -> None:
    robot = FakeRobot(FREE)
    robot.inject("pushed", 10.0)
    go(robot, np.array(START), 400)
    sag = (robot.arm.q - np.array(START)) * np.array(STIFFNESS)
    np.testing.assert_allclose(sag, robot.arm.external_torque, atol=1e-3)


def test_keeps_the_last_command_when_commands_stop() -> None:
    robot = FakeRobot(FREE)
    target = np.array(START) + 0.1
    go(robot, target, 40)
    for _ in range(200):
        robot.step()
    np.testing.assert_allclose(robot.arm.q, target, atol=1e-3)


def test_its_clock_and_its_arm_go_on_while_it_is_held_up() -> None:
    held_up, steady = FakeRobot(FREE), FakeRobot(FREE)
    target = np.array(START) + 0.005
    for robot in (held_up, steady):
        robot.take(robot.driver.encode_command(target))
    for tick in range(1, 41):
        state = steady.step_until(steady.epoch + tick * 5_000_000)[0].message
    (late, _) = held_up.step_until(held_up.epoch + 200_400_000)
    assert held_up.ticks == steady.ticks == 40
    assert str(late.message) == str(state)
    assert late.message.time_stamp_nano_sec == 200_000_000
    # However early it is woken, a period passes.
    held_up.step_until(held_up.epoch)
    assert held_up.ticks == 41


def test_is_reproducible() -> None:
    runs = [go(FakeRobot(FakeConfig(seed=3)), np.array(START) + 0.1, 40) for _ in range(2)]
    assert str(runs[0]) == str(runs[1])
    assert str(runs[0]) != str(go(FakeRobot(), np.array(START) + 0.1, 40))


def test_without_a_guard_it_follows_what_a_real_one_refuses() -> None:
    jump = np.array(START) + 1.0
    guarded, unguarded = FakeRobot(FREE), FakeRobot(replace(FREE, guard=False))
    for robot in (guarded, unguarded):
        robot.take(robot.driver.encode_command(jump))
    assert [guarded.step() for _ in range(10)] == [[]] * 10
    assert "faster than the joints" in guarded.stopped
    for _ in range(300):
        unguarded.step()
    np.testing.assert_allclose(unguarded.arm.q, jump, atol=1e-2)


def test_a_driver_started_elsewhere_is_not_stopped_by_its_guard() -> None:
    robot = FakeRobot(FREE)
    robot.inject("restarts_elsewhere")
    robot.take(robot.driver.encode_command(np.array(START)))
    steps = [robot.step() for _ in range(600)]
    assert (steps[0], robot.stopped) == ([], "")
    assert steps[-1]
    np.testing.assert_allclose(robot.arm.q, np.array(START) - 0.3 * np.eye(7)[0], atol=1e-2)


def test_commands_count_only_in_a_session() -> None:
    robot = FakeRobot(FREE)
    robot.inject("leaves_commanding")
    states = go(robot, np.array(START) + 0.1, 100)
    np.testing.assert_allclose(robot.arm.q, START, atol=1e-9)
    assert all(s.message.session_state != COMMANDING_ACTIVE for s in states if s.topic == "state")
    robot.cure()
    go(robot, np.array(START) + 0.1, 200)
    np.testing.assert_allclose(robot.arm.q, np.array(START) + 0.1, atol=1e-3)


def test_fri_2_reports_no_command_and_the_interpolator_s_position() -> None:
    robot = FakeRobot(replace(FREE, driver="lbr_fri2"))
    state = go(robot, np.array(START) + 0.1, 200)[-2].message
    assert np.isnan(state.commanded_joint_position).all()
    np.testing.assert_allclose(state.ipo_joint_position, START)


SIGN_ON_WIRE = {"lbr_fri": -1.0, "lbr_fri2": -1.0, "kuka_drivers": -1.0, "ros2_control": 1.0}


@pytest.mark.parametrize("driver", DRIVERS)
def test_at_rest_it_reports_its_weight_as_the_driver_does(driver: str) -> None:
    """FRI: measured = tau_ext - g; where torques are positive as they accelerate: g - tau_ext."""
    robot = FakeRobot(replace(FREE, driver=driver, torque_time=0.0))
    robot.inject("pushed", 10.0)
    sent = {item.topic: item.message for item in go(robot, np.array(START), 400)}
    model = Robot.from_description(RobotDescription.load(robot.config.robot)).model
    rest = np.zeros(7)
    gravity = pin.rnea(model, model.createData(), robot.arm.q, rest, rest)
    expected = SIGN_ON_WIRE[driver] * (gravity - robot.arm.external_torque)
    assert np.abs(gravity).max() > 40.0 and np.abs(robot.arm.external_torque).max() > 10.0
    np.testing.assert_allclose(sent["joint_states"].effort, expected, atol=0.01)
    if "state" in sent:
        np.testing.assert_allclose(sent["state"].measured_torque, expected, atol=0.01)
        np.testing.assert_allclose(sent["state"].commanded_torque, expected, atol=0.01)
        np.testing.assert_allclose(sent["state"].external_torque, robot.arm.external_torque)


@pytest.mark.parametrize("driver", ["lbr_fri", "lbr_fri2"])
def test_commands_overlay_a_motion_only_in_a_session(driver: str) -> None:
    robot = FakeRobot(replace(FREE, driver=driver))
    active = robot.step()[0].message
    assert (active.client_command_mode, active.overlay_type) == (1, 1)
    assert active.tracking_performance == 1.0
    robot.inject("leaves_commanding")
    monitored = robot.step()[0].message
    assert (monitored.client_command_mode, monitored.overlay_type) == (0, 0)
    assert monitored.tracking_performance == 0.0
    assert np.isnan(monitored.ipo_joint_position).all()


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_shows_and_can_be_cured(name: str, sound: list[str]) -> None:
    assert FAULTS[name].summary().endswith(".")
    robot, sent = motion(name)
    assert sent[:20] == sound[:20]
    assert sent[20:] != sound[20:]
    robot.cure()
    assert robot.commanding
    target = robot.arm.q.copy()
    state = go(robot, target, 100)[-2].message
    np.testing.assert_allclose(state.measured_joint_position, target, atol=1e-2)


@pytest.mark.parametrize("driver", DRIVERS)
def test_every_driver_takes_what_it_calls_a_command(driver: str) -> None:
    robot = FakeRobot(replace(FREE, driver=driver))
    sent = go(robot, np.array(START) + 0.1, 200)
    np.testing.assert_allclose(robot.arm.q, np.array(START) + 0.1, atol=1e-3)
    assert {item.topic for item in sent} == set(robot.driver.state_topics)
    assert all(type(s.message) is robot.driver.state_topics[s.topic] for s in sent)


@pytest.mark.parametrize("arm", ["ur5e_wsg50", "fr3", "five"])
def test_ros2_control_is_any_arm(arm: str, tmp_path: Path) -> None:
    """Joints, posture and stiffness are those of the robot's file."""
    arm = five_joints(tmp_path) if arm == "five" else arm
    description = RobotDescription.load(arm)
    home = np.array(description.joints.home)
    robot = FakeRobot(replace(FREE, driver="ros2_control", robot=arm, position=()))
    np.testing.assert_array_equal(robot.arm.q, home)
    sent = go(robot, home + 0.05, 200)
    assert tuple(sent[-1].message.name) == description.arm_joints
    np.testing.assert_allclose(robot.arm.q, home + 0.05, atol=2e-3)
    robot.inject("pushed", 10.0)
    go(robot, home, 400)
    sag = (robot.arm.q - home) * np.array(description.joints.stiffness)
    np.testing.assert_allclose(sag, robot.arm.external_torque, atol=1e-2)


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_happens_to_an_arm_of_five_joints(name: str, tmp_path: Path) -> None:
    # The driver reports neither session nor command, so that not every fault shows.
    config = replace(FREE, driver="ros2_control", robot=five_joints(tmp_path), position=())
    robot = FakeRobot(replace(config, guard=False))
    robot.inject(name)
    home = robot.arm.q.copy()
    sent = go(robot, home + 0.05, 40)
    assert all(len(item.message.position) == home.size for item in sent)
    robot.cure()
    here = robot.arm.q.copy()
    go(robot, here, 100)
    np.testing.assert_allclose(robot.arm.q, here, atol=1e-2)


def test_its_tool_meets_a_floor_whatever_its_link_is_called() -> None:
    robot = FakeRobot(replace(FREE, driver="ros2_control", robot="ur5e", position=()))
    height = robot.arm.point("tool0", np.zeros(3))[2]
    robot.arm.surface = floor(height + 0.002)
    go(robot, robot.arm.q.copy(), 100)
    assert robot.arm.contact_force > 0.5


@pytest.mark.parametrize("driver", ["lbr_fri", "lbr_fri2", "kuka_drivers"])
@pytest.mark.parametrize("arm", ["ur5e_wsg50", "fr3", "two_iiwas"])
def test_a_driver_of_kuka_s_refuses_other_arms(driver: str, arm: str) -> None:
    with pytest.raises(ConfigError, match=f"{driver} moves .* '{arm}' .*ros2_control.*iiwa14, "):
        FakeRobot(FakeConfig(driver=driver, robot=arm))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="lbr_fri"):
        FakeRobot(FakeConfig(driver="nobody"))
    with pytest.raises(ConfigError, match="degrees"):
        FakeRobot().inject("nothing")
