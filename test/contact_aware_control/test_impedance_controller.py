"""The impedance baseline: the tool is a spring, and what it does not feel another one."""

import numpy as np
import pinocchio as pin
import pytest
from driven import Driven

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers import ControllerInput, make_controller
from contact_aware_control.reference import JointTrajectory
from contact_core.base.config import from_mapping
from contact_core.base.errors import ConfigError
from contact_core.robot.description import RobotDescription

K = np.array(RobotDescription.load("iiwa14_wsg50").joints.stiffness)
Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
FREE = np.full(7, np.inf)
SPRINGS = {"translation": 400.0, "rotation": 30.0, "posture": 7.0}


def torque_of_springs(robot, reference, q):
    """Return K (q_cmd+ - q) in one tick after the end of a reference, and J and e there."""
    values = {"controller": "impedance", "impedance": SPRINGS}
    controller = Driven(robot, from_mapping(ControllerConfig, values))
    controller.follow(JointTrajectory([0.0, 1.0], np.array([reference, reference])), q, {})
    output = controller.step(ControllerInput(2.0, q, q, -FREE, FREE, ()))
    robot.update(reference)
    wanted = robot.tool_pose()
    robot.update(q)
    error = pin.log6(robot.tool_pose().actInv(wanted)).vector
    return K * (output.command - q), robot.tool_jacobian(), error


def test_tool_feels_its_own_stiffness(robot):
    reference = Q + 0.02 * np.array([1.0, -1.0, 0.5, 1.0, 0.0, -1.0, 0.5])
    torque, jacobian, error = torque_of_springs(robot, reference, Q)
    wrench = np.linalg.lstsq(jacobian.T, torque, rcond=None)[0]
    np.testing.assert_allclose(wrench, np.repeat([400.0, 30.0], 3) * error)


def test_posture_is_pulled_back_where_the_tool_does_not_feel_it(robot):
    robot.update(Q)
    aside = np.linalg.svd(robot.tool_jacobian())[2][-1]
    torque, _, error = torque_of_springs(robot, Q + 1e-4 * aside, Q)
    assert np.abs(error).max() < 1e-7
    np.testing.assert_allclose(torque @ aside, 7.0 * 1e-4, rtol=1e-2)


def test_rests_on_its_reference(robot):
    torque, _, _ = torque_of_springs(robot, Q, Q)
    np.testing.assert_allclose(torque, 0.0, atol=1e-9)


def test_is_refused_on_hardware(robot):
    with pytest.raises(ConfigError, match="impedance"):
        make_controller(robot, ControllerConfig(controller="impedance", hardware=True))
