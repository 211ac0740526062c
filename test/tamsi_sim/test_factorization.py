"""The envelope factorisation against LAPACK."""

import numpy as np
import pytest

from tamsi_sim.scheme.factorization import solve_in_place


def solve(matrix, vector):
    """Solve with the narrowest envelope that holds the matrix."""
    coupled = (matrix != 0.0) | (matrix != 0.0).T | np.eye(len(matrix), dtype=bool)
    last = len(matrix) - 1 - np.argmax(coupled[:, ::-1], axis=1)
    x = vector.copy()
    solve_in_place(matrix.copy(), x, np.maximum.accumulate(last), 0, len(matrix))
    return x


@pytest.mark.parametrize("density", [0.05, 0.3, 1.0])
def test_against_numpy(density):
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 30):
        for _ in range(20):
            # Structurally symmetric, unsymmetric values, dominant diagonal: like (23).
            mask = np.triu(rng.random((n, n)) < density)
            mask |= mask.T
            matrix = np.where(mask, rng.standard_normal((n, n)), 0.0) + 2 * n * np.eye(n)
            vector = rng.standard_normal(n)
            np.testing.assert_allclose(
                solve(matrix, vector), np.linalg.solve(matrix, vector), rtol=1e-10
            )


def test_separate_blocks_do_not_mix():
    matrix = np.kron(np.eye(3), np.array([[2.0, 1.0], [0.5, 3.0]]))
    vector = np.array([1.0, 2.0, 0.0, 0.0, 3.0, 4.0])
    solution = solve(matrix, vector)
    assert not solution[2:4].any()
    np.testing.assert_allclose(matrix @ solution, vector)


def test_singular_matrix_gives_no_finite_answer():
    assert not np.isfinite(solve(np.zeros((2, 2)), np.ones(2))).all()
