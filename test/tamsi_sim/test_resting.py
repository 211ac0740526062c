"""Convex meshes at rest: they stand, lie, stack and are held like primitive shapes."""

import numpy as np
import pinocchio as pin
import pytest
from builders import (
    GRAVITY,
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

from contact_core.robot.scene import Instance
from contact_core.robot.surface import Surface
from tamsi_sim.arrays.status import StepStatus

STICTION = 1e-4  # v_s [m/s]
LYING = pin.rpy.rpyToMatrix(0.0, np.pi / 2, 0.0)
FINGER = """<link name="{0}"><inertial><mass value="0.05"/>
  <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size="0.02 0.02 0.08"/></geometry></collision></link>
  <joint name="slide_{0}" type="prismatic"><parent link="palm"/><child link="{0}"/>
  <origin xyz="0 {1} 0"/><axis xyz="0 {2} 0"/>{3}
  <limit lower="0" upper="0.05" effort="100" velocity="1"/></joint>"""
GRIPPER = (
    '<robot name="gripper"><link name="palm"/>'
    + FINGER.format("left", -0.06, 1, "")
    + FINGER.format("right", 0.06, -1, '<mimic joint="slide_left"/>')
    + "</robot>"
)


@pytest.fixture
def shapes(tmp_path):
    return {
        "box": box(0.1, 0.1, 0.1),
        "cube": hull_mesh(tmp_path, "cube", box_points(0.1, 0.1, 0.1)),
        "drum": hull_mesh(tmp_path, "drum", drum_points(0.04, 0.1)),
        "cylinder": cylinder(0.03, 0.1),
    }


def free(name, geometry, placement, mass=1.0):
    inertia = (1.67e-3 * mass,) * 3
    return Instance(name, body_urdf(name, geometry, mass, inertia), placement, True, GRAVITY)


def settled(instances, seconds=5.0, time_step=1e-3):
    """Return an engine after some seconds, and how far anything moved in the last half."""
    engine = engine_of(instances, time_step)
    steps = round(0.5 * seconds / time_step)
    assert engine.step(steps) == StepStatus.OK
    halfway = engine.q.copy()
    assert engine.step(steps) == StepStatus.OK
    return engine, np.abs(engine.q - halfway).max()


def test_a_mesh_box_rests_where_a_box_does(shapes):
    """Dropped by 0.5 mm: same height and attitude after 5 s, and no drift."""
    rest = {}
    for name in ("box", "cube"):
        body = free(name, shapes[name], pose(z=0.0505, yaw=0.3))
        engine, drift = settled([body, ground_instance()])
        assert drift < 1e-12
        rest[name] = engine.q.copy()
    np.testing.assert_allclose(rest["cube"], rest["box"], atol=1e-8)


@pytest.mark.parametrize(
    ("placement", "points"),
    [
        (pose(z=0.05), 8),
        (pin.SE3(LYING @ pose(yaw=np.pi / 32).rotation, np.array([0, 0, 0.0397])), 4),
    ],
    ids=["standing", "lying"],
)
def test_a_mesh_cylinder_stands_and_lies(shapes, placement, points):
    engine, drift = settled([free("drum", shapes["drum"], placement), ground_instance()])
    assert drift < 1e-6
    assert engine.evaluate() == points


@pytest.mark.parametrize("name", ["cube", "drum"])
def test_a_stack_of_four_meshes_stands_and_carries_its_weight(shapes, name):
    bodies = [free(f"{name}_{k}", shapes[name], pose(z=0.05 + 0.1 * k)) for k in range(4)]
    engine, drift = settled([*bodies, ground_instance()])
    assert drift < 1e-6
    assert np.abs(engine.v).max() < STICTION
    for k in range(4):
        low = [c for c in engine.contacts() if {c.instance_a, c.instance_b} == pair_below(name, k)]
        assert sum(abs(c.force[2]) for c in low) == pytest.approx((4 - k) * 9.81, rel=1e-4)


def pair_below(name, k):
    """Return the instances that touch below body k of a stack."""
    return {f"{name}_{k}", f"{name}_{k - 1}" if k > 0 else "ground"}


@pytest.mark.parametrize(
    ("upper", "lower"),
    [("cylinder", "cube"), ("cube", "cylinder"), ("cube", "box"), ("box", "drum")],
)
def test_meshes_and_primitives_stand_on_each_other(shapes, upper, lower):
    bodies = [
        free("upper", shapes[upper], pose(z=0.15)),
        free("lower", shapes[lower], pose(z=0.05)),
    ]
    engine, drift = settled([*bodies, ground_instance()])
    assert drift < 1e-6
    # Both layers give way by less than a millimetre.
    assert 0.149 < engine.q[2] < 0.15


def test_an_overhanging_mesh_tips_like_a_box(shapes):
    """Supported up to 1.5 cm beyond its middle; the same motion to 1 um after 1 s."""
    ends = []
    for name in ("box", "cube"):
        bodies = [
            free("upper", shapes[name], pose(x=0.035, z=0.15)),
            free("lower", shapes[name], pose(z=0.05)),
        ]
        engine, _ = settled([*bodies, ground_instance()], seconds=1.0)
        ends.append(engine.q.copy())
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)


def test_box_fingers_hold_a_mesh_mug(shapes):
    """10 N per finger at mu 0.5 carry 3 N; creep stays below the stiction velocity for 5 s."""
    mug = free("mug", shapes["drum"], pose(), mass=0.3)
    engine = engine_of([Instance("gripper", GRIPPER, gravity=GRAVITY), mug])
    engine.q[engine.built.arrays.joints.q[engine.built.joints["slide_left"]]] = 0.01
    engine.work.drives.applied[engine.built.joints["slide_left"]] = 20.0
    assert engine.step(5000) == StepStatus.OK
    place = engine.built.free_bodies["mug"][0]
    assert abs(engine.q[place + 2]) < 5.0 * STICTION
    np.testing.assert_allclose(engine.q[place : place + 2], 0.0, atol=1e-4)
    assert (
        pin.Quaternion(*engine.q[place + 3 : place + 7][[3, 0, 1, 2]]).angularDistance(
            pin.Quaternion.Identity()
        )
        < 1e-2
    )
    force = sum(c.force[2] * (1 if c.instance_a == "mug" else -1) for c in engine.contacts())
    assert force == pytest.approx(0.3 * 9.81, rel=1e-3)


@pytest.mark.parametrize("turn", [(0.7, 0.6, 0.0), (0.0, np.pi / 2, 0.0)], ids=["corner", "side"])
def test_a_falling_mesh_gains_no_energy(shapes, turn):
    """2 cm onto hard ground without dissipation: less than stepping itself adds in free fall."""
    time_step, drop = 5e-4, 0.02
    rotation = pin.rpy.rpyToMatrix(*turn)
    height = drop - (drum_points(0.04, 0.1) @ rotation.T)[:, 2].min()
    body = free("drum", shapes["drum"], pin.SE3(rotation, np.array([0.0, 0.0, height])))
    engine = engine_of([body, ground_instance()], time_step, Surface(2e4, 0.0, 0.5))
    # Symplectic Euler's own error, m g v h / 2, and elastic energy felt half a step late.
    speed = np.sqrt(2.0 * 9.81 * drop)
    own = 0.5 * time_step * speed * (9.81 + np.sqrt(4e4) * speed)
    start = engine.observer.energy().total
    for _ in range(1000):
        assert engine.step(1) == StepStatus.OK
        assert engine.observer.energy().total - start < own
