"""Meshes that are not convex: how far they are from it, and convex parts in their place."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from zipfile import BadZipFile

import coal
import numpy as np
import scipy

from contact_core.base.errors import ModelError
from contact_core.base.files import cache_folder, replacement
from contact_core.base.lazy import pip_install
from contact_core.multibody.collision.convex_mesh import ConvexMesh, convex_hull, depth_in_hull
from contact_core.multibody.collision.shapes import triangles_to_coal

SEED = 0
# Distance between the surfaces of a mesh and of its hull, as a share of its extent, from which
# it is not passed over that a mesh collides as its hull.
CONCAVE = 0.05
# Robots of one kind have the same meshes, whose hulls take seconds: so many are kept.
_KEPT = 512
_known: dict[str, tuple[list[tuple[ConvexMesh, np.ndarray]], str]] = {}
ROUNDING = 1e-6  # of coordinates in single precision
# Middles of a triangle and of its sides: a tube has all its corners at its ends.
_SAMPLES = np.array([[2, 2, 2], [3, 3, 0], [0, 3, 3], [3, 0, 3]]) / 6.0


def convex_hulls(
    points: np.ndarray, triangles: np.ndarray, name: str, decompose: float, simplify: float = 0.0
) -> tuple[list[tuple[ConvexMesh, np.ndarray]], str]:
    """Return the convex bodies as which a mesh collides.

    Args:
        points: (n, 3) its corners [m].
        triangles: (m, 3) corners of its triangles; none if its hull is meant anyway.
        name: Name of the collision element, for the error.
        decompose: Share of its extent; if the surfaces of mesh and hull are further apart, the
            bodies are the hulls of its :func:`convex_parts`. None is split if zero.
        simplify: Tolerance of :func:`convex_hull` [m].

    Returns:
        The bodies, each with (3) where its origin is [m]; and by how much they differ from the
        mesh, empty if by less than a share CONCAVE of its extent.

    Raises:
        ModelError: If the mesh has no volume, a hull cannot be simplified, or parts cannot be
            found.
    """
    if decompose:
        return _find_hulls(points, triangles, name, decompose, simplify)
    digest = hashlib.sha256(np.ascontiguousarray(points).tobytes())
    digest.update(np.ascontiguousarray(triangles).tobytes() + repr((name, simplify)).encode())
    key = digest.hexdigest()
    if key not in _known:
        if len(_known) >= _KEPT:
            _known.clear()
        _known[key] = _find_hulls(points, triangles, name, 0.0, simplify)
    hulls, excess = _known[key]
    return list(hulls), excess


def _find_hulls(
    points: np.ndarray, triangles: np.ndarray, name: str, decompose: float, simplify: float
) -> tuple[list[tuple[ConvexMesh, np.ndarray]], str]:
    """Find them, see :func:`convex_hulls`."""
    hull, center = convex_hull(points, name, simplify)
    hulls = [(hull, center)]
    if not len(triangles):
        return hulls, ""
    extent = float(np.ptp(points, axis=0).max())
    least = (decompose or CONCAVE) * extent
    distance = max(
        depth_of_surface(points, triangles, hulls),
        gap_of_hull(points, triangles, hull, center, least),
    )
    if decompose and distance > least:
        parts = convex_parts(points, triangles, decompose, name)
        hulls = [convex_hull(part, name, simplify) for part in parts]
        distance = depth_of_surface(points, triangles, hulls)
    if distance <= CONCAVE * extent:
        return hulls, ""
    if len(hulls) > 1:
        return hulls, f"{1e3 * distance:.3g} mm, in {len(hulls)} parts"
    ratio = volume_ratio(points, triangles)
    volumes = "of unknown volume" if ratio is None else f"{ratio:.3g} times the volume"
    return hulls, f"{1e3 * distance:.3g} mm, {volumes}"


def depth_of_surface(
    points: np.ndarray, triangles: np.ndarray, hulls: Iterable[tuple[ConvexMesh, np.ndarray]]
) -> float:
    """Return how deep inside convex bodies the surface of a mesh lies.

    Args:
        points: (n, 3) corners of the mesh [m].
        triangles: (m, 3) corners of its triangles.
        hulls: The bodies, and (3) where the origin of each is [m].

    Returns:
        Depth [m] of the deepest middle of a triangle or of a side, zero if none is inside.
    """
    samples = np.einsum("ij,mjk->mik", _SAMPLES, points[triangles]).reshape(-1, 3)
    return max((depth_in_hull(samples - center, hull) for hull, center in hulls), default=0.0)


def gap_of_hull(
    points: np.ndarray, triangles: np.ndarray, hull: ConvexMesh, center: np.ndarray, least: float
) -> float:
    """Return how far the surface of a mesh's convex hull is from the mesh, as over a cup's mouth.

    Args:
        points: (n, 3) corners of the mesh [m].
        triangles: (m, 3) corners of its triangles.
        hull: The hull.
        center: (3) where its origin is [m].
        least: Which distances are of no interest [m].

    Returns:
        Distance [m] of the furthest of the middles of its faces, and of those between these and
        the faces' corners; zero if it is less than the least.
    """
    samples = []
    for face in hull.faces:
        corners = hull.vertices[face]
        middle = corners.mean(axis=0)
        inside = np.vstack([middle, 0.5 * (corners + middle)])
        # The corners are points of the mesh.
        nearest = np.linalg.norm(inside[:, None] - corners, axis=2).min(axis=1)
        samples += list(inside[nearest > least] + center)
    mesh, point, here = triangles_to_coal(points, triangles), coal.Sphere(0.0), coal.Transform3s()
    found = [
        coal.distance(
            mesh, here, point, coal.Transform3s(np.eye(3), sample), coal.DistanceRequest(),
            coal.DistanceResult(),
        )
        for sample in samples
    ]  # fmt: skip
    furthest = max(found, default=0.0)
    return furthest if furthest > least else 0.0


def volume_ratio(points: np.ndarray, triangles: np.ndarray) -> float | None:
    """Return the volume of a mesh's convex hull as a multiple of the mesh's own.

    Args:
        points: (n, 3) corners of the mesh, which span a volume [m].
        triangles: (m, 3) corners of its triangles, all seen from outside or all from inside.

    Returns:
        The ratio; None for a mesh that is not closed or overlaps itself, whose volume is unknown.
    """
    # Formats such as STL give each triangle corners of its own.
    _, same = np.unique(points, axis=0, return_inverse=True)
    ends = same.reshape(-1)[triangles].ravel(), same.reshape(-1)[np.roll(triangles, -1, 1)].ravel()
    there, back = (np.sort(a * len(points) + b) for a, b in (ends, ends[::-1]))
    volume = abs(_signed_volume(points, triangles))
    hull = float(scipy.spatial.ConvexHull(points).volume)
    # In a closed surface every side belongs to two triangles, which pass it in opposite ways.
    closed = np.array_equal(there, back)
    return hull / volume if closed and 0.0 < volume <= (1.0 + ROUNDING) * hull else None


def _signed_volume(points: np.ndarray, triangles: np.ndarray) -> float:
    """Volume [m^3] of a closed mesh, negative if its triangles are seen from inside."""
    p, q, r = np.moveaxis(points[triangles] - points.mean(axis=0), 1, 0)
    return float(np.einsum("ij,ij->", p, np.cross(q, r))) / 6.0


def load_coacd() -> ModuleType:
    """Return the library that splits meshes.

    Raises:
        ModelError: If it is not installed.
    """
    try:
        return import_module("coacd")
    except ImportError as error:
        raise ModelError(
            f"decompose needs CoACD, which is not installed: {pip_install('decomposition')}"
        ) from error


def convex_parts(
    points: np.ndarray, triangles: np.ndarray, concavity: float, name: str
) -> list[np.ndarray]:
    """Split a mesh into parts that are nearly convex, by CoACD (Wei et al. 2022).

    The same mesh always has the same parts. They are kept in :func:`cache_folder`.

    Args:
        points: (n, 3) corners of the mesh [m].
        triangles: (m, 3) corners of its triangles.
        concavity: How far the surface of a part may be from that of its convex hull, as a share
            of the greatest extent of the mesh; CoACD takes 0.005 to 0.5.
        name: Name of the collision element, for the error.

    Returns:
        Corners of the convex hull of each part [m].

    Raises:
        ModelError: If CoACD is not installed, or finds no part.
    """
    coacd = load_coacd()
    points, same = np.unique(np.asarray(points, dtype=float), axis=0, return_inverse=True)
    triangles = same.reshape(-1)[triangles].astype(np.int32)
    if _signed_volume(points, triangles) < 0.0:  # A scale that mirrors turns it inside out.
        triangles = triangles[:, ::-1].copy()
    settings = f"CoACD {version('coacd')}, concavity {concavity!r}, seed {SEED}"
    content = b"".join((settings.encode(), points.tobytes(), triangles.tobytes()))
    path = cache_folder("convex_parts") / f"{hashlib.sha256(content).hexdigest()}.npz"
    parts = _load(path)
    if parts is None:
        coacd.set_log_level("error")
        # CoACD measures in half extents.
        found = coacd.run_coacd(coacd.Mesh(points, triangles), 2.0 * concavity, seed=SEED)
        parts = [corners for corners, _ in found]
        if not parts:
            raise ModelError(f"collision '{name}' is a mesh that CoACD finds no convex part of")
        _save(path, parts)
    return parts


def _load(path: Path) -> list[np.ndarray] | None:
    """Parts that were found before; None if there are none, or the file is damaged."""
    with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile), np.load(path) as file:
        return np.split(file["corners"], file["ends"][:-1])
    return None


def _save(path: Path, parts: list[np.ndarray]) -> None:
    """Keep parts; where nothing can be written they are found anew every time."""
    ends = np.cumsum([len(part) for part in parts])
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacement(path) as unfinished, unfinished.open("wb") as file:
            np.savez(file, corners=np.vstack(parts), ends=ends)
