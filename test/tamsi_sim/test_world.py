"""Worlds: from URDFs to a simulation in a few lines, and one clear error for bad input."""

import numpy as np
import pytest
from builders import body_urdf, box, mesh, sphere

from contact_core.errors import ConfigError, ModelError
from contact_core.surface import Material, Surface
from tamsi_sim.simulation.world import World

BALL = body_urdf("ball", sphere(0.05))


def test_from_urdf_to_trajectory():
    engine = World().add_ground().add("ball", BALL, (0.0, 0.0, 0.3), free=True).build()
    run = engine.simulate(0.2)
    assert run.status == 0
    assert run.time[-1] == pytest.approx(0.2)
    assert run.q[-1, 2] == pytest.approx(0.3 - 9.81 * 0.2**2 / 2, abs=2e-3)


def test_pairs_have_materials_of_their_own():
    world = World(surface=Surface(2e4, 5.0, 0.5)).add_ground(surface=Surface(2e4, 5.0, 0.3))
    world.add("a", BALL, (0.0, 0.0, 1.0), free=True)
    world.add("b", BALL, (1.0, 0.0, 1.0), free=True)
    world.set_material("b", "ground", Material(500.0, 1.0, 0.9))
    arrays = world.build().built.arrays
    names = {}
    for pair, (a, b) in enumerate(arrays.pairs.shapes):
        names[frozenset((int(a), int(b)))] = pair
    a_ground, b_ground, a_b = (names[frozenset(p)] for p in ((0, 1), (0, 2), (1, 2)))
    assert arrays.pairs.friction[a_ground] == pytest.approx(2 * 0.5 * 0.3 / 0.8)
    assert arrays.pairs.stiffness[b_ground] == 500.0
    assert arrays.pairs.friction[b_ground] == 0.9
    assert arrays.pairs.stiffness[a_b] == pytest.approx(1e4)


def test_ignored_pairs_pass_through_each_other():
    world = World().add_ground().add("ball", BALL, (0.0, 0.0, 0.1), free=True)
    engine = world.ignore("ball", "ground").build()
    engine.step(500)
    assert engine.q[2] < -0.5


def test_weightless_things_float():
    engine = World().add("ball", BALL, (0.0, 0.0, 1.0), free=True, weightless=True).build()
    engine.step(100)
    assert engine.q[2] == 1.0


@pytest.mark.parametrize(
    ("mistake", "error", "message"),
    [
        (lambda w: w.add("ball", BALL), ModelError, r"'ball' exists already \(valid: ball\)"),
        (lambda w: w.ignore("ball", "mug"), ModelError, r"no instance 'mug' \(valid: ball\)"),
        (lambda w: w.add("mug", "urdf/none.urdf"), ConfigError, "cannot find .*none.urdf"),
        (lambda w: w.build(time_step=0.0), ConfigError, "time_step must be > 0 s, got 0"),
    ],
)
def test_mistakes_are_named(mistake, error, message):
    world = World().add("ball", BALL, free=True)
    with pytest.raises(error, match=message):
        mistake(world)


def test_a_start_deep_inside_another_body_is_refused():
    world = World().add_ground().add("ball", BALL, (0.0, 0.0, 0.01), free=True)
    message = r"ball/ball and ground/ground start 40 mm inside each other .*at most 25 mm"
    with pytest.raises(ModelError, match=message):
        world.build()


def test_a_mesh_that_starts_deep_inside_another_body_is_refused():
    rock = body_urdf("rock", mesh("gem.obj"))
    world = World().add_ground().add("rock", rock, (0.0, 0.0, 0.01), free=True)
    with pytest.raises(ModelError, match=r"rock/rock and ground/ground start 30 mm inside each"):
        world.build()


def test_a_start_in_shallow_contact_is_not():
    World().add_ground().add("box", body_urdf("box", box(1, 1, 1)), (0, 0, 0.49), free=True).build()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, v: q.__setitem__(2, np.nan), "free body 'ball' has pose"),
        (lambda q, v: v.__setitem__(4, np.inf), "free body 'ball' has pose"),
        (lambda q, v: q.__setitem__(slice(3, 7), 0.0), "free body 'ball' has pose"),
    ],
)
def test_a_state_that_is_not_finite_is_refused_and_nothing_changes(change, message):
    engine = World().add("ball", BALL, (0.0, 0.0, 1.0), free=True).build()
    q, v = engine.q.copy(), engine.v.copy()
    change(q, v)
    with pytest.raises(ModelError, match=message):
        engine.set_state(q, v)
    assert engine.q[2] == 1.0
    assert np.isfinite(engine.v).all()


def test_a_state_of_the_wrong_size_is_refused():
    engine = World().add("ball", BALL, free=True).build()
    with pytest.raises(ModelError, match=r"q needs 7 values and v 6, got \(3,\) and \(6,\)"):
        engine.set_state(np.zeros(3), np.zeros(6))


def test_quaternions_are_normalised():
    engine = World().add("ball", BALL, free=True).build()
    engine.set_state(np.array([0, 0, 0, 0, 0, 3.0, 4.0]), np.zeros(6))
    np.testing.assert_allclose(engine.q[3:], [0, 0, 0.6, 0.8])


def test_one_robot_twice_each_with_its_own_start(tmp_path, monkeypatch):
    arm = """<robot name="arm"><link name="base"/><link name="tip"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="turn" type="continuous"><parent link="base"/><child link="tip"/>
      <axis xyz="0 0 1"/></joint></robot>"""
    (tmp_path / "arm.urdf").write_text(arm)
    monkeypatch.chdir(tmp_path)
    world = World().add("left", "arm.urdf", positions={"turn": 4.0}).add("right", "arm.urdf")
    engine = world.build()
    assert engine.built.joints == {"left/turn": 0, "right/turn": 1}
    assert engine.q.tolist() == [4.0, 0.0]
    with pytest.raises(ModelError, match=r"third: no joint 'bend' to start at 1.0 \(valid: turn\)"):
        world.add("third", "arm.urdf", positions={"bend": 1.0}).build()
