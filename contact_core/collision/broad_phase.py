"""Which shapes may touch: spheres about bodies first, then about shapes."""

from __future__ import annotations

import numpy as np

from contact_core.collision.arrays import Geometry, Hulls, ShapePoses, Shapes
from contact_core.collision.collide_points import to_shape
from contact_core.collision.shapes import ShapeKind
from contact_core.collision.signed_distance import signed_distance
from contact_core.kernel import inlined_kernel
from contact_core.rigid_body.arrays import Kinematics

_BOX = int(ShapeKind.BOX)
_HALF_SPACE = int(ShapeKind.HALF_SPACE)


@inlined_kernel
def place_shapes(geometry: Geometry, kinematics: Kinematics, poses: ShapePoses) -> None:
    """Compute the pose of every shape in the world.

    Args:
        geometry: The shapes.
        kinematics: Reads the bodies' poses.
        poses: Gets the shapes' poses.
    """
    for shape in range(geometry.kind.shape[0]):
        body = geometry.body[shape]
        rotation, position = poses.rotation[shape], poses.position[shape]
        local, offset = geometry.rotation[shape], geometry.position[shape]
        if body < 0:
            for i in range(3):
                position[i] = offset[i]
                for j in range(3):
                    rotation[i, j] = local[i, j]
            continue
        r, p = kinematics.rotation[body], kinematics.position[body]
        for i in range(3):
            position[i] = p[i] + r[i, 0] * offset[0] + r[i, 1] * offset[1] + r[i, 2] * offset[2]
            for j in range(3):
                rotation[i, j] = (
                    r[i, 0] * local[0, j] + r[i, 1] * local[1, j] + r[i, 2] * local[2, j]
                )


@inlined_kernel
def place_hulls(hulls: Hulls, kinematics: Kinematics, poses: ShapePoses) -> None:
    """Compute the centre of every hull in the world.

    Args:
        hulls: The hulls.
        kinematics: Reads the bodies' poses.
        poses: Gets the hulls' centres.
    """
    for hull in range(hulls.body.shape[0]):
        body = hulls.body[hull]
        center, position = hulls.center[hull], poses.hull[hull]
        if body < 0:
            for i in range(3):
                position[i] = center[i]
            continue
        r, p = kinematics.rotation[body], kinematics.position[body]
        for i in range(3):
            position[i] = p[i] + r[i, 0] * center[0] + r[i, 1] * center[1] + r[i, 2] * center[2]


@inlined_kernel
def hulls_close(hulls: Hulls, centers: np.ndarray, shapes: Shapes, pair: int) -> bool:
    """Whether the spheres of two hulls touch, or A's touches the only shape of B.

    Args:
        hulls: The hulls.
        centers: (nh, 3) where they are in the world [m].
        shapes: The shapes and their poses.
        pair: The pair of hulls.
    """
    a, b = hulls.pair[pair, 0], hulls.pair[pair, 1]
    p = centers[a]
    shape = hulls.shape[b]
    if shape >= 0:
        return _ball_close(shapes, p[0], p[1], p[2], hulls.radius[a], shape, hulls.radius[b])
    q = centers[b]
    x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    reach = hulls.radius[a] + hulls.radius[b]
    return x * x + y * y + z * z <= reach * reach


@inlined_kernel
def shapes_close(shapes: Shapes, a: int, b: int, radius_a: float, radius_b: float) -> bool:
    """Whether the bounding spheres of two shapes touch, or A's touches the solid B.

    Args:
        shapes: The shapes and their poses.
        a: Shape A.
        b: Shape B.
        radius_a: Bounding radius of A [m].
        radius_b: Bounding radius of B [m].
    """
    p = shapes.position[a]
    return _ball_close(shapes, p[0], p[1], p[2], radius_a, b, radius_b)


@inlined_kernel
def _ball_close(
    shapes: Shapes, x: float, y: float, z: float, radius: float, b: int, radius_b: float
) -> bool:
    """Whether a ball touches the bounding sphere of a shape, and the shape if that is cheap."""
    kind, p = shapes.kind[b], shapes.position[b]
    if kind != _HALF_SPACE:
        u, v, w = x - p[0], y - p[1], z - p[2]
        reach = radius + radius_b
        if u * u + v * v + w * w > reach * reach:
            return False
        if kind != _BOX:
            return True
    # A table top is much smaller than its bounding sphere.
    u, v, w = to_shape(shapes, b, x, y, z)
    distance, _, _, _ = signed_distance(kind, shapes.size[b], u, v, w)
    return distance <= radius
