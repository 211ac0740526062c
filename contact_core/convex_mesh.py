"""Convex polyhedra, and how a cloud of points becomes one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from contact_core.errors import ModelError

# Corners this close to a face's plane, as a share of the hull's extent, belong to the face:
# files hold coordinates in single precision.
FLATNESS = 1e-6
# More would make every step slow, and contact no better.
MAX_FACES = 256


@dataclass(frozen=True, eq=False)
class ConvexMesh:
    """A convex polyhedron whose frame's origin is the middle of the box around it.

    Attributes:
        vertices: (n, 3) its corners [m].
        faces: For each face its corners, counter-clockwise as seen from outside.
        planes: (m, 4) outward unit normal of each face and its distance from the origin [m].
    """

    vertices: np.ndarray
    faces: tuple[np.ndarray, ...]
    planes: np.ndarray

    @property
    def area(self) -> float:
        """Area [m^2] of the surface."""
        doubled = 0.0
        for face, plane in zip(self.faces, self.planes, strict=True):
            corners = self.vertices[face]
            doubled += np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0) @ plane[:3]
        return 0.5 * float(doubled)


def convex_hull(points: np.ndarray, name: str) -> tuple[ConvexMesh, np.ndarray]:
    """Return the convex hull of a cloud of points, with coplanar triangles merged.

    Args:
        points: (n, 3) [m].
        name: Name of the collision element, for the error.

    Returns:
        The hull, and (3) where its frame's origin is among the points [m].

    Raises:
        ModelError: If the points span no volume, or the hull has more than MAX_FACES faces.
    """
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError) as error:
        raise ModelError(f"collision '{name}' is a mesh without a volume") from error
    corners = points[hull.vertices]
    low, high = corners.min(axis=0), corners.max(axis=0)
    center = 0.5 * (low + high)
    vertices = corners - center
    normals = hull.equations[:, :3]
    planes = np.column_stack([normals, -hull.equations[:, 3] - normals @ center])
    faces, kept = _merge_triangles(hull, vertices, planes, FLATNESS * (high - low).max())
    if len(faces) > MAX_FACES:
        raise ModelError(
            f"collision '{name}' is a mesh whose convex hull has more than {MAX_FACES} faces: "
            "simplify it, or use primitive shapes"
        )
    return ConvexMesh(vertices, tuple(faces), planes[kept]), center


def _merge_triangles(
    hull: ConvexHull, vertices: np.ndarray, planes: np.ndarray, tolerance: float
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
