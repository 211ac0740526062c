"""What sticks is held: no creep, no drift, no energy from it; and what rolls and slides is free."""

import numpy as np
import pinocchio as pin
import pytest
from builders import body_urdf, box, hull_mesh, sphere

from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.world import World

# Two pads that a revolute joint turns about their normal, 60 N each.
PADS = """<robot name="hand"><link name="stand"/>
  <link name="palm"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="stand"/><child link="palm"/>
    <axis xyz="1 0 0"/></joint>
  {fingers}</robot>"""
FINGER = """<link name="{name}"><inertial><mass value="0.05"/>
    <inertia ixx="1e-5" iyy="1e-5" izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.01 0.02 0.02"/></geometry></collision></link>
  <joint name="slide_{name}" type="prismatic"><parent link="palm"/><child link="{name}"/>
    <origin xyz="{place} 0 0"/><axis xyz="{way} 0 0"/>
    <limit lower="-0.05" upper="0.05" effort="200" velocity="1"/></joint>"""
GRIP = 60.0
FINGERS = FINGER.format(name="left", place=-0.02, way=1) + FINGER.format(
    name="right", place=0.02, way=-1
)


def on_slope(share, time_step, mass=1.0, size=0.1, law="elastic"):
    """Return a box at rest on a slope, at a share of the friction angle's tangent of 0.5."""
    angle = np.arctan(0.5 * share)
    gravity = (9.81 * np.sin(angle), 0.0, -9.81 * np.cos(angle))
    inertia = (mass * size**2 / 6.0,) * 3
    urdf = body_urdf("box", box(size, size, size), mass, inertia)
    world = World(gravity, Surface(1e5, 10.0, 0.5)).add_ground()
    world.add("box", urdf, (0.0, 0.0, 0.5 * size), free=True)
    engine = world.build(time_step, SolverConfig(friction_law=law))
    assert engine.step(round(1.5 / time_step)) == StepStatus.OK
    return engine


def in_grip(offset=(0.0, 0.0, 0.0), mass=0.045):
    """Return a box in the grip of two pads, and the first of its velocities."""
    urdf = body_urdf("box", box(0.03, 0.03, 0.03), mass, (mass * 1.5e-4,) * 3)
    world = World(surface=Surface(1e4, 10.0, 0.5)).add("hand", PADS.format(fingers=FINGERS))
    engine = world.add("box", urdf, offset, free=True).build()
    for name in ("slide_left", "slide_right"):
        engine.applied[engine.built.joints[name]] = GRIP
    drive = engine.built.joints["turn"]
    engine.drives.stiffness[drive], engine.drives.damping_ratio[drive] = 1e5, 1.0
    assert engine.step(500) == StepStatus.OK
    return engine, engine.built.free_bodies["box"]


@pytest.mark.parametrize("time_step", [1e-3, 5e-3])
@pytest.mark.parametrize(("mass", "size"), [(1.0, 0.1), (1e-3, 0.01), (20.0, 0.2)])
def test_nothing_creeps_just_below_the_friction_angle(mass, size, time_step):
    engine = on_slope(0.99, time_step, mass, size)
    before = engine.q.copy()
    assert engine.step(round(1.0 / time_step)) == StepStatus.OK
    np.testing.assert_allclose(engine.q, before, rtol=0.0, atol=1e-11)


def test_the_papers_law_creeps():
    """By the share of the stiction velocity that the load is of friction: tamsi (7)."""
    engine = on_slope(0.5, 1e-3, law="linear")
    before = engine.q[0]
    engine.step(1000)
    assert engine.q[0] - before == pytest.approx(0.5e-4, rel=1e-3)


def test_a_thousand_changes_of_load_and_grip_move_nothing():
    engine, (q, dof) = in_grip(offset=(0.0, 0.004, 0.003))
    before = engine.q[q : q + 7].copy()
    pads = [engine.built.joints[name] for name in ("slide_left", "slide_right")]
    for cycle in range(1000):
        engine.applied[dof + 2] = -30.0 * (cycle % 2)
        engine.applied[pads] = GRIP * (0.6 + 0.4 * (cycle % 3 > 0))
        assert engine.step(6) == StepStatus.OK
    engine.applied[dof + 2], engine.applied[pads] = 0.0, GRIP
    engine.step(200)
    # Less than the pads give way elastically before they slip.
    reach = 0.5 * GRIP * engine.work.contact_forces.compliance[0] / 4.0
    assert np.abs(engine.q[q : q + 3] - before[:3]).max() < reach
    assert np.abs(engine.q[q + 3 : q + 7] - before[3:]).max() < reach / 0.014


def test_a_grasp_that_turns_about_the_pads_normal_takes_the_box_along():
    engine, (q, _) = in_grip(mass=0.2)
    before = engine.q[q : q + 7].copy()
    drive = engine.built.joints["turn"]
    engine.drives.target_rate[drive] = 2.0 * np.pi * 1e-3
    assert engine.step(1000) == StepStatus.OK
    engine.drives.target_rate[drive] = 0.0
    assert engine.step(300) == StepStatus.OK
    turned = engine.q[engine.built.arrays.joints.q[drive]]
    assert turned == pytest.approx(2.0 * np.pi, abs=1e-4)
    assert np.abs(engine.q[q : q + 3] - before[:3]).max() < 1e-6
    # A quaternion of a whole turn is the negative of where it began.
    assert np.abs(engine.q[q + 3 : q + 7] + before[3:]).max() < 1e-4


@pytest.mark.parametrize("rolling", [0.0, 2e-3])
def test_what_rolls_rolls_as_without_shear(rolling):
    ways = []
    for law in ("linear", "elastic"):
        world = World(surface=Surface(2e4, 5.0, 0.5, rolling=rolling)).add_ground()
        world.add(
            "ball", body_urdf("ball", sphere(0.02), 0.05, (8e-6,) * 3), (0, 0, 0.02), free=True
        )
        engine = world.build(1e-3, SolverConfig(friction_law=law))
        engine.step(200)
        engine.v[0], engine.v[4] = 0.3, 0.3 / 0.02
        engine.step(100)
        ways.append(engine.q[0])
        if law == "elastic" and not rolling:
            assert np.abs(engine.work.shear.shear[0]).max() < 1e-12
    assert ways[1] == pytest.approx(ways[0], rel=1e-3)


def test_a_ball_with_rolling_friction_stays_on_a_slope():
    gravity = (9.81 * np.sin(0.05), 0.0, -9.81 * np.cos(0.05))
    world = World(gravity, Surface(2e4, 5.0, 0.5, rolling=2e-3)).add_ground()
    world.add("ball", body_urdf("ball", sphere(0.02), 0.05, (8e-6,) * 3), (0, 0, 0.02), free=True)
    engine = world.build()
    engine.step(500)
    before = engine.q.copy()
    engine.step(500)
    np.testing.assert_allclose(engine.q, before, rtol=0.0, atol=1e-11)


def test_saved_restored_and_rolled_out_motions_are_the_same_bit_by_bit():
    engine, (_, dof) = in_grip(offset=(0.0, 0.004, 0.003))
    engine.applied[dof + 2] = -20.0
    engine.step(3)
    start = engine.save()
    assert np.abs(engine.work.shear.shear).max() > 1e-7
    engine.step(20)
    end, shear = engine.q.copy(), engine.work.shear.shear.copy()
    engine.restore(start)
    forces = np.tile(engine.applied, (1, 20, 1))
    rolled = engine.rollouts(engine.q, engine.v, forces)
    engine.step(20)
    np.testing.assert_array_equal(engine.q, end)
    np.testing.assert_array_equal(engine.work.shear.shear, shear)
    np.testing.assert_array_equal(rolled.q[0, -1], end)
    twin = engine.twin()
    twin.restore(start)
    twin.step(20)
    np.testing.assert_array_equal(twin.q, end)


def test_what_is_put_by_hand_is_not_sheared():
    engine = on_slope(0.9, 1e-3)
    elastic = engine.observer.energy().elastic
    engine.q[0] += 0.1
    assert engine.observer.energy().elastic < elastic
    fresh = on_slope(0.9, 1e-3)
    fresh.set_state(engine.q, engine.v)
    engine.step()
    fresh.step()
    np.testing.assert_array_equal(engine.q, fresh.q)


def test_no_change_of_load_gives_energy():
    """A box that is pressed on a slope and let go has what the press did, or less."""
    engine = on_slope(0.8, 1e-3)
    work, before = 0.0, np.inf
    for press in (0.0, -200.0, -2.0, -100.0, 1.0, 0.0):
        engine.applied[2] = press
        for _ in range(50):
            engine.step()
            work += press * engine.v[2] * engine.time_step
        now = engine.observer.energy()
        balance = now.kinetic + now.potential + now.elastic - work
        assert balance < before + 1e-12
        before = balance


@pytest.mark.parametrize("time_step", [1e-3, 5e-3])
def test_a_stone_on_nearly_coplanar_faces_comes_to_rest(tmp_path, time_step):
    """Of its lower side every corner is 0.3 mm off or less: its faces turn away by a degree."""
    rng = np.random.default_rng(7)
    angle = np.sort(rng.uniform(0.0, 2.0 * np.pi, 12))
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    low = np.column_stack([circle * [0.04, 0.03], rng.uniform(-3e-4, 3e-4, 12)])
    high = np.column_stack([0.02 * circle, np.full(12, 0.03)])
    stone = hull_mesh(tmp_path, "stone.obj", np.vstack([low, high]))
    world = World(surface=Surface(2e4, 10.0, 0.5)).add_ground()
    urdf = body_urdf("stone", stone, 0.05, (1e-5,) * 3)
    engine = world.add("stone", urdf, (0.0, 0.0, 0.01), free=True).build(time_step)
    assert engine.step(round(1.5 / time_step)) == StepStatus.OK
    for _ in range(20):
        engine.step()
        assert np.abs(engine.v).max() < 1e-9


@pytest.mark.parametrize("time_step", [1e-3, 5e-3])
def test_what_a_turntable_carries_does_not_fall_behind(time_step):
    """A step goes on straight: it would be h / 2 of the acceleration further out every second."""
    mass = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    table = f"""<robot name="t"><link name="stand"/><link name="table"><inertial>{mass}</inertial>
        <collision><geometry>{box(0.6, 0.6, 0.02)}</geometry></collision></link>
      <joint name="turn" type="continuous"><parent link="stand"/><child link="table"/>
        <axis xyz="0 0 1"/></joint></robot>"""
    cube = body_urdf("cube", box(0.05, 0.05, 0.05), 0.1, (4e-5,) * 3)
    world = World(surface=Surface(2e4, 10.0, 0.5)).add("table", table, velocities={"turn": 1.0})
    world.add("cube", cube, (0.2, 0.0, 0.035), free=True, linear=(0.0, 0.2, 0.0), angular=(0, 0, 1))
    engine = world.build(time_step)

    def seen():
        return engine.observer.pose("table", "table").actInv(engine.observer.pose("cube"))

    engine.step(round(1.0 / time_step))
    before = seen()
    engine.step(round(2.0 / time_step))
    assert engine.v[engine.built.joints["turn"]] == pytest.approx(1.0, rel=1e-3)
    moved = before.actInv(seen())
    assert np.linalg.norm(moved.translation) < 5e-6
    assert np.linalg.norm(pin.log3(moved.rotation)) < 5e-6
