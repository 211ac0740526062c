"""The null-space baseline is (10)-(21) with W = K, and drops the equality by (30)."""

import numpy as np
import pytest
from driven import Driven

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.controllers import ControllerInput, baselines, make_controller
from contact_aware_control.controllers.quasistatic import QuasistaticModel
from contact_aware_control.loop_state import LoopInputs
from contact_aware_control.reference import Goal, JointTrajectory
from contact_core.base.config import from_mapping
from contact_core.base.errors import ConfigError
from contact_core.robot.description import RobotDescription

K = np.array(RobotDescription.load("iiwa14_wsg50").joints.stiffness)
LIMIT = ControllerConfig().force.limit
WRIST = "lbr_link_6"
Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
UP = np.array([0.0, 0.0, 1.0])
FREE = np.full(7, np.inf)


@pytest.fixture(autouse=True)
def rigid_environment(monkeypatch):
    monkeypatch.setattr(baselines, "ENVIRONMENT_COMPLIANCE", 1e-12)


def controller_at(robot, target, step=0.0):
    """A controller whose reference rests at ``target``."""
    values = {"controller": "null_space", "null_space": {"step": step}}
    controller = Driven(robot, from_mapping(ControllerConfig, values))
    controller.follow(JointTrajectory([0.0, 1.0], np.array([target, target])), Q, {})
    return controller


def step(controller, q, contacts, command=Q):
    return controller.step(ControllerInput(0.5, q, command, -FREE, FREE, contacts))


def touch(robot, contact, force=10.0, direction=UP):
    """A contact under the wrist, and its row of J at Q."""
    robot.update(Q)
    point = robot.link_pose(WRIST).translation - [0.0, 0.0, 0.07]
    return contact(force * direction, point), direction @ robot.point_jacobian(WRIST, point)


def test_torque_is_that_of_the_projection(robot, contact):
    """(13): K (q_cmd+ - q) = -J^T f_max + P_N K (q_ref+ - q), P_N from (10) at W = K."""
    report, row = touch(robot, contact)
    jacobian = row[None]
    reference = Q - 0.05 * row + 0.02 * np.array([1.0, -1, 1, 0, 1, 0, -1])
    assert row @ (reference - Q) < 0.0
    output = step(controller_at(robot, reference), Q, [report])
    inverse = np.diag(1.0 / K)
    pseudo_inverse = inverse @ jacobian.T @ np.linalg.inv(jacobian @ inverse @ jacobian.T)
    projector = np.eye(7) - jacobian.T @ pseudo_inverse.T
    torque = -jacobian.T @ [LIMIT] + projector @ (K * (reference - Q))
    np.testing.assert_allclose(K * (output.command - Q), torque, atol=1e-6)


def test_force_is_set_to_its_limit(robot, contact):
    """By the quasistatic model (9a), from below and from above the limit."""
    for force in (6.0, 40.0):
        report, row = touch(robot, contact, force)
        output = step(controller_at(robot, Q - 0.05 * row), Q, [report])
        model = QuasistaticModel.at(K, row[None])
        np.testing.assert_allclose(model.force(Q, output.command), [LIMIT], rtol=1e-6)
        np.testing.assert_allclose(output.predicted_force, [LIMIT], rtol=1e-6)
        assert output.active_constraints == (f"force {WRIST}",)


def test_tracking_makes_no_motion_against_the_contact(robot, contact):
    """(19): two references that differ only behind the contact give one command."""
    report, row = touch(robot, contact)
    near, far = Q - 0.02 * row / K * 1e3, Q - 0.05 * row / K * 1e3
    commands = [step(controller_at(robot, r), Q, [report]).command for r in (near, far)]
    np.testing.assert_allclose(commands[0], commands[1], atol=1e-9)


def test_force_is_dropped_at_once_when_the_reference_leaves(robot, contact):
    """(30): u^T J_C (q_ref+ - q) > 0, however little; the command jumps by K^-1 J^T f_max."""
    report, row = touch(robot, contact)
    sideways = 0.1 * np.eye(7)[0]
    sideways -= row * (row @ sideways) / (row @ row)
    into, away = Q + sideways - 1e-6 * row, Q + sideways + 1e-6 * row
    regulated = step(controller_at(robot, into), Q, [report])
    released = step(controller_at(robot, away), Q, [report])
    np.testing.assert_allclose(released.command, away, atol=1e-12)
    assert released.contact_links == ()
    jump = released.command - regulated.command
    np.testing.assert_allclose(jump, row / K * LIMIT, atol=1e-5)


def test_without_contact_the_command_is_the_reference(robot):
    output = step(controller_at(robot, Q + 0.3), Q, [])
    np.testing.assert_allclose(output.command, Q + 0.3, atol=1e-12)


def test_contacts_that_are_too_old_are_kept(robot, contact):
    report, row = touch(robot, contact)
    controller = controller_at(robot, Q - 0.05 * row)
    fresh = step(controller, Q, [report])
    np.testing.assert_allclose(step(controller, Q, None).command, fresh.command, atol=1e-9)


def test_step_bound_is_optional(robot):
    output = step(controller_at(robot, Q + 0.3, step=0.002), Q, [])
    np.testing.assert_allclose(output.command, Q + 0.002, atol=1e-12)


@pytest.mark.parametrize(("bound", "largest"), [(0.0, 0.05), (0.002, 0.002)])
def test_control_loop_bounds_its_step_only_if_asked(robot, arm_state, bound, largest):
    """The loop's own bounds on step and speed hide nothing of what the baseline does.

    With a bound, the command reaches it once the transition at the start is over.
    """
    values = {
        "controller": "null_space",
        "null_space": {"step": bound},
        "slow_start": {"duration": 0.0},
        "limits": {"tool_speed": 10.0},
    }
    loop = ControlLoop(robot, from_mapping(ControllerConfig, values))
    period = 5_000_000
    first = LoopInputs(0, arm_state(0, Q), ContactReport(0, ()))
    state, _, _ = loop.tick(loop.start(), first)
    goal = Goal(JointTrajectory([0.0, 1.0], np.array([Q + 0.05, Q + 0.05])))
    steps, q = [], Q
    for now in range(period, 31 * period, period):
        inputs = LoopInputs(now, arm_state(now, q), ContactReport(now, ()), goal)
        state, command, _ = loop.tick(state, inputs)
        if command is None:  # no arm jumps like that: the link is lost
            break
        steps.append(np.abs(command.position - q).max())
        q = command.position
    assert max(steps) == pytest.approx(largest)


def test_refused_on_hardware(robot):
    with pytest.raises(ConfigError, match="null_space"):
        make_controller(robot, ControllerConfig(controller="null_space", hardware=True))
