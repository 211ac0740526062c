"""Linear complementarity problems by Lemke's method."""

from __future__ import annotations

import numpy as np

from contact_core.errors import ContactStackError

# Entries of the pivot column below this do not block.
SMALLEST_PIVOT = 1e-11


class ComplementarityError(ContactStackError):
    """Lemke's method ended on a ray: the problem has no solution that it can find."""


def solve_lcp(matrix: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Find z >= 0 with w = M z + q >= 0 and z' w = 0.

    Terminates with a solution for copositive-plus M, to which time stepping with a
    polyhedral friction cone belongs.

    Args:
        matrix: M (n, n).
        offset: q (n).

    Returns:
        z (n).

    Raises:
        ComplementarityError: If the method ends on a secondary ray.
    """
    size = len(offset)
    if np.min(offset, initial=0.0) >= 0.0:
        return np.zeros(size)
    # Columns: w (n), z (n), the artificial variable, the right-hand side and, to break ties
    # lexicographically, the initial identity (which is the block of w).
    tableau = np.hstack([np.eye(size), -matrix, -np.ones((size, 1)), offset[:, None]])
    artificial = 2 * size
    basis = np.arange(size)
    row, entering = int(np.argmin(offset)), artificial
    for _ in range(50 * (size + 1)):
        leaving = basis[row]
        _pivot(tableau, row, entering)
        basis[row] = entering
        if leaving == artificial:
            z = np.zeros(2 * size + 1)
            z[basis] = tableau[:, -1]
            return np.maximum(z[size:artificial], 0.0)
        entering = leaving + size if leaving < size else leaving - size
        row = _blocking_row(tableau, entering, basis, artificial)
    raise ComplementarityError(f"no solution within {50 * (size + 1)} pivots")


def _pivot(tableau: np.ndarray, row: int, column: int) -> None:
    tableau[row] /= tableau[row, column]
    factors = tableau[:, column].copy()
    factors[row] = 0.0
    tableau -= np.outer(factors, tableau[row])


def _blocking_row(tableau: np.ndarray, column: int, basis: np.ndarray, artificial: int) -> int:
    """Return the row whose variable reaches zero first, the artificial one in a tie."""
    size = len(tableau)
    rows = np.flatnonzero(tableau[:, column] > SMALLEST_PIVOT)
    if rows.size == 0:
        raise ComplementarityError("the problem has no solution: Lemke's method ended on a ray")
    keys = np.hstack([tableau[rows, -1:], tableau[rows, :size]]) / tableau[rows, column, None]
    first = keys[:, 0].min()
    tied = rows[keys[:, 0] <= first + 1e-12 * (1.0 + abs(first))]
    if artificial in basis[tied]:
        return int(tied[basis[tied] == artificial][0])
    return int(rows[np.lexsort(keys.T[::-1])[0]])
