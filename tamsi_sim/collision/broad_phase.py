"""Which shapes may touch: spheres about bodies first, then about shapes."""

from __future__ import annotations

from contact_core.shapes import ShapeKind
from contact_core.signed_distance import signed_distance
from tamsi_sim.arrays.borrowing import inlined_kernel
from tamsi_sim.arrays.data import Model, Shapes, Work
from tamsi_sim.collision.collide_points import to_shape

_BOX = int(ShapeKind.BOX)
_HALF_SPACE = int(ShapeKind.HALF_SPACE)


@inlined_kernel
def place_shapes(model: Model, work: Work) -> None:
    """Compute the pose of every shape in the world."""
    for shape in range(model.shape_kind.shape[0]):
        body = model.shape_body[shape]
        rotation, position = work.shape_rotation[shape], work.shape_position[shape]
        local, offset = model.shape_rotation[shape], model.shape_position[shape]
        if body < 0:
            for i in range(3):
                position[i] = offset[i]
                for j in range(3):
                    rotation[i, j] = local[i, j]
            continue
        r, p = work.rotation[body], work.position[body]
        for i in range(3):
            position[i] = p[i] + r[i, 0] * offset[0] + r[i, 1] * offset[1] + r[i, 2] * offset[2]
            for j in range(3):
                rotation[i, j] = (
                    r[i, 0] * local[0, j] + r[i, 1] * local[1, j] + r[i, 2] * local[2, j]
                )


@inlined_kernel
def place_hulls(model: Model, work: Work) -> None:
    """Compute the centre of every hull in the world."""
    for hull in range(model.hull_body.shape[0]):
        body = model.hull_body[hull]
        center, position = model.hull_center[hull], work.hull_position[hull]
        if body < 0:
            for i in range(3):
                position[i] = center[i]
            continue
        r, p = work.rotation[body], work.position[body]
        for i in range(3):
            position[i] = p[i] + r[i, 0] * center[0] + r[i, 1] * center[1] + r[i, 2] * center[2]


@inlined_kernel
def hulls_close(model: Model, work: Work, shapes: Shapes, pair: int) -> bool:
    """Whether the spheres of two hulls touch, or A's touches the only shape of B.

    Args:
        model: The model.
        work: Reads the hulls' positions.
        shapes: The shapes and their poses.
        pair: The pair of hulls.
    """
    a, b = model.hull_pair[pair, 0], model.hull_pair[pair, 1]
    p = work.hull_position[a]
    shape = model.hull_shape[b]
    if shape >= 0:
        return _ball_close(
            shapes, p[0], p[1], p[2], model.hull_radius[a], shape, model.hull_radius[b]
        )
    q = work.hull_position[b]
    x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    reach = model.hull_radius[a] + model.hull_radius[b]
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
