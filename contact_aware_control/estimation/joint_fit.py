"""Forces of several contacts fitted together, in closed form or by an active set.

One contact at a time is being looked for; the others, its companions, stay at the places
already known, but their forces are free within their friction pyramids.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_stack.core.kernel import kernel

RAYS = 4
"""Edges of a friction pyramid."""

FORCE_PRIOR = 100.0
"""Standard deviation [N] of a force about which the torques say nothing."""

RIDGE = 1e-9
"""Added to the diagonal of the Gram matrix, relative: opposite rays of a pyramid have the
same sum, so four rays have rank three."""


class Companions(NamedTuple):
    """The contacts beside the one that is looked for, K of them.

    Their forces are expected to stay near what they were: without that, two forces and a place
    would be more unknowns than most arms have torques.

    Attributes:
        rays: (4 K, n) whitened joint torque of a unit force along each edge of their pyramids.
        edges: (4 K, 3) those edges, world frame.
        force: (K, 3) expected forces, world frame [N].
        precision: Reciprocal of the forces' standard deviation [1/N].
    """

    rays: np.ndarray
    edges: np.ndarray
    force: np.ndarray
    precision: float


def new_companions(count: int, joints: int, deviation: float) -> Companions:
    """Return room for the companions of a contact.

    Args:
        count: Their number K.
        joints: Number of joints n.
        deviation: Standard deviation of their forces [N].
    """
    return Companions(
        rays=np.zeros((RAYS * count, joints)),
        edges=np.zeros((RAYS * count, 3)),
        force=np.zeros((count, 3)),
        precision=1.0 / deviation,
    )


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


@kernel
def fit_beside(
    columns: np.ndarray, torque: np.ndarray, companions: Companions, friction: float
) -> tuple[float, float, float, float]:
    """Fit a contact's force together with those of its companions.

    Args:
        columns: (3, n) whitened torque of unit forces along t1, t2 and n of the contact.
        torque: (n) whitened torque.
        companions: The other contacts.
        friction: Half the width of the contact's pyramid.

    Returns:
        (squared whitened residual, that of the companions' forces included; then the contact's
        force along t1, t2 and n).
    """
    n = torque.size
    others = companions.rays.shape[0]
    m = RAYS + others
    rays = np.empty((m, n))
    for k in range(n):
        rays[0, k] = columns[2, k] + friction * columns[0, k]
        rays[1, k] = columns[2, k] - friction * columns[0, k]
        rays[2, k] = columns[2, k] + friction * columns[1, k]
        rays[3, k] = columns[2, k] - friction * columns[1, k]
        for i in range(others):
            rays[RAYS + i, k] = companions.rays[i, k]
    gram, rhs, x = np.empty((m, m)), np.empty(m), np.empty(m)
    total, trace = 0.0, 0.0
    for k in range(n):
        total += torque[k] * torque[k]
    for i in range(m):
        entry = 0.0
        for k in range(n):
            entry += rays[i, k] * torque[k]
        rhs[i] = entry
        for j in range(i + 1):
            entry = 0.0
            for k in range(n):
                entry += rays[i, k] * rays[j, k]
            gram[i, j] = gram[j, i] = entry
        trace += gram[i, i]
    total += _expect_forces(companions, gram, rhs)
    for i in range(m):
        gram[i, i] += RIDGE * trace
    value = nonnegative_least_squares(gram, rhs, x)
    return (
        max(total + 2.0 * value, 0.0),
        friction * (x[0] - x[1]),
        friction * (x[2] - x[3]),
        x[0] + x[1] + x[2] + x[3],
    )


@kernel
def _expect_forces(companions: Companions, gram: np.ndarray, rhs: np.ndarray) -> float:
    """Add |f_i - expected f_i|^2 / s^2 of each companion; return its constant part."""
    square = companions.precision**2
    constant = 0.0
    for c in range(companions.force.shape[0]):
        for d in range(3):
            constant += square * companions.force[c, d] ** 2
        for i in range(RAYS * c, RAYS * (c + 1)):
            for d in range(3):
                rhs[RAYS + i] += square * companions.edges[i, d] * companions.force[c, d]
            for j in range(RAYS * c, RAYS * (c + 1)):
                for d in range(3):
                    gram[RAYS + i, RAYS + j] += (
                        square * companions.edges[i, d] * companions.edges[j, d]
                    )
    return constant


def force_noise(jacobian: np.ndarray, companions: Companions) -> np.ndarray:
    """Return the covariance of a fitted force that the torque's noise causes.

    Args:
        jacobian: (n, 3) whitened joint torque of unit forces along the axes [1/N].
        companions: The other contacts, whose forces are known with some precision only.

    Returns:
        (3, 3) [N^2], bounded by the prior where the torques say nothing.
    """
    rays = companions.rays
    overlap = rays @ jacobian
    of_rays = rays @ rays.T + companions.precision**2 * np.eye(len(rays))
    information = (
        jacobian.T @ jacobian
        - overlap.T @ np.linalg.solve(of_rays, overlap)
        + np.eye(3) / FORCE_PRIOR**2
    )
    return np.asarray(np.linalg.inv(information))
