"""Lemke's method on problems with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from robust_planner.evaluation.time_stepping import ComplementarityError, solve_lcp


def test_random_convex_problems_are_solved() -> None:
    rng = np.random.default_rng(5)
    for size in range(1, 13):
        root = rng.normal(size=(size, size))
        matrix, offset = root @ root.T + 0.1 * np.eye(size), rng.normal(size=size)
        z = solve_lcp(matrix, offset)
        w = matrix @ z + offset
        assert z.min() >= 0.0
        assert w.min() >= -1e-8
        assert abs(z @ w) <= 1e-8


def test_positive_offset_needs_no_force() -> None:
    np.testing.assert_array_equal(solve_lcp(np.eye(2), np.array([1.0, 0.0])), [0.0, 0.0])


def test_degenerate_ties_do_not_cycle() -> None:
    """Four equal supports under one weight."""
    z = solve_lcp(np.ones((4, 4)), -np.ones(4))
    assert z.sum() == pytest.approx(1.0)


def test_problem_without_solution_is_named() -> None:
    with pytest.raises(ComplementarityError, match="no solution"):
        solve_lcp(np.array([[-1.0]]), np.array([-1.0]))
