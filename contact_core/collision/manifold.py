"""The polygon in which two faces touch, as a few contact points that carry it."""

from __future__ import annotations

import math

import numpy as np

from contact_core.collision.arrays import Encounter
from contact_core.collision.collide_points import add_contact
from contact_core.kernel import inner_kernel

# Contact points of one pair of faces, at most.
POINTS = 8
# However many corners a polygon has, it is as stiff as this many contact points.
STIFFNESS = 4.0
# Corners that are beside a face by less than this [m] are on it, whatever rounding says.
BESIDE = 1e-9
# Corners whose losses differ by less than this share lose the same, but for rounding.
EQUAL = 1e-3
Vector = tuple[float, float, float]


@inner_kernel
def clip_to_sides(clip: np.ndarray, sides: int, count: int, n: Vector) -> int:
    """Cut off what of polygon 1 is beside polygon 0, as seen along a normal.

    Args:
        clip: (3, m, 3) polygons, world [m]; 0 is counter-clockwise about the normal, 1 may be
            a line; 2 is scratch.
        sides: Corners of polygon 0.
        count: Corners of polygon 1.
        n: The normal, world.

    Returns:
        Corners that are left of polygon 1.
    """
    face, source = clip[0], 1
    for k in range(sides):
        p = face[k]
        q = face[k + 1] if k + 1 < sides else face[0]
        a, b, c = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        out = (b * n[2] - c * n[1], c * n[0] - a * n[2], a * n[1] - b * n[0])
        slack = BESIDE * math.sqrt(a * a + b * b + c * c)
        bound = out[0] * p[0] + out[1] * p[1] + out[2] * p[2] + slack
        count = cut_polygon(clip[source], clip[3 - source], count, out, bound)
        source = 3 - source
    if source == 2:
        _copy(clip[2], clip[1], count)
    return count


@inner_kernel
def add_manifold(
    contacts: Encounter, pair: int, side: int, count: int, n: Vector, bound: float
) -> bool:
    """Add the corners of polygon 1 that are below a face as contact points.

    Args:
        contacts: Gets the points; the polygon is in its ``clip``.
        pair: The pair of shapes.
        side: 0 if the face is shape A's, 1 if B's.
        count: Corners of the polygon, 2 for a line.
        n: Unit outward normal of the face, world.
        bound: The face's distance from the world's origin along it [m].

    Returns:
        Whether there was one.
    """
    polygon, rim = contacts.clip[1], 0.0
    while count > POINTS:
        count = _drop_least(polygon, count, n, bound)
    for k in range(count):
        rim += _length(polygon, k, count)
    # The normal of a contact points from B into A.
    sign = 2.0 * side - 1.0
    found = False
    before = _length(polygon, count - 1, count)
    for k in range(count):
        after = _length(polygon, k, count)
        x, y, z = polygon[k]
        depth = bound - (n[0] * x + n[1] * y + n[2] * z)
        if depth > 0.0:
            # Every corner carries the half of the rim that is next to it.
            weight = 1.0
            if count > 2:
                weight = STIFFNESS * 0.5 * (before + after) / rim
            half = 0.5 * depth
            point = (x + half * n[0], y + half * n[1], z + half * n[2])
            normal = (sign * n[0], sign * n[1], sign * n[2])
            add_contact(contacts, pair, depth, normal, point, weight)
            found = True
        before = after
    return found


@inner_kernel
def cut_polygon(
    polygon: np.ndarray, kept: np.ndarray, count: int, out: Vector, bound: float
) -> int:
    """Keep the part of a polygon where out . x <= bound (Sutherland and Hodgman).

    Args:
        polygon: (m, 3) its corners, or the two ends of a line [m].
        kept: (m, 3) gets the corners of what is kept; there may be one more.
        count: Number of corners.
        out: Normal of the plane, of any length.
        bound: Where the plane is along it.

    Returns:
        The number of corners kept.
    """
    number = 0
    for k in range(count):
        p = polygon[k]
        here = bound - (out[0] * p[0] + out[1] * p[1] + out[2] * p[2])
        if here >= 0.0:
            for i in range(3):
                kept[number, i] = p[i]
            number += 1
        if k + 1 == count and count == 2:
            break
        q = polygon[k + 1] if k + 1 < count else polygon[0]
        there = bound - (out[0] * q[0] + out[1] * q[1] + out[2] * q[2])
        if (here > 0.0 and there < 0.0) or (here < 0.0 and there > 0.0):
            share = here / (here - there)
            for i in range(3):
                kept[number, i] = p[i] + share * (q[i] - p[i])
            number += 1
    return number


@inner_kernel
def _copy(source: np.ndarray, target: np.ndarray, count: int) -> None:
    for k in range(count):
        for i in range(3):
            target[k, i] = source[k, i]


@inner_kernel
def _length(polygon: np.ndarray, k: int, count: int) -> float:
    """Length of the side behind corner k [m]."""
    p = polygon[k]
    q = polygon[k + 1] if k + 1 < count else polygon[0]
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    return math.sqrt(x * x + y * y + z * z)


@inner_kernel
def _drop_least(polygon: np.ndarray, count: int, n: Vector, bound: float) -> int:
    """Remove the corner that takes the least area with it, times its depth.

    Of equals the first goes, so that a thing at rest keeps the points it rests on.
    """
    least, dropped = math.inf, 0
    for k in range(count):
        p = polygon[k - 1] if k > 0 else polygon[count - 1]
        q = polygon[k]
        r = polygon[k + 1] if k + 1 < count else polygon[0]
        a, b, c = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        d, e, f = r[0] - q[0], r[1] - q[1], r[2] - q[2]
        area = (b * f - c * e) * n[0] + (c * d - a * f) * n[1] + (a * e - b * d) * n[2]
        depth = bound - (n[0] * q[0] + n[1] * q[1] + n[2] * q[2])
        loss = abs(area) * max(0.0, depth)
        if loss < (1.0 - EQUAL) * least:
            least, dropped = loss, k
    for k in range(dropped, count - 1):
        for i in range(3):
            polygon[k, i] = polygon[k + 1, i]
    return count - 1
