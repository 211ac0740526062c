"""Signed distance from a point to a primitive shape, in the shape's own frame.

Used by the simulator's narrow phase for spheres and by the contact particle filter to
keep its particles on the robot's surface.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import kernel
from contact_core.multibody.collision.shapes import ShapeKind

SPHERE = int(ShapeKind.SPHERE)
BOX = int(ShapeKind.BOX)
CAPSULE = int(ShapeKind.CAPSULE)
CYLINDER = int(ShapeKind.CYLINDER)


@kernel
def signed_distance(
    kind: int, size: np.ndarray, x: float, y: float, z: float
) -> tuple[float, float, float, float]:
    """Return the distance of a point to a shape and the outward normal there.

    The closest point of the surface is the point minus distance times normal. Where the
    normal is not unique (on a sphere's centre, say) one of the valid normals is returned.

    Args:
        kind: A ShapeKind.
        size: (3) [m], see ``Shape.size``.
        x: First coordinate of the point in the shape's frame [m].
        y: Second coordinate.
        z: Third coordinate.

    Returns:
        (distance [m], negative inside; then the unit normal's x, y, z, shape frame).
    """
    if kind == SPHERE:
        distance, nx, ny, nz = _to_segment(x, y, z, 0.0)
        return distance - size[0], nx, ny, nz
    if kind == CAPSULE:
        distance, nx, ny, nz = _to_segment(x, y, z, size[1])
        return distance - size[0], nx, ny, nz
    if kind == CYLINDER:
        return _to_cylinder(size[0], size[1], x, y, z)
    if kind == BOX:
        return _to_box(size, x, y, z)
    return z, 0.0, 0.0, 1.0


@kernel
def _to_segment(
    x: float, y: float, z: float, half_length: float
) -> tuple[float, float, float, float]:
    """Distance to the segment of the z axis and the direction away from it."""
    dz = z - min(max(z, -half_length), half_length)
    distance = math.sqrt(x * x + y * y + dz * dz)
    if distance == 0.0:
        return 0.0, 1.0, 0.0, 0.0
    return distance, x / distance, y / distance, dz / distance


@kernel
def _to_cylinder(
    radius: float, half_length: float, x: float, y: float, z: float
) -> tuple[float, float, float, float]:
    rho = math.sqrt(x * x + y * y)
    if rho > 0.0:
        ux, uy = x / rho, y / rho
    else:
        ux, uy = 1.0, 0.0
    side = rho - radius
    cap = abs(z) - half_length
    up = 1.0 if z >= 0.0 else -1.0
    if side <= 0.0 and cap <= 0.0:
        if side > cap:
            return side, ux, uy, 0.0
        return cap, 0.0, 0.0, up
    a = max(side, 0.0)
    b = max(cap, 0.0)
    distance = math.sqrt(a * a + b * b)
    return distance, a / distance * ux, a / distance * uy, b / distance * up


@kernel
def _to_box(size: np.ndarray, x: float, y: float, z: float) -> tuple[float, float, float, float]:
    dx = x - min(max(x, -size[0]), size[0])
    dy = y - min(max(y, -size[1]), size[1])
    dz = z - min(max(z, -size[2]), size[2])
    distance = math.sqrt(dx * dx + dy * dy + dz * dz)
    if distance > 0.0:
        return distance, dx / distance, dy / distance, dz / distance
    inside_x = abs(x) - size[0]
    inside_y = abs(y) - size[1]
    inside_z = abs(z) - size[2]
    if inside_x >= inside_y and inside_x >= inside_z:
        return inside_x, 1.0 if x >= 0.0 else -1.0, 0.0, 0.0
    if inside_y >= inside_z:
        return inside_y, 0.0, 1.0 if y >= 0.0 else -1.0, 0.0
    return inside_z, 0.0, 0.0, 1.0 if z >= 0.0 else -1.0
