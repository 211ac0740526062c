"""Every contact is certified, and the patches of round things are what geometry says."""

import itertools

import numpy as np
import pinocchio as pin
import pytest
from builders import GRAVITY, body_urdf, box, cylinder, engine_of, ground_instance, mesh, pose

from contact_core.robot.scene import Instance
from contact_core.robot.surface import Surface
from tamsi_sim.arrays.status import StepStatus

SHAPES = {
    "capsule": (cylinder(0.04, 0.15), True),
    "cylinder": (cylinder(0.05, 0.12), False),
    "box": (box(0.12, 0.08, 0.16), False),
    "mesh": (mesh("gem.obj"), False),
}
PAIRS = list(itertools.combinations_with_replacement(SHAPES, 2))
CERTIFIED = 1e-8  # [m]
STIFFNESS, DEPTH = 1e4, 1e-4


def reach(placed, rotation, position, direction):
    """Return how far a shape reaches in a direction of the world: its support function."""
    local, shape = rotation.T @ direction, placed.shape
    a, b, _ = shape.size
    kind = shape.kind.name
    if kind == "MESH":
        far = (shape.mesh.vertices @ local).max()
    elif kind == "BOX":
        far = np.abs(local) @ shape.size
    elif kind == "CAPSULE":
        far = a + b * abs(local[2])
    else:
        far = a * np.hypot(*local[:2]) + b * abs(local[2])
    return far + position @ direction


def certify(a, b, count, seed):
    """Compare the greatest depth of random poses with the gap of the two support functions."""
    engine = engine_of(
        [
            Instance(name, body_urdf(name, SHAPES[kind][0], capsule=SHAPES[kind][1]), free=True)
            for name, kind in (("a", a), ("b", b))
        ]
    )
    rng, work, found = np.random.default_rng(seed), engine.work, 0
    pair = engine.built.pairs[0]
    placed = [engine.built.shapes[s] for s in pair]
    directions = rng.standard_normal((200, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for k in range(count):
        for start in (0, 7):
            quaternion = rng.standard_normal(4)
            engine.q[start : start + 3] = rng.uniform(-0.08, 0.08, 3)
            engine.q[start + 3 : start + 7] = quaternion / np.linalg.norm(quaternion)
        contacts = engine.evaluate()
        assert contacts <= len(work.contacts.depth)
        if contacts == 0:
            continue
        found += 1
        poses = [(work.poses.rotation[s], work.poses.position[s]) for s in pair]

        def gap(n, poses=poses):
            return reach(placed[1], *poses[1], n) + reach(placed[0], *poses[0], -n)

        depth = work.contacts.depth[:contacts].max()
        np.testing.assert_allclose(
            work.contacts.frame[:contacts, 2],
            work.contacts.frame[:1, 2].repeat(contacts, 0),
            atol=0,
        )
        assert gap(work.contacts.frame[0, 2]) == pytest.approx(depth, abs=CERTIFIED)
        if k % 50 == 0:
            # No direction has less: a certificate of overlap from outside, by brute force.
            assert min(gap(n) for n in directions) > depth - CERTIFIED
    assert found > 0.3 * count


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_depth_is_the_gap_of_the_support_functions(a, b):
    certify(a, b, 300, 0)


@pytest.mark.verify
@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_a_hundred_thousand_poses_are_certified(a, b):
    certify(a, b, 100_000, 1)


def free(name, geometry, placement, mass=1.0, inertia=(1e-3,) * 3, capsule=False):
    return Instance(
        name, body_urdf(name, geometry, mass, inertia, capsule), placement, True, GRAVITY
    )


def stays(engine, seconds):
    """Return how far anything moves [m] after a second of settling."""
    assert engine.step(round(1.0 / engine.time_step)) == StepStatus.OK
    start = engine.q.copy()
    assert engine.step(round(seconds / engine.time_step)) == StepStatus.OK
    return np.abs(engine.q - start).max()


@pytest.mark.parametrize("overhang", [5e-4, 5e-3, 3.5e-2])
def test_a_mug_stands_however_far_its_rim_overhangs(overhang):
    """Up to its centre: 40 mm of radius, on a cart whose edge is straight."""
    mug = free("mug", cylinder(0.04, 0.1), pose(x=0.5 - 0.04 + overhang, z=0.1), 0.3)
    cart = Instance("cart", body_urdf("cart", box(1.0, 1.0, 0.1)), pose())
    assert stays(engine_of([mug, cart]), 2.0) < 1e-5


def test_a_plank_lies_on_a_drum():
    """Balanced across a drum that lies still: it gives way by its weight, and no further."""
    plank = free("plank", box(0.6, 0.1, 0.02), pose(z=0.11), 1.0, (1e-2, 3e-2, 3e-2))
    drum = Instance("drum", body_urdf("drum", cylinder(0.1, 0.2)), pose(roll=np.pi / 2))
    engine = engine_of([plank, drum])
    assert stays(engine, 1.0) < 1e-4
    assert engine.q[2] == pytest.approx(0.11 - 9.81 / (2 * STIFFNESS), abs=1e-5)


def test_a_stack_of_ten_cans_stands():
    """Its weight is less than a third of the load under which the compliant stack buckles.

    A joint of total stiffness 4 k on a ring of radius r resists tilting by c = 2 k r^2; a column
    of n cans of height l buckles under m g n of about 8 c / (l n), after Greenhill's column with
    E I = c l: (m g / l) L^3 = 7.84 E I.
    """
    radius, length, mass, count, stiffness = 0.033, 0.12, 0.35, 10, 1e5
    joint = 2.0 * stiffness * radius**2
    buckling = 7.84 * joint / (count**2 * length)
    assert mass * 9.81 * count < buckling * count / 3.0
    inertia = (mass * (radius**2 / 4 + length**2 / 12),) * 2 + (mass * radius**2 / 2,)
    cans = [
        free(f"can_{k}", cylinder(radius, length), pose(z=length * (k + 0.5)), mass, inertia)
        for k in range(count)
    ]
    engine = engine_of([*cans, ground_instance()], surface=Surface(2 * stiffness, 5.0, 0.5))
    assert stays(engine, 9.0) < 1e-4


def patch_of(upper, placement, lower):
    """Return points, depths and stiffnesses of a body on a fixed one."""
    engine = engine_of(
        [
            Instance("upper", body_urdf("upper", upper), placement, True),
            Instance("lower", body_urdf("lower", lower), pose(), True),
        ]
    )
    count, work = engine.evaluate(), engine.work
    contacts = work.contacts
    return (
        contacts.point[:count].copy(),
        contacts.depth[:count].copy(),
        contacts.stiffness[:count].copy(),
    )


@pytest.mark.parametrize("shift", [0.0, 1e-6, 5e-4, 0.03, 0.06])
@pytest.mark.parametrize("lower", ["box", "cylinder"])
def test_a_flat_patch_is_as_stiff_as_four_points_and_keeps_inside_both(shift, lower):
    """The border of disc and square, and of two discs, with no corner beside either."""
    low = box(0.08, 0.08, 0.1) if lower == "box" else cylinder(0.04, 0.1)
    points, depths, stiffness = patch_of(cylinder(0.04, 0.1), pose(x=shift, z=0.1 - DEPTH), low)
    np.testing.assert_allclose(depths, DEPTH, atol=1e-9)
    assert stiffness.sum() == pytest.approx(4.0 * STIFFNESS)
    assert (np.hypot(points[:, 0] - shift, points[:, 1]) < 0.04 + 1e-8).all()
    if lower == "box":
        assert (np.abs(points[:, :2]) < 0.04 + 1e-8).all()
        # Where the disc is cut, its corners are on both borders.
        cut = points[np.abs(points[:, 0] - 0.04) < 1e-8]
        if shift > 0.0:
            np.testing.assert_allclose(
                np.abs(cut[:, 1]).max(), np.sqrt(0.04**2 - (0.04 - shift) ** 2), atol=1e-7
            )
    else:
        assert (np.hypot(points[:, 0], points[:, 1]) < 0.04 + 1e-8).all()


@pytest.mark.parametrize("kind", ["cylinder", "capsule"])
def test_crossing_round_sides_touch_in_one_point_with_an_exact_normal(kind):
    urdfs = [body_urdf(name, cylinder(0.04, 0.3), capsule=kind == "capsule") for name in ("a", "b")]
    upper = pose(x=0.02, y=0.01, z=0.08 - DEPTH, roll=np.pi / 2, yaw=0.3)
    engine = engine_of(
        [
            Instance("a", urdfs[0], upper, True),
            Instance("b", urdfs[1], pose(pitch=np.pi / 2), True),
        ]
    )
    assert engine.evaluate() == 1
    np.testing.assert_allclose(engine.work.contacts.frame[0, 2], [0, 0, 1], atol=1e-14)
    np.testing.assert_allclose(engine.work.contacts.depth[0], DEPTH, atol=1e-14)
    assert engine.work.contacts.stiffness[0] == pytest.approx(STIFFNESS)


def test_the_end_of_a_capsule_on_an_edge_is_one_point():
    """The line that its side shows is cut to nothing there: no two points, no double stiffness."""
    turn = pin.rpy.rpyToMatrix(0.0, np.pi / 2 + 0.1, 0.5)
    normal = np.array([np.sqrt(0.5), 0.0, np.sqrt(0.5)])
    middle = np.array([0.5, 0.0, 0.05]) + (0.04 - DEPTH) * normal + 0.05 * turn[:, 2]
    urdf = body_urdf("upper", cylinder(0.04, 0.1), capsule=True)
    lower = Instance("lower", body_urdf("lower", box(1.0, 1.0, 0.1)), pose(), True)
    engine = engine_of([Instance("upper", urdf, pin.SE3(turn, middle), True), lower])
    assert engine.evaluate() == 1
    assert engine.work.contacts.stiffness[0] == pytest.approx(STIFFNESS)
    np.testing.assert_allclose(engine.work.contacts.depth[0], DEPTH, atol=1e-9)
