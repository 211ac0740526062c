"""Linear systems of Newton's method: LU factorisation within the rows' envelope.

Contact couples few bodies, so most entries of the system are zero and stay zero. The
system is close to symmetric positive definite, tamsi (23), so pivots stay on the diagonal.
"""

from __future__ import annotations

import numpy as np

from tamsi_sim.arrays.borrowing import leaf_kernel


@leaf_kernel
def solve_in_place(
    matrix: np.ndarray, vector: np.ndarray, row_end: np.ndarray, first: int, last: int
) -> None:
    """Solve matrix x = vector by LU without pivoting, for a block on the diagonal.

    Args:
        matrix: (n, n), its block is destroyed.
        vector: (n) right-hand side on entry, solution on exit; NaN or infinite if the
            block is singular.
        row_end: (n) the last non-zero column of each row, never decreasing; columns have
            their last non-zero row there too.
        first: First row and column of the block.
        last: The one behind its last.
    """
    for k in range(first, last):
        end = row_end[k] + 1
        inverse = 1.0 / matrix[k, k]
        matrix[k, k] = inverse
        for i in range(k + 1, end):
            factor = matrix[i, k]
            if factor != 0.0:
                factor *= inverse
                for j in range(k + 1, end):
                    matrix[i, j] -= factor * matrix[k, j]
                vector[i] -= factor * vector[k]
    for i in range(last - 1, first - 1, -1):
        value = vector[i]
        for j in range(i + 1, row_end[i] + 1):
            value -= matrix[i, j] * vector[j]
        vector[i] = value * matrix[i, i]
