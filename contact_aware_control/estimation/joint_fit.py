"""The force at one contact fitted together with those of its companions."""

from __future__ import annotations

import numpy as np

from contact_aware_control.estimation.companions import Companions, expect_forces
from contact_aware_control.estimation.friction_cone import RAYS
from contact_aware_control.estimation.nonnegative_least_squares import nonnegative_least_squares
from contact_stack.core.kernel import kernel

FORCE_PRIOR = 100.0
"""Standard deviation [N] of a force about which the torques say nothing."""

RIDGE = 1e-9
"""Added to the diagonal of the Gram matrix, relative: opposite rays of a pyramid have the
same sum, so four rays have rank three."""


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
    total += expect_forces(companions, gram, rhs)
    for i in range(m):
        gram[i, i] += RIDGE * trace
    value = nonnegative_least_squares(gram, rhs, x)
    return (
        max(total + 2.0 * value, 0.0),
        friction * (x[0] - x[1]),
        friction * (x[2] - x[3]),
        x[0] + x[1] + x[2] + x[3],
    )


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
