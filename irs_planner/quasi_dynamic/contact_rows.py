"""The linear inequalities of a convex contact step: the edges of every friction cone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_core.kernel import kernel


class ContactFrames(NamedTuple):
    """The P pairs of shapes that can touch at K states, in D = 2 or 3 dimensions.

    Attributes:
        gap: (K, P) signed distance phi [m], negative inside.
        frame: (K, P, D, D) unit vectors in the world: the normal n, which points from the
            second part into the first, then the tangents.
        normal: (K, P, n) Jn, normal velocity of the first relative to the second part.
        tangent: (K, P, D - 1, n) Jt, tangential velocities likewise.
    """

    gap: np.ndarray
    frame: np.ndarray
    normal: np.ndarray
    tangent: np.ndarray


class ContactRows(NamedTuple):
    """Constraints J_i v + phi_i / h >= 0 of the m edges of all cones, contact by contact.

    Every contact has the edges J = Jn + mu d^T Jt of a polyhedral friction cone (Anitescu's
    relaxation of Coulomb friction; bundled_gradients, reference [23]). Arrays of K states
    have one more leading dimension.

    Attributes:
        ray: (m, n) J.
        negated: (m, n) -J, as the QP solver wants it.
        normal: (m, n) Jn of the contact to which the edge belongs.
        gap: (m) phi [m] of that contact.
    """

    ray: np.ndarray
    negated: np.ndarray
    normal: np.ndarray
    gap: np.ndarray


PLANAR_EDGES = np.array([[1.0], [-1.0]])
"""Edge directions d of the cone of a planar contact."""


def spatial_edges(count: int) -> np.ndarray:
    """Return the (count, 2) edge directions d of a cone in 3-D, evenly spread.

    Args:
        count: Number of edges, at least 3.
    """
    angle = 2.0 * np.pi * np.arange(count) / count
    return np.stack((np.cos(angle), np.sin(angle)), axis=1)


def allocate_rows(states: int, rays: int, size: int) -> ContactRows:
    """Allocate the rows of several states.

    Args:
        states: Number K of states.
        rays: Number m of rays.
        size: Number n of coordinates.
    """
    return ContactRows(
        np.empty((states, rays, size)),
        np.empty((states, rays, size)),
        np.empty((states, rays, size)),
        np.empty((states, rays)),
    )


@kernel
def polyhedral_rows(
    gap: np.ndarray,
    normal: np.ndarray,
    tangent: np.ndarray,
    friction: np.ndarray,
    edges: np.ndarray,
    rows: ContactRows,
) -> None:
    """Fill in the edges of all cones of several states.

    Args:
        gap: (K, P) signed distances [m].
        normal: (K, P, n) Jn.
        tangent: (K, P, D - 1, n) Jt.
        friction: (P) mu.
        edges: (R, D - 1) edge directions d.
        rows: Output of K states, R P rows each.
    """
    count = edges.shape[0]
    for s in range(gap.shape[0]):
        for i in range(gap.shape[1]):
            for e in range(count):
                row = count * i + e
                rows.gap[s, row] = gap[s, i]
                for k in range(normal.shape[2]):
                    ray = normal[s, i, k]
                    for t in range(edges.shape[1]):
                        ray += friction[i] * edges[e, t] * tangent[s, i, t, k]
                    rows.ray[s, row, k] = ray
                    rows.negated[s, row, k] = -ray
                    rows.normal[s, row, k] = normal[s, i, k]


@kernel
def rows_at(rows: ContactRows, state: int) -> ContactRows:
    """Return the rows of one state, views of those of several."""
    return ContactRows(rows.ray[state], rows.negated[state], rows.normal[state], rows.gap[state])
