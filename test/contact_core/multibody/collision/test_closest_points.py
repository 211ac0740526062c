"""The distance of any two convex shapes, apart and overlapping, against Coal's."""

import itertools

import coal
import numpy as np
import pinocchio as pin
import pytest
from numba import njit

from contact_core.multibody.collision.arrays import Shapes, allocate_polytope
from contact_core.multibody.collision.closest_points import closest_points
from contact_core.multibody.collision.convex_mesh import convex_hull, stack_meshes
from contact_core.multibody.collision.shapes import Shape, ShapeKind, mesh_shape, shape_to_coal
from contact_core.multibody.collision.signed_distance import signed_distance

ROCK, _ = convex_hull(0.05 * np.random.default_rng(3).standard_normal((30, 3)), "rock")
SOLIDS = {
    "box": Shape(ShapeKind.BOX, (0.1, 0.05, 0.07)),
    "plate": Shape(ShapeKind.BOX, (0.4, 0.3, 0.01)),
    "capsule": Shape(ShapeKind.CAPSULE, (0.04, 0.1, 0.0)),
    "cylinder": Shape(ShapeKind.CYLINDER, (0.05, 0.06, 0.0)),
    "rock": mesh_shape(ROCK),
}


@njit
def measure(shapes, polytope):
    return closest_points(shapes, polytope, 0, 1)


def distance(solids, poses):
    shapes = Shapes(
        np.array([int(solid.kind) for solid in solids]),
        np.array([solid.size if solid.mesh is None else (0.0, 0.0, 0.0) for solid in solids]),
        np.array([pose.rotation for pose in poses]),
        np.array([pose.translation for pose in poses]),
        stack_meshes([ROCK]),
    )
    gap, normal, point = measure(shapes, allocate_polytope())
    return gap, np.array(normal), np.array(point)


def height(solid, pose, point):
    """Signed distance of a point from a solid's surface."""
    here = pose.actInv(point)
    if solid.mesh is not None:
        return (solid.mesh.planes[:, :3] @ here - solid.mesh.planes[:, 3]).max()
    return signed_distance(int(solid.kind), np.array(solid.size), *here)[0]


def coal_distance(solids, poses):
    request, result = coal.DistanceRequest(True, True), coal.DistanceResult()
    sides = [
        (shape_to_coal(solid), coal.Transform3s(pose.rotation, pose.translation))
        for solid, pose in zip(solids, poses, strict=True)
    ]
    return coal.distance(*sides[0], *sides[1], request, result)


@pytest.mark.parametrize(
    "kinds", list(itertools.combinations_with_replacement(SOLIDS, 2)), ids="-".join
)
def test_any_two_solids_are_as_far_apart_or_as_deep_as_coal_says(kinds):
    pin.seed(1)
    rng = np.random.default_rng(1)
    solids = [SOLIDS[kind] for kind in kinds]
    signs = set()
    for _ in range(200):
        poses = [pin.SE3.Random() for _ in solids]
        poses[0].translation = rng.uniform(-0.05, 0.05, 3)
        poses[1].translation = rng.uniform(-0.3, 0.3, 3)
        gap, normal, point = distance(solids, poses)
        assert gap == pytest.approx(coal_distance(solids, poses), abs=2e-6)
        assert np.linalg.norm(normal) == pytest.approx(1.0)
        signs.add(gap > 0.0)
        # A's nearest or deepest point is on A, and by the distance on B, too.
        assert height(solids[0], poses[0], point) == pytest.approx(0.0, abs=1e-8)
        assert height(solids[1], poses[1], point - gap * normal) == pytest.approx(0.0, abs=1e-7)
    assert signs == {True, False}


@pytest.mark.parametrize("gap", [0.0, 1e-12, -1e-12, 1e-10, 1e-7, -1e-7, 1e-3, -1e-3])
@pytest.mark.parametrize("kind", ["box", "cylinder"])
def test_what_stands_on_a_plate_is_above_it(kind, gap):
    solids = [SOLIDS[kind], SOLIDS["plate"]]
    half = SOLIDS[kind].size[2] if kind == "box" else SOLIDS[kind].size[1]
    poses = [pin.SE3.Identity(), pin.SE3.Identity()]
    poses[0].translation = np.array([0.03, -0.02, 0.01 + half + gap])
    found, normal, point = distance(solids, poses)
    assert found == pytest.approx(gap, abs=2e-9)
    np.testing.assert_allclose(normal, [0.0, 0.0, 1.0], atol=1e-6)
    assert point[2] == pytest.approx(0.01 + gap, abs=1e-8)


def test_deep_in_something_round_the_point_is_still_on_both():
    """A cylinder may be deeper in a plate's edge than the polytope says: rare, and by rounding."""
    pin.seed(7)
    rng = np.random.default_rng(1)
    solids = [SOLIDS["plate"], SOLIDS["cylinder"]]
    for draw in range(20200):
        poses = [pin.SE3.Random() for _ in solids]
        poses[0].translation = rng.uniform(-0.05, 0.05, 3)
        poses[1].translation = rng.uniform(-0.3, 0.3, 3)
        if draw > 18600:  # the first three
            gap, normal, point = distance(solids, poses)
            assert height(solids[0], poses[0], point) == pytest.approx(0.0, abs=1e-5)
            assert height(solids[1], poses[1], point - gap * normal) == pytest.approx(0.0, abs=1e-5)
