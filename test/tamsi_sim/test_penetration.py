"""The shortest way out: of resting things their height, of any the Minkowski difference says."""

import numpy as np
import pinocchio as pin
import pytest
from builders import (
    body_urdf,
    box,
    box_points,
    drum_points,
    engine_of,
    hull_mesh,
    mesh,
    pose,
)
from scipy.spatial import ConvexHull

from contact_core.robot.scene import Instance

SHALLOW = 0.01  # deeper, the corners of a face may be beyond the other face [m]
FLAT_TOP = 0.5
DRUM = 0  # its shape


def world_corners(engine, shape):
    solid = engine.built.shapes[shape].shape
    corners = (
        box_points(*(2.0 * np.array(solid.size))) if solid.mesh is None else solid.mesh.vertices
    )
    work = engine.work
    return corners @ work.poses.rotation[shape].T + work.poses.position[shape]


def exact_penetration(engine):
    """Return the distance of the origin from the surface of B - A; negative if they are apart."""
    a, b = engine.built.pairs[0]
    difference = world_corners(engine, b)[:, None] - world_corners(engine, a)[None]
    return -ConvexHull(difference.reshape(-1, 3)).equations[:, 3].max()


def resting_pose(rng, points, steady):
    """Return a pose a little inside a flat top: on a face, an edge or a corner."""
    tilt = 0.0 if steady else 10.0 ** rng.uniform(-12.0, -1.0)
    turn = pin.rpy.rpyToMatrix(tilt, np.pi / 2 * rng.integers(2) + tilt, rng.uniform(-3.0, 3.0))
    depth = 10.0 ** rng.uniform(-8.0, -3.0)
    x, y = rng.uniform(-0.01, 0.01, 2)
    return pin.SE3(turn, np.array([x, y, FLAT_TOP - (points @ turn.T)[:, 2].min() - depth]))


@pytest.mark.parametrize("size", [1.0, 40.0], ids=["table", "ground"])
@pytest.mark.parametrize("lower", ["box", "mesh"])
def test_resting_things_are_as_deep_as_their_lowest_corner(tmp_path, lower, size):
    """From 10 nm to 1 mm deep, flat and tilted: never missed.

    Of a rim eight points are kept, and the lowest one as far as they miss its depth.
    """
    points = drum_points(0.04, 0.1)
    drum = hull_mesh(tmp_path, "drum", points)
    slab = box_points(size, size, 2.0 * FLAT_TOP)
    top = hull_mesh(tmp_path, "top", slab) if lower == "mesh" else box(size, size, 2.0 * FLAT_TOP)
    engine = engine_of(
        [
            Instance("drum", body_urdf("drum", drum), free=True),
            Instance("top", body_urdf("top", top)),
        ]
    )
    rng = np.random.default_rng(0)
    for k in range(200):
        engine.q[:] = pin.SE3ToXYZQUAT(resting_pose(rng, points, k % 3 == 0))
        count = engine.evaluate()
        exact = FLAT_TOP - world_corners(engine, DRUM)[:, 2].min()
        assert count > 0
        found = engine.work.contacts.depth[:count].max()
        # Files are read in single precision, which gives the slab's height a relative 1e-7.
        assert abs(found - exact) <= 1e-7 + 1e-6 * exact


def test_random_polyhedra_are_as_deep_as_the_minkowski_difference_says(tmp_path):
    """Corners, edges and faces of irregular bodies on each other; nothing when apart."""
    other = hull_mesh(tmp_path, "rock", 0.05 * np.random.default_rng(3).standard_normal((30, 3)))
    engine = engine_of(
        [
            Instance("gem", body_urdf("gem", mesh("gem.obj")), free=True),
            Instance("rock", body_urdf("rock", other), pose()),
        ]
    )
    rng = np.random.default_rng(4)
    shallow = 0
    for _ in range(500):
        quaternion = rng.standard_normal(4)
        engine.q[:3] = rng.uniform(-0.12, 0.12, 3)
        engine.q[3:] = quaternion / np.linalg.norm(quaternion)
        count = engine.evaluate()
        exact = exact_penetration(engine)
        assert (count > 0) == (exact > 0.0)
        if 0.0 < exact < SHALLOW:
            shallow += 1
            found = engine.work.contacts.depth[:count].max()
            assert found == pytest.approx(exact, abs=1e-8)
    assert shallow > 20
