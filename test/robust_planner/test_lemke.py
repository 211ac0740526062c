"""Lemke's method on problems with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from robust_planner.evaluation.lemke import solve_lcps


def solve(matrix: np.ndarray, offset: np.ndarray) -> np.ndarray:
    (z,) = solve_lcps(matrix[np.newaxis], offset[np.newaxis])
    return z


def test_random_convex_problems_are_solved() -> None:
    rng = np.random.default_rng(5)
    for size in range(1, 13):
        root = rng.normal(size=(size, size))
        matrix, offset = root @ root.T + 0.1 * np.eye(size), rng.normal(size=size)
        z = solve(matrix, offset)
        w = matrix @ z + offset
        assert z.min() >= 0.0
        assert w.min() >= -1e-8
        assert abs(z @ w) <= 1e-8


def test_positive_offset_needs_no_force() -> None:
    np.testing.assert_array_equal(solve(np.eye(2), np.array([1.0, 0.0])), [0.0, 0.0])


def test_degenerate_ties_do_not_cycle() -> None:
    """Four equal supports under one weight."""
    z = solve(np.ones((4, 4)), -np.ones(4))
    assert z.sum() == pytest.approx(1.0)


def test_a_problem_without_solution_leaves_the_others_alone() -> None:
    matrices, offsets = np.array([[[1.0]], [[-1.0]], [[2.0]]]), np.array([[-1.0]] * 3)
    np.testing.assert_array_equal(solve_lcps(matrices, offsets), [[1.0], [np.nan], [0.5]])
