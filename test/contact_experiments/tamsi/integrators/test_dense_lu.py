"""The factorisation with row exchanges against LAPACK."""

import numpy as np
import pytest

from contact_experiments.tamsi.integrators.dense_lu import factorize, substitute


@pytest.mark.parametrize("n", [1, 2, 8, 22])
def test_against_numpy(n):
    rng = np.random.default_rng(n)
    matrix = rng.standard_normal((n, n))
    factors, pivots = matrix.copy(), np.zeros(n, dtype=np.int64)
    factorize(factors, pivots)
    for _ in range(3):
        vector = rng.standard_normal(n)
        x = vector.copy()
        substitute(factors, pivots, x)
        np.testing.assert_allclose(x, np.linalg.solve(matrix, vector), rtol=1e-9)


def test_a_zero_on_the_diagonal_is_exchanged():
    factors, pivots = np.array([[0.0, 1.0], [2.0, 0.0]]), np.zeros(2, dtype=np.int64)
    factorize(factors, pivots)
    x = np.array([3.0, 4.0])
    substitute(factors, pivots, x)
    np.testing.assert_array_equal(x, [2.0, 3.0])


def test_a_singular_matrix_gives_no_finite_solution():
    factors, pivots = np.ones((2, 2)), np.zeros(2, dtype=np.int64)
    factorize(factors, pivots)
    x = np.array([1.0, 2.0])
    substitute(factors, pivots, x)
    assert not np.isfinite(x).all()
