"""The condensed QP (22): its answer is that of the full problem."""

import numpy as np
import pytest
import quadprog
from driven import Driven

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers import ControllerInput, qp_controller
from contact_aware_control.controllers.qp_controller import BLIND_WEIGHT
from contact_aware_control.controllers.quasistatic import QuasistaticModel
from contact_aware_control.reference import JointTrajectory
from contact_core.base.config import from_mapping
from contact_core.robot.description import RobotDescription

K = np.array(RobotDescription.load("iiwa14_wsg50").joints.stiffness)
WRIST = "lbr_link_6"
Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
BOUND = np.full(7, 0.01)


@pytest.fixture(autouse=True)
def rigid_environment(monkeypatch):
    monkeypatch.setattr(qp_controller, "ENVIRONMENT_COMPLIANCE", 1e-12)


def controller_of(robot, target, name="qp_frictionless"):
    """A controller that follows a straight line to ``target`` in one second."""
    controller = Driven(robot, from_mapping(ControllerConfig, {"controller": name}))
    controller.follow(JointTrajectory([0.0, 1.0], np.array([Q, target])), Q, {})
    return controller


def touch(robot, contact, force):
    """A contact under the wrist, its row of J at q, and q, where the springs press so."""
    direction = np.array([0.2, -0.1, 1.0]) / np.linalg.norm([0.2, -0.1, 1.0])
    robot.update(Q)
    point = robot.link_pose(WRIST).translation - [0.0, 0.0, 0.07]
    q = Q + force * (direction @ robot.point_jacobian(WRIST, point)) / K
    robot.update(q)
    row = direction @ robot.point_jacobian(WRIST, point)
    measured = float(QuasistaticModel.at(K, row[None]).force(q, Q)[0])
    return contact(measured * direction, point), row, q


@pytest.mark.parametrize("force", [10.0, 14.999])
def test_condensed_problem_is_the_full_one(robot, contact, force):
    """(22a)-(22e) over [x = q_cmd+ - q_cmd, q+ - q, lam+] has the same minimiser."""
    report, row, q = touch(robot, contact, force)
    target = Q - 0.3 * row / np.linalg.norm(row) + 0.2 * np.sin(np.arange(7))
    output = controller_of(robot, target).step(ControllerInput(0.0, q, Q, -BOUND, BOUND, [report]))
    config = ControllerConfig()
    equilibrium = QuasistaticModel.at(K, row[None]).equilibrium(q, Q)
    gain = config.tracking.error_rate * config.period
    wanted = equilibrium + gain * (Q - equilibrium) + (target - Q) * config.period - q
    eps = config.tracking.regularization
    hessian = np.diag([eps] * 7 + [1.0] * 7 + [1e-16])
    gradient = np.concatenate((np.zeros(7), wanted, [0.0]))
    balance = np.hstack((-np.diag(K), np.diag(K), -row[:, None]))  # (8a)
    still = np.concatenate((np.zeros(7), row, [0.0]))  # (8b)
    inequalities = np.vstack((-np.eye(15)[14], np.eye(15)[:7], -np.eye(15)[:7]))
    solution = quadprog.solve_qp(
        hessian,
        gradient,
        np.vstack((balance, still, inequalities)).T,
        np.concatenate((-K * (q - Q), [0.0], [-15.0], -BOUND, -BOUND)),
        8,
    )[0]
    np.testing.assert_allclose(output.command - Q, solution[:7], atol=1e-6)
    assert output.predicted_force[0] == pytest.approx(solution[14], abs=1e-3)


def test_equilibrium_error_says_nothing_about_the_force(robot, contact):
    """(23) has rank 7 - nc: a reference behind the contact does not press, unlike in (24)."""
    report, row, q = touch(robot, contact, 10.0)
    behind = Q - 2.0 * row / K * 1000.0
    forces = {}
    for name in ("qp_frictionless", "qp"):
        controller = controller_of(robot, behind, name)
        for _ in range(100):
            output = controller.step(ControllerInput(0.0, q, Q, -BOUND, BOUND, [report]))
        forces[name] = output.predicted_force[0]
    assert forces["qp_frictionless"] == pytest.approx(10.0, abs=0.2)
    assert forces["qp"] > 12.0


def test_without_contact_it_is_the_frictional_one(robot):
    target = Q + 0.1
    commands = [
        controller_of(robot, target, name)
        .step(ControllerInput(0.3, Q, Q, -BOUND, BOUND, []))
        .command
        for name in ("qp", "qp_frictionless")
    ]
    np.testing.assert_array_equal(*commands)


def test_old_contacts_are_not_pushed_further(robot, contact):
    report, row, q = touch(robot, contact, 6.0)
    controller = controller_of(robot, Q - 0.3 * row / np.linalg.norm(row))
    controller.step(ControllerInput(0.0, q, Q, -BOUND, BOUND, [report]))
    careful = controller.step(ControllerInput(0.0, q, Q, -BOUND, BOUND, None, True))
    assert row @ (careful.command - Q) >= -1e-9
    assert careful.damping_weight == BLIND_WEIGHT
