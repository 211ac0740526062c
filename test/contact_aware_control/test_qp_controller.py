"""The condensed QP (24): its answer, its limits, its failures."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
import quadprog
from driven import Driven

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers import (
    CONTROLLERS,
    ControllerInput,
    make_controller,
    qp_controller,
)
from contact_aware_control.controllers.qp_controller import (
    APPROACH_SPEED,
    BLIND_WEIGHT,
    CONSERVATIVE_SHARE,
)
from contact_aware_control.controllers.quasistatic import QuasistaticModel
from contact_aware_control.reference import JointTrajectory, PoseTrajectory
from contact_aware_control.safety.status import Status
from contact_core.base.config import from_mapping
from contact_core.base.errors import ConfigError
from contact_core.robot.description import RobotDescription

K = np.array(RobotDescription.load("iiwa14_wsg50").joints.stiffness)
UP = np.array([0.0, 0.0, 1.0])
WRIST = "lbr_link_6"
Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
STEP = ControllerConfig().limits.step


def controller_of(robot, target, **values):
    """A controller that follows a straight line of the joints to ``target`` in one second."""
    config = from_mapping(ControllerConfig, values)
    controller = Driven(robot, config)
    controller.follow(JointTrajectory([0.0, 1.0], np.array([Q, target])), Q, {})
    return controller


def inputs(contacts, *, time=0.0, q=Q, command=Q, step=STEP, conservative=False):
    bound = np.full(7, step)
    return ControllerInput(time, q, command, -bound, bound, contacts, conservative)


def test_free_space_follows_the_reference(robot):
    """Without contact the command takes the reference's steps, within eps of (22a)."""
    target = Q + 0.1
    controller = controller_of(robot, target)
    command = Q
    for k in range(200):
        command = controller.step(inputs([], time=k * 0.005, q=command, command=command)).command
    np.testing.assert_allclose(command, target, atol=2e-3)


def test_condensed_problem_is_the_full_one(robot, contact, monkeypatch):
    """24 with (22b)-(22e) over [q_cmd+, q+, lam+] has the same minimiser.

    In contact with the force above the limit, so that (22d) is active.
    """
    point = robot.link_pose(WRIST).translation - [0.0, 0.0, 0.07]
    direction = np.array([0.2, -0.1, 1.0]) / np.linalg.norm([0.2, -0.1, 1.0])
    row = direction @ robot.point_jacobian(WRIST, point)
    q = Q + row / K * 15.0  # the springs already press with 15 N
    target = Q - 0.2 * row / np.linalg.norm(row)
    monkeypatch.setattr(qp_controller, "ENVIRONMENT_COMPLIANCE", 1e-12)
    controller = controller_of(robot, target, damping={"weight_max": 0.0})
    robot.update(q)
    row = direction @ robot.point_jacobian(WRIST, point)
    measured = float(QuasistaticModel.at(K, row[None]).force(q, Q)[0])
    robot.update(Q)
    output = controller.step(inputs([contact(measured * direction, point)], q=q, step=0.01))

    eps = ControllerConfig().tracking.regularization
    step_of_reference = (target - Q) * 0.005
    # Unknowns: x = q_cmd+ - q_cmd, q+ - q, lam+.
    hessian = np.diag([1.0 + eps] * 7 + [1e-9] * 8)
    gradient = np.concatenate((step_of_reference, np.zeros(8)))
    balance = np.hstack((-np.diag(K), np.diag(K), -row[:, None]))  # (8a)
    still = np.concatenate((np.zeros(7), row, [0.0]))  # (8b)
    limit = -np.eye(15)[14]
    solution = quadprog.solve_qp(
        hessian,
        gradient,
        np.vstack((balance, still, limit)).T,
        np.concatenate((-K * (q - Q), [0.0], [-15.0])),
        8,
    )[0]
    np.testing.assert_allclose(output.command - Q, solution[:7], atol=1e-7)
    assert output.predicted_force[0] == pytest.approx(solution[14], abs=1e-4)
    assert output.active_constraints[0] == f"force {WRIST}"


def pressing(robot, contact, measured, **config):
    """Let the reference push down while a force is measured at the wrist for a while."""
    robot.update(Q)
    point = robot.link_pose(WRIST).translation - [0.0, 0.0, 0.07]
    row = UP @ robot.point_jacobian(WRIST, point)
    q = Q + row / K * measured
    controller = controller_of(robot, Q - 0.3 * row / np.linalg.norm(row), **config)
    report = [contact(measured * UP, point)]
    for _ in range(200):
        output = controller.step(inputs(report, q=q))
    return output, output.predicted_force[0], row


def test_force_is_kept_at_its_limit(robot, contact):
    output, predicted, _ = pressing(robot, contact, 14.5)
    assert predicted == pytest.approx(15.0, abs=1e-6)
    assert f"force {WRIST}" in output.active_constraints
    assert output.status is Status.OK


def test_force_above_its_limit_is_reduced_in_time(robot, contact):
    """By a share of what is too much, and by the release rate at least."""
    for above, reduced in ((3.0, 1.0), (10.0, 10.0 * (1.0 - np.exp(-0.005 / 0.02)))):
        output, predicted, _ = pressing(robot, contact, 15.0 + above)
        assert predicted == pytest.approx(15.0 + above - reduced, abs=0.1)
        assert output.status is Status.OK


def test_release_within_the_step_bound_or_reported(robot, contact, monkeypatch):
    """A release rate beyond the step bound is met as far as possible, and that is said."""
    monkeypatch.setattr(qp_controller, "MIN_RELEASE_RATE", 10000.0)
    output, predicted, row = pressing(robot, contact, 60.0)
    assert output.status is Status.QP_INFEASIBLE
    assert output.slack > 10.0
    released = output.measured_force[0] - predicted
    reach = np.abs(QuasistaticModel.at(K, row[None]).force_map).sum() * STEP
    assert 0.8 * reach < released < reach


def test_contradicting_contacts_are_not_pushed_further(robot, contact):
    """Pinched from above and below, both far above the limit: no command helps both."""
    point = robot.link_pose(WRIST).translation
    controller = controller_of(robot, Q + 0.3)
    above, below = contact(-60.0 * UP, point + 0.07 * UP), contact(60.0 * UP, point - 0.07 * UP)
    for _ in range(100):
        output = controller.step(inputs([above, below]))
    robot.update(Q)
    row = UP @ robot.point_jacobian(WRIST, point)
    assert output.status is Status.QP_INFEASIBLE
    assert abs(row @ (output.command - Q)) < 1e-6


def test_of_contradicting_contacts_the_larger_force_is_given_way_to(robot, contact):
    """Another contact, maybe none at all, must not keep the arm from yielding."""
    point = robot.link_pose(WRIST).translation
    controller = controller_of(robot, Q)
    above, below = contact(-30.0 * UP, point + 0.07 * UP), contact(120.0 * UP, point - 0.07 * UP)
    for _ in range(20):
        output = controller.step(inputs([above, below]))
    robot.update(Q)
    row = UP @ robot.point_jacobian(WRIST, point)
    assert output.status is Status.QP_INFEASIBLE
    assert row @ (output.command - Q) > 1e-3 * np.linalg.norm(row)


def test_planned_contact_may_press_harder(robot, contact):
    point = robot.link_pose(WRIST).translation - [0.0, 0.0, 0.07]
    row = UP @ robot.point_jacobian(WRIST, point)
    target = Q - 0.3 * row / np.linalg.norm(row)
    pushes = []
    for limits in ({}, {WRIST: 40.0}):
        controller = controller_of(robot, target)
        controller.follow(JointTrajectory([0.0, 1.0], np.array([Q, target])), Q, limits)
        for _ in range(200):
            output = controller.step(inputs([contact(15.0 * UP, point)], q=Q + row / K * 15.0))
        pushes.append(float(row @ (output.command - Q)))
    assert pushes[0] == pytest.approx(0.0, abs=1e-6)
    assert pushes[1] < -1e-4


def test_blind_step_never_pushes_further(robot, contact):
    """Though the last force is far below its limit, and the reference pushes."""
    point = robot.link_pose(WRIST).translation - [0.0, 0.0, 0.07]
    row = UP @ robot.point_jacobian(WRIST, point)
    target = Q - 0.3 * row / np.linalg.norm(row)
    controller = controller_of(robot, target)
    report = [contact(6.0 * UP, point)]
    normal = controller.step(inputs(report, q=Q + row / K * 6.0))
    careful = controller.step(inputs(None, q=Q + row / K * 6.0, conservative=True))
    assert row @ (normal.command - Q) < -1e-5
    assert row @ (careful.command - Q) >= -1e-9
    assert careful.damping_weight >= BLIND_WEIGHT


def test_blind_arm_gives_way_only_to_what_its_springs_still_feel(robot, contact):
    """It presses on something rigid; the force that was measured last is gone as it gives way."""
    point = robot.link_pose(WRIST).translation - [0.0, 0.0, 0.07]
    row = UP @ robot.point_jacobian(WRIST, point)
    controller = controller_of(robot, Q - 0.3 * row / np.linalg.norm(row))
    command, report = Q - 15.0 * row / K, [contact(15.0 * UP, point)]
    for k in range(600):
        force = max(row @ (Q - command) / (row @ (row / K)), 0.0)
        given = inputs(report, q=command + force * row / K, command=command, conservative=k > 0)
        output = controller.step(given)
        command, report = output.command, None
    assert force == pytest.approx(CONSERVATIVE_SHARE * 15.0, rel=0.02)
    np.testing.assert_allclose(output.measured_force, force, rtol=0.02)


def test_force_at_a_doubtful_place_keeps_a_margin(robot, contact):
    point = robot.link_pose(WRIST).translation - [0.0, 0.0, 0.07]
    row = UP @ robot.point_jacobian(WRIST, point)
    controller = controller_of(robot, Q - 0.3 * row / np.linalg.norm(row))
    report = [contact(10.0 * UP, point, identifiable=False)]
    for _ in range(100):
        output = controller.step(inputs(report, q=Q + row / K * 10.0, conservative=True))
    share = CONSERVATIVE_SHARE
    assert output.predicted_force[0] == pytest.approx(15.0 * share, abs=1e-6)


@pytest.mark.parametrize("felt", [6.0, 40.0])
def test_contact_that_explains_nothing_is_bounded_through_the_torque(robot, contact, felt):
    """The reported place is absurd; what the springs feel is the truth, felt upwards [N].

    The arm may still slide: the motion is not zero. Its force is at least the one that the
    longest lever arms leave.
    """
    robot.update(Q)
    point = robot.link_pose(WRIST).translation - [0.0, 0.0, 0.07]
    row = UP @ robot.point_jacobian(WRIST, point)
    target = Q - 0.3 * row / np.linalg.norm(row) + 0.1 * np.eye(7)[0]
    controller = controller_of(robot, target)
    absurd = contact([felt, 0.0, 0.0], [0.1, 0.0, 0.4], "lbr_link_3", False, residual=500.0)
    output = controller.step(inputs([absurd], q=Q + row / K * felt, conservative=True))
    change = output.command - Q
    assert output.contact_links == ("lbr_link_3",)
    limit = 15.0 * CONSERVATIVE_SHARE
    assert (row @ change > 0.0) == (output.measured_force[0] > limit)
    assert np.abs(change).max() > 1e-4


def test_place_of_a_lost_contact_is_approached_slowly(robot, contact):
    point = robot.link_pose(WRIST).translation - [0.0, 0.0, 0.07]
    row = UP @ robot.point_jacobian(WRIST, point)
    target = Q - 3.0 * row / np.linalg.norm(row)
    controller = controller_of(robot, target)
    controller.step(inputs([contact(6.0 * UP, point)]))
    output = controller.step(inputs([], step=0.05))
    assert row @ (output.command - Q) == pytest.approx(-APPROACH_SPEED * 0.005, rel=1e-6)
    assert output.active_constraints == (f"approach {WRIST}",)


def test_damping_grows_while_predictions_are_wrong(robot, contact):
    point = robot.link_pose(WRIST).translation - [0.0, 0.0, 0.07]
    controller = controller_of(robot, Q)
    rng = np.random.default_rng(0)
    weights = [
        controller.step(inputs([contact(rng.uniform(6.0, 60.0) * UP, point)])).damping_weight
        for _ in range(100)
    ]
    assert weights[-1] > 1.0
    weights = [controller.step(inputs([])).damping_weight for _ in range(100)]
    assert weights[-1] < 0.1


def test_what_is_held_does_not_count_as_a_force_of_the_contact(robot, contact):
    """The springs carry a payload, too: wherever a light contact seems to be, it stays light."""
    rng = np.random.default_rng(2)
    robot.update(Q)
    tool = robot.tool_pose().translation
    payload = robot.torque_of_force(robot.tool_link, tool, np.array([0.0, 0.0, -49.0]))
    point = robot.link_pose(WRIST).translation
    for _ in range(20):
        force = np.array([0.0, 9.0, 0.0]) + rng.normal(scale=1.0, size=3)
        q = Q + (payload + robot.torque_of_force(WRIST, point, force)) / K
        given = replace(inputs([contact(force, point)], q=q), offset=payload)
        output = controller_of(robot, Q).step(given)
        np.testing.assert_allclose(output.command, Q, atol=1e-6)
        assert output.predicted_force[0] == pytest.approx(np.linalg.norm(force), abs=0.5)


def test_contact_with_nan_does_not_reach_the_arm(robot, contact):
    """A solver failure is a status, and the command stays where it is."""
    point = robot.link_pose(WRIST).translation
    controller = controller_of(robot, Q + 0.1)
    output = controller.step(inputs([contact(6.0 * UP, point * np.nan)]))
    assert output.status is Status.QP_FAILED
    np.testing.assert_array_equal(output.command, Q)


@pytest.mark.parametrize("reading", ["absolute", "incremental"])
def test_readings_differ_in_contact_alone(robot, contact, reading):
    """Absolute keeps the command near the reference, incremental makes the arm get there.

    Here the contact holds the arm 2 cm off the reference, which rests at Q.
    """
    point = robot.link_pose(WRIST).translation - [0.0, 0.0, 0.07]
    row = UP @ robot.point_jacobian(WRIST, point)
    q = Q + row / K * 10.0
    controller = controller_of(robot, Q, tracking={"reading": reading})
    in_contact = controller.step(inputs([contact(10.0 * UP, point)], q=q))
    change = np.abs(in_contact.command - Q).max()
    if reading == "absolute":
        assert change < 1e-12
    else:
        assert change > 1e-5
    controller = controller_of(robot, Q, tracking={"reading": reading})
    free = controller.step(inputs([], q=q))
    assert np.abs(free.command - Q).max() < 1e-12


@pytest.mark.parametrize("name", CONTROLLERS)
def test_every_controller_follows_a_pose_in_free_space(robot, name):
    robot.update(Q)
    start = robot.tool_pose()
    end = start * pin.SE3(pin.exp3(np.array([0.0, 0.1, 0.0])), np.array([0.03, 0.02, -0.04]))
    controller = Driven(robot, ControllerConfig(controller=name))
    controller.follow(PoseTrajectory([0.0, 1.0], [start, end]), Q, {})
    command = Q
    for k in range(500):
        command = controller.step(inputs([], time=k * 0.005, q=command, command=command)).command
    robot.update(command)
    np.testing.assert_allclose(robot.tool_pose().homogeneous, end.homogeneous, atol=2e-3)


def test_baseline_is_refused_on_hardware(robot):
    with pytest.raises(ConfigError, match="greedy"):
        make_controller(robot, ControllerConfig(controller="greedy", hardware=True))


def test_unknown_controller_lists_the_known_ones(robot):
    with pytest.raises(ConfigError, match="qp, qp_frictionless, null_space, greedy"):
        make_controller(robot, ControllerConfig(controller="magic"))


def test_osqp_gives_the_same_command(robot, contact):
    commands = [
        pressing(robot, contact, 14.5, solver=solver)[0].command
        for solver in ("dual_active_set", "osqp")
    ]
    np.testing.assert_allclose(commands[0], commands[1], atol=1e-6)
