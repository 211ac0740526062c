"""Nonnegative least squares: forces of several contacts are nonnegative sums of rays."""

from __future__ import annotations

import math

import numpy as np

from contact_stack.core.kernel import kernel


@kernel
def nonnegative_least_squares(gram: np.ndarray, rhs: np.ndarray, solution: np.ndarray) -> float:
    """Minimise 1/2 x^T G x - b^T x over x >= 0 (Lawson and Hanson's active set).

    Args:
        gram: (m, m) G, symmetric positive definite.
        rhs: (m) b.
        solution: (m) written: x.

    Returns:
        The minimum, not positive.
    """
    m = rhs.size
    passive = np.zeros(m, dtype=np.bool_)
    index = np.zeros(m, dtype=np.int64)
    factor = np.zeros((m, m))
    trial = np.zeros(m)
    solution[:] = 0.0
    tolerance = 1e-10 * np.abs(rhs).max()
    for _ in range(3 * m):
        entering, steepest = -1, tolerance
        for i in range(m):
            if passive[i]:
                continue
            slope = rhs[i]
            for j in range(m):
                slope -= gram[i, j] * solution[j]
            if slope > steepest:
                entering, steepest = i, slope
        if entering < 0:
            break
        passive[entering] = True
        while True:
            count = 0
            for i in range(m):
                if passive[i]:
                    index[count] = i
                    count += 1
            if count == 0:
                break
            _solve(gram, rhs, index, count, factor, trial)
            step, leaving = 1.0, -1
            for a in range(count):
                i = index[a]
                if trial[a] <= 0.0:
                    share = solution[i] / (solution[i] - trial[a]) if solution[i] > 0.0 else 0.0
                    if share < step:
                        step, leaving = share, i
            for a in range(count):
                i = index[a]
                solution[i] += step * (trial[a] - solution[i])
            if leaving < 0:
                break
            solution[leaving] = 0.0
            passive[leaving] = False
    value = 0.0
    for i in range(m):
        value -= 0.5 * rhs[i] * solution[i]
    return value


@kernel
def _solve(
    gram: np.ndarray,
    rhs: np.ndarray,
    index: np.ndarray,
    count: int,
    factor: np.ndarray,
    solution: np.ndarray,
) -> None:
    """Solve the rows and columns of an index set by Cholesky factorisation."""
    for a in range(count):
        for b in range(a + 1):
            entry = gram[index[a], index[b]]
            for c in range(b):
                entry -= factor[a, c] * factor[b, c]
            if a == b:
                factor[a, a] = math.sqrt(max(entry, 1e-300))
            else:
                factor[a, b] = entry / factor[b, b]
    for a in range(count):
        entry = rhs[index[a]]
        for c in range(a):
            entry -= factor[a, c] * solution[c]
        solution[a] = entry / factor[a, a]
    for a in range(count - 1, -1, -1):
        entry = solution[a]
        for c in range(a + 1, count):
            entry -= factor[c, a] * solution[c]
        solution[a] = entry / factor[a, a]
