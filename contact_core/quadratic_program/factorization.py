"""The memory of the dual active-set method, and the matrix factors it keeps up to date.

With H = L L^T and the normals N of the active constraints, J = L^-T Q and the triangular R
fulfil J^T N = [R; 0]: Goldfarb and Idnani (1983), Sec. 3 and 4.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_core.base.kernel import kernel

# A constraint normal this close to the span of the active ones depends on them.
DEPENDENCE_TOLERANCE = 1e-10


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


@kernel
def invert_cholesky_factor(
    hessian: np.ndarray, factor: np.ndarray, inverse_transposed: np.ndarray
) -> bool:
    """Factor H = L L^T and store L^-T.

    Args:
        hessian: H (n, n); only the lower triangle is read.
        factor: (n, n) output: L in the lower triangle.
        inverse_transposed: (n, n) output: L^-T.

    Returns:
        False if H is not positive definite.
    """
    n = hessian.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total = hessian[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i > j:
                factor[i, j] = total / factor[j, j]
            elif total > 1e-14 * hessian[i, i]:
                factor[i, i] = math.sqrt(total)
            else:
                return False
    for j in range(n):
        for i in range(j):
            inverse_transposed[j, i] = 0.0
        inverse_transposed[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, n):
            total = 0.0
            for k in range(j, i):
                total -= factor[i, k] * inverse_transposed[j, k]
            inverse_transposed[j, i] = total / factor[i, i]
    return True


@kernel
def unconstrained_minimum(
    basis: np.ndarray, gradient: np.ndarray, scratch: np.ndarray, x: np.ndarray
) -> None:
    """Compute x = -H^-1 g = -L^-T L^-1 g.

    Args:
        basis: L^-T (n, n).
        gradient: g (n).
        scratch: (n) overwritten.
        x: (n) output.
    """
    n = gradient.shape[0]
    for i in range(n):
        total = 0.0
        for k in range(i + 1):
            total += basis[k, i] * gradient[k]
        scratch[i] = total
    for i in range(n):
        total = 0.0
        for k in range(i, n):
            total += basis[i, k] * scratch[k]
        x[i] = -total


@kernel
def step_directions(count: int, work: Workspace) -> bool:
    """Compute J^T normal, the primal step z and the dual step r [GI (3.5)-(3.6)].

    Args:
        count: Number of active constraints.
        work: Has the normal; gets ``projected``, ``direction`` and ``dual_direction``.

    Returns:
        True if the normal is linearly independent of the active ones.
    """
    basis, triangle, projected = work.basis, work.triangle, work.projected
    n = projected.shape[0]
    inside = 0.0
    outside = 0.0
    for i in range(n):
        total = 0.0
        for k in range(n):
            total += basis[k, i] * work.normal[k]
        projected[i] = total
        if i < count:
            inside += total * total
        else:
            outside += total * total
    for i in range(n):
        total = 0.0
        for k in range(count, n):
            total += basis[i, k] * projected[k]
        work.direction[i] = total
    for i in range(count - 1, -1, -1):
        total = projected[i]
        for k in range(i + 1, count):
            total -= triangle[i, k] * work.dual_direction[k]
        work.dual_direction[i] = total / triangle[i, i]
    return outside > DEPENDENCE_TOLERANCE**2 * (inside + outside)


@kernel
def extend_factorization(count: int, work: Workspace) -> None:
    """Append the constraint of ``work.normal``: rotate J until R is triangular.

    Args:
        count: Number of active constraints before.
        work: Its ``basis`` and ``triangle`` are updated, ``projected`` is used up.
    """
    basis, projected = work.basis, work.projected
    n = projected.shape[0]
    for j in range(n - 1, count, -1):
        radius = math.hypot(projected[j - 1], projected[j])
        if radius > 0.0:
            cosine = projected[j - 1] / radius
            sine = projected[j] / radius
            projected[j - 1] = radius
            for k in range(n):
                left = basis[k, j - 1]
                right = basis[k, j]
                basis[k, j - 1] = cosine * left + sine * right
                basis[k, j] = cosine * right - sine * left
    for i in range(count + 1):
        work.triangle[i, count] = projected[i]


@kernel
def shrink_factorization(position: int, count: int, work: Workspace) -> None:
    """Delete one active constraint: shift R's columns and rotate it triangular again.

    Args:
        position: Of the constraint in the active set.
        count: Number of active constraints before.
        work: Its active set, ``basis`` and ``triangle`` are updated.
    """
    basis, triangle = work.basis, work.triangle
    n = basis.shape[0]
    for i in range(position, count - 1):
        work.active[i] = work.active[i + 1]
        work.active_multipliers[i] = work.active_multipliers[i + 1]
        for k in range(count):
            triangle[k, i] = triangle[k, i + 1]
    for j in range(position, count - 1):
        radius = math.hypot(triangle[j, j], triangle[j + 1, j])
        if radius > 0.0:
            cosine = triangle[j, j] / radius
            sine = triangle[j + 1, j] / radius
            for k in range(j, count - 1):
                above = triangle[j, k]
                below = triangle[j + 1, k]
                triangle[j, k] = cosine * above + sine * below
                triangle[j + 1, k] = cosine * below - sine * above
            for k in range(n):
                left = basis[k, j]
                right = basis[k, j + 1]
                basis[k, j] = cosine * left + sine * right
                basis[k, j + 1] = cosine * right - sine * left
