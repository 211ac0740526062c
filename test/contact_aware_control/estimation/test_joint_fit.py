"""Forces of several contacts fitted together, against a general solver."""

import numpy as np
import pytest
from scipy.optimize import nnls

from contact_aware_control.estimation.companions import Companions, new_companions
from contact_aware_control.estimation.joint_fit import fit_beside, force_noise

FRICTION = 0.5


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def random_companions(rng, count, precision):
    """Companions whose rays belong to random Jacobians and pyramids."""
    rays, edges = [], []
    for _ in range(count):
        frame = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        tangential = FRICTION * np.array([frame[0], -frame[0], frame[1], -frame[1]])
        pyramid = frame[2] + tangential
        edges.append(pyramid)
        rays.append(pyramid @ rng.standard_normal((3, 7)))
    force = 5.0 * rng.standard_normal((count, 3))
    return Companions(np.vstack(rays), np.vstack(edges), force, precision)


@pytest.mark.parametrize("count", [1, 2])
def test_fit_beside_companions_against_nnls(rng, count):
    """Expected forces are further rows of the least-squares problem."""
    for _ in range(200):
        companions = random_companions(rng, count, precision=0.2)
        columns, torque = rng.standard_normal((3, 7)), 5.0 * rng.standard_normal(7)
        cost, *force = fit_beside(columns, torque, companions, FRICTION)
        t1, t2, n = columns
        own = np.array([n + FRICTION * t1, n - FRICTION * t1, n + FRICTION * t2, n - FRICTION * t2])
        expected = np.zeros((3 * count, 4 + 4 * count))
        for c in range(count):
            edges = companions.edges[4 * c : 4 * c + 4]
            expected[3 * c : 3 * c + 3, 4 + 4 * c : 8 + 4 * c] = edges.T * companions.precision
        rows = np.vstack([np.vstack([own, companions.rays]).T, expected])
        wanted = np.concatenate([torque, companions.precision * companions.force.ravel()])
        weights, residual = nnls(rows, wanted)
        assert cost == pytest.approx(residual**2, rel=1e-5, abs=1e-5)
        own_force = [
            FRICTION * (weights[0] - weights[1]),
            FRICTION * (weights[2] - weights[3]),
            weights[:4].sum(),
        ]
        np.testing.assert_allclose(force, own_force, atol=1e-3)


def test_force_covariance_is_that_of_least_squares_and_grows_with_companions(rng):
    jacobian = rng.standard_normal((7, 3))
    alone = force_noise(jacobian, new_companions(0, 7, 5.0))
    np.testing.assert_allclose(alone, np.linalg.inv(jacobian.T @ jacobian), rtol=1e-3)
    beside = force_noise(jacobian, random_companions(rng, 1, precision=0.2))
    assert np.linalg.eigvalsh(beside - alone).min() > -1e-9
    assert np.trace(beside) > np.trace(alone)
