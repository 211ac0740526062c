"""The way out of another solid, exact to rounding: what a polytope only comes close to.

The polytope of :mod:`penetration` finds which features meet, and their normal to about 1e-3 on
round ones. The normal of a face is known, and so is that of all others: it is along the line
between the closest points of two curves, which are an edge, the axis of a round side, a rim, or
a corner. Newton's method finds those points. A normal is taken only if it is a way out that is
no longer than the one that was found.
"""

from __future__ import annotations

import math

from contact_core.base.kernel import inner_kernel
from contact_core.multibody.collision.arrays import Encounter, Polytope, Shapes
from contact_core.multibody.collision.collide_points import (
    local_point,
    turn_to_shape,
    turn_to_world,
)
from contact_core.multibody.collision.penetration import overlap, shares
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.multibody.collision.support import LINE, MESH, is_round, supporting_face

BOX = int(ShapeKind.BOX)
CAPSULE = int(ShapeKind.CAPSULE)
# The way out may be longer by this along the normal of a face [m]: that of the polytope is exact
# to this much.
FACE_MARGIN = 1e-9
# A polytope never misses by more than this, unless rounding spoilt it [m].
HIDDEN = 1e-7
# And by this along a normal that Newton's method found: rounding [m].
ROUNDING = 1e-12
# Directions are parallel up to this squared sine.
PARALLEL = 1e-12
ITERATIONS = 20
Vector = tuple[float, float, float]
# A point, a line or a circle: its middle, two axes, of which a line has one and a point none,
# and the radius of the ball that is moved along it.
Curve = tuple[Vector, Vector, Vector, float]


@inner_kernel
def refine(
    shapes: Shapes,
    contacts: Encounter,
    pair: int,
    face: int,
    depth: float,
    n: Vector,
    point: Vector,
) -> tuple[float, Vector, Vector]:
    """Make a way out exact.

    Args:
        shapes: The shapes and their poses.
        contacts: The pair of shapes and the polytope; its ``clip`` is overwritten.
        pair: The pair.
        face: The polytope's face that is closest to the origin.
        depth: How deep the shapes are inside each other, as far as the polytope knows [m].
        n: Unit normal from B into A, world.
        point: Midway between the witness points, world [m].

    Returns:
        (depth [m]; unit normal; point midway between the witness points, world [m]).
    """
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    depth, n = _shorter_way(shapes, a, b, depth, n)
    found, shortest = False, depth + FACE_MARGIN
    normal = n
    for side in range(2):
        # The face of B that looks along the normal, or A's that looks against it.
        own, sign = (b, 1.0) if side == 0 else (a, -1.0)
        sides, x, y, z = supporting_face(
            shapes, own, sign * n[0], sign * n[1], sign * n[2], contacts.clip[0]
        )
        if sides != LINE:
            way = overlap(shapes, a, b, sign * x, sign * y, sign * z)
            if way < shortest:
                found, shortest, normal = True, way, (sign * x, sign * y, sign * z)
    if found:
        return shortest, normal, point
    if not (is_round(shapes, a) or is_round(shapes, b)):
        return depth, n, point
    half = 0.5 * depth
    on_a = (point[0] - half * n[0], point[1] - half * n[1], point[2] - half * n[2])
    on_b = (point[0] + half * n[0], point[1] + half * n[1], point[2] + half * n[2])
    shortest, middle = depth + ROUNDING, point
    normal = n
    for ends in range(4):
        first = _curve(shapes, contacts.polytope, face, a, -1.0, n, ends % 2 == 1)
        second = _curve(shapes, contacts.polytope, face, b, 1.0, n, ends // 2 == 1)
        known, x, y, z, p, q = _closest(first, second, n, on_a, on_b)
        if known:
            way = overlap(shapes, a, b, x, y, z)
            if way < shortest:
                # The balls' surfaces are beyond the curves, towards the other shape.
                s = 0.5 * (second[3] - first[3])
                middle = (
                    0.5 * (p[0] + q[0]) + s * x,
                    0.5 * (p[1] + q[1]) + s * y,
                    0.5 * (p[2] + q[2]) + s * z,
                )
                found, shortest, normal = True, way, (x, y, z)
    return (shortest if found else depth), normal, middle


@inner_kernel
def _shorter_way(shapes: Shapes, a: int, b: int, depth: float, n: Vector) -> tuple[float, Vector]:
    """Return a way out along an axis of a shape where it is shorter, which rounding may hide."""
    for k in range(12):
        r = shapes.rotation[a] if k < 6 else shapes.rotation[b]
        sign, i = 1.0 - 2.0 * (k % 2), (k // 2) % 3
        x, y, z = sign * r[0, i], sign * r[1, i], sign * r[2, i]
        way = overlap(shapes, a, b, x, y, z)
        if way < depth - HIDDEN:
            depth, n = way, (x, y, z)
    return depth, n


@inner_kernel
def _curve(
    shapes: Shapes, polytope: Polytope, face: int, shape: int, sign: float, n: Vector, end: bool
) -> Curve:
    """Return the curve of a shape that may meet the other one.

    Args:
        shapes: The shapes and their poses.
        polytope: The polytope.
        face: Its face that is closest to the origin.
        shape: The shape.
        sign: -1 for shape A, 1 for B.
        n: About the normal, from B into A.
        end: Whether to return a corner, a capsule's end or a cylinder's rim, in place of an edge
            or the axis of a side.
    """
    nothing = (0.0, 0.0, 0.0)
    kind, size = shapes.kind[shape], shapes.size[shape]
    if kind in (MESH, BOX):
        p, q = _corners(polytope, face, sign)
        edge = nothing if end else (q[0] - p[0], q[1] - p[1], q[2] - p[2])
        return p, edge, nothing, 0.0
    radius = size[0]
    _, _, w = turn_to_shape(shapes, shape, sign * n[0], sign * n[1], sign * n[2])
    tip = local_point(shapes, shape, 0.0, 0.0, math.copysign(size[1], w))
    if not end:
        return tip, turn_to_world(shapes, shape, 0.0, 0.0, 1.0), nothing, radius
    if kind == CAPSULE:
        return tip, nothing, nothing, radius
    e = turn_to_world(shapes, shape, radius, 0.0, 0.0)
    f = turn_to_world(shapes, shape, 0.0, radius, 0.0)
    return tip, e, f, 0.0


@inner_kernel
def _corners(polytope: Polytope, face: int, sign: float) -> tuple[Vector, Vector]:
    """Return the ends of the edge that a face of the polytope comes from, twice a corner if none.

    The first of them counts more.

    Args:
        polytope: The polytope.
        face: Its face.
        sign: -1 for shape A's edge, 1 for B's.
    """
    share = shares(polytope, face)
    corner = polytope.corner[face]
    first, second, third = corner[0], corner[1], corner[2]
    r, s, t = share
    # The most important ones first.
    if s > r:
        first, second, r, s = second, first, s, r
    if t > s:
        second, third, s, t = third, second, t, s
        if s > r:
            first, second = second, first
    p, q = _corner(polytope, first, sign), _corner(polytope, second, sign)
    if p[0] == q[0] and p[1] == q[1] and p[2] == q[2]:
        q = _corner(polytope, third, sign)
    return p, q


@inner_kernel
def _corner(polytope: Polytope, k: int, sign: float) -> Vector:
    """Return the point of A (sign -1) or B (1) that a corner of the polytope comes from."""
    p = polytope.point[k]
    if sign < 0.0:
        return p[3], p[4], p[5]
    return p[0] + p[3], p[1] + p[4], p[2] + p[5]


@inner_kernel
def _closest(
    first: Curve, second: Curve, n: Vector, on_a: Vector, on_b: Vector
) -> tuple[bool, float, float, float, Vector, Vector]:
    """Find the closest points of two curves, and the normal there.

    Args:
        first: Curve of A.
        second: Curve of B.
        n: About the normal.
        on_a: About where the point of A is.
        on_b: About where that of B is.

    Returns:
        (whether they have a normal; its x, y, z; point of A, point of B).
    """
    s, t = _parameter(first, on_a), _parameter(second, on_b)
    for _ in range(ITERATIONS):
        p, tp, bp = _evaluate(first, s)
        q, tq, bq = _evaluate(second, t)
        d = (p[0] - q[0], p[1] - q[1], p[2] - q[2])
        a, b = _dot(d, tp), -_dot(d, tq)
        aa, ab, bb = _dot(tp, tp) + _dot(d, bp), -_dot(tp, tq), _dot(tq, tq) - _dot(d, bq)
        # A point has no parameter to move.
        aa = aa if _dot(tp, tp) > 0.0 else 1.0
        bb = bb if _dot(tq, tq) > 0.0 else 1.0
        det = aa * bb - ab * ab
        if abs(det) < PARALLEL * abs(aa * bb):
            # Parallel lines: any point will do.
            bb, ab, b = 1.0, 0.0, 0.0
            det = aa
        ds, dt = (bb * a - ab * b) / det, (aa * b - ab * a) / det
        s, t = s - ds, t - dt
        if abs(ds) + abs(dt) < 1e-15:
            break
    p, tp, _ = _evaluate(first, s)
    q, tq, _ = _evaluate(second, t)
    if first[3] + second[3] > 0.0:
        x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    else:
        x, y, z = (
            tp[1] * tq[2] - tp[2] * tq[1],
            tp[2] * tq[0] - tp[0] * tq[2],
            tp[0] * tq[1] - tp[1] * tq[0],
        )
    length = math.sqrt(x * x + y * y + z * z)
    if not length > 0.0:
        return False, 0.0, 0.0, 0.0, p, q
    length = math.copysign(length, x * n[0] + y * n[1] + z * n[2])
    return True, x / length, y / length, z / length, p, q


@inner_kernel
def _parameter(curve: Curve, p: Vector) -> float:
    """Return the parameter of the point of a curve that is about closest to a point."""
    c, e, f, _ = curve
    d = (p[0] - c[0], p[1] - c[1], p[2] - c[2])
    if _dot(f, f) > 0.0:
        return math.atan2(_dot(d, f), _dot(d, e))
    square = _dot(e, e)
    return _dot(d, e) / square if square > 0.0 else 0.0


@inner_kernel
def _evaluate(curve: Curve, s: float) -> tuple[Vector, Vector, Vector]:
    """Return a point of a curve, and its first and second derivative by the parameter."""
    c, e, f, _ = curve
    if _dot(f, f) > 0.0:
        cos, sin = math.cos(s), math.sin(s)
        x, y, z = (
            cos * e[0] + sin * f[0],
            cos * e[1] + sin * f[1],
            cos * e[2] + sin * f[2],
        )
        tangent = (cos * f[0] - sin * e[0], cos * f[1] - sin * e[1], cos * f[2] - sin * e[2])
        return (c[0] + x, c[1] + y, c[2] + z), tangent, (-x, -y, -z)
    return (c[0] + s * e[0], c[1] + s * e[1], c[2] + s * e[2]), e, (0.0, 0.0, 0.0)


@inner_kernel
def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
