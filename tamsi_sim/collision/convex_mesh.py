"""Convex meshes: signed distance of a point, and the corner furthest in a direction."""

from __future__ import annotations

import math

from contact_core.shapes import ShapeKind
from tamsi_sim.arrays.borrowing import inner_kernel
from tamsi_sim.arrays.data import Meshes

MESH = int(ShapeKind.MESH)


@inner_kernel
def mesh_distance(
    meshes: Meshes, mesh: int, x: float, y: float, z: float
) -> tuple[float, float, float, float]:
    """Return the signed distance of a point to a convex mesh, and the outward normal.

    Args:
        meshes: The meshes.
        mesh: Which one.
        x: First coordinate of the point in the mesh's frame [m].
        y: Second coordinate.
        z: Third coordinate.

    Returns:
        (distance [m], negative inside; then the unit normal's x, y, z, mesh frame).
    """
    first, last = meshes.first_face[mesh], meshes.first_face[mesh + 1]
    plane = meshes.plane
    inside, nearest = -math.inf, first
    for face in range(first, last):
        height = plane[face, 0] * x + plane[face, 1] * y + plane[face, 2] * z - plane[face, 3]
        if height > inside:
            inside, nearest = height, face
    if inside <= 0.0:
        return inside, plane[nearest, 0], plane[nearest, 1], plane[nearest, 2]
    # Outside, the closest point lies on a face that looks at the point.
    best, px, py, pz = math.inf, 0.0, 0.0, 0.0
    for face in range(first, last):
        height = plane[face, 0] * x + plane[face, 1] * y + plane[face, 2] * z - plane[face, 3]
        if height > 0.0 and height * height < best:
            u, v, w = _closest_on_face(meshes, face, x, y, z)
            square = (x - u) * (x - u) + (y - v) * (y - v) + (z - w) * (z - w)
            if square < best:
                best, px, py, pz = square, u, v, w
    distance = math.sqrt(best)
    if distance < 1e-12:
        return distance, plane[nearest, 0], plane[nearest, 1], plane[nearest, 2]
    return distance, (x - px) / distance, (y - py) / distance, (z - pz) / distance


@inner_kernel
def _closest_on_face(
    meshes: Meshes, face: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Closest point of a face: its projection if that is inside, else on a side."""
    p = (x, y, z)
    plane = meshes.plane[face]
    height = plane[0] * x + plane[1] * y + plane[2] * z - plane[3]
    best = math.inf
    closest = (x - height * plane[0], y - height * plane[1], z - height * plane[2])
    outside = False
    found = closest
    previous = meshes.corner[meshes.first_corner[face + 1] - 1]
    for k in range(meshes.first_corner[face], meshes.first_corner[face + 1]):
        a, b = meshes.vertex[previous], meshes.vertex[meshes.corner[k]]
        previous = meshes.corner[k]
        side = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
        way = (p[0] - a[0], p[1] - a[1], p[2] - a[2])
        # The normal times the side points into the face.
        inward = (
            (plane[1] * side[2] - plane[2] * side[1]) * way[0]
            + (plane[2] * side[0] - plane[0] * side[2]) * way[1]
            + (plane[0] * side[1] - plane[1] * side[0]) * way[2]
        )
        if inward < 0.0:
            outside = True
            length = side[0] * side[0] + side[1] * side[1] + side[2] * side[2]
            t = (side[0] * way[0] + side[1] * way[1] + side[2] * way[2]) / length
            t = min(max(t, 0.0), 1.0)
            q = (a[0] + t * side[0], a[1] + t * side[1], a[2] + t * side[2])
            dx, dy, dz = p[0] - q[0], p[1] - q[1], p[2] - q[2]
            square = dx * dx + dy * dy + dz * dz
            if square < best:
                best, found = square, q
    return found if outside else closest


@inner_kernel
def furthest_vertex(meshes: Meshes, mesh: int, x: float, y: float, z: float) -> int:
    """Return the vertex of a mesh that is furthest in a direction of its frame."""
    best, most = meshes.first_vertex[mesh], -math.inf
    for vertex in range(meshes.first_vertex[mesh], meshes.first_vertex[mesh + 1]):
        v = meshes.vertex[vertex]
        reach = v[0] * x + v[1] * y + v[2] * z
        if reach > most:
            best, most = vertex, reach
    return best
