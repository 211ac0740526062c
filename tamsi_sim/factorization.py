"""Linear systems of Newton's method: LU factorisation within the rows' envelope.

Contact couples few bodies, so most entries of the system are zero and stay zero. The
system is close to symmetric positive definite, tamsi (23), so pivots stay on the diagonal.
"""

from __future__ import annotations

import numpy as np

from tamsi_sim.borrowing import leaf_kernel


@leaf_kernel
def solve_in_place(matrix: np.ndarray, vector: np.ndarray, row_end: np.ndarray) -> None:
    """Solve matrix x = vector by LU without pivoting, skipping what is zero.

    Args:
        matrix: (n, n), destroyed.
        vector: (n) right-hand side on entry, solution on exit; NaN or infinite if the
            matrix is singular.
        row_end: (n) scratch: the last non-zero column of each row.
    """
    n = vector.shape[0]
    for i in range(n):
        last = n - 1
        while last > i and matrix[i, last] == 0.0:
            last -= 1
        row_end[i] = last
    # Contacts couple symmetrically, so the envelope of rows bounds that of columns.
    bottom = 0
    for k in range(n):
        bottom = max(bottom, row_end[k])
        inverse = 1.0 / matrix[k, k]
        for i in range(k + 1, bottom + 1):
            factor = matrix[i, k]
            if factor != 0.0:
                factor *= inverse
                if row_end[k] > row_end[i]:
                    row_end[i] = row_end[k]
                for j in range(k + 1, row_end[k] + 1):
                    matrix[i, j] -= factor * matrix[k, j]
                vector[i] -= factor * vector[k]
    for i in range(n - 1, -1, -1):
        value = vector[i]
        for j in range(i + 1, row_end[i] + 1):
            value -= matrix[i, j] * vector[j]
        vector[i] = value / matrix[i, i]
