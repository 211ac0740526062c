"""Seams: where shapes that do not move against each other are flush, or inside each other.

Each shape of a floor of plates collides by itself, so what slides over them meets edges and side
faces that the floor does not have, and at a seam it has contact points twice. A contact of a shape
is none of the whole where its point is on or inside a neighbour that is met deeper in another
direction. In the same direction both have a part of one patch: a point of it is no corner of the
whole if it is between two others, and one of them goes if both have it.
"""

from __future__ import annotations

from collections.abc import Sequence

import coal
import numpy as np

from contact_core.base.kernel import inlined_kernel
from contact_core.multibody.collision.arrays import (
    NORMAL,
    Contacts,
    Geometry,
    Pairs,
    Scratch,
    ShapePoses,
    Shapes,
)
from contact_core.multibody.collision.collide_points import probe
from contact_core.multibody.collision.convex_mesh import Meshes
from contact_core.multibody.collision.shapes import Shape, ShapeKind, shape_to_coal

FLUSH = 1e-4
"""Gap of shapes that are flush [m]."""
ALIKE = 1e-3
"""Angle of normals that belong to one patch [rad]."""


def find_neighbours(
    shapes: Sequence[Shape],
    bodies: np.ndarray,
    poses: Sequence[tuple[np.ndarray, np.ndarray]],
    meet: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the shapes on one body, or fixed to the world, with seams that something may meet.

    Args:
        shapes: The shapes.
        bodies: (ns) their bodies, -1 for the world.
        poses: Their rotations (3, 3) and positions (3) in them [m].
        meet: (ns, ns) whether two shapes may touch.

    Returns:
        (ns + 1) first neighbour of each shape, then their number; (n) the neighbours: those that
        touch it and that something may touch as well as it. A ball has none, for it has neither
        edges nor side faces.
    """
    radius = np.array([shape.bounding_radius for shape in shapes])
    place = np.array([position for _, position in poses]).reshape(-1, 3)
    rows: list[list[int]] = [[] for _ in shapes]
    solids = {}
    for a in range(len(shapes)):
        apart = np.linalg.norm(place[a + 1 :] - place[a], axis=1)
        near = (bodies[a + 1 :] == bodies[a]) & (apart <= radius[a + 1 :] + radius[a] + FLUSH)
        for b in (a + 1 + np.flatnonzero(near)).tolist():
            if not np.any(meet[a] & meet[b]):
                continue
            for s in (a, b):
                if s not in solids:
                    solids[s] = shape_to_coal(shapes[s]), coal.Transform3s(*poses[s])
            distance = coal.distance(
                *solids[a], *solids[b], coal.DistanceRequest(), coal.DistanceResult()
            )
            for s, other in ((a, b), (b, a)) if distance <= FLUSH else ():
                if shapes[s].kind != ShapeKind.SPHERE:
                    rows[s].append(other)
    first = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
    return first, np.array([b for row in rows for b in row], dtype=np.int64)


@inlined_kernel
def drop_seams(
    geometry: Geometry,
    meshes: Meshes,
    poses: ShapePoses,
    pairs: Pairs,
    contacts: Contacts,
    scratch: Scratch,
) -> None:
    """Drop contact points that the seams between neighbours have, and the whole has not.

    Args:
        geometry: The shapes on their bodies, and their neighbours.
        meshes: The convex meshes.
        poses: The shapes' poses.
        pairs: The pairs that touch.
        contacts: Their contact points, pair by pair; some go, and the stiffness of others of the
            seams changes.
        scratch: Reads the hulls' first pairs.
    """
    shapes = Shapes(geometry.kind, geometry.size, poses.rotation, poses.position, meshes)
    dropped, count, start = 0, contacts.number[0], scratch.start
    scratch.first[pairs.number[0]] = count
    for c in range(count - 1, -1, -1):
        scratch.first[contacts.pair[c]], scratch.gone[c] = c, 0
    # Neighbours are of one body, or fixed; what touches both does so in the pairs of one hull.
    for hull in range(start.shape[0] - 1):
        dropped += _mark_seams(
            shapes, geometry, pairs, contacts, scratch, start[hull], start[hull + 1]
        )
    if dropped > 0:
        _close_ranks(contacts, scratch.gone)


@inlined_kernel
def _mark_seams(
    shapes: Shapes,
    geometry: Geometry,
    pairs: Pairs,
    contacts: Contacts,
    scratch: Scratch,
    start: int,
    end: int,
) -> int:
    """Mark the points of pairs from start to end that go; return how many."""
    dropped = 0
    for pair in range(start, end):
        for side in range(2):
            shape = pairs.shapes[pair, side]
            if geometry.first_neighbour[shape + 1] > geometry.first_neighbour[shape]:
                for other in range(start, end):
                    neighbour = _shared(geometry, pairs, pair, side, other)
                    if neighbour >= 0:
                        dropped += _mark(shapes, contacts, scratch, pair, side, other, neighbour)
    if dropped > 0:
        _share_stiffness(geometry, pairs, contacts, scratch, start, end)
    return dropped


@inlined_kernel
def _close_ranks(contacts: Contacts, gone: np.ndarray) -> None:
    left = 0
    for c in range(contacts.number[0]):
        if gone[c] == 0:
            contacts.pair[left], contacts.depth[left] = contacts.pair[c], contacts.depth[c]
            contacts.stiffness[left] = contacts.stiffness[c]
            for i in range(3):
                contacts.point[left, i] = contacts.point[c, i]
                contacts.frame[left, NORMAL, i] = contacts.frame[c, NORMAL, i]
            left += 1
    contacts.number[0] = left


@inlined_kernel
def _mark(
    shapes: Shapes,
    contacts: Contacts,
    scratch: Scratch,
    pair: int,
    side: int,
    other: int,
    neighbour: int,
) -> int:
    """Mark points of a pair on the seam with a neighbour, which another pair has."""
    dropped = 0
    for c in range(scratch.first[pair], scratch.first[pair + 1]):
        if scratch.gone[c] == 0:
            x, y, z = _witness(contacts, c, side)
            distance, _, _, _ = probe(shapes, neighbour, x, y, z)
            if distance <= FLUSH and _is_of_seam(contacts, scratch, pair, other, c):
                scratch.gone[c] = 1
                dropped += 1
    return dropped


@inlined_kernel
def _shared(geometry: Geometry, pairs: Pairs, pair: int, side: int, other: int) -> int:
    """Return the neighbour of a pair's shape that another pair has with the same shape, or -1."""
    shape, same = pairs.shapes[pair, side], pairs.shapes[pair, 1 - side]
    if other != pair:
        for own in range(2):
            if pairs.shapes[other, 1 - own] == same:
                found = pairs.shapes[other, own]
                for k in range(
                    geometry.first_neighbour[shape], geometry.first_neighbour[shape + 1]
                ):
                    if geometry.neighbour[k] == found:
                        return found
    return -1


@inlined_kernel
def _witness(contacts: Contacts, c: int, side: int) -> tuple[float, float, float]:
    """Return where the surface of shape A, side 0, or B is at a contact [m]."""
    p, n = contacts.point[c], contacts.frame[c, NORMAL]
    half = (side - 0.5) * contacts.depth[c]
    return p[0] + half * n[0], p[1] + half * n[1], p[2] + half * n[2]


@inlined_kernel
def _is_of_seam(contacts: Contacts, scratch: Scratch, pair: int, other: int, c: int) -> bool:
    """Whether a contact, whose point is on a neighbour or in it, is none of the whole."""
    depth, p = contacts.depth[c], contacts.point[c]
    for d in range(scratch.first[other], scratch.first[other + 1]):
        if not _alike(contacts, c, d):
            # The side or an edge of a plate beside the top of its neighbour.
            if contacts.depth[d] > depth:
                return True
        else:
            q = contacts.point[d]
            x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
            square = x * x + y * y + z * z
            if square < FLUSH * FLUSH:
                if other < pair:
                    return True
            else:
                for e in range(scratch.first[pair], scratch.first[pair + 1]):
                    if e != c and _between(p, q, contacts.point[e]):
                        return True
    return False


@inlined_kernel
def _alike(contacts: Contacts, c: int, d: int) -> bool:
    m, n = contacts.frame[c, NORMAL], contacts.frame[d, NORMAL]
    # Either may be from B into A or from A into B.
    alike: bool = abs(m[0] * n[0] + m[1] * n[1] + m[2] * n[2]) > 1.0 - 0.5 * ALIKE * ALIKE
    return alike


@inlined_kernel
def _between(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> bool:
    """Whether p (3) is on the line from q to r, and not at an end."""
    x, y, z = r[0] - q[0], r[1] - q[1], r[2] - q[2]
    a, b, c = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    square = x * x + y * y + z * z
    along = a * x + b * y + c * z
    if along <= 0.0 or along >= square:
        return False
    u, v, w = b * z - c * y, c * x - a * z, a * y - b * x
    off: bool = u * u + v * v + w * w < FLUSH * FLUSH * square
    return off


@inlined_kernel
def _share_stiffness(
    geometry: Geometry, pairs: Pairs, contacts: Contacts, scratch: Scratch, start: int, end: int
) -> None:
    """Make the points on neighbours together no stiffer than the stiffest of their pairs was."""
    for pair in range(start, end):
        stiffest, rest = _stiffness(contacts, scratch, pair)
        lost = 0
        for c in range(scratch.first[pair], scratch.first[pair + 1]):
            lost += scratch.gone[c]
        scratch.share[pair] = 1.0
        if lost > 0:
            for side in range(2):
                for other in range(start, end):
                    if _shared(geometry, pairs, pair, side, other) >= 0:
                        whole, left = _stiffness(contacts, scratch, other)
                        stiffest, rest = max(stiffest, whole), rest + left
            if rest > stiffest:
                scratch.share[pair] = stiffest / rest
    for pair in range(start, end):
        for c in range(scratch.first[pair], scratch.first[pair + 1]):
            contacts.stiffness[c] *= scratch.share[pair]


@inlined_kernel
def _stiffness(contacts: Contacts, scratch: Scratch, pair: int) -> tuple[float, float]:
    """Return the stiffness of all of a pair's contacts, and of those that are left [N/m]."""
    whole, left = 0.0, 0.0
    for c in range(scratch.first[pair], scratch.first[pair + 1]):
        whole += contacts.stiffness[c]
        if scratch.gone[c] == 0:
            left += contacts.stiffness[c]
    return whole, left
