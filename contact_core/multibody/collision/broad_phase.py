"""Which shapes may touch: spheres about bodies first, by sweep and prune, then about shapes."""

from __future__ import annotations

import numpy as np

from contact_core.base.kernel import inlined_kernel
from contact_core.multibody.collision.arrays import Geometry, Hulls, ShapePoses, Shapes, SweptHulls
from contact_core.multibody.collision.collide_points import to_shape
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.multibody.collision.signed_distance import signed_distance
from contact_core.multibody.rigid_body.arrays import Kinematics

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
def find_close_hulls(
    hulls: Hulls, rules: np.ndarray, centers: np.ndarray, radius: np.ndarray, sweep: SweptHulls
) -> bool:
    """Sweep and prune: find the hulls that may touch, and whose spheres overlap.

    What is found, and in which order, does not depend on the order of the last sweep.

    Args:
        hulls: The hulls.
        rules: (n, n) see Rules.hulls.
        centers: (nh, 3) where they are in the world [m].
        radius: (nh) of their spheres [m].
        sweep: Its order is where the sort starts; all is written.

    Returns:
        Whether there is room for the pairs.
    """
    _sort_ends(centers, radius, sweep)
    order, ends, first, found = sweep.order, sweep.ends, sweep.first, 0
    count, room = order.shape[0], sweep.close.shape[0]
    for i in range(count + 1):
        first[i] = 0
    for place in range(count):
        i = order[place]
        for k in range(place + 1, count):
            j = order[k]
            if ends[j, 0] > ends[i, 1]:
                break
            moving = hulls.body[i] >= 0 or hulls.body[j] >= 0
            if (
                moving
                and rules[hulls.group[i], hulls.group[j]]
                and _overlap(centers[i], centers[j], radius[i] + radius[j])
            ):
                if found < room:
                    sweep.close[found, 0], sweep.close[found, 1] = min(i, j), max(i, j)
                    first[min(i, j)] += 1
                found += 1
    _sort_partners(sweep, min(found, room))
    sweep.number[0] = found
    return found <= room


@inlined_kernel
def _sort_ends(centers: np.ndarray, radius: np.ndarray, sweep: SweptHulls) -> None:
    """Sort the hulls along the axis on which they are spread most; they hardly move in a step."""
    axis, most = 0, -1.0
    for i in range(3):
        mean, square = 0.0, 0.0
        for hull in range(centers.shape[0]):
            mean += centers[hull, i] / centers.shape[0]
            square += centers[hull, i] * centers[hull, i] / centers.shape[0]
        if square - mean * mean > most:
            axis, most = i, square - mean * mean
    order, ends = sweep.order, sweep.ends
    for hull in range(centers.shape[0]):
        ends[hull, 0] = centers[hull, axis] - radius[hull]
        ends[hull, 1] = centers[hull, axis] + radius[hull]
    for place in range(1, order.shape[0]):
        hull, k = order[place], place
        while k > 0 and (
            ends[order[k - 1], 0] > ends[hull, 0]
            or (ends[order[k - 1], 0] == ends[hull, 0] and order[k - 1] > hull)
        ):
            order[k] = order[k - 1]
            k -= 1
        order[k] = hull


@inlined_kernel
def _overlap(a: np.ndarray, b: np.ndarray, reach: float) -> bool:
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return x * x + y * y + z * z <= reach * reach


@inlined_kernel
def _sort_partners(sweep: SweptHulls, found: int) -> None:
    """List what is close to each hull."""
    first, partner = sweep.first, sweep.partner
    for hull in range(first.shape[0] - 1):
        first[hull + 1] += first[hull]
    # Filled from the back, so that first ends up where it should.
    for k in range(found):
        i, j = sweep.close[k, 0], sweep.close[k, 1]
        first[i] -= 1
        partner[first[i]] = j
    for hull in range(first.shape[0] - 1):
        for k in range(first[hull] + 1, first[hull + 1]):
            j, place = partner[k], k
            while place > first[hull] and partner[place - 1] > j:
                partner[place] = partner[place - 1]
                place -= 1
            partner[place] = j


@inlined_kernel
def hulls_close(hulls: Hulls, centers: np.ndarray, shapes: Shapes, a: int, b: int) -> bool:
    """Whether the spheres of two hulls touch, or A's touches the only shape of B.

    Args:
        hulls: The hulls.
        centers: (nh, 3) where they are in the world [m].
        shapes: The shapes and their poses.
        a: Hull A.
        b: Hull B, a fixed one if one is.
    """
    p = centers[a]
    shape = hulls.shape[b]
    if shape >= 0:
        return _ball_close(shapes, p[0], p[1], p[2], hulls.radius[a], shape, hulls.radius[b])
    return _overlap(p, centers[b], hulls.radius[a] + hulls.radius[b])


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
