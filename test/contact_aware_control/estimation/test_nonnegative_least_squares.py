"""The active set against a general solver."""

import numpy as np
import pytest
from scipy.optimize import nnls

from contact_aware_control.estimation.nonnegative_least_squares import nonnegative_least_squares


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("size", [4, 8, 12])
def test_active_set_against_nnls(rng, size):
    for _ in range(300):
        A, y = rng.standard_normal((12, size)), rng.standard_normal(12)
        x = np.zeros(size)
        value = nonnegative_least_squares(A.T @ A, A.T @ y, x)
        expected, residual = nnls(A, y)
        assert y @ y + 2.0 * value == pytest.approx(residual**2, abs=1e-9)
        np.testing.assert_allclose(x, expected, atol=1e-7)


def test_active_set_on_a_singular_matrix_ends_and_is_optimal(rng):
    """Four rays of a pyramid have rank three."""
    for _ in range(300):
        frames = np.linalg.qr(rng.standard_normal((2, 3, 3)))[0]
        edges = [n + s * t for t1, t2, n in frames for t in (t1, t2) for s in (-0.5, 0.5)]
        jacobians = np.repeat(rng.standard_normal((2, 3, 7)), 4, axis=0)
        rays = np.einsum("rij,ri->jr", jacobians, edges)
        torque = 5.0 * rng.standard_normal(7)
        gram = rays.T @ rays + 1e-9 * np.trace(rays.T @ rays) * np.eye(8)
        x = np.zeros(8)
        value = nonnegative_least_squares(gram, rays.T @ torque, x)
        assert x.min() >= 0.0
        assert torque @ torque + 2.0 * value == pytest.approx(nnls(rays, torque)[1] ** 2, abs=1e-3)
