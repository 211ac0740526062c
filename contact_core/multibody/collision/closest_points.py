"""How far two convex shapes are apart and where, or how deep they are inside each other.

Apart: the point of the Minkowski difference D = B - A that is nearest to the origin, in a simplex
that comes nearer with every corner (E. G. Gilbert, D. W. Johnson and S. S. Keerthi, "A fast
procedure for computing the distance between complex objects in three-dimensional space", 1988).
Overlapping: :func:`penetration`.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel
from contact_core.multibody.collision.arrays import Polytope, Shapes
from contact_core.multibody.collision.penetration import APART, add_corner, penetration, unit_vector

# The distance is found when another corner of D comes nearer by no more than this [m].
TOLERANCE = 1e-9
# Shapes that are nearer count as overlapping [m].
TOUCHING = 1e-9
MAX_CORNERS = 64
# By so much shapes are moved into or out of each other where rounding decides [m].
NUDGE = 1e-6
MAX_NUDGE = 1e-2

Vector = tuple[float, float, float]


@inner_kernel
def closest_points(
    shapes: Shapes, polytope: Polytope, a: int, b: int
) -> tuple[float, Vector, Vector]:
    """Find the signed distance of two shapes and where it is.

    Args:
        shapes: The shapes and their poses; A's is changed meanwhile.
        polytope: Scratch.
        a: Shape A: a box, capsule, cylinder or mesh.
        b: Shape B.

    Returns:
        (distance [m], negative where they overlap; unit direction from B into A, world; point of A
        nearest to B, or deepest in it, world [m]). The point of B is that of A minus distance
        times direction.
    """
    distance, n, point = _separation(shapes, polytope, a, b)
    if distance > 0.0:
        return distance, n, point
    p, q = shapes.position[a], shapes.position[b]
    x, y, z = unit_vector(q[0] - p[0], q[1] - p[1], q[2] - p[2])
    depth, n, _, _ = penetration(shapes, polytope, a, b)
    if depth == APART:  # by rounding
        _move(p, NUDGE, (x, y, z))
        depth, n, _, _ = penetration(shapes, polytope, a, b)
        _move(p, -NUDGE, (x, y, z))
        if depth == APART:
            return 0.0, (-x, -y, -z), point
        # By so much it was moved along the direction in which it comes out.
        depth += NUDGE * (x * n[0] + y * n[1] + z * n[2])
    nudge, out = NUDGE, 0.0
    while distance <= 0.0 and nudge < MAX_NUDGE:
        # What is round may be a little deeper than the depth that was found.
        out = max(depth, 0.0) + nudge
        _move(p, out, n)
        distance, _, point = _separation(shapes, polytope, a, b)
        _move(p, -out, n)
        nudge *= 10.0
    return -depth, n, (point[0] - out * n[0], point[1] - out * n[1], point[2] - out * n[2])


@inner_kernel
def _separation(shapes: Shapes, polytope: Polytope, a: int, b: int) -> tuple[float, Vector, Vector]:
    """Return what :func:`closest_points` does; of shapes that overlap, 0 and nothing."""
    p, q = shapes.position[a], shapes.position[b]
    x, y, z = unit_vector(q[0] - p[0], q[1] - p[1], q[2] - p[2])
    add_corner(shapes, polytope, a, b, 0, x, y, z)
    count, weights = 1, (1.0, 0.0, 0.0, 0.0)
    for corner in range(MAX_CORNERS):
        x, y, z = _blend(polytope.point, count, weights, 0)
        distance = math.sqrt(x * x + y * y + z * z)
        if distance <= TOUCHING:
            break
        x, y, z = x / distance, y / distance, z / distance
        along = add_corner(shapes, polytope, a, b, count, -x, -y, -z)
        if distance + along <= TOLERANCE or corner + 1 == MAX_CORNERS:
            return distance, (-x, -y, -z), _blend(polytope.point, count, weights, 3)
        inside, weights = _weights(polytope.point, count + 1)
        if inside:
            break
        count, weights = _keep(polytope.point, count + 1, weights)
    return 0.0, (0.0, 0.0, 0.0), (p[0], p[1], p[2])


@inner_kernel
def _move(position: np.ndarray, distance: float, n: Vector) -> None:
    """Move a shape along a direction."""
    for i in range(3):
        position[i] += distance * n[i]


@inner_kernel
def _blend(
    point: np.ndarray, count: int, weights: tuple[float, float, float, float], first: int
) -> Vector:
    """Return the weighted sum of three columns of the corners."""
    x = y = z = 0.0
    for i in range(count):
        x += weights[i] * point[i, first]
        y += weights[i] * point[i, first + 1]
        z += weights[i] * point[i, first + 2]
    return x, y, z


@inner_kernel
def _weights(point: np.ndarray, count: int) -> tuple[bool, tuple[float, float, float, float]]:
    """Return whether the origin is in a tetrahedron, and what blends to the point nearest to it.

    Args:
        point: Corners of the simplex, three coordinates each.
        count: How many there are, 2 to 4.
    """
    if count == 2:
        share = _segment_share(point[0], point[1])
        return False, (1.0 - share, share, 0.0, 0.0)
    if count == 3:
        u, v, w, _ = _triangle(point, 0, 1, 2)
        return False, (u, v, w, 0.0)
    best, weights = math.inf, (0.0, 0.0, 0.0, 0.0)
    if _beyond(point, 0, 1, 2, 3):
        u, v, w, square = _triangle(point, 0, 1, 2)
        if square < best:
            best, weights = square, (u, v, w, 0.0)
    if _beyond(point, 0, 1, 3, 2):
        u, v, w, square = _triangle(point, 0, 1, 3)
        if square < best:
            best, weights = square, (u, v, 0.0, w)
    if _beyond(point, 0, 2, 3, 1):
        u, v, w, square = _triangle(point, 0, 2, 3)
        if square < best:
            best, weights = square, (u, 0.0, v, w)
    if _beyond(point, 1, 2, 3, 0):
        u, v, w, square = _triangle(point, 1, 2, 3)
        if square < best:
            best, weights = square, (0.0, u, v, w)
    return best == math.inf, weights


@inner_kernel
def _beyond(point: np.ndarray, i: int, j: int, k: int, other: int) -> bool:
    """Whether the plane of three corners is between the origin and the other corner, or near."""
    p, q, r, s = point[i], point[j], point[k], point[other]
    a, b, c = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    d, e, f = r[0] - p[0], r[1] - p[1], r[2] - p[2]
    x, y, z = b * f - c * e, c * d - a * f, a * e - b * d
    origin = -(p[0] * x + p[1] * y + p[2] * z)
    height = (s[0] - p[0]) * x + (s[1] - p[1]) * y + (s[2] - p[2]) * z
    return origin * height <= 0.0


@inner_kernel
def _segment_share(a: np.ndarray, b: np.ndarray) -> float:
    """Return where on the way from a to b the origin is nearest, from 0 to 1."""
    x, y, z = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    square = x * x + y * y + z * z
    return min(max(-(x * a[0] + y * a[1] + z * a[2]) / square, 0.0), 1.0) if square > 0.0 else 0.0


@inner_kernel
def _triangle(point: np.ndarray, i: int, j: int, k: int) -> tuple[float, float, float, float]:
    """Return the weights of the point of a triangle nearest to the origin, and its square."""
    a, b, c = point[i], point[j], point[k]
    u, v, w = _triangle_weights(a, b, c)
    x = u * a[0] + v * b[0] + w * c[0]
    y = u * a[1] + v * b[1] + w * c[1]
    z = u * a[2] + v * b[2] + w * c[2]
    return u, v, w, x * x + y * y + z * z


@inner_kernel
def _triangle_weights(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Vector:
    """Return the weights, by the region of corner, side or face that the origin is in."""
    abx, aby, abz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    acx, acy, acz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    ab_a = -(abx * a[0] + aby * a[1] + abz * a[2])
    ac_a = -(acx * a[0] + acy * a[1] + acz * a[2])
    if ab_a <= 0.0 and ac_a <= 0.0:
        return 1.0, 0.0, 0.0
    ab_b = -(abx * b[0] + aby * b[1] + abz * b[2])
    ac_b = -(acx * b[0] + acy * b[1] + acz * b[2])
    if ab_b >= 0.0 and ac_b <= ab_b:
        return 0.0, 1.0, 0.0
    side_ab = ab_a * ac_b - ab_b * ac_a
    if side_ab <= 0.0 <= ab_a and ab_b <= 0.0:
        share = ab_a / (ab_a - ab_b)
        return 1.0 - share, share, 0.0
    ab_c = -(abx * c[0] + aby * c[1] + abz * c[2])
    ac_c = -(acx * c[0] + acy * c[1] + acz * c[2])
    if ac_c >= 0.0 and ab_c <= ac_c:
        return 0.0, 0.0, 1.0
    side_ac = ab_c * ac_a - ab_a * ac_c
    if side_ac <= 0.0 <= ac_a and ac_c <= 0.0:
        share = ac_a / (ac_a - ac_c)
        return 1.0 - share, 0.0, share
    side_bc = ab_b * ac_c - ab_c * ac_b
    if side_bc <= 0.0 and ac_b >= ab_b and ab_c >= ac_c:
        share = (ac_b - ab_b) / ((ac_b - ab_b) + (ab_c - ac_c))
        return 0.0, 1.0 - share, share
    total = side_ab + side_ac + side_bc
    return side_bc / total, side_ac / total, side_ab / total


@inner_kernel
def _keep(
    point: np.ndarray, count: int, weights: tuple[float, float, float, float]
) -> tuple[int, tuple[float, float, float, float]]:
    """Leave out corners of no weight; return how many are left and their weights."""
    kept = 0
    u = v = w = 0.0
    for i in range(count):
        if weights[i] == 0.0:
            continue
        for k in range(6):
            point[kept, k] = point[i, k]
        if kept == 0:
            u = weights[i]
        elif kept == 1:
            v = weights[i]
        else:
            w = weights[i]
        kept += 1
    return kept, (u, v, w, 0.0)
