"""A world is more than a rollout: it goes back, is pushed by hands, and answers questions."""

import numpy as np
import pytest
from builders import CHAIN, body_urdf, box, cylinder, sphere
from scipy.integrate import solve_ivp

from contact_core.base.errors import ModelError
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Surface
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.simulation.world import World

BOX = body_urdf("box", box(0.1, 0.1, 0.1), 1.0, (1.7e-3,) * 3)
# No mass: a hand that no force moves needs none.
HAND = """<robot name="hand"><link name="hand"><collision><geometry>
  <box size="0.05 0.2 0.1"/></geometry></collision></link></robot>"""


def scene(**options):
    world = World().add_ground().add("box", BOX, (0.0, 0.0, 0.05), free=True)
    return world.add("hand", HAND, (-0.15, 0.0, 0.06), kinematic=True, **options)


def test_a_hand_pushes_and_nothing_pushes_it():
    engine = scene().build()
    engine.set_velocity("hand", (0.2, 0.0, 0.0))
    found = engine.simulate(1.0)
    assert found.status == StepStatus.OK
    i, dof = engine.built.free_bodies["hand"]
    np.testing.assert_allclose(engine.q[i : i + 3], [0.05, 0.0, 0.06], atol=1e-9)
    # The box goes before it, its hand's half and its own ahead.
    assert engine.q[engine.built.free_bodies["box"][0]] == pytest.approx(0.125, abs=1e-3)
    # The hand feels the floor's friction, all but what it carries of the box; nothing is left over.
    assert found.contact_force[-1, dof] == pytest.approx(-0.5 * 9.81, rel=5e-2)
    box_dof = engine.built.free_bodies["box"][1]
    np.testing.assert_allclose(
        found.contact_force[-1, box_dof : box_dof + 3], [0, 0, 9.81], atol=0.05
    )
    assert engine.observer.energy().kinetic == pytest.approx(0.5 * 0.2**2, rel=1e-2)


def test_a_hand_turns_as_it_is_told():
    engine = scene().build()
    engine.set_velocity("hand", angular=(0.0, 0.0, 0.5))
    engine.step(1000)
    pose = engine.observer.pose("hand")
    np.testing.assert_allclose(pose.rotation[:2, 0], [np.cos(0.5), np.sin(0.5)], atol=1e-6)


def test_an_arm_stands_on_a_base_that_moves():
    engine = World().add("robot", "urdf/iiwa14.urdf", kinematic=True, weightless=True).build()
    engine.set_velocity("robot", (0.1, 0.0, 0.0))
    assert engine.step(500) == StepStatus.OK
    assert engine.observer.pose("robot").translation[0] == pytest.approx(0.05, abs=1e-9)


PENDULUM = """<robot name="p"><link name="base"/><joint name="j" type="continuous">
  <parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint><link name="bob"><inertial>
  <origin xyz="0 0 -1"/><mass value="1"/><inertia ixx="1e-6" iyy="1e-6" izz="1e-6" ixy="0" ixz="0"
  iyz="0"/></inertial></link></robot>"""


def test_what_hangs_from_a_hand_that_speeds_up_is_left_behind():
    engine = World().add("p", PENDULUM, kinematic=True).build()
    for k in range(500):
        engine.set_velocity("p", (2e-3 * (k + 1), 0.0, 0.0))
        engine.step()
    exact = solve_ivp(
        lambda t, y: [y[1], 2.0 * np.cos(y[0]) - 9.81 * np.sin(y[0])], (0.0, 0.5), [0.0, 0.0]
    )
    assert abs(engine.q[-1]) == pytest.approx(exact.y[0, -1], rel=0.01)


def test_going_back_repeats_bit_by_bit():
    engine = scene().build()
    engine.set_velocity("hand", (0.2, 0.01, 0.0), (0.0, 0.0, 0.3))
    engine.step(500)
    snapshot = engine.save()
    engine.applied[2] = 0.3
    engine.step(300)
    engine.applied[2] = 0.0
    engine.restore(snapshot)
    first = engine.simulate(0.3)
    engine.restore(snapshot)
    second = engine.simulate(0.3)
    np.testing.assert_array_equal(first.q, second.q)
    np.testing.assert_array_equal(first.contact_force, second.contact_force)
    engine.reset()
    np.testing.assert_array_equal(engine.q, engine.built.q)
    assert not engine.v.any()
    assert not engine.applied.any()


def test_everything_may_start_in_motion_and_comes_back_to_it():
    world = World(gravity=(0.0, 0.0, 0.0)).add(
        "box", BOX, free=True, linear=(1.0, 2.0, 3.0), angular=(0.1, 0.2, 0.3)
    )
    world.add("hand", HAND, (0.0, 0.0, 2.0), kinematic=True, linear=(0.2, 0.0, 0.0))
    spin = {"wrist": (4.0, 5.0, 6.0), "elbow": 7.0}
    world.add("chain", CHAIN, (0.0, 5.0, 0.0), weightless=True, velocities=spin)
    balls = """<mujoco><worldbody><body name="b" pos="9 0 0"><freejoint name="flies"/>
      <geom size="0.1"/></body></worldbody></mujoco>"""
    spin = {"flies": (0.0, 0.0, 8.0, 0.0, 0.0, 9.0)}
    world.add("balls", balls, weightless=True, velocities=spin)
    engine = world.build()
    expected = [1, 2, 3, 0.1, 0.2, 0.3, 0.2, 0, 0, 0, 0, 0, 0, 0, 0, 7, 4, 5, 6, 0, 0, 8, 0, 0, 9]
    assert engine.v.tolist() == expected
    assert engine.simulate(0.01).status == StepStatus.OK
    assert engine.observer.pose("hand").translation[0] == pytest.approx(0.002)
    assert engine.observer.pose("balls", "b").translation[2] == pytest.approx(0.08)
    twin = world.build()
    twin.restore(engine.save())
    np.testing.assert_array_equal(twin.v, engine.v)
    twin.reset()
    assert twin.v.tolist() == expected


def test_a_snapshot_of_another_world_is_refused():
    other = World().add("ball", body_urdf("ball", sphere(0.1)), free=True).build()
    with pytest.raises(ModelError, match="snapshot has 7 positions and 6 velocities"):
        scene().build().restore(other.save())


@pytest.mark.parametrize(
    ("name", "velocity", "message"),
    [
        ("cup", (0, 0, 0), "no free body 'cup'"),
        ("hand", (0, 0), "3 numbers each"),
        ("hand", (0, np.nan, 0), "3 numbers each"),
        ("hand", "fast", "3 numbers each"),
    ],
)
def test_a_wrong_velocity_is_refused(name, velocity, message):
    with pytest.raises(ModelError, match=message):
        scene().build().set_velocity(name, velocity)


def test_recorded_forces_are_those_of_every_step():
    engine = World(surface=Surface(1e4, 5.0, 0.5)).add_ground()
    engine = engine.add("box", BOX, (0.0, 0.0, 0.06), free=True).build()
    engine.v[0] = 0.5
    found = engine.simulate(0.5)
    momentum = np.diff(found.v[:, :3], axis=0)
    expected = 1e-3 * (found.contact_force[:, :3] + [0.0, 0.0, -9.81])
    np.testing.assert_allclose(momentum, expected, atol=1e-12)
    assert not found.contact_force[0].any()
    same = engine.rollouts(found.q[0], found.v[0], np.zeros((2, 500, 6)), forces=True)
    np.testing.assert_array_equal(same.contact_force[1], found.contact_force)
    none = engine.rollouts(found.q[0], found.v[0], np.zeros((2, 5, 6)))
    assert none.contact_force.shape == (2, 0, 6)


def test_distances_are_signed_and_say_where():
    world = World().add("a", body_urdf("a", sphere(0.1)), free=True)
    world.add("b", body_urdf("b", cylinder(0.05, 0.2)), (0.4, 0.0, 0.02), free=True)
    engine = world.build()
    found = engine.observer.distance("a", "b/b")
    assert found.distance == pytest.approx(0.25, abs=1e-6)
    np.testing.assert_allclose(found.point_a, [0.1, 0.0, 0.0], atol=1e-4)
    assert (found.shape_a, found.shape_b) == ("a_shape", "b_shape")
    engine.q[7] = 0.12
    assert engine.observer.distance("a", "b").distance == pytest.approx(-0.03, abs=1e-6)
    with pytest.raises(ModelError, match="no instance or link 'c'"):
        engine.observer.distance("a", "c")


def test_a_simulation_that_runs_away_says_so():
    """With explicit gyroscopic terms, a body that spins fast makes energy at every step."""
    plank = body_urdf("plank", box(0.3, 0.1, 0.02), 1.0, (1e-3, 8e-3, 9e-3))
    world = World(gravity=(0.0, 0.0, 0.0)).add("plank", plank, free=True)
    explicit = world.build(solver=SolverConfig(gyroscopic_terms="explicit"))
    explicit.v[3:] = [50.0, 70.0, 20.0]
    energy = explicit.observer.energy().kinetic
    assert explicit.step(10000) == StepStatus.DIVERGED
    assert np.isfinite(explicit.v).all()
    assert explicit.observer.energy().kinetic > 10.0 * energy
    assert "time_step" in StepStatus.DIVERGED.remedy
    # It stays so, until somebody sets another state.
    assert explicit.step() == StepStatus.DIVERGED
    explicit.reset()
    assert explicit.step(100) == StepStatus.OK
    engine = world.build()
    engine.v[3:] = [50.0, 70.0, 20.0]
    assert engine.step(10000) == StepStatus.OK
