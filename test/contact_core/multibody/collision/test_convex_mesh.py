"""Convex hulls: coplanar triangles become faces, and clouds that are no solid are refused."""

import coal
import numpy as np
import pytest
from quadprog import solve_qp
from scipy.spatial import ConvexHull

from contact_core.base.errors import ModelError
from contact_core.multibody.collision.convex_mesh import (
    COARSEST,
    MAX_FACES,
    convex_hull,
    depth_in_hull,
)
from contact_core.multibody.collision.shapes import triangles_from_coal
from contact_experiments.models.packages import folder

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
    assert 0.0 < mesh.deviation < COARSEST * extent
    assert distance_beyond(points - center, mesh) == pytest.approx(mesh.deviation, rel=1e-4)
    whole = ConvexHull(points)
    inside = (mesh.vertices + center) @ whole.equations[:, :3].T + whole.equations[:, 3]
    assert inside.max() < 1e-9
    assert np.ptp(mesh.vertices, axis=0) == pytest.approx(np.ptp(points, axis=0), rel=COARSEST)


def distance_beyond(points, mesh):
    """Greatest distance of points from a polyhedron, by a quadratic program for each."""
    normals, offsets = mesh.planes[:, :3], mesh.planes[:, 3]
    heights = (points @ normals.T - offsets).max(axis=1)
    # The greatest distance may belong to a point that is not the furthest from any plane.
    suspects = points[np.argsort(-heights)[:200]]
    return max(
        float(np.linalg.norm(solve_qp(np.eye(3), point, -normals.T, -offsets)[0] - point))
        for point in suspects
    )


def clouds():
    rng = np.random.default_rng(3)
    for number in range(4):
        yield f"cloud {number}", rng.standard_normal((300, 3)) * rng.uniform(0.01, 0.1, 3)
        ball = rng.standard_normal((600, 3)) * rng.uniform(0.3, 1.0, 3)
        yield f"egg {number}", 0.05 * ball / np.linalg.norm(ball, axis=1)[:, None] ** 0.8
    yield "needle", np.vstack([drum(100), [[0.0, 0.0, 0.5]]])


@pytest.mark.parametrize("share", [0.1, 0.03, 0.01])
@pytest.mark.parametrize(("name", "points"), list(clouds()))
def test_a_tolerance_bounds_the_distance_from_the_whole_hull(name, points, share):
    whole, origin = convex_hull(points, name)
    tolerance = share * np.ptp(points, axis=0).max()
    mesh, center = convex_hull(points, name, tolerance)
    assert mesh.deviation <= tolerance
    assert len(mesh.faces) <= len(whole.faces)
    beyond = distance_beyond(points - center, mesh)
    assert beyond == pytest.approx(mesh.deviation, rel=1e-4, abs=1e-12)
    inside = (mesh.vertices + center - origin) @ whole.planes[:, :3].T - whole.planes[:, 3]
    assert inside.max() < 1e-6


def test_a_tolerance_that_needs_too_many_faces_is_refused():
    points = 0.1 * np.random.default_rng(2).standard_normal((2000, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    with pytest.raises(ModelError, match=r"of 256 faces, more than 0\.01 mm"):
        convex_hull(points, "ball", 1e-5)


def test_a_hull_with_a_tolerance_has_fewer_faces():
    points = drum(100)
    faces = [len(convex_hull(points, "drum", t)[0].faces) for t in (0.0, 2e-4, 1e-3, 5e-3)]
    assert faces == sorted(faces, reverse=True)
    assert faces[0] == 102
    assert faces[-1] < 20


# Of the package example-robot-data, with hulls of 60 to 8000 faces.
PUBLIC = (
    "panda_description/meshes/collision/link0.stl",
    "z1_description/meshes/collision/z1_Link02.STL",
    "ur_description/meshes/ur5/collision/forearm.stl",
)


@pytest.mark.parametrize("tolerance", [0.0, 2e-3, 5e-3])
@pytest.mark.parametrize("name", PUBLIC)
def test_the_hulls_of_public_meshes_hold_their_bound(name, tolerance):
    path = folder("example-robot-data") / name
    if not path.is_file():
        pytest.skip("example-robot-data is not installed: pip install -e '.[models]'")
    points, _ = triangles_from_coal(coal.MeshLoader().load(str(path), np.ones(3)))
    mesh, center = convex_hull(points, name, tolerance)
    if tolerance:
        assert mesh.deviation <= tolerance
    corners = points[ConvexHull(points).vertices] - center
    beyond = distance_beyond(corners, mesh)
    assert beyond == pytest.approx(mesh.deviation, rel=1e-4, abs=1e-6)


def test_depth_in_a_hull_is_that_of_the_deepest_point():
    mesh, _ = convex_hull(CUBE, "cube")
    assert depth_in_hull(CUBE, mesh) == 0.0
    assert depth_in_hull(np.array([[0.0, 0.0, 0.75], [0.5, 0.5, 0.5]]), mesh) == 0.5


@pytest.mark.parametrize("points", [CUBE[:4], CUBE[:3], np.zeros((0, 3)), np.zeros(0)])
def test_points_without_a_volume_are_refused(points):
    with pytest.raises(ModelError, match="'plate' is a mesh without a volume"):
        convex_hull(points, "plate")
