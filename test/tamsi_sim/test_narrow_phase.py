"""Contact points against Coal's distances, and the points that make things stand."""

import itertools

import coal
import numpy as np
import pinocchio as pin
import pytest
from builders import (
    body_urdf,
    box,
    cylinder,
    engine_of,
    mesh,
    pose,
    sphere,
)

from contact_core.base.errors import ModelError
from contact_core.multibody.collision.narrow_phase import CONVEX_HALF_SPACE, ROUTINES, routine_of
from contact_core.multibody.collision.shapes import ShapeKind, shape_to_coal
from contact_core.robot.scene import Instance

SHAPES = {
    "sphere": (sphere(0.05), False),
    "capsule": (cylinder(0.04, 0.15), True),
    "cylinder": (cylinder(0.05, 0.12), False),
    "box": (box(0.12, 0.08, 0.16), False),
    "mesh": (mesh("gem.obj"), False),
}


def pair_engine(a, b):
    """Return an engine with two free bodies."""
    urdfs = [
        body_urdf(name, SHAPES[kind][0], capsule=SHAPES[kind][1])
        for name, kind in (("a", a), ("b", b))
    ]
    return engine_of([Instance("a", urdfs[0], free=True), Instance("b", urdfs[1], free=True)])


def coal_distance(engine):
    """Return Coal's signed distance and normal, which points from the first to the second."""
    work = engine.work
    shapes = engine.built.pairs[0]
    solids = [shape_to_coal(engine.built.shapes[s].shape) for s in shapes]
    poses = [coal.Transform3s(work.poses.rotation[s], work.poses.position[s]) for s in shapes]
    result = coal.DistanceResult()
    request = coal.DistanceRequest()
    distance = coal.distance(solids[0], poses[0], solids[1], poses[1], request, result)
    return distance, np.asarray(result.normal)


def scatter(engine, rng, reach):
    for start in (0, 7):
        quaternion = rng.standard_normal(4)
        engine.q[start : start + 3] = rng.uniform(-reach, reach, 3)
        engine.q[start + 3 : start + 7] = quaternion / np.linalg.norm(quaternion)


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(SHAPES, 2)))
def test_touching_and_depth_against_coal(a, b):
    engine = pair_engine(a, b)
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(3000):
        scatter(engine, rng, 0.08)
        count = engine.evaluate()
        distance, normal = coal_distance(engine)
        if distance > 1e-6:
            assert count == 0, "a contact between bodies that are apart"
        elif -0.015 < distance < -1e-6:
            # Deeper poses have no well-defined normal.
            assert count > 0, f"no contact at {distance:g}"
            deepest = np.argmax(engine.work.contacts.depth[:count])
            found += 1
            # Ours points into the first body.
            alignment = -normal @ engine.work.contacts.frame[deepest, 2]
            # Coal is exact to 1e-6; normals are not unique on edges of the medial axis.
            assert engine.work.contacts.depth[deepest] == pytest.approx(-distance, abs=2e-6)
            assert alignment > 0.99
    assert found > 30


def test_contact_point_is_midway_between_the_surfaces():
    engine = pair_engine("sphere", "box")
    engine.q[:3] = [0.01, 0.02, 0.08 + 0.05 - 0.004]
    assert engine.evaluate() == 1
    np.testing.assert_allclose(
        engine.work.contacts.point[0], [0.01, 0.02, 0.08 - 0.002], atol=1e-12
    )
    np.testing.assert_allclose(engine.work.contacts.frame[0, 2], [0.0, 0.0, 1.0], atol=1e-12)
    assert engine.work.contacts.depth[0] == pytest.approx(0.004)


def on_ground(kind, z, **angles):
    ground = Instance("ground", body_urdf("ground", box(4, 4, 1)), pose(z=-0.5))
    geometry, capsule = SHAPES[kind]
    body = Instance("body", body_urdf("body", geometry, capsule=capsule), pose(z=z, **angles), True)
    engine = engine_of([body, ground])
    count = engine.evaluate()
    return engine.work.contacts.point[:count].copy(), engine.work.contacts.depth[:count].copy()


def test_standing_cylinder_touches_at_four_points():
    points, depths = on_ground("cylinder", 0.0599)
    assert len(points) == 4
    np.testing.assert_allclose(depths, 1e-4, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(points[:, :2], axis=1), 0.05, atol=1e-12)


def test_lying_cylinder_and_capsule_touch_at_both_ends():
    for kind, radius, half in (("cylinder", 0.05, 0.06), ("capsule", 0.04, 0.075)):
        points, depths = on_ground(kind, radius - 1e-4, pitch=np.pi / 2)
        assert len(points) == 2
        np.testing.assert_allclose(depths, 1e-4, atol=1e-12)
        np.testing.assert_allclose(sorted(points[:, 0]), [-half, half], atol=1e-9)


def test_box_on_its_face_touches_at_four_corners():
    points, depths = on_ground("box", 0.0799)
    assert len(points) == 4
    np.testing.assert_allclose(depths, 1e-4, atol=1e-12)


def test_equal_boxes_stacked_crosswise_touch_along_their_overlap():
    urdf = body_urdf("body", box(0.1, 0.1, 0.1))
    other = urdf.replace("body", "other")
    engine = engine_of(
        [
            Instance("a", urdf, pose(z=0.0999, yaw=np.pi / 4), True),
            Instance("b", other, pose(), True),
        ]
    )
    # Two squares turned by 45 degrees overlap in an octagon.
    assert engine.evaluate() == 8


def overlap_stiffness(yaw, shift):
    """Return the total stiffness and the number of points of one cube on another."""
    cube = body_urdf("cube", box(0.1, 0.1, 0.1))
    upper = Instance("upper", cube, pose(x=shift, z=0.0999, yaw=yaw), True)
    engine = engine_of([upper, Instance("lower", cube, pose(), True)])
    count = engine.evaluate()
    return engine.work.contacts.stiffness[:count].sum(), count


def test_box_on_box_is_as_stiff_however_many_corners_overlap():
    """No jump where the overlap of two squares gains corners as one of them turns."""
    for yaw, shift in ((0.0, 0.0), (1e-9, 0.0), (1e-3, 0.0), (0.4, 0.01), (np.pi / 4, 0.0)):
        stiffness, count = overlap_stiffness(yaw, shift)
        assert count >= 4
        assert stiffness == pytest.approx(4 * 1e4)


def test_capsule_rounds_an_edge_with_a_smoothly_turning_normal():
    table = Instance("table", body_urdf("table", box(1, 1, 0.2)), pose(x=-0.5, z=-0.1))
    arm = Instance("arm", body_urdf("arm", cylinder(0.07, 0.06), capsule=True), pose(), True)
    engine = engine_of([arm, table])
    normals = []
    for angle in np.linspace(0.0, np.pi / 2, 400):
        # The axis crosses the edge: its middle rolls around the edge 1 mm deep.
        centre = 0.069 * np.array([np.sin(angle), 0.0, np.cos(angle)])
        engine.q[:] = pin.SE3ToXYZQUAT(pose(*centre, roll=np.pi / 2))
        count = engine.evaluate()
        assert count > 0
        normals.append(engine.work.contacts.frame[0, 2].copy())
        assert engine.work.contacts.depth[:count].max() == pytest.approx(0.001, abs=1e-9)
    turns = np.linalg.norm(np.diff(normals, axis=0), axis=1)
    assert turns.max() < 1.1 * (np.pi / 2) / 399
    np.testing.assert_allclose(normals[0], [0, 0, 1], atol=1e-9)
    np.testing.assert_allclose(normals[-1], [1, 0, 0], atol=1e-9)


def test_force_is_continuous_when_a_capsule_tips_over_an_edge():
    table = Instance("table", body_urdf("table", box(1, 1, 0.2)), pose(x=-0.5, z=-0.1))
    arm = Instance("arm", body_urdf("arm", cylinder(0.07, 0.2), capsule=True), pose(), True)
    engine = engine_of([arm, table])
    forces = []
    for tilt in np.linspace(-0.02, 0.02, 2001):
        # Across the edge, from resting on its end on the table to resting on the edge.
        engine.q[:] = pin.SE3ToXYZQUAT(pose(z=0.069, pitch=np.pi / 2 + tilt))
        count = engine.evaluate()
        work = engine.work
        forces.append((work.contacts.stiffness[:count] * work.contacts.depth[:count]).sum())
    assert np.abs(np.diff(forces)).max() < 0.02 * max(forces)


def test_shapes_on_a_half_space():
    for kind in (ShapeKind.CAPSULE, ShapeKind.CYLINDER, ShapeKind.BOX, ShapeKind.MESH):
        assert routine_of(kind, ShapeKind.HALF_SPACE) == (CONVEX_HALF_SPACE, False)
        assert routine_of(ShapeKind.HALF_SPACE, kind) == (CONVEX_HALF_SPACE, True)


@pytest.mark.parametrize(("a", "b"), list(itertools.product(ShapeKind, repeat=2)))
def test_every_pair_of_kinds_has_one_routine_or_one_error(a, b):
    if a == b == ShapeKind.HALF_SPACE:
        with pytest.raises(ModelError, match="no contact between half_space and half_space"):
            routine_of(a, b)
        return
    routine, swapped = routine_of(a, b)
    assert routine == ROUTINES[(b, a) if swapped else (a, b)]
    assert routine_of(b, a)[0] == routine
