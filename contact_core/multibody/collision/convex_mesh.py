"""Convex polyhedra: how a cloud of points becomes one, and what contact asks of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import coal
import numpy as np
import scipy

from contact_core.base.errors import ModelError
from contact_core.base.kernel import inner_kernel

# Corners this close to a face's plane, as a share of the hull's extent, belong to the face:
# files hold coordinates in single precision.
FLATNESS = 1e-6
# More would make every step slow, and contact no better: a hull of more is simplified by leaving
# out corners, until it has as many or none of the others would stick out by more than the finest
# share of its extent. What sticks out by more than the coarsest is refused.
MAX_FACES = 256
FINEST, COARSEST = 1e-4, 3e-2
TIGHT = 1e-12  # that corners may be beyond what is taken for the closest point [m]
CELLS = 64  # of the hull's extent, in each direction


@dataclass(frozen=True, eq=False)
class ConvexMesh:
    """A convex polyhedron whose frame's origin is the middle of the box around it.

    Attributes:
        vertices: (n, 3) its corners [m].
        faces: For each face its corners, counter-clockwise as seen from outside.
        planes: (m, 4) outward unit normal of each face and its distance from the origin [m].
        deviation: Greatest distance of the whole hull from it, where it is simplified [m].
    """

    vertices: np.ndarray
    faces: tuple[np.ndarray, ...]
    planes: np.ndarray
    deviation: float = 0.0

    @property
    def area(self) -> float:
        """Area [m^2] of the surface."""
        doubled = 0.0
        for face, plane in zip(self.faces, self.planes, strict=True):
            corners = self.vertices[face]
            doubled += np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0) @ plane[:3]
        return 0.5 * float(doubled)


class Meshes(NamedTuple):
    """Polyhedra as kernels read them, one after the other.

    Attributes:
        vertex: (n, 3) corners of all meshes in their frames [m].
        plane: (m, 4) outward unit normals of their faces and distances from the origin [m].
        corner: corners of the faces, counter-clockwise, face by face.
        first_vertex: (number of meshes + 1) first corner of each, then n.
        first_face: (number of meshes + 1) first face of each, then m.
        first_corner: (m + 1) first entry of ``corner`` of each face, then its length.
    """

    vertex: np.ndarray
    plane: np.ndarray
    corner: np.ndarray
    first_vertex: np.ndarray
    first_face: np.ndarray
    first_corner: np.ndarray


def convex_hull(
    points: np.ndarray, name: str, tolerance: float = 0.0
) -> tuple[ConvexMesh, np.ndarray]:
    """Return the convex hull of a cloud of points, with coplanar triangles merged.

    A simplified hull is the hull of some of its corners, so it lies inside the whole one.

    Args:
        points: (n, 3) [m].
        name: Name of the collision element, for the error.
        tolerance: How far the whole hull may stick out of a simplified one [m]; if zero, it is
            only simplified if it has more than MAX_FACES faces.

    Returns:
        The hull, and (3) where its frame's origin is among the points [m].

    Raises:
        ModelError: If the points span no volume, or with MAX_FACES faces the whole hull would
            stick out by more than the tolerance; if that is zero, a share COARSEST of its extent.
    """
    try:
        hull = scipy.spatial.ConvexHull(points)
        corners, deviation = points[hull.vertices], 0.0
        mesh, center = _polyhedron(hull, points, deviation)
        if tolerance > 0.0 or len(mesh.faces) > MAX_FACES:
            kept = _simplify(corners, tolerance)
            deviation = _distance_to_hull(corners, kept)
            mesh, center = _polyhedron(scipy.spatial.ConvexHull(kept), kept, deviation)
    except (scipy.spatial.QhullError, ValueError, IndexError) as error:
        raise ModelError(f"collision '{name}' is a mesh without a volume") from error
    extent = float(np.ptp(corners, axis=0).max())
    if deviation > (tolerance or COARSEST * extent):
        valid = f"{1e3 * tolerance:.3g} mm" if tolerance else f"{COARSEST:.0%} of its extent"
        raise ModelError(
            f"collision '{name}' is a mesh whose convex hull differs by {1e3 * deviation:.3g} mm "
            f"from one of {MAX_FACES} faces, more than {valid}: simplify it, or use primitive "
            "shapes"
        )
    return mesh, center


def stack_meshes(meshes: Sequence[ConvexMesh]) -> Meshes:
    """Return polyhedra as kernels read them, numbered in their order."""
    first_vertex = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [
        face + first
        for mesh, first in zip(meshes, first_vertex[:-1], strict=True)
        for face in mesh.faces
    ]
    return Meshes(
        np.concatenate([np.zeros((0, 3)), *(mesh.vertices for mesh in meshes)]),
        np.concatenate([np.zeros((0, 4)), *(mesh.planes for mesh in meshes)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *faces]),
        first_vertex,
        np.cumsum([0, *(len(mesh.faces) for mesh in meshes)]),
        np.cumsum([0, *(len(face) for face in faces)]),
    )


def hull_to_coal(points: np.ndarray) -> coal.ConvexBase:
    """Return the convex hull of points (n, 3) [m] as Coal's polyhedron.

    Raises:
        RuntimeError: If they have no volume.
    """
    corners = coal.StdVec_Vec3s()
    corners.extend(list(points))
    return coal.Convex.convexHull(corners, True, "Qt")


def hull_triangles(points: np.ndarray) -> np.ndarray:
    """Return (m, 3) corners of the triangles of a convex hull, counter-clockwise from outside.

    Args:
        points: (n, 3) [m].

    Raises:
        scipy.spatial.QhullError: If they have no volume.
    """
    hull = scipy.spatial.ConvexHull(points)
    p, q, r = np.moveaxis(points[hull.simplices], 1, 0)
    inward = np.einsum("ij,ij->i", np.cross(q - p, r - p), hull.equations[:, :3]) < 0.0
    return np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)


def depth_in_hull(points: np.ndarray, mesh: ConvexMesh) -> float:
    """Return how deep inside a hull the deepest point is.

    Args:
        points: (n, 3) in the hull's frame [m].
        mesh: The hull.

    Returns:
        Distance to the nearest face [m]; zero if all points are on faces or outside.
    """
    deepest = 0.0
    for part in np.array_split(points, 1 + len(points) * len(mesh.planes) // 1_000_000):
        heights = part @ mesh.planes[:, :3].T - mesh.planes[:, 3]
        deepest = max(deepest, -float(heights.max(axis=1).min(initial=0.0)))
    return deepest


def _polyhedron(
    hull: scipy.spatial.ConvexHull, points: np.ndarray, deviation: float
) -> tuple[ConvexMesh, np.ndarray]:
    corners = points[hull.vertices]
    low, high = corners.min(axis=0), corners.max(axis=0)
    center = 0.5 * (low + high)
    vertices = corners - center
    normals = hull.equations[:, :3]
    planes = np.column_stack([normals, -hull.equations[:, 3] - normals @ center])
    faces, kept = _merge_triangles(hull, vertices, planes, FLATNESS * (high - low).max())
    return ConvexMesh(vertices, tuple(faces), planes[kept], deviation), center


def _simplify(corners: np.ndarray, tolerance: float) -> np.ndarray:
    """Choose corners of a hull, in rounds, those that stick out most next.

    Returns:
        (n, 3) the chosen ones, whose hull has MAX_FACES triangles at most.
    """
    extent = float(np.ptp(corners, axis=0).max())
    signs = np.array(list(product((-1.0, 0.0, 1.0), repeat=3)))
    first = np.unique(np.argmax(corners @ signs.T, axis=0))
    hull = scipy.spatial.ConvexHull(corners[first], incremental=True)
    candidates, finest = corners, tolerance
    if not tolerance:
        # One corner of a cell will do as a candidate.
        _, cells = np.unique(np.round(corners * (CELLS / extent)), axis=0, return_index=True)
        candidates, finest = corners[np.sort(cells)], FINEST * extent
    # Another corner adds two triangles.
    while (room := (MAX_FACES - len(hull.simplices)) // 2) > 0:
        heights = candidates @ hull.equations[:, :3].T + hull.equations[:, 3]
        outside, face = heights.max(axis=1), heights.argmax(axis=1)
        if outside.max() <= finest:
            # Beyond a sharp edge a corner is further from the hull than from any face's plane.
            if not tolerance or _distance_to_hull(corners, hull.points[hull.vertices]) <= tolerance:
                break
            finest = 0.5 * outside.max()
        order = np.argsort(-outside, kind="stable")
        _, leading = np.unique(face[order], return_index=True)
        chosen = order[np.sort(leading)][:room]
        chosen = chosen[outside[chosen] > 0.97 * outside[chosen[0]]]
        hull.add_points(candidates[chosen])
    kept = hull.points[hull.vertices].copy()
    hull.close()
    return kept


def _distance_to_hull(corners: np.ndarray, kept: np.ndarray) -> float:
    """Greatest distance of corners from the hull of some of them, by Coal.

    Distance from a convex body is a convex function, so no point of the whole hull is further
    away than one of its corners.
    """
    body, point, here = hull_to_coal(kept), coal.Sphere(0.0), coal.Transform3s()
    hull = scipy.spatial.ConvexHull(kept)
    heights = (corners @ hull.equations[:, :3].T + hull.equations[:, 3]).max(axis=1)
    return max(
        (
            coal.distance(
                body, here, point, coal.Transform3s(np.eye(3), corner), coal.DistanceRequest(),
                coal.DistanceResult(),
            )
            for corner in corners[heights > 0.0]
        ),
        default=0.0,
    )  # fmt: skip


def _merge_triangles(
    hull: scipy.spatial.ConvexHull, vertices: np.ndarray, planes: np.ndarray, tolerance: float
) -> tuple[list[np.ndarray], list[int]]:
    """Join the hull's triangles to faces, around the biggest triangle first.

    Returns:
        The faces, no more than one beyond MAX_FACES, and the triangle whose plane each has.
    """
    place = np.empty(hull.vertices.max() + 1, dtype=np.int64)
    place[hull.vertices] = np.arange(len(hull.vertices))
    triangles = place[hull.simplices]
    p, q, r = np.moveaxis(vertices[triangles], 1, 0)
    area = np.linalg.norm(np.cross(q - p, r - p), axis=1)
    joined = np.zeros(len(triangles), dtype=bool)
    faces: list[np.ndarray] = []
    kept: list[int] = []
    for triangle in np.argsort(-area, kind="stable"):
        if joined[triangle] or len(faces) > MAX_FACES:
            continue
        normal, offset = planes[triangle, :3], planes[triangle, 3]
        flat = np.abs(vertices @ normal - offset) <= tolerance
        joined |= flat[triangles].all(axis=1)
        faces.append(_counter_clockwise(vertices, np.flatnonzero(flat), normal))
        kept.append(int(triangle))
    return faces, kept


def _counter_clockwise(vertices: np.ndarray, members: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Sort the corners of a face by their angle about its middle."""
    arms = vertices[members] - vertices[members].mean(axis=0)
    angles = np.arctan2(np.cross(arms[0], arms) @ normal, arms @ arms[0])
    return members[np.argsort(angles, kind="stable")]


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
    # Outside, the closest point lies on a face that looks at the point, mostly on the highest.
    px, py, pz = _closest_on_face(meshes, nearest, x, y, z)
    best = (x - px) * (x - px) + (y - py) * (y - py) + (z - pz) * (z - pz)
    last = first if _is_closest(meshes, mesh, (x, y, z), (px, py, pz)) else last
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
def _is_closest(
    meshes: Meshes,
    mesh: int,
    point: tuple[float, float, float],
    surface: tuple[float, float, float],
) -> bool:
    """Whether no corner of a mesh is beyond a point of its surface, as seen from another point."""
    (x, y, z), (a, b, c) = point, surface
    x, y, z = x - a, y - b, z - c
    v = meshes.vertex[furthest_vertex(meshes, mesh, x, y, z)]
    beyond = (v[0] - a) * x + (v[1] - b) * y + (v[2] - c) * z
    return beyond <= TIGHT * math.sqrt(x * x + y * y + z * z)


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
