"""Meshes that are not convex, closed, with triangles counter-clockwise as seen from outside."""

from __future__ import annotations

from pathlib import Path

import numpy as np

WIDTH, WALL = 0.1, 0.02
"""Of the trough [m]."""


def trough() -> tuple[np.ndarray, np.ndarray]:
    """Return corners [m] and triangles of a trough along y, open upwards, on the plane z = 0."""
    inner, top = WIDTH - WALL, WIDTH
    outline = [(0, 0), (top, 0), (top, top), (inner, top), (inner, WALL), (WALL, WALL),
               (WALL, top), (0, top)]  # fmt: skip
    number = len(outline)
    points = np.array([(x - 0.5 * WIDTH, y, z) for y in (0.0, WIDTH) for x, z in outline])
    caps = [(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4), (0, 5, 6), (0, 6, 7)]
    triangles = caps + [(c + number, b + number, a + number) for a, b, c in caps]
    for a in range(number):
        b = (a + 1) % number
        triangles += [(a, b + number, b), (a, a + number, b + number)]
    return points, np.array(triangles)


def write_obj(path: Path, points: np.ndarray, triangles: np.ndarray) -> Path:
    """Write a mesh as OBJ; return the path."""
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in points]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in triangles]
    path.write_text("\n".join(lines))
    return path
