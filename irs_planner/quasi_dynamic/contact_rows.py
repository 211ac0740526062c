"""The linear inequalities of a convex contact step, one pair of rays per planar contact."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_stack.core.kernel import kernel


class ContactRows(NamedTuple):
    """Constraints J_i v + phi_i / h >= 0 of the rays i of every contact.

    A planar contact has the two extreme rays of its friction cone, J = Jn +- mu Jt
    (Anitescu's relaxation of Coulomb friction; bundled_gradients, reference [23]).

    Attributes:
        ray: (m, n) J.
        negated: (m, n) -J, as the QP solver wants it.
        normal: (m, n) Jn of the contact to which the ray belongs.
        gap: (m) phi [m] of that contact.
    """

    ray: np.ndarray
    negated: np.ndarray
    normal: np.ndarray
    gap: np.ndarray


@kernel
def planar_rows(
    gap: np.ndarray,
    normal: np.ndarray,
    tangent: np.ndarray,
    friction: np.ndarray,
    rows: ContactRows,
) -> None:
    """Fill in the two rays of every planar contact.

    Args:
        gap: (P) signed distances [m].
        normal: (P, n) Jn.
        tangent: (P, n) Jt.
        friction: (P) mu.
        rows: Output, 2 P rows: +mu, then -mu, contact by contact.
    """
    for i in range(gap.shape[0]):
        for side in range(2):
            row = 2 * i + side
            mu = friction[i] if side == 0 else -friction[i]
            rows.gap[row] = gap[i]
            for k in range(normal.shape[1]):
                ray = normal[i, k] + mu * tangent[i, k]
                rows.ray[row, k] = ray
                rows.negated[row, k] = -ray
                rows.normal[row, k] = normal[i, k]
