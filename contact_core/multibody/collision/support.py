"""Solids as their furthest points and faces: all that the general pair routine asks of them."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel
from contact_core.multibody.collision.arrays import MAX_CARRYING, Shapes
from contact_core.multibody.collision.collide_points import (
    local_point,
    turn_to_shape,
    turn_to_world,
)
from contact_core.multibody.collision.convex_mesh import Meshes, furthest_vertex
from contact_core.multibody.collision.shapes import ShapeKind

BOX = int(ShapeKind.BOX)
CAPSULE = int(ShapeKind.CAPSULE)
MESH = int(ShapeKind.MESH)
CYLINDER = int(ShapeKind.CYLINDER)
# What a face is if it is no polygon, in place of its number of corners: a disc, given by its
# middle and a point of its rim along each of two axes, or a line, given by its ends.
DISC = 1
LINE = 2
# A direction is along a cylinder's axis rather than across it from this cosine on.
ALONG = math.sqrt(0.5)
# A face holds the furthest point if that is so close to its plane, as share of its distance.
ON_FACE = 1e-5
# In place of the number of a mesh's face: the one that looks most in a direction.
BEST = -1
# Faces that turn away by less than this from the best one carry with it [rad].
NEARLY_FLAT = 0.1


@inner_kernel
def furthest_point(
    shapes: Shapes, shape: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Return the point of a box, capsule, cylinder or mesh that is furthest in a direction.

    Args:
        shapes: The shapes and their poses.
        shape: The shape.
        x: First coordinate of the unit direction, world.
        y: Second coordinate.
        z: Third coordinate.

    Returns:
        The point, world [m].
    """
    u, v, w = turn_to_shape(shapes, shape, x, y, z)
    kind, size = shapes.kind[shape], shapes.size[shape]
    if kind == MESH:
        p = shapes.meshes.vertex[furthest_vertex(shapes.meshes, int(size[0]), u, v, w)]
        return local_point(shapes, shape, p[0], p[1], p[2])
    if kind == BOX:
        return local_point(
            shapes,
            shape,
            math.copysign(size[0], u),
            math.copysign(size[1], v),
            math.copysign(size[2], w),
        )
    radius, end = size[0], math.copysign(size[1], w)
    if kind == CAPSULE:
        return local_point(shapes, shape, radius * u, radius * v, end + radius * w)
    across = math.sqrt(u * u + v * v)
    share = radius / across if across > 1e-12 else 0.0
    return local_point(shapes, shape, share * u, share * v, end)


@inner_kernel
def is_round(shapes: Shapes, shape: int) -> bool:
    """Whether a shape is a capsule or a cylinder."""
    return bool(shapes.kind[shape] in (CAPSULE, CYLINDER))


@inner_kernel
def supporting_face(
    shapes: Shapes, shape: int, x: float, y: float, z: float, corners: np.ndarray, face: int = BEST
) -> tuple[int, float, float, float]:
    """Find the face of a box, cylinder or mesh that looks most in a direction.

    The side of a cylinder or capsule has no face; the line on it stands for one. The cap of a
    cylinder is a disc.

    Args:
        shapes: The shapes and their poses.
        shape: The shape.
        x: First coordinate of the unit direction, world.
        y: Second coordinate.
        z: Third coordinate.
        corners: (n, 3) gets the corners, world, counter-clockwise as seen from outside [m].
        face: Another face of a mesh, from :func:`carrying_faces`.

    Returns:
        (number of corners, DISC or LINE; the face's outward unit normal, the direction itself
        for a line).
    """
    u, v, w = turn_to_shape(shapes, shape, x, y, z)
    kind, size = shapes.kind[shape], shapes.size[shape]
    if kind == MESH:
        if face == BEST:
            face = _best_face(shapes.meshes, int(size[0]), u, v, w)
        return _mesh_face(shapes, shape, face, corners)
    if kind == BOX:
        return _box_face(shapes, shape, u, v, w, corners)
    if kind == CYLINDER and abs(w) > ALONG:
        return _cap(shapes, shape, w, corners)
    _line(shapes, shape, u, v, w, corners)
    return LINE, x, y, z


@inner_kernel
def carrying_faces(
    shapes: Shapes,
    shape: int,
    x: float,
    y: float,
    z: float,
    depth: float,
    faces: np.ndarray,
    parts: np.ndarray,
) -> int:
    """Find the faces that carry a contact together, and the part of each.

    A mesh has faces that are nearly one. Were only the best of them to carry, it would be another
    one step by step, and a stone would never rest. Their parts change steadily with the direction:
    they fade as a face turns away and as its corners leave the contact.

    Args:
        shapes: The shapes and their poses.
        shape: The shape.
        x: First coordinate of the unit direction in which it is loaded, world.
        y: Second coordinate.
        z: Third coordinate.
        depth: How deep its furthest point is inside the other shape [m].
        faces: (n) gets the faces; BEST for the only one of a shape that is no mesh.
        parts: (n) gets their parts, of a sum of 1.

    Returns:
        How many there are.
    """
    faces[0], parts[0] = BEST, 1.0
    if shapes.kind[shape] != MESH:
        return 1
    meshes, mesh = shapes.meshes, int(shapes.size[shape, 0])
    u, v, w = turn_to_shape(shapes, shape, x, y, z)
    best = _best_face(meshes, mesh, u, v, w)
    faces[0] = best
    n = meshes.plane[best]
    least = math.acos(min(1.0, n[0] * u + n[1] * v + n[2] * w))
    bound, count, total = math.cos(least + NEARLY_FLAT), 1, 0.0
    for face in range(meshes.first_face[mesh], meshes.first_face[mesh + 1]):
        n = meshes.plane[face]
        alignment = n[0] * u + n[1] * v + n[2] * w
        if alignment > bound and face != best and count < MAX_CARRYING:
            faces[count] = face
            angle = math.acos(min(1.0, alignment)) - least
            parts[count] = 1.0 - max(0.0, angle) / NEARLY_FLAT
            count += 1
    if count > 1:
        p = meshes.vertex[furthest_vertex(meshes, mesh, u, v, w)]
        top = p[0] * u + p[1] * v + p[2] * w
        for k in range(count):
            parts[k] *= _load(meshes, faces[k], u, v, w, top, depth)
            total += parts[k]
        for k in range(count):
            parts[k] /= total
    return count


@inner_kernel
def _load(
    meshes: Meshes, face: int, x: float, y: float, z: float, top: float, depth: float
) -> float:
    """Return the mean depth of a face's corners, of those inside, as share of the greatest."""
    first, last = meshes.first_corner[face], meshes.first_corner[face + 1]
    load = 0.0
    for k in range(first, last):
        q = meshes.vertex[meshes.corner[k]]
        load += max(0.0, depth - (top - (q[0] * x + q[1] * y + q[2] * z)))
    return load / (depth * (last - first)) if depth > 0.0 else 1.0


@inner_kernel
def _best_face(meshes: Meshes, mesh: int, x: float, y: float, z: float) -> int:
    """Of the faces at the furthest corner, the one that looks most in the direction."""
    p = meshes.vertex[furthest_vertex(meshes, mesh, x, y, z)]
    slack = ON_FACE * (abs(p[0]) + abs(p[1]) + abs(p[2]))
    best, most = meshes.first_face[mesh], -1.0
    for face in range(meshes.first_face[mesh], meshes.first_face[mesh + 1]):
        n = meshes.plane[face]
        if n[0] * p[0] + n[1] * p[1] + n[2] * p[2] > n[3] - slack:
            alignment = n[0] * x + n[1] * y + n[2] * z
            if alignment > most:
                best, most = face, alignment
    return best


@inner_kernel
def _mesh_face(
    shapes: Shapes, shape: int, face: int, corners: np.ndarray
) -> tuple[int, float, float, float]:
    meshes = shapes.meshes
    first = meshes.first_corner[face]
    count = meshes.first_corner[face + 1] - first
    for k in range(count):
        q = meshes.vertex[meshes.corner[first + k]]
        _put(shapes, shape, corners, k, q[0], q[1], q[2])
    n = meshes.plane[face]
    nx, ny, nz = turn_to_world(shapes, shape, n[0], n[1], n[2])
    return count, nx, ny, nz


@inner_kernel
def _box_face(
    shapes: Shapes, shape: int, x: float, y: float, z: float, corners: np.ndarray
) -> tuple[int, float, float, float]:
    p, r, size = shapes.position[shape], shapes.rotation[shape], shapes.size[shape]
    k, most = 0, x
    if abs(y) > abs(most):
        k, most = 1, y
    if abs(z) > abs(most):
        k, most = 2, z
    sign = math.copysign(1.0, most)
    e, f = (k + 1) % 3, (k + 2) % 3
    for corner in range(4):
        # About axis k in the positive sense, or the negative one on the face behind.
        s = size[e] if corner in (0, 3) else -size[e]
        t = sign * size[f] if corner < 2 else -sign * size[f]
        for i in range(3):
            corners[corner, i] = p[i] + sign * size[k] * r[i, k] + s * r[i, e] + t * r[i, f]
    return 4, sign * r[0, k], sign * r[1, k], sign * r[2, k]


@inner_kernel
def _cap(
    shapes: Shapes, shape: int, z: float, corners: np.ndarray
) -> tuple[int, float, float, float]:
    """The disc at one end of a cylinder; its axes are counter-clockwise as seen from outside."""
    radius, sign = shapes.size[shape, 0], math.copysign(1.0, z)
    height = sign * shapes.size[shape, 1]
    _put(shapes, shape, corners, 0, 0.0, 0.0, height)
    _put(shapes, shape, corners, 1, radius, 0.0, height)
    _put(shapes, shape, corners, 2, 0.0, sign * radius, height)
    nx, ny, nz = turn_to_world(shapes, shape, 0.0, 0.0, sign)
    return DISC, nx, ny, nz


@inner_kernel
def _line(shapes: Shapes, shape: int, x: float, y: float, z: float, corners: np.ndarray) -> None:
    """The line on the side of a cylinder or capsule that is furthest in a direction."""
    radius, half = shapes.size[shape, 0], shapes.size[shape, 1]
    if shapes.kind[shape] == CAPSULE:
        a, b, c = radius * x, radius * y, radius * z
    else:
        across = radius / math.sqrt(x * x + y * y)
        a, b, c = across * x, across * y, 0.0
    _put(shapes, shape, corners, 0, a, b, c - half)
    _put(shapes, shape, corners, 1, a, b, c + half)


@inner_kernel
def _put(
    shapes: Shapes, shape: int, corners: np.ndarray, k: int, x: float, y: float, z: float
) -> None:
    """Write a point of a shape's frame as corner k."""
    corners[k, 0], corners[k, 1], corners[k, 2] = local_point(shapes, shape, x, y, z)
