"""Capsules and the sides of cylinders: contacts of an axis segment with a shape."""

from __future__ import annotations

import math

from contact_core.collision.arrays import Encounter, Shapes
from contact_core.collision.collide_convex import collide_convex
from contact_core.collision.collide_points import (
    add_contact,
    collide_corners,
    collide_ends,
    collide_rims,
    probe,
    to_shape,
    turn_to_world,
)
from contact_core.kernel import inner_kernel

# A side contact gains its full weight when it is deeper than the contacts at the ends by
# this share of the radius; the ramp keeps the force continuous when an end takes over.
RAMP = 0.005
# A side contact's normal is at right angles to the axis, up to this cosine.
ACROSS = 1e-6
BISECTIONS = 30


@inner_kernel
def collide_capsule_half_space(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Capsule A against half space B."""
    collide_ends(shapes, contacts, pair, 0)


@inner_kernel
def collide_capsule_box(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Capsule A against box B: both ends on a face, the closest point on an edge."""
    _collide_side_box(shapes, contacts, pair, collide_ends(shapes, contacts, pair, 0))


@inner_kernel
def collide_cylinder_half_space(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Cylinder A against half space B: standing, tilted or lying."""
    collide_rims(shapes, contacts, pair, 0)


@inner_kernel
def collide_cylinder_box(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Cylinder A against box B: rims on faces, side on edges, corners on caps.

    Where none of these points is inside, a rim crosses an edge.
    """
    before = contacts.number[0]
    deepest = collide_rims(shapes, contacts, pair, 0)
    deepest = max(deepest, collide_corners(shapes, contacts, pair, 1))
    _collide_side_box(shapes, contacts, pair, deepest)
    if contacts.number[0] == before:
        collide_convex(shapes, contacts, pair)


@inner_kernel
def collide_capsule_capsule(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Capsule A against capsule B."""
    deepest = collide_ends(shapes, contacts, pair, 0)
    deepest = max(deepest, collide_ends(shapes, contacts, pair, 1))
    _collide_sides(shapes, contacts, pair, deepest)


@inner_kernel
def collide_capsule_cylinder(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Capsule A against cylinder B: the ends, and the point of the axis closest to B."""
    deepest = collide_ends(shapes, contacts, pair, 0)
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    radius, half = shapes.size[a, 0], shapes.size[a, 1]
    p, r = shapes.position[a], shapes.rotation[a]
    start = (p[0] - half * r[0, 2], p[1] - half * r[1, 2], p[2] - half * r[2, 2])
    end = (p[0] + half * r[0, 2], p[1] + half * r[1, 2], p[2] + half * r[2, 2])
    x, y, z = _closest_between(shapes, b, start, end)
    distance, nx, ny, nz = probe(shapes, b, x, y, z)
    depth = radius - distance
    if depth < 0.0:
        return
    weight = _ramp(depth, deepest, radius)
    if weight > 0.0:
        back = radius - 0.5 * depth
        point = (x - back * nx, y - back * ny, z - back * nz)
        add_contact(contacts, pair, depth, (nx, ny, nz), point, weight)


@inner_kernel
def collide_cylinder_cylinder(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Cylinder A against cylinder B: rims and sides, or else a rim that crosses a rim."""
    before = contacts.number[0]
    deepest = max(collide_rims(shapes, contacts, pair, 0), collide_rims(shapes, contacts, pair, 1))
    _collide_sides(shapes, contacts, pair, deepest)
    if contacts.number[0] == before:
        collide_convex(shapes, contacts, pair)


@inner_kernel
def _closest_between(
    shapes: Shapes,
    shape: int,
    start: tuple[float, float, float],
    end: tuple[float, float, float],
) -> tuple[float, float, float]:
    """Return the point of a segment that is closest to, or deepest in, a convex shape.

    The signed distance of a convex shape is convex along a line, and its slope there is the
    normal's component along it, so bisection finds where it changes sign.
    """
    dx, dy, dz = end[0] - start[0], end[1] - start[1], end[2] - start[2]
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        t = 0.5 * (low + high)
        _, nx, ny, nz = probe(
            shapes, shape, start[0] + t * dx, start[1] + t * dy, start[2] + t * dz
        )
        if nx * dx + ny * dy + nz * dz > 0.0:
            high = t
        else:
            low = t
    t = 0.5 * (low + high)
    return start[0] + t * dx, start[1] + t * dy, start[2] + t * dz


@inner_kernel
def _ramp(depth: float, deepest: float, radius: float) -> float:
    """Weight of a side contact beside contacts at the ends that are ``deepest`` deep."""
    return min(max((depth - deepest) / (RAMP * radius), 0.0), 1.0)


@inner_kernel
def _collide_side_box(shapes: Shapes, contacts: Encounter, pair: int, deepest: float) -> None:
    """Side of capsule or cylinder A on an edge or corner of box B."""
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    radius, half = shapes.size[a, 0], shapes.size[a, 1]
    p, r = shapes.position[a], shapes.rotation[a]
    start = to_shape(shapes, b, p[0] - half * r[0, 2], p[1] - half * r[1, 2], p[2] - half * r[2, 2])
    end = to_shape(shapes, b, p[0] + half * r[0, 2], p[1] + half * r[1, 2], p[2] + half * r[2, 2])
    t = closest_to_box(start, end, shapes.size[b])
    if t <= 0.0 or t >= 1.0:
        return
    s = (2.0 * t - 1.0) * half
    x, y, z = p[0] + s * r[0, 2], p[1] + s * r[1, 2], p[2] + s * r[2, 2]
    distance, nx, ny, nz = probe(shapes, b, x, y, z)
    depth = radius - distance
    # Not so where the axis itself enters the box, which is for the ends to handle.
    along = nx * r[0, 2] + ny * r[1, 2] + nz * r[2, 2]
    if depth < 0.0 or abs(along) > ACROSS:
        return
    weight = _ramp(depth, deepest, radius)
    if weight > 0.0:
        back = radius - 0.5 * depth
        point = (x - back * nx, y - back * ny, z - back * nz)
        add_contact(contacts, pair, depth, (nx, ny, nz), point, weight)


@inner_kernel
def closest_to_box(
    start: tuple[float, float, float], end: tuple[float, float, float], size: tuple[float, ...]
) -> float:
    """Return where a segment is closest to a box.

    The squared distance is convex and piecewise quadratic along the segment, so Newton's
    method, kept inside a shrinking bracket, ends after a few steps.

    Args:
        start: Start of the segment in the box's frame [m].
        end: Its end.
        size: Half extents of the box [m].

    Returns:
        Position along the segment, 0 at the start, 1 at the end; 0.5 of the solution where
        it is not unique.
    """
    low, high, t = 0.0, 1.0, 0.5
    for _ in range(40):
        slope, curvature = 0.0, 0.0
        for i in range(3):
            rate = end[i] - start[i]
            x = start[i] + t * rate
            if x > size[i]:
                slope += (x - size[i]) * rate
                curvature += rate * rate
            elif x < -size[i]:
                slope += (x + size[i]) * rate
                curvature += rate * rate
        if slope > 0.0:
            high = t
        elif slope < 0.0:
            low = t
        else:
            break
        new = t - slope / curvature
        if new <= low:
            new = low if low == 0.0 else 0.5 * (low + t)
        elif new >= high:
            new = high if high == 1.0 else 0.5 * (high + t)
        if abs(new - t) < 1e-14:
            break
        t = new
    return t


@inner_kernel
def _collide_sides(shapes: Shapes, contacts: Encounter, pair: int, deepest: float) -> None:
    """Sides of two capsules or cylinders, where both axes' closest points are inside."""
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    half_a, half_b = shapes.size[a, 1], shapes.size[b, 1]
    radius_a, radius_b = shapes.size[a, 0], shapes.size[b, 0]
    pa, ra = shapes.position[a], shapes.rotation[a]
    # A's axis in B's frame: centre (x, y, z), direction (u, v, w); B's axis is z.
    x, y, z = to_shape(shapes, b, pa[0], pa[1], pa[2])
    rb = shapes.rotation[b]
    u = rb[0, 0] * ra[0, 2] + rb[1, 0] * ra[1, 2] + rb[2, 0] * ra[2, 2]
    v = rb[0, 1] * ra[0, 2] + rb[1, 1] * ra[1, 2] + rb[2, 1] * ra[2, 2]
    w = rb[0, 2] * ra[0, 2] + rb[1, 2] * ra[1, 2] + rb[2, 2] * ra[2, 2]
    across = u * u + v * v
    if across < 1e-9:
        # Parallel: touch in the middle of the overlap.
        low, high = max(-half_b, z - half_a), min(half_b, z + half_a)
        if low >= high:
            return
        on_b = 0.5 * (low + high)
        on_a = (on_b - z) * w
    else:
        on_a = -(u * x + v * y) / across
        on_b = z + on_a * w
    if abs(on_a) >= half_a or abs(on_b) >= half_b:
        return
    dx, dy, dz = x + on_a * u, y + on_a * v, z + on_a * w - on_b
    distance = math.sqrt(dx * dx + dy * dy + dz * dz)
    depth = radius_a + radius_b - distance
    if depth < 0.0 or distance == 0.0:
        return
    weight = _ramp(depth, deepest, min(radius_a, radius_b))
    if weight > 0.0:
        nx, ny, nz = turn_to_world(shapes, b, dx / distance, dy / distance, dz / distance)
        back = radius_a - 0.5 * depth
        point = (
            pa[0] + on_a * ra[0, 2] - back * nx,
            pa[1] + on_a * ra[1, 2] - back * ny,
            pa[2] + on_a * ra[2, 2] - back * nz,
        )
        add_contact(contacts, pair, depth, (nx, ny, nz), point, weight)
