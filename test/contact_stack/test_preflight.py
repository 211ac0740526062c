"""The pre-flight checks: each fails for its reason, and names the remedy."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pinocchio as pin
import pytest

from contact_aware_control.estimation.joint_torque import TorqueReading
from contact_aware_control.node.config import HeldConfig
from contact_core.robot.arm_state import ArmState, RobotCondition, TorqueKind
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_stack.checks import Check, CheckStatus
from contact_stack.preflight import checks
from contact_stack.preflight.checks import PreflightLimits, PushTest

LIMITS = PreflightLimits()
K = np.array([800.0, 600.0, 600.0, 600.0, 400.0, 200.0, 200.0])
Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
READING = TorqueReading()
BIAS = np.random.default_rng(5).normal(size=7)
REST = np.tile(Q, (50, 1))


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.from_description(RobotDescription.load("iiwa14_wsg50"))


def test_the_rate_of_the_states() -> None:
    at_200_hz = np.arange(400) * 0.005

    def rate(stamps: np.ndarray, arrivals: np.ndarray) -> Check:
        return checks.state_rate(np.column_stack((stamps, arrivals)), 200.0, LIMITS)

    assert rate(at_200_hz, at_200_hz + 0.001).status is CheckStatus.OK
    slow = rate(at_200_hz * 2.0, at_200_hz * 2.0)
    assert slow.status is CheckStatus.FAIL
    assert "sent at 100.0 Hz" in slow.detail
    assert "update_rate to 200" in slow.remedy
    assert "send period to 5 ms" in slow.remedy
    gap = np.concatenate((at_200_hz, at_200_hz + 2.02))
    assert "longest gap 5.0 periods" in rate(gap, gap).detail
    assert rate(gap, gap).status is CheckStatus.FAIL
    assert checks.state_rate([], 200.0, LIMITS).status is CheckStatus.FAIL


def test_who_is_slow_is_told_by_the_stamps() -> None:
    """Each third state was lost here; a sender was held up; a driver repeats its last state."""
    at_200_hz = np.arange(600) * 0.005
    lossy = at_200_hz[np.arange(600) % 3 > 0]
    lost = checks.state_rate(np.column_stack((lossy, lossy)), 200.0, LIMITS)
    held_up = checks.state_rate(np.column_stack((at_200_hz, 1.2 * at_200_hz)), 200.0, LIMITS)
    for check, arrive in ((lost, "133."), (held_up, "166.")):
        assert check.status is CheckStatus.FAIL
        assert f"sent at 200.0 Hz by their stamps, they arrive at {arrive}" in check.detail
        assert "processors" in check.remedy
    hung = np.column_stack((np.zeros(600), at_200_hz))
    assert checks.state_rate(hung, 200.0, LIMITS).status is CheckStatus.FAIL


def test_what_the_driver_tells_of_the_session() -> None:
    state = ArmState(0, Q, np.zeros(7), Q, np.zeros(7))
    assert checks.session(state).status is CheckStatus.OK
    braked = dataclasses.replace(state, condition=RobotCondition(drives_on=False))
    check = checks.session(braked)
    assert check.status is CheckStatus.FAIL
    assert (check.detail, check.remedy) == (
        "the robot reports its drives as not active", "switch the drives on",
    )  # fmt: skip


def test_the_number_of_joints(robot: Robot) -> None:
    assert checks.joint_count(Q, robot).status is CheckStatus.OK
    assert "reports 6, the model has 7" in checks.joint_count(Q[:6], robot).detail


def test_an_arm_that_moves_or_is_at_a_limit(robot: Robot) -> None:
    assert checks.joint_limits(REST, robot).status is CheckStatus.OK
    moving = REST.copy()
    moving[-1, 3] += 0.02
    assert "lbr_A4 moved by 0.020 rad" in checks.joint_limits(moving, robot).detail
    at_limit = REST.copy()
    at_limit[:, 1] = robot.position_limits[1][1] - 0.01
    check = checks.joint_limits(at_limit, robot)
    assert check.status is CheckStatus.FAIL
    assert "lbr_A2 is 0.01 rad from its limit" in check.detail


def carried(robot: Robot, q: np.ndarray) -> np.ndarray:
    """The torques of joints that carry the arm, and nothing else, 50 times."""
    gravity = pin.computeGeneralizedGravity(robot.model, robot.model.createData(), q)
    return np.tile(gravity, (50, 1))


def test_joints_that_carry_the_arms_weight(robot: Robot) -> None:
    """Also with a bias, and with something in the gripper that nobody declared."""
    robot.update(Q)
    held = robot.gravity_torque_of_payload(0.8, np.zeros(3))
    for external in (0.0 * BIAS, 0.3 * BIAS, held):
        torques = np.tile(external, (50, 1))
        check = checks.weight(REST, torques, carried(robot, Q) - torques, robot, LIMITS, READING)
        assert check.status is CheckStatus.OK, check
    lighter = carried(robot, Q) - held
    undeclared = checks.weight(REST, np.zeros((50, 7)), lighter, robot, LIMITS, READING)
    assert undeclared.status is CheckStatus.OK, undeclared


@pytest.mark.parametrize("pair", list(itertools.combinations(range(7), 2)))
def test_joints_that_are_taken_for_each_other_are_named(
    robot: Robot, pair: tuple[int, int]
) -> None:
    """But for the base, the forearm and the flange, on which hardly any weight turns here."""
    order = np.arange(7)
    order[list(pair)] = pair[::-1]
    load = carried(robot, Q)[:, order] + 0.1 * BIAS
    check = checks.weight(REST[:, order], np.zeros((50, 7)), load, robot, LIMITS, READING)
    if set(pair) <= {0, 4, 6}:
        assert check.status is CheckStatus.OK
        return
    assert check.status is CheckStatus.FAIL
    first, second = (robot.joint_names[joint] for joint in pair)
    assert f"{first} and {second} were exchanged" in check.detail
    assert "joint_names" in check.remedy


def test_joints_that_carry_something_else(robot: Robot) -> None:
    load = carried(robot, Q)
    for wrong in (load[:, ::-1], 0.5 * load):
        check = checks.weight(REST, np.zeros((50, 7)), wrong, robot, LIMITS, READING)
        assert check.status is CheckStatus.FAIL
        assert "Nm other than the model's, at lbr_A" in check.detail
    assert "panel" in check.remedy


PRESENT = [
    TorqueReading(sign, kind)
    for sign in (1.0, -1.0)
    for kind in (TorqueKind.GRAVITY_INCLUDED, TorqueKind.GRAVITY_COMPENSATED)
]
OPPOSITE, LEFT_OUT, ADDED = (
    "measured torque has the opposite sign",
    "measured torque leaves out the arm's weight",
    "measured torque has the arm's weight",
)


@pytest.mark.parametrize(
    ("reported", "kind", "sign"),
    [(1.0, "gravity_included", 1.0), (-1.0, "gravity_included", -1.0), (0.0, "compensated", 0.0)],
)
@pytest.mark.parametrize("present", PRESENT)
def test_a_torque_that_is_not_what_it_is_taken_for_is_named(
    robot: Robot, present: TorqueReading, reported: float, kind: str, sign: float
) -> None:
    """The driver reports g, -g, or nothing at rest; a reading that fits is not complained of."""
    weight = carried(robot, Q)
    left_out = weight if present.kind is TorqueKind.GRAVITY_COMPENSATED else 0.0
    external = np.tile(0.3 * BIAS, (50, 1))
    torque = present.sign * reported * weight + left_out - external
    check = checks.weight(REST, external, torque, robot, LIMITS, present)
    wrong_kind = kind not in present.kind.value
    wrong_sign = reported != 0.0 and present.sign != sign
    assert (check.status is CheckStatus.FAIL) == (wrong_kind or wrong_sign), check
    named = LEFT_OUT if reported == 0.0 else ADDED
    assert (OPPOSITE in check.detail, named in check.detail) == (wrong_sign, wrong_kind)
    assert (f"arm.joint_torque_sign to {sign}" in check.remedy) == wrong_sign
    assert (f"arm.joint_torque_kind to gravity_{kind[-8:]}" in check.remedy) == (
        wrong_kind and kind == "gravity_included"
    )
    assert ("arm.joint_torque_kind to gravity_compensated" in check.remedy) == (
        wrong_kind and kind == "compensated"
    )


def test_a_payload_has_to_be_declared(robot: Robot) -> None:
    robot.update(Q)
    weight = np.tile(robot.gravity_torque_of_payload(1.0, np.zeros(3)), (50, 1))
    declared = HeldConfig(mass=1.0)
    good = checks.payload(REST, weight, robot, declared, LIMITS)
    assert good.status is CheckStatus.OK
    bad = checks.payload(REST, weight, robot, HeldConfig(), LIMITS)
    assert bad.status is CheckStatus.FAIL
    assert "held_mass" in bad.remedy


def test_the_tare() -> None:
    assert checks.tare(True, np.full((50, 7), 0.1), LIMITS).status is CheckStatus.OK
    assert checks.tare(True, np.full((50, 7), 1.1), LIMITS).status is CheckStatus.FAIL
    assert checks.tare(False, np.zeros((0, 7)), LIMITS).status is CheckStatus.FAIL


def push(sign: float = 1.0, stiffness: np.ndarray = K, joints: int = 4) -> PushTest:
    """A hand pushes the first joints of an arm of some stiffness; torques are biased and noisy.

    It lets go at the end.
    """
    random = np.random.default_rng(5)
    names = [f"lbr_A{i}" for i in range(1, 8)]
    test = PushTest(Q, BIAS, names, K, LIMITS)
    for time in np.arange(0.0, 2.5, 0.005):
        torque = np.zeros(7)
        torque[:joints] = 6.0 * np.sin(np.pi * min(time, 2.0))
        noisy = sign * torque + BIAS + random.normal(scale=0.1, size=7)
        test.add(Q + torque / stiffness, noisy)
    return test


def test_a_push_tells_sign_and_stiffness() -> None:
    test = push()
    np.testing.assert_allclose(test.stiffness(), K[:4], rtol=0.01)
    assert [check.status for check in test.checks()] == [CheckStatus.OK, CheckStatus.OK]


def test_the_hand_has_to_let_go() -> None:
    """Commands would else begin where the hand holds the arm, and jump there."""
    test = push()
    assert test.released
    test.add(Q + 4.0 / K, BIAS + 4.0)
    assert not test.released
    (check,) = test.checks()
    assert check.status is CheckStatus.FAIL
    assert "let go" in check.remedy
    for _ in range(100):
        test.add(Q, BIAS)
    assert test.released


def test_a_torque_of_the_other_sign_is_found() -> None:
    (check,) = push(sign=-1.0).checks()
    assert check.status is CheckStatus.FAIL
    assert "lbr_A1, lbr_A2, lbr_A3, lbr_A4" in check.detail
    assert "torque_sign" in check.remedy


def test_another_stiffness_than_the_configured_one_is_found() -> None:
    sign, stiffness = push(stiffness=1.5 * K).checks()
    assert sign.status is CheckStatus.OK
    assert stiffness.status is CheckStatus.FAIL
    assert "lbr_A1 1201 (set: 800)" in stiffness.detail


def test_a_push_has_to_reach_enough_joints() -> None:
    test = push(joints=2)
    assert not test.complete
    (check,) = test.checks()
    assert "2 of 3 joints" in check.detail
