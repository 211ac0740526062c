"""The torque that remains beside known contacts, and the Jacobian of a point."""

import dataclasses

import numpy as np
import pytest

from contact_aware_control.estimation.measurement import (
    KnownContact,
    MeanTorque,
    Torques,
    point_jacobian,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def random_torques(rng):
    measured, smooth = 5.0 * rng.standard_normal((2, 7))
    axes = rng.standard_normal((7, 3))
    root = np.tril(0.2 * rng.standard_normal((7, 7)), -1) + np.diag(rng.uniform(0.1, 0.5, 7))
    return Torques(measured, smooth, root @ root.T, rng.standard_normal((7, 3)), axes)


def whitened(torques, values):
    return np.linalg.solve(np.linalg.cholesky(torques.covariance), values)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_marginalised_forces_are_those_of_least_squares(rng, count):
    """Of |S^-1/2 (tau - J^T f - sum J_i^T f_i)|^2 + sum |f_i - F_i|^2 / s^2 over f and all f_i."""
    for _ in range(50):
        torques = random_torques(rng)
        others = [
            KnownContact(rng.standard_normal((3, 7)), 10.0 * rng.standard_normal(3), 4.0)
            for _ in range(count)
        ]
        measurement = torques.beside(others).measured
        jacobian = rng.standard_normal((3, 7))
        information = jacobian @ measurement.precision @ jacobian.T
        force = np.linalg.solve(information, jacobian @ measurement.weighted)
        cost = measurement.square - force @ jacobian @ measurement.weighted

        columns = [jacobian.T, *(other.jacobian.T for other in others)]
        rows = whitened(torques, np.hstack(columns))
        prior = np.hstack([np.zeros((3 * count, 3)), np.eye(3 * count) / 4.0])
        wanted = [whitened(torques, torques.measured), *(other.force / 4.0 for other in others)]
        A, y = np.vstack([rows, prior]), np.concatenate(wanted)
        x = np.linalg.lstsq(A, y)[0]
        np.testing.assert_allclose(force, x[:3], rtol=1e-6, atol=1e-8)
        assert cost == pytest.approx(np.sum((y - A @ x) ** 2), rel=1e-6)


def test_forces_of_the_others_are_those_of_least_squares(rng):
    """Of |S^-1/2 (tau - explained - sum J_i^T f_i)|^2 + sum |f_i - F_i|^2 / s_i^2 over all f_i."""
    for _ in range(50):
        torques, explained = random_torques(rng), rng.standard_normal(7)
        others = [
            KnownContact(rng.standard_normal((3, 7)), 10.0 * rng.standard_normal(3), deviation)
            for deviation in (4.0, 20.0)
        ]
        rows = whitened(torques, np.hstack([other.jacobian.T for other in others]))
        A = np.vstack([rows, np.diag(np.repeat([1 / other.deviation for other in others], 3))])
        wanted = [other.force / other.deviation for other in others]
        y = np.concatenate([whitened(torques, torques.smooth - explained), *wanted])
        expected = np.linalg.lstsq(A, y)[0].reshape(2, 3)
        np.testing.assert_allclose(torques.forces(others, explained), expected, rtol=1e-6)


def test_a_mean_hides_less(rng):
    torques = random_torques(rng)
    less = 0.5 * np.linalg.eigvalsh(torques.covariance)[0] * np.ones(7)
    averaged = dataclasses.replace(torques, mean=MeanTorque(torques.smooth, less))
    sample = averaged.alone
    np.testing.assert_allclose(
        np.linalg.inv(sample.mean.precision), torques.covariance - np.diag(less), rtol=1e-6
    )
    assert sample.mean.square > sample.smooth.square
    assert torques.alone.mean is torques.alone.smooth


def test_alone_is_beside_nobody(rng):
    torques = random_torques(rng)
    precision = np.linalg.inv(torques.covariance)
    np.testing.assert_allclose(torques.alone.smooth.precision, precision, rtol=1e-9)
    square = np.sum(whitened(torques, torques.smooth) ** 2)
    assert torques.alone.smooth.square == pytest.approx(square)


def test_jacobian_is_that_of_the_robot(robot, rng):
    robot.update(rng.uniform(-1.0, 1.0, 7))
    point = robot.link_pose("lbr_link_5").act(rng.standard_normal(3))
    found = point_jacobian(robot.joint_origins, robot.joint_axes, 5, point)
    np.testing.assert_allclose(found, robot.point_jacobian("lbr_link_5", point), atol=1e-12)


@pytest.mark.parametrize("deviation", [1e7, 1e12, 1e30])
def test_absurd_forces_beside_a_contact_break_nothing(rng, deviation):
    """Beside them the rounded covariance may have no inverse."""
    for _ in range(20):
        torques = random_torques(rng)
        row = np.round(rng.standard_normal((1, 7)))
        others = [KnownContact(np.repeat(row, 3, axis=0), np.full(3, deviation), deviation)] * 2
        assert np.isfinite(torques.beside(others).measured.precision).all()
        assert np.isfinite(np.array(torques.forces(others, np.zeros(7)))).all()
