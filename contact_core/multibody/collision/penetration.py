"""How deep two convex shapes are inside each other, by a polytope that expands.

The shapes overlap if the Minkowski difference D = B - A holds the origin, and the shortest
way out of it is the origin's distance from D's surface (van den Bergen, Collision Detection
in Interactive 3D Environments, 2003). A tetrahedron inside D grows where its surface is
closest to the origin, or the origin furthest outside, until D has no more to give there.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel
from contact_core.multibody.collision.arrays import Polytope, Shapes
from contact_core.multibody.collision.support import furthest_point, is_round

APART = -1.0
# The depth is found when a face of the polytope is so close to D's surface [m]; closer, on a round
# one, its triangles would become slivers whose normals are rounding.
TOLERANCE = 1e-10
ROUND_TOLERANCE = 1e-8
# A face is replaced with its neighbours if the new corner is not this far below it [m], so
# that no face becomes a line.
COPLANAR = 1e-11


@inner_kernel
def penetration(
    shapes: Shapes, polytope: Polytope, a: int, b: int
) -> tuple[float, tuple[float, float, float], tuple[float, float, float], int]:
    """Find the shortest move of A that separates it from B.

    Args:
        shapes: The shapes and their poses.
        polytope: Scratch.
        a: Shape A: a box, capsule, cylinder or mesh.
        b: Shape B.

    Returns:
        (depth [m], negative if the shapes are apart; unit direction of the move, from B into
        A, world; point midway between the witness points, world [m]; face of the polytope).
    """
    nothing = (0.0, 0.0, 0.0)
    if not _start(shapes, polytope, a, b):
        return APART, nothing, nothing, 0
    points, faces = 4, 4
    tolerance = ROUND_TOLERANCE if is_round(shapes, a) or is_round(shapes, b) else TOLERANCE
    while True:
        face = 0
        for k in range(1, faces):
            if polytope.plane[k, 3] < polytope.plane[face, 3]:
                face = k
        x, y, z, offset = polytope.plane[face]
        depth = add_corner(shapes, polytope, a, b, points, x, y, z)
        if depth < 0.0:
            return APART, nothing, nothing, 0
        if depth - offset <= tolerance or points + 1 == polytope.point.shape[0]:
            return depth, (x, y, z), _witness(polytope, face, depth), face
        faces = _expand(polytope, faces, points)
        points += 1


@inner_kernel
def overlap(shapes: Shapes, a: int, b: int, x: float, y: float, z: float) -> float:
    """Return how far A has to move along a unit direction to be beyond B [m]."""
    p = furthest_point(shapes, a, -x, -y, -z)
    q = furthest_point(shapes, b, x, y, z)
    return (q[0] - p[0]) * x + (q[1] - p[1]) * y + (q[2] - p[2]) * z


@inner_kernel
def add_corner(
    shapes: Shapes, polytope: Polytope, a: int, b: int, k: int, x: float, y: float, z: float
) -> float:
    """Make D's furthest point in a direction corner k; return how far that is [m]."""
    p = furthest_point(shapes, a, -x, -y, -z)
    q = furthest_point(shapes, b, x, y, z)
    corner = polytope.point[k]
    for i in range(3):
        corner[i] = q[i] - p[i]
        corner[3 + i] = p[i]
    return corner[0] * x + corner[1] * y + corner[2] * z


@inner_kernel
def _start(shapes: Shapes, polytope: Polytope, a: int, b: int) -> bool:
    """Begin with a tetrahedron inside D; return False if the shapes are found to be apart."""
    pa, pb = shapes.position[a], shapes.position[b]
    x, y, z = unit_vector(pa[0] - pb[0], pa[1] - pb[1], pa[2] - pb[2])
    point = polytope.point
    u, v, w = 0.0, 0.0, 0.0
    for k in range(3):
        if k == 1:
            # Away from the line through both: at right angles to it.
            u, v, w = (
                point[1, 0] - point[0, 0],
                point[1, 1] - point[0, 1],
                point[1, 2] - point[0, 2],
            )
            if abs(u) <= abs(v) and abs(u) <= abs(w):
                x, y, z = unit_vector(0.0, w, -v)
            elif abs(v) <= abs(w):
                x, y, z = unit_vector(-w, 0.0, u)
            else:
                x, y, z = unit_vector(v, -u, 0.0)
        elif k == 2:
            # Away from the plane through the three.
            r, s, t = (
                point[2, 0] - point[0, 0],
                point[2, 1] - point[0, 1],
                point[2, 2] - point[0, 2],
            )
            x, y, z = unit_vector(v * t - w * s, w * r - u * t, u * s - v * r)
        if not _add_furthest(shapes, polytope, a, b, k, x, y, z):
            return False
    base = point[0]
    above = (point[3, 0] - base[0]) * x + (point[3, 1] - base[1]) * y + (point[3, 2] - base[2]) * z
    # The base's corners 0, 1, 2 have to be counter-clockwise as seen from corner 3.
    i, j = (1, 2) if above > 0.0 else (2, 1)
    _set_face(polytope, 0, 0, j, i)
    _set_face(polytope, 1, 0, i, 3)
    _set_face(polytope, 2, i, j, 3)
    _set_face(polytope, 3, j, 0, 3)
    return True


@inner_kernel
def _add_furthest(
    shapes: Shapes, polytope: Polytope, a: int, b: int, k: int, x: float, y: float, z: float
) -> bool:
    """Add D's furthest points along and against a direction: both, or the one that has more.

    Args:
        shapes: The shapes and their poses.
        polytope: Gets corners 0 and 1 if k is 0, else corner k + 1, that is further from corner 0.
        a: Shape A.
        b: Shape B.
        k: How many directions there were.
        x: First coordinate of the unit direction, world.
        y: Second coordinate.
        z: Third coordinate.

    Returns:
        Whether the shapes may overlap.
    """
    point, height, reach = polytope.point, 0.0, 0.0
    if k > 0:
        base = point[0]
        height = base[0] * x + base[1] * y + base[2] * z
    for side in range(2):
        sign = 1.0 if side == 0 else -1.0
        new = side if k == 0 else k + 1 + side
        along = add_corner(shapes, polytope, a, b, new, sign * x, sign * y, sign * z)
        if along < 0.0:
            return False
        if side == 0:
            reach = along - height
        elif k > 0 and along + height > reach:
            for i in range(6):
                point[k + 1, i] = point[k + 2, i]
    return True


@inner_kernel
def unit_vector(x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return a vector at length 1, or the x axis for none."""
    length = math.sqrt(x * x + y * y + z * z)
    if length == 0.0:
        return 1.0, 0.0, 0.0
    return x / length, y / length, z / length


@inner_kernel
def _set_face(polytope: Polytope, face: int, i: int, j: int, k: int) -> None:
    """Make a triangle of three corners, counter-clockwise as seen from outside."""
    p, q, r = polytope.point[i], polytope.point[j], polytope.point[k]
    a, b, c = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    d, e, f = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    x, y, z = b * f - c * e, c * d - a * f, a * e - b * d
    length = math.sqrt(x * x + y * y + z * z)
    corner, plane = polytope.corner[face], polytope.plane[face]
    corner[0], corner[1], corner[2] = i, j, k
    if length > 0.0:
        plane[0], plane[1], plane[2] = x / length, y / length, z / length
        plane[3] = plane[0] * p[0] + plane[1] * p[1] + plane[2] * p[2]
    else:
        # A line has no way out.
        plane[0], plane[1], plane[2], plane[3] = 0.0, 0.0, 0.0, math.inf


@inner_kernel
def _expand(polytope: Polytope, faces: int, new: int) -> int:
    """Replace the faces that a new corner is beyond by faces to it; return how many there are."""
    p, border = polytope.point[new], 0
    k = 0
    while k < faces:
        n = polytope.plane[k]
        if n[0] * p[0] + n[1] * p[1] + n[2] * p[2] < n[3] - COPLANAR:
            k += 1
            continue
        i, j, m = polytope.corner[k]
        border = _toggle(polytope, border, i, j)
        border = _toggle(polytope, border, j, m)
        border = _toggle(polytope, border, m, i)
        faces -= 1
        for c in range(3):
            polytope.corner[k, c] = polytope.corner[faces, c]
        for c in range(4):
            polytope.plane[k, c] = polytope.plane[faces, c]
    for k in range(border):
        if faces < polytope.corner.shape[0]:
            _set_face(polytope, faces, polytope.edge[k, 0], polytope.edge[k, 1], new)
            faces += 1
    return faces


@inner_kernel
def _toggle(polytope: Polytope, border: int, i: int, j: int) -> int:
    """Add a directed edge to the border, or take its reverse away: that was between two faces."""
    edge = polytope.edge
    for k in range(border):
        if edge[k, 0] == j and edge[k, 1] == i:
            edge[k, 0], edge[k, 1] = edge[border - 1, 0], edge[border - 1, 1]
            return border - 1
    edge[border, 0], edge[border, 1] = i, j
    return border + 1


@inner_kernel
def shares(polytope: Polytope, face: int) -> tuple[float, float, float]:
    """Return the barycentric coordinates of the origin's foot on a face."""
    i, j, k = polytope.corner[face]
    p, q, r = polytope.point[i], polytope.point[j], polytope.point[k]
    x, y, z, offset = polytope.plane[face]
    # They are areas of the foot's triangles with the sides.
    foot = (offset * x, offset * y, offset * z)
    s = _area(foot, q, r, x, y, z)
    t = _area(foot, r, p, x, y, z)
    u = _area(foot, p, q, x, y, z)
    total = s + t + u
    return s / total, t / total, u / total


@inner_kernel
def _witness(polytope: Polytope, face: int, depth: float) -> tuple[float, float, float]:
    """Return the point midway between the surfaces where a face is closest to the origin."""
    i, j, k = polytope.corner[face]
    p, q, r = polytope.point[i], polytope.point[j], polytope.point[k]
    x, y, z, _ = polytope.plane[face]
    s, t, u = shares(polytope, face)
    half = 0.5 * depth
    return (
        s * p[3] + t * q[3] + u * r[3] + half * x,
        s * p[4] + t * q[4] + u * r[4] + half * y,
        s * p[5] + t * q[5] + u * r[5] + half * z,
    )


@inner_kernel
def _area(
    foot: tuple[float, float, float], p: np.ndarray, q: np.ndarray, x: float, y: float, z: float
) -> float:
    """Twice the area of a triangle, positive if it is counter-clockwise about a normal."""
    a, b, c = p[0] - foot[0], p[1] - foot[1], p[2] - foot[2]
    d, e, f = q[0] - foot[0], q[1] - foot[1], q[2] - foot[2]
    return max(0.0, (b * f - c * e) * x + (c * d - a * f) * y + (a * e - b * d) * z)
