"""Contact points of faces: where they are, and how stiff they are together."""

import numpy as np
import pinocchio as pin
import pytest
from builders import (
    body_urdf,
    box,
    box_points,
    cylinder,
    drum_points,
    engine_of,
    ground_instance,
    hull_mesh,
    pose,
)

from contact_core.multibody.collision.manifold import POINTS
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.robot.scene import Instance

STIFFNESS = 1e4  # of one contact point: two surfaces of 2e4 N/m in series
DEPTH = 1e-4


@pytest.fixture
def meshes(tmp_path):
    return {
        "cube": hull_mesh(tmp_path, "cube", box_points(0.1, 0.1, 0.1)),
        "drum": hull_mesh(tmp_path, "drum", drum_points(0.04, 0.1)),
    }


def contacts_of(upper, placement, lower):
    """Return point, depth and stiffness of the contacts of a body above another one."""
    engine = engine_of(
        [
            Instance("upper", body_urdf("upper", upper), placement, True),
            Instance("lower", body_urdf("lower", lower), pose(), True),
        ]
    )
    count, work = engine.evaluate(), engine.work
    # Mesh and cylinder may be swapped, but normals point up or down.
    np.testing.assert_allclose(np.abs(work.contacts.frame[:count, 2, 2]), 1.0, atol=1e-6)
    return (
        work.contacts.point[:count].copy(),
        work.contacts.depth[:count].copy(),
        work.contacts.stiffness[:count].copy(),
    )


@pytest.mark.parametrize("lower", ["box", "mesh"])
def test_a_mesh_box_touches_like_a_box(meshes, lower):
    """Four corners, as stiff as one contact each."""
    low = box(0.2, 0.2, 0.1) if lower == "box" else meshes["cube"]
    points, depths, stiffness = contacts_of(meshes["cube"], pose(z=0.1 - DEPTH), low)
    assert len(points) == 4
    np.testing.assert_allclose(depths, DEPTH, atol=1e-8)
    np.testing.assert_allclose(stiffness, STIFFNESS, rtol=1e-6)
    np.testing.assert_allclose(np.abs(points[:, :2]), 0.05, atol=1e-7)
    np.testing.assert_allclose(points[:, 2], 0.05 - DEPTH / 2, atol=1e-8)


@pytest.mark.parametrize("yaw", [0.0, 1e-9, 1e-3, 0.3, np.pi / 4])
def test_a_stack_is_as_stiff_however_many_corners_overlap(meshes, yaw):
    points, _, stiffness = contacts_of(meshes["cube"], pose(z=0.1 - DEPTH, yaw=yaw), meshes["cube"])
    assert 4 <= len(points) <= POINTS
    assert stiffness.sum() == pytest.approx(4.0 * STIFFNESS)
    # The load's middle is the overlap's.
    np.testing.assert_allclose(stiffness @ points[:, :2], 0.0, atol=1e-5 * stiffness.sum())


@pytest.mark.parametrize("lower", ["box", "drum", "cylinder"])
def test_a_drum_stands_on_eight_points_of_its_rim(meshes, lower):
    """They resist tilting the same way in every direction."""
    low = {"box": box(1, 1, 0.1), "cylinder": cylinder(0.06, 0.1)}.get(lower, meshes["drum"])
    points, depths, stiffness = contacts_of(meshes["drum"], pose(z=0.1 - DEPTH), low)
    assert len(points) == POINTS
    np.testing.assert_allclose(depths, DEPTH, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(points[:, :2], axis=1), 0.04, atol=1e-7)
    moments = (stiffness * points[:, :2].T) @ points[:, :2]
    np.testing.assert_allclose(moments / moments[0, 0], np.eye(2), atol=1e-5)


def test_a_cylinder_stands_and_lies_on_a_mesh(meshes):
    points, _, stiffness = contacts_of(cylinder(0.03, 0.1), pose(z=0.1 - DEPTH), meshes["cube"])
    assert len(points) == 4
    assert stiffness.sum() == pytest.approx(4.0 * STIFFNESS)
    lying = pose(z=0.08 - DEPTH, pitch=np.pi / 2)
    points, depths, _ = contacts_of(cylinder(0.03, 0.16), lying, meshes["cube"])
    # Both ends are beyond the mesh: it touches along the mesh's width.
    np.testing.assert_allclose(sorted(points[:, 0]), [-0.05, 0.05], atol=1e-7)
    np.testing.assert_allclose(depths, DEPTH, atol=1e-8)


def test_an_overhanging_mesh_touches_where_it_is_supported(meshes):
    points, _, _ = contacts_of(meshes["cube"], pose(x=0.06, y=0.02, z=0.1 - DEPTH), meshes["cube"])
    assert sorted({round(x, 6) for x in points[:, 0]}) == [0.01, 0.05]
    assert sorted({round(y, 6) for y in points[:, 1]}) == [-0.03, 0.05]


def test_a_tilted_drum_touches_at_its_lowest_corners(meshes):
    tilt = 0.2
    turn = pin.rpy.rpyToMatrix(0.0, tilt, 0.1)
    corners = drum_points(0.04, 0.1) @ turn.T
    placement = pin.SE3(turn, np.array([0.0, 0.0, 0.05 - corners[:, 2].min() - DEPTH]))
    points, depths, _ = contacts_of(meshes["drum"], placement, box(1, 1, 0.1))
    assert depths.max() == pytest.approx(DEPTH, abs=1e-8)
    lowest = corners[corners[:, 2].argmin(), :2]
    np.testing.assert_allclose(points[depths.argmax(), :2], lowest, atol=1e-4)


def test_rounding_does_not_move_the_points_a_drum_stands_on(meshes):
    table = box(1, 1, 0.1)
    first, *_ = contacts_of(meshes["drum"], pose(z=0.1 - DEPTH), table)
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y, roll, pitch, yaw = 1e-13 * rng.standard_normal(5)
        placement = pose(x=x, y=y, z=0.1 - DEPTH, roll=roll, pitch=pitch, yaw=yaw)
        points, *_ = contacts_of(meshes["drum"], placement, table)
        np.testing.assert_allclose(points, first, atol=1e-9)


@pytest.mark.parametrize("pitch", [0.0, 0.2], ids=["standing", "tilted"])
def test_a_half_space_is_like_the_top_of_a_big_box(meshes, pitch):
    """URDF has no half space, so the ground is made one."""
    turn = pin.rpy.rpyToMatrix(0.0, pitch, 0.1)
    low = (drum_points(0.04, 0.1) @ turn.T)[:, 2].min()
    drum = body_urdf("drum", meshes["drum"])
    placement = pin.SE3(turn, np.array([0.0, 0.0, -low - DEPTH]))
    engine = engine_of([Instance("drum", drum, placement, True), ground_instance()])
    count, work = engine.evaluate(), engine.work
    expected = work.contacts.point[:count].copy(), work.contacts.depth[:count].copy()
    arrays = engine.built.arrays
    arrays.geometry.kind[1], arrays.geometry.position[1] = ShapeKind.HALF_SPACE, 0.0
    assert engine.evaluate() == count
    np.testing.assert_allclose(work.contacts.point[:count], expected[0], atol=1e-9)
    np.testing.assert_allclose(work.contacts.depth[:count], expected[1], atol=1e-9)
