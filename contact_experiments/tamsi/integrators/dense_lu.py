"""LU factorisation with row exchanges, kept for several right-hand sides, and vectors."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel, leaf_kernel


@leaf_kernel
def factorize(matrix: np.ndarray, pivots: np.ndarray) -> None:
    """Replace a matrix by its factors.

    Args:
        matrix: (n, n); L below the diagonal and U on and above it on exit.
        pivots: (n) written: the row that each row was exchanged with.
    """
    n = pivots.shape[0]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[pivot, k]):
                pivot = i
        pivots[k] = pivot
        if pivot != k:
            for j in range(n):
                matrix[k, j], matrix[pivot, j] = matrix[pivot, j], matrix[k, j]
        for i in range(k + 1, n):
            factor = matrix[i, k] / matrix[k, k]
            matrix[i, k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    matrix[i, j] -= factor * matrix[k, j]


@leaf_kernel
def substitute(matrix: np.ndarray, pivots: np.ndarray, vector: np.ndarray) -> None:
    """Solve with the factors, in place.

    Args:
        matrix: (n, n) from :func:`factorize`.
        pivots: (n) from it.
        vector: (n) right-hand side on entry, solution on exit; NaN or infinite if the
            matrix is singular.
    """
    n = pivots.shape[0]
    for k in range(n):
        vector[k], vector[pivots[k]] = vector[pivots[k]], vector[k]
    for i in range(n):
        for j in range(i):
            vector[i] -= matrix[i, j] * vector[j]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            vector[i] -= matrix[i, j] * vector[j]
        vector[i] /= matrix[i, i]


@inner_kernel
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy a vector into another."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@inner_kernel
def norm(vector: np.ndarray) -> float:
    """Return the Euclidean norm."""
    square = 0.0
    for i in range(vector.shape[0]):
        square += vector[i] * vector[i]
    return math.sqrt(square)
