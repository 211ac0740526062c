"""The room the gate leaves a command: step, velocity, joint limits with braking, spring torque."""

import numpy as np
import pytest

from contact_aware_control.config import ControllerConfig
from contact_aware_control.safety.command_gate import CommandGate
from contact_core.base.config import from_mapping

K = np.array([800.0, 600.0, 600.0, 600.0, 400.0, 200.0, 200.0])
Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
PERIOD = 0.005


class Limits:
    """The room around a command that rests, with accelerations as it likes."""

    def __init__(self, robot, **values):
        limits = {"acceleration": 1e4, "jerk": 1e6, **values}
        self.gate = CommandGate(robot, from_mapping(ControllerConfig, {"limits": limits}))

    def box(self, q, command, fraction=1.0):
        return self.gate.step_bounds(self.gate.start(command), q, fraction=fraction)


def test_step_bound_holds_in_the_open(robot):
    lower, upper = Limits(robot, step=0.003).box(Q, Q)
    np.testing.assert_allclose(upper, 0.003)
    np.testing.assert_allclose(lower, -0.003)


def test_step_fraction_scales_the_step_bound(robot):
    _, upper = Limits(robot).box(Q, Q, 0.25)
    np.testing.assert_allclose(upper, 0.25 * 0.002)


def test_velocity_limit_wins_over_a_large_step_bound(robot):
    _, upper = Limits(robot, step=0.05, velocity_fraction=0.5).box(Q, Q)
    np.testing.assert_allclose(upper, 0.5 * robot.velocity_limits * PERIOD)


def test_arm_brakes_before_a_joint_limit_and_stops_at_its_margin(robot):
    """Commanding as fast as allowed, the command approaches limit - margin, slowing down."""
    limits = Limits(robot)
    command = Q.copy()
    steps = []
    for _ in range(3000):
        _, upper = limits.box(command, command)
        command = command + upper
        steps.append(upper[3])
    np.testing.assert_allclose(command, robot.position_limits[1] - 0.03, atol=1e-3)
    assert np.all(np.diff(steps) <= 1e-15)


def test_command_beyond_a_joint_limit_comes_back(robot):
    command = Q.copy()
    command[5] = robot.position_limits[1, 5] + 0.1
    lower, upper = Limits(robot).box(command, command)
    assert upper[5] < 0.0
    assert lower[5] <= upper[5]


def test_spring_torque_is_bounded(robot):
    """Pushing on against an arm that does not move, |K (q_cmd - q)| ends at its bound."""
    limits = Limits(robot, spring_torque_share=0.25)
    command = Q.copy()
    for _ in range(500):
        _, upper = limits.box(Q, command)
        command = command + upper
    np.testing.assert_allclose(K * (command - Q), 0.25 * robot.spring_torque, rtol=1e-9)


def test_box_is_never_empty_nor_larger_than_the_step(robot):
    """Whatever the arm was pushed to, and wherever the command is."""
    limits = Limits(robot)
    rng = np.random.default_rng(0)
    for _ in range(500):
        q, command = rng.normal(scale=3.0, size=(2, 7))
        lower, upper = limits.box(q, command)
        assert np.all(lower <= upper)
        assert np.all(np.abs(lower) <= 0.002)
        assert np.all(np.abs(upper) <= 0.002)


@pytest.mark.parametrize(("share", "reached"), [(1.0, True), (0.5, False)])
def test_only_limits_other_than_the_step_are_reported(robot, share, reached):
    limits = Limits(robot)
    lower, upper = limits.box(Q, Q)
    assert not limits.gate.is_reached(share * upper, (lower, upper))
    command = Q.copy()
    command[5] = robot.position_limits[1, 5] - 0.04
    lower, upper = limits.box(command, command)
    change = np.zeros(7)
    change[5] = share * upper[5]
    assert limits.gate.is_reached(change, (lower, upper)) is reached
