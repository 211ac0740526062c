"""Small dense linear algebra inside kernels: no allocation, no library call."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import leaf_kernel


@leaf_kernel
def factor_cholesky(matrix: np.ndarray, size: int) -> bool:
    """Replace the lower triangle of a symmetric matrix M by L, M = L L^T.

    Args:
        matrix: (>= size, >= size) M in its lower triangle; overwritten.
        size: The number of leading rows and columns to factor.

    Returns:
        False if M is not positive definite to working precision.
    """
    for j in range(size):
        pivot = matrix[j, j]
        threshold = 1e-14 * abs(pivot)
        for k in range(j):
            pivot -= matrix[j, k] * matrix[j, k]
        if not pivot > threshold:
            return False
        pivot = math.sqrt(pivot)
        matrix[j, j] = pivot
        for i in range(j + 1, size):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = total / pivot
    return True


@leaf_kernel
def solve_cholesky(factor: np.ndarray, size: int, vector: np.ndarray) -> None:
    """Replace b by the solution x of L L^T x = b.

    Args:
        factor: (>= size, >= size) L in its lower triangle.
        size: The number of unknowns.
        vector: (>= size) b; overwritten by x.
    """
    for i in range(size):
        total = vector[i]
        for k in range(i):
            total -= factor[i, k] * vector[k]
        vector[i] = total / factor[i, i]
    for i in range(size - 1, -1, -1):
        total = vector[i]
        for k in range(i + 1, size):
            total -= factor[k, i] * vector[k]
        vector[i] = total / factor[i, i]
