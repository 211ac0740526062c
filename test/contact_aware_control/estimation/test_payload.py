"""A payload counts from when the torque shows it, with a transient of distrust."""

import numpy as np
import pytest

from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_aware_control.estimation.torque_balance import Payload
from contact_core.base.errors import ConfigError

CENTER = np.array([0.0, 0.0, 0.05])
Q = np.array([0.1, 0.6, 0.2, -1.5, 0.1, 1.0, 0.3])


@pytest.fixture
def payload(robot):
    return Payload(robot)


@pytest.fixture
def matrix(robot):
    """(7, 4) H: the torques of a mass, and of first moments, one by one."""
    robot.update(Q)
    columns = [robot.gravity_torque_of_payload(1.0, center) for center in (np.zeros(3), *np.eye(3))]
    origin = robot.load_of_payload(1.0, np.zeros(3))
    loads = np.array([robot.load_of_payload(1.0, center) for center in np.eye(3)]) - origin
    moments = np.linalg.solve(loads[:, 1:], np.array(columns[1:]) - columns[0])
    return np.column_stack((columns[0] - moments.T @ origin[1:], moments.T))


def counted(payload, stamp, matrix):
    if payload.advance(stamp):
        payload.count(stamp)
    return payload.torque(stamp, matrix)


def test_torque_changes_at_the_stamps(payload, matrix, robot):
    payload.set(0.5, CENTER, 100)
    payload.set(0.0, CENTER, 200)
    weight = robot.gravity_torque_of_payload(0.5, CENTER)
    assert np.abs(weight).max() > 1.0
    for stamp, expected in ((99, 0 * weight), (100, weight), (199, weight), (200, 0 * weight)):
        np.testing.assert_allclose(counted(payload, stamp, matrix)[0], expected, atol=1e-12)


def test_what_is_declared_does_not_count_by_itself(payload, matrix):
    payload.set(0.5, CENTER, 100)
    assert payload.advance(100)
    assert payload.pending
    np.testing.assert_array_equal(payload.torque(100, matrix)[0], np.zeros(7))
    assert not payload.advance(101)


def test_a_later_announcement_replaces_pending_ones(payload, matrix, robot):
    payload.set(0.5, CENTER, 200)
    payload.set(0.1, CENTER, 100)
    torque, _ = counted(payload, 300, matrix)
    np.testing.assert_allclose(torque, robot.gravity_torque_of_payload(0.1, CENTER), atol=1e-12)


def test_the_change_is_distrusted_for_a_while(payload, matrix, robot):
    payload.set(0.5, CENTER, 1)
    weight = np.abs(robot.gravity_torque_of_payload(0.5, CENTER))
    np.testing.assert_array_equal(counted(payload, 0, matrix)[1], np.zeros(7))
    np.testing.assert_allclose(counted(payload, 1, matrix)[1], weight, atol=1e-12)
    later = counted(payload, 100_000_001, matrix)[1]
    np.testing.assert_allclose(later, np.exp(-1) * weight, rtol=1e-6, atol=1e-12)
    assert counted(payload, 2_000_000_000, matrix)[1].max() == pytest.approx(0.0, abs=1e-6)


def test_a_stamp_long_before_the_change_is_distrusted_as_much_as_the_change(payload, matrix, robot):
    """After one from the far future, which brought the payload, the true ones lie behind it."""
    payload.set(0.5, CENTER, 10**18)
    counted(payload, 2 * 10**18, matrix)
    weight = np.abs(robot.gravity_torque_of_payload(0.5, CENTER))
    np.testing.assert_allclose(counted(payload, 77, matrix)[1], weight, atol=1e-12)


@pytest.mark.parametrize(
    ("mass", "center", "said"),
    [
        (np.nan, [0.0] * 3, "mass must be 0 to 20 kg, got nan"),
        (-1.0, [0.0] * 3, "mass must be 0 to 20 kg, got -1"),
        (1e6, [0.0] * 3, "mass must be 0 to 20 kg, got 1000000"),
        (1.0, [0.0, np.inf, 0.0], "center_of_mass is .*three numbers up to 2 m"),
        (1.0, [9e9, 0.0, 0.0], "center_of_mass is .*three numbers"),
        (1.0, [0.0] * 2, "center_of_mass is .*three numbers"),
    ],
)
def test_what_is_no_load_is_refused(robot, mass, center, said):
    estimator = ContactEstimator(robot, EstimatorConfig())
    with pytest.raises(ConfigError, match=said):
        estimator.set_payload(mass, np.array(center), 0)


@pytest.mark.parametrize("position", [np.nan, 5.0, -1e9, "0.05"])
def test_where_no_fingers_are_is_refused(robot, position):
    estimator = ContactEstimator(robot, EstimatorConfig())
    with pytest.raises(ConfigError, match="gripper position must be a finite number from -4 to 4"):
        estimator.set_gripper(position)
