"""Whether the robot follows: springs and torque that contradict each other, and what may."""

import numpy as np
import pytest
from loop_bench import Q

from contact_aware_control.config import ControllerConfig
from contact_aware_control.safety.follow_watch import FollowWatch
from contact_aware_control.safety.status import Status
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import RobotDescription

PERIOD = ControllerConfig().period


def only(joint, value):
    """All zeros but one."""
    return np.where(np.arange(7) == joint, value, 0.0)


STIFFNESS = np.array(RobotDescription.load("iiwa14_wsg50").joints.stiffness)
PRESSED = only(1, 0.05)
"""How far the springs are bent [rad]: 30 Nm."""


def watched(robot, torque, bent=PRESSED, moves=True, offset=None, drift=0.0, states=30):
    """Bend the springs, hold, and report a torque; return what is found."""
    watch, command = FollowWatch(robot, ControllerConfig()), Q.copy()
    state = watch.start(command)
    for speed in 8 * [0.4] + 8 * [-0.4] if moves else []:
        command = command + speed * PERIOD
        state = watch.sent(state, command)
    for k in range(states):
        q = command - bent + PERIOD * k * drift
        tau = torque(q) if callable(torque) else torque
        arm = ArmState(k, q, np.full(7, np.nan), np.full(7, np.nan), tau)
        state, found = watch.check(state, arm, offset)
        if found is not None:
            return found
    return None


def test_springs_and_torque_in_balance_are_no_finding(robot):
    assert watched(robot, -STIFFNESS * PRESSED) is None


@pytest.mark.parametrize(
    ("torque", "bent"),
    [
        (STIFFNESS * PRESSED / 2, PRESSED / 2),  # The sign is wrong,
        (np.zeros(7), PRESSED / 2),  # the torque is missing,
        (-STIFFNESS * PRESSED, 0.0 * PRESSED),  # or the position is that of the command.
    ],
)
def test_springs_and_torque_out_of_balance_are_named(robot, torque, bent):
    moving_aside = only(4, 0.05)
    found = watched(robot, torque, bent, drift=moving_aside - only(1, 0.005))
    assert found.status is Status.UNBALANCED
    assert "A2" in found.detail
    # Of an arm at rest the bias may not be known yet.
    assert watched(robot, torque / 2, bent / 2, False, drift=moving_aside) is None


@pytest.mark.parametrize("error", [0.8, 1.2])
def test_a_stiffness_is_known_to_a_fifth_only(robot, error):
    assert watched(robot, -error * STIFFNESS * PRESSED) is None


def test_bias_moves_no_joint_and_payload_does(robot):
    known = np.array([16.0, 16.0, 8.8, 8.8, 5.5, 2.0, 2.0])
    still = 0.0 * PRESSED
    for bias in (known, -known):
        assert watched(robot, bias, still, offset=bias) is None
        assert watched(robot, bias, -bias / STIFFNESS, offset=bias) is None
    assert watched(robot, known, still, offset=-known) is not None
    assert watched(robot, known, still) is not None


def test_a_joint_on_its_way_to_balance_is_no_finding(robot):
    """A hand that pushes with 60 N was taken for an encoder that is stuck."""
    pushed = only(1, -40.0)
    assert watched(robot, pushed, 0.0 * PRESSED, drift=only(1, -0.1)) is None
    found = watched(robot, pushed, 0.0 * PRESSED, drift=only(4, -0.1))
    assert found.status is Status.ENCODER_STUCK


@pytest.mark.parametrize("speed", [0.4, 0.6, 0.8])
def test_a_joint_that_swings_beyond_its_balance_is_no_finding(robot, speed):
    """A hand let go, the command stopped, the arm swung on by 14 mrad: it stood for a moment."""
    watch, command, q, v = FollowWatch(robot, ControllerConfig()), Q[2], Q[2], 0.0
    state, farthest = watch.start(Q), 0.0
    stiffness, inertia, damping = STIFFNESS[2], 5.0, 0.06 * STIFFNESS[2]
    for k in range(300):
        command += PERIOD * (speed if k < 100 else -0.03)
        v += PERIOD * (stiffness * (command - q) - damping * v) / inertia
        q += PERIOD * v
        farthest = max(farthest, q - command)
        state = watch.sent(state, np.where(np.arange(7) == 2, command, Q))
        position = np.where(np.arange(7) == 2, q, Q)
        arm = ArmState(k, position, np.full(7, np.nan), np.full(7, np.nan), np.zeros(7))
        state, found = watch.check(state, arm)
        assert found is None
    assert farthest > 0.01


def test_an_unknown_torque_is_never_out_of_balance(robot):
    assert watched(robot, np.full(7, np.nan)) is None


def test_a_joint_that_leaves_its_balance_is_named_and_one_with_late_torques_is_not(robot):
    """An arm that presses without a torque creeps away; one that yields has its torque later."""
    away = only(1, -0.05)  # rad/s, and every tick the springs are bent farther
    lost = watched(robot, np.zeros(7), PRESSED / 2, drift=away, states=60)
    assert lost.status is Status.UNBALANCED
    late = 0.05 * away
    torque = lambda q: STIFFNESS * (q - Q - late)  # noqa: E731
    assert watched(robot, torque, PRESSED / 2, drift=away, states=60) is None


def test_a_joint_that_would_take_long_is_not_on_its_way(robot):
    slowly = only(1, 0.02)
    found = watched(robot, np.zeros(7), PRESSED / 2, drift=slowly, states=30)
    assert found.status is Status.UNBALANCED
    assert "A2" in found.detail
