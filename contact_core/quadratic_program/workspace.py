"""Memory of the dual active-set solver."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Workspace(NamedTuple):
    """Memory of one solver, for problems of one size; contents are scratch.

    Attributes:
        basis: (n, n) J = L^-T Q; its first columns span the active normals [GI (3.3)].
        triangle: (n, n) R, upper triangular: J^T N = [R; 0] for the active normals N.
        normal: (n) normal of the constraint being added.
        projected: (n) J^T normal.
        direction: (n) primal step z.
        dual_direction: (n) dual step r.
        active_multipliers: (n) multipliers of the active set.
        active: (n) indices of the active constraints.
        state: (m + 2 n) INACTIVE, ACTIVE or REDUNDANT.
        row_scale: (m) 1 / |row of C|, 0 for an empty row.
    """

    basis: np.ndarray
    triangle: np.ndarray
    normal: np.ndarray
    projected: np.ndarray
    direction: np.ndarray
    dual_direction: np.ndarray
    active_multipliers: np.ndarray
    active: np.ndarray
    state: np.ndarray
    row_scale: np.ndarray


def allocate_workspace(size: int, constraints: int) -> Workspace:
    """Allocate the memory for problems of one size.

    Args:
        size: The number n of variables.
        constraints: The number m of rows of C.

    Returns:
        The workspace.
    """
    return Workspace(
        basis=np.zeros((size, size)),
        triangle=np.zeros((size, size)),
        normal=np.zeros(size),
        projected=np.zeros(size),
        direction=np.zeros(size),
        dual_direction=np.zeros(size),
        active_multipliers=np.zeros(size),
        active=np.zeros(size, dtype=np.int64),
        state=np.zeros(constraints + 2 * size, dtype=np.int8),
        row_scale=np.zeros(constraints),
    )
