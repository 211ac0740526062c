"""A joint torque that is not what it is taken for is told from what the arm weighs."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from contact_aware_control.estimation.joint_torque import (
    JointTorqueWatch,
    TorqueReading,
    check_joint_torques,
)
from contact_core.base.errors import ConfigError
from contact_core.robot.arm_state import ArmState, TorqueKind
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
UPRIGHT = np.zeros(7)
RIGHT = TorqueReading()
OPPOSITE = TorqueReading(-1.0)
COMPENSATED = TorqueReading(1.0, TorqueKind.GRAVITY_COMPENSATED)
PUSH = np.array([0.0, 12.0, 0.0, -6.0, 0.0, 3.0, 0.0])


def gravity(robot: Robot, q: np.ndarray) -> np.ndarray:
    return np.array(pin.rnea(robot.model, robot.model.createData(), q, 0.0 * q, 0.0 * q))


def told(
    robot: Robot, q: np.ndarray, taken_for: TorqueReading, seconds: float, push: np.ndarray = PUSH
) -> TorqueReading | None:
    """Watch an arm at rest whose driver reports tau_m as it is defined, but is read otherwise."""
    watch = JointTorqueWatch(robot, taken_for)
    left_out = gravity(robot, q) if taken_for.kind is TorqueKind.GRAVITY_COMPENSATED else 0.0
    torque = taken_for.sign * (gravity(robot, q) - push) + left_out
    for k in range(round(seconds / 0.005)):
        watch.update(ArmState(5_000_000 * k, q, np.zeros(7), q, push, torque))
    return watch.right


@pytest.mark.parametrize("taken_for", [OPPOSITE, COMPENSATED])
def test_it_says_what_would_fit_once_that_has_lasted(
    robot: Robot, taken_for: TorqueReading
) -> None:
    assert told(robot, Q, taken_for, 0.4) is None
    assert told(robot, Q, taken_for, 0.6) == RIGHT
    assert told(robot, Q, RIGHT, 2.0) is None


@pytest.mark.parametrize("taken_for", [OPPOSITE, COMPENSATED])
def test_it_says_so_of_an_arm_that_weighs_little_too(robot: Robot, taken_for) -> None:
    light = Robot.from_description(RobotDescription.load("iiwa14_wsg50"))
    for k, body in enumerate(light.model.inertias.tolist()):
        light.model.inertias[k] = pin.Inertia(0.03 * body.mass, body.lever, 0.03 * body.inertia)
    assert 0.5 < np.abs(gravity(light, Q)).max() < 2.5
    push = 0.02 * PUSH
    assert told(light, Q, taken_for, 0.6, push) == RIGHT
    assert told(light, Q, RIGHT, 2.0, push) is None
    assert told(light, Q, RIGHT, 2.0, 10.0 * push) is None


def test_where_the_arm_weighs_nothing_only_a_push_tells_the_sign(robot: Robot) -> None:
    assert told(robot, UPRIGHT, OPPOSITE, 1.0, 0.1 * PUSH) is None
    assert told(robot, UPRIGHT, OPPOSITE, 1.0) == RIGHT


def test_what_was_found_stays_until_it_is_forgotten(robot: Robot) -> None:
    watch = JointTorqueWatch(robot, OPPOSITE)
    for k in range(200):
        watch.update(ArmState(5_000_000 * k, Q, Q, Q, 0.0 * Q, -gravity(robot, Q)))
    watch.update(ArmState(10**10, UPRIGHT, Q, Q, 0.0 * Q, -gravity(robot, UPRIGHT)))
    assert watch.right == RIGHT
    watch.reset()
    assert watch.right is None


def test_heavy_contacts_and_fast_motions_are_not_taken_for_it(robot: Robot) -> None:
    """Also where the driver knows nothing of the contact, or is late."""
    random = np.random.default_rng(0)
    for _ in range(50):
        watch = JointTorqueWatch(robot, RIGHT)
        q = random.uniform(*(0.9 * robot.position_limits))
        error = random.normal(size=7) * np.array([40.0, 40.0, 20.0, 20.0, 8.0, 4.0, 2.0])
        for k in range(150):
            torque = gravity(robot, q) - error * random.uniform(0.5, 1.0)
            watch.update(ArmState(5_000_000 * k, q, 0.0 * q, q, 0.0 * q, torque))
        assert watch.right is None


@pytest.mark.parametrize(
    ("reported", "said"),
    [
        (lambda torque, weight: -torque, "the opposite sign .valid: with the weight, positive"),
        (lambda torque, weight: torque - weight, "leaves out the arm's weight"),
        (lambda torque, weight: 1e3 * torque, "is it this arm, are they in Nm, and in the order"),
        (lambda torque, weight: torque[::-1], "in the order of its joints"),
    ],
)
def test_a_recording_whose_joints_carry_something_else_is_refused(robot, reported, said):
    """A payload of 1 kg that nobody has declared is none of this."""
    weight = gravity(robot, Q)
    robot.update(Q)
    torque = weight + robot.gravity_torque_of_payload(1.0, np.zeros(3))

    def states(torque):
        return [ArmState.recorded(k * 5_000_000, Q, joint_torque=torque) for k in range(100)]

    check_joint_torques(states(torque), robot)
    with pytest.raises(ConfigError, match=said):
        check_joint_torques(states(reported(torque, weight)), robot)
