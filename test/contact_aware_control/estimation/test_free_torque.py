"""What is left of the torque for an estimator without particles."""

import numpy as np
import pytest

from contact_aware_control.contact import ContactEstimate
from contact_aware_control.estimation import EstimatorConfig, FreeTorqueEstimator
from contact_aware_control.estimation.base import EstimatorStatus
from contact_aware_control.estimation.tare import TareStatus
from contact_core.robot.arm_state import ArmState

Q = np.array([0.0, 0.384, 0.0, -1.709, 0.0, -0.522, 0.0])
BIAS = np.array([0.3, -0.2, 0.1, 0.4, 0.0, 0.1, -0.1])
HELD = 0.5, np.array([0.02, 0.0, 0.0])
LINK = "lbr_link_7"


class KnownPlace(FreeTorqueEstimator):
    """A force at the origin of one link."""

    def locate(self, torque):
        point = self.robot.link_pose(LINK).translation
        force = np.linalg.lstsq(self.robot.point_jacobian(LINK, point).T, torque, rcond=None)[0]
        return [ContactEstimate.known(self.robot, LINK, point, force)]


@pytest.fixture
def touched(robot):
    """Return a function from a force to what the next sample shows, after a tare."""
    estimator = KnownPlace(robot, EstimatorConfig())
    estimator.set_payload(*HELD, 0)
    stamps = iter(range(0, 10**9, 5_000_000))

    def sample(force, stamp=None):
        robot.update(Q)
        point = robot.link_pose(LINK).translation
        torque = robot.torque_of_force(LINK, point, np.asarray(force, dtype=float))
        weight = robot.gravity_torque_of_payload(*HELD)
        at = next(stamps) if stamp is None else stamp
        measured = torque + weight + BIAS
        return estimator.update(ArmState.recorded(at, Q, external_torque=measured))

    assert sample((0.0, 0.0, 100.0)).contacts == ()
    while sample(np.zeros(3)).tare is not TareStatus.DONE:
        pass
    return sample


def test_payload_and_bias_are_no_contact(touched):
    output = touched(np.zeros(3))
    assert output.status is EstimatorStatus.FREE
    np.testing.assert_allclose(output.torque, 0.0, atol=0.1)
    (contact,) = touched((0.0, 10.0, 0.0)).contacts
    assert contact.link == LINK
    np.testing.assert_allclose(contact.force_world, (0.0, 10.0, 0.0), atol=0.5)


def test_small_forces_and_old_samples_are_not_reported(touched):
    assert touched((0.0, 1.0, 0.0)).contacts == ()
    old = touched((0.0, 10.0, 0.0), stamp=0)
    assert old.status is EstimatorStatus.REJECTED
    assert old.rejected == 1
    # It is compared with the one before, right or not.
    assert touched((0.0, 10.0, 0.0)).status is EstimatorStatus.CONTACT
