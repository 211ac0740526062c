"""Convex hulls: coplanar triangles become faces, and clouds that are no solid are refused."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from contact_core.collision.convex_mesh import MAX_FACES, convex_hull
from contact_core.errors import ModelError

CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)


def drum(corners):
    """Return the points of a prism on a regular polygon."""
    angles = 2.0 * np.pi * np.arange(corners) / corners
    x, y = 0.04 * np.cos(angles), 0.04 * np.sin(angles)
    return np.vstack([np.column_stack([x, y, np.full(corners, z)]) for z in (0.0, 0.1)])


def test_a_cube_has_six_faces_of_four_corners():
    middle = np.array([1.0, 2.0, 3.0])
    mesh, center = convex_hull(np.vstack([CUBE, 0.5 * CUBE]) + middle, "cube")
    np.testing.assert_allclose(center, middle)
    assert sorted(len(face) for face in mesh.faces) == [4] * 6
    assert len(mesh.vertices) == 8
    np.testing.assert_allclose(mesh.planes[:, 3], 1.0)
    assert mesh.area == pytest.approx(24.0)


@pytest.mark.parametrize("noise", [0.0, 1e-8], ids=["exact", "single precision"])
def test_a_drum_has_two_caps(noise):
    """Coordinates of a file are rounded to single precision; its caps are flat all the same."""
    points = drum(32) + noise * np.random.default_rng(0).standard_normal((64, 3))
    mesh, _ = convex_hull(points, "drum")
    assert sorted(len(face) for face in mesh.faces) == [4] * 32 + [32] * 2


def test_corners_are_counter_clockwise_and_on_their_plane():
    points = np.random.default_rng(1).standard_normal((40, 3))
    mesh, _ = convex_hull(points, "cloud")
    for face, plane in zip(mesh.faces, mesh.planes, strict=True):
        corners = mesh.vertices[face]
        np.testing.assert_allclose(corners @ plane[:3], plane[3], atol=1e-6)
        doubled = np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0)
        assert doubled @ plane[:3] == pytest.approx(np.linalg.norm(doubled))
    assert (mesh.vertices @ mesh.planes[:, :3].T - mesh.planes[:, 3]).max() < 1e-6
    assert mesh.area == pytest.approx(ConvexHull(points).area)


def test_a_hull_with_too_many_faces_is_refused():
    convex_hull(drum(MAX_FACES - 2), "drum")
    with pytest.raises(ModelError, match=r"'drum' is a mesh whose convex hull has more than 256"):
        convex_hull(drum(MAX_FACES), "drum")


@pytest.mark.parametrize("points", [CUBE[:4], CUBE[:3], np.zeros((0, 3))], ids=len)
def test_points_without_a_volume_are_refused(points):
    with pytest.raises(ModelError, match="'plate' is a mesh without a volume"):
        convex_hull(points, "plate")
