"""The payload's weight is removed from its start on, with a transient of distrust."""

import numpy as np
import pytest

from contact_aware_control.estimation.config import PayloadConfig
from contact_aware_control.estimation.tare import Payload

CENTER = np.array([0.0, 0.0, 0.05])


def test_torque_changes_at_the_stamps(robot):
    robot.update(np.array([0.1, 0.6, 0.2, -1.5, 0.1, 1.0, 0.3]))
    payload = Payload(PayloadConfig())
    payload.set(0.5, CENTER, 100)
    payload.set(0.0, CENTER, 200)
    weight = robot.gravity_torque_of_payload(0.5, CENTER)
    assert np.abs(weight).max() > 1.0
    for stamp, expected in ((99, 0 * weight), (100, weight), (199, weight), (200, 0 * weight)):
        np.testing.assert_allclose(payload.update(stamp, robot)[0], expected, atol=1e-12)


def test_a_later_announcement_replaces_pending_ones(robot):
    payload = Payload(PayloadConfig())
    payload.set(0.5, CENTER, 200)
    payload.set(0.1, CENTER, 100)
    torque, _ = payload.update(300, robot)
    np.testing.assert_allclose(torque, robot.gravity_torque_of_payload(0.1, CENTER))


def test_the_change_is_distrusted_for_a_while(robot):
    payload = Payload(PayloadConfig(transient_time=0.1))
    payload.set(0.5, CENTER, 1)
    weight = np.abs(robot.gravity_torque_of_payload(0.5, CENTER))
    np.testing.assert_array_equal(payload.update(0, robot)[1], np.zeros(7))
    np.testing.assert_allclose(payload.update(1, robot)[1], weight)
    later = payload.update(100_000_001, robot)[1]
    np.testing.assert_allclose(later, np.exp(-1) * weight, rtol=1e-6)
    assert payload.update(2_000_000_000, robot)[1].max() == pytest.approx(0.0, abs=1e-6)


def test_a_stamp_long_before_the_change_is_distrusted_as_much_as_the_change(robot):
    """After one from the far future, which brought the payload, the true ones lie behind it."""
    payload = Payload(PayloadConfig(transient_time=0.1))
    payload.set(0.5, CENTER, 10**18)
    payload.update(2 * 10**18, robot)
    weight = np.abs(robot.gravity_torque_of_payload(0.5, CENTER))
    np.testing.assert_allclose(payload.update(77, robot)[1], weight)
