"""Convex hulls: coplanar triangles become faces, and clouds that are no solid are refused."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from contact_core.collision.convex_mesh import COARSEST, MAX_FACES, convex_hull, depth_in_hull
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


def test_a_hull_of_as_many_faces_as_there_may_be_is_exact():
    mesh, _ = convex_hull(drum(MAX_FACES - 2), "drum")
    assert (len(mesh.faces), mesh.deviation) == (MAX_FACES, 0.0)


@pytest.mark.parametrize("shape", ["ball", "drum", "box with round edges"])
def test_a_hull_of_more_faces_is_simplified_from_inside_and_says_by_how_much(shape):
    rng = np.random.default_rng(2)
    ball = rng.standard_normal((2000, 3))
    ball /= np.linalg.norm(ball, axis=1)[:, None]
    points = {
        "ball": 0.1 * ball,
        "drum": drum(1000),
        "box with round edges": 0.01 * ball + 0.1 * np.sign(ball),
    }[shape]
    mesh, center = convex_hull(points, shape)
    assert len(mesh.faces) <= MAX_FACES
    extent = np.ptp(points, axis=0).max()
    outside = (points - center) @ mesh.planes[:, :3].T - mesh.planes[:, 3]
    assert 0.0 < mesh.deviation < COARSEST * extent
    assert outside.max() == pytest.approx(mesh.deviation, abs=1e-5 * extent)
    whole = ConvexHull(points)
    inside = (mesh.vertices + center) @ whole.equations[:, :3].T + whole.equations[:, 3]
    assert inside.max() < 1e-9
    assert np.ptp(mesh.vertices, axis=0) == pytest.approx(np.ptp(points, axis=0), rel=COARSEST)


def test_depth_in_a_hull_is_that_of_the_deepest_point():
    mesh, _ = convex_hull(CUBE, "cube")
    assert depth_in_hull(CUBE, mesh) == 0.0
    assert depth_in_hull(np.array([[0.0, 0.0, 0.75], [0.5, 0.5, 0.5]]), mesh) == 0.5


@pytest.mark.parametrize("points", [CUBE[:4], CUBE[:3], np.zeros((0, 3))], ids=len)
def test_points_without_a_volume_are_refused(points):
    with pytest.raises(ModelError, match="'plate' is a mesh without a volume"):
        convex_hull(points, "plate")
