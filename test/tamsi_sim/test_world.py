"""Worlds: from URDFs to a simulation in a few lines, and one clear error for bad input."""

import warnings

import numpy as np
import pytest
from builders import CHAIN, body_urdf, box, hull_mesh, mesh, sphere
from concave_meshes import WALL, WIDTH, trough, write_obj

from contact_core.base.errors import ConfigError, ModelError, ModelWarning
from contact_core.robot.surface import Material, Surface
from tamsi_sim.arrays.status import StepStatus
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
    built = world.build().built
    assert sorted(map(sorted, built.pairs.tolist())) == [[0, 1], [0, 2], [1, 2]]
    rules, group = built.arrays.rules, built.arrays.geometry.group
    a_ground, b_ground, a_b = (
        rules.shapes[group[p], group[q]] for p, q in ((0, 1), (0, 2), (1, 2))
    )
    assert rules.friction[a_ground] == pytest.approx(2 * 0.5 * 0.3 / 0.8)
    assert rules.stiffness[b_ground] == 500.0
    assert rules.friction[b_ground] == 0.9
    assert rules.stiffness[a_b] == pytest.approx(1e4)


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
        (lambda w: w.add("a", BALL, linear=(1, 0, 0)), ModelError, "'a' is fixed, so it has no"),
        (lambda w: w.add("a", BALL, angular=(1, 0)), ConfigError, "angular of 'a' must be 3 num"),
        (lambda w: w.add("a", CHAIN, velocities=1.0), ModelError, "velocities of 'a' must map"),
        (
            lambda w: w.add("a", CHAIN, velocities={"wrist": 1.0}).build(),
            ModelError,
            "a: velocity of joint 'wrist' must be 3 finite",
        ),
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


def test_a_ball_joint_without_an_orientation_is_refused():
    engine = World().add("chain", CHAIN).build()
    q = engine.q.copy()
    q[:4] = 0.0
    with pytest.raises(ModelError, match="ball joint 'shoulder' has pose"):
        engine.set_state(q, engine.v)
    q[:4], q[5:] = [0.0, 0.0, 3.0, 4.0], [0.0, 2.0, 0.0, 0.0]
    engine.set_state(q, engine.v)
    np.testing.assert_allclose(engine.q, [0, 0, 0.6, 0.8, 0, 0, 1, 0, 0], atol=1e-15)
    engine.q[3] = 7.0
    with pytest.raises(ModelError, match=r"ball joint 'shoulder' has quaternion .* must be unit"):
        engine.observer.check_finite()


def test_ball_joints_of_one_name_are_told_apart_by_their_instances():
    built = World().add("l", CHAIN).add("r", CHAIN, (0.0, 2.0, 0.0)).build().built
    assert built.joints == {"l/elbow": 3, "r/elbow": 10}
    assert built.ball_joints == {
        "l/shoulder": (0, 0), "l/wrist": (5, 4), "r/shoulder": (9, 7), "r/wrist": (14, 11),
    }  # fmt: skip


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


def folded_arm(fold, tip=0.06):
    """Three links whose last one can fold back onto the first."""
    inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    links = "".join(
        f"""<link name="{name}"><inertial><mass value="1"/>{inertia}</inertial>
        <collision><origin xyz="0.5 0 0"/><geometry><box size="0.9 0.1 0.1"/></geometry>
        </collision></link>"""
        for name in ("upper", "middle", "lower")
    )
    bend = """<joint name="{0}" type="continuous"><origin xyz="1 {1} 0"/><parent link="{2}"/>
      <child link="{3}"/><axis xyz="0 0 1"/></joint>"""
    joints = bend.format("elbow", 0.0, "upper", "middle") + bend.format(
        "wrist", tip, "middle", "lower"
    )
    world = World(gravity=(0.0, 0.0, 0.0))
    urdf = f'<robot name="arm">{links}{joints}</robot>'
    return world.add("arm", urdf, positions={"elbow": fold, "wrist": fold})


def pairs_of(engine):
    shapes = engine.built.shapes
    return {tuple(sorted((shapes[a].body, shapes[b].body))) for a, b in engine.built.pairs}


def test_links_pass_through_each_other_unless_they_are_asked_not_to():
    assert pairs_of(folded_arm(0.5).build()) == set()
    assert pairs_of(folded_arm(0.5).collide_with_itself("arm").build()) == {("lower", "upper")}


def test_links_that_fold_onto_each_other_push_each_other_away():
    engine = folded_arm(2.0).collide_with_itself("arm").build()
    engine.applied[:] = 2.0
    depths = []
    for _ in range(150):
        assert engine.step(10) == 0
        for contact in engine.contacts():
            assert {contact.link_a, contact.link_b} == {"upper", "lower"}
            depths.append(contact.depth)
    assert 0.0 < max(depths) < 0.01


def test_links_that_touch_at_the_start_or_are_listed_may_overlap(tmp_path):
    straight = folded_arm(np.pi - 0.05)
    assert pairs_of(straight.collide_with_itself("arm").build()) == set()
    apart = folded_arm(0.5).collide_with_itself("arm", apart=[("upper", "lower")])
    assert pairs_of(apart.build()) == set()
    srdf = tmp_path / "arm.srdf"
    srdf.write_text('<robot name="arm"><disable_collisions link1="lower" link2="upper"/></robot>')
    assert pairs_of(folded_arm(0.5).collide_with_itself("arm", srdf=srdf).build()) == set()
    with pytest.raises(ModelError, match=r"arm: no link 'hand' \(valid: upper, middle, lower\)"):
        folded_arm(0.5).collide_with_itself("arm", apart=[("upper", "hand")])


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: World(surface=Surface(-1.0, 5.0, 0.5)), "stiffness of the default surface .*-1"),
        (lambda: World(gravity=(0.0, np.nan, 0.0)), "gravity must be finite"),
        (
            lambda: World().add("ball", BALL, surface=Surface(1e4, 5.0, -0.5)),
            "friction of the surface of 'ball' must be >= 0, got -0.5",
        ),
        (
            lambda: World().add("ball", BALL, surface=Surface(1e4, np.inf, 0.5)),
            "dissipation of the surface of 'ball' must be >= 0 s/m, got inf",
        ),
        (lambda: World().add("ball", BALL, (0.0, 1.0)), "xyz of 'ball' must be 3 numbers"),
        (lambda: World().add("ball", BALL, rpy=(0.0, 0.0, np.nan)), "rpy of 'ball' must be finite"),
        (lambda: World().add("ball", BALL, decompose=2), "decompose must be a bool, or >= 0.005"),
        (lambda: World().add("ball", BALL, decompose="fine"), "decompose must be .*, got 'fine'"),
        (lambda: World().add("ball", BALL, simplify=-1e-3), "simplify of 'ball' must be >= 0 m"),
        (lambda: World().add_ground(np.inf), "xyz of 'ground' must be finite"),
        (
            lambda: World().add("a", BALL).add("b", BALL).set_material("a", "b", Material(0, 0, 0)),
            "stiffness of 'a' and 'b' must be > 0 N/m, got 0",
        ),
        (lambda: engine_of_a_ball().roll(np.zeros((3, 2))), r"forces must be \(n, 6\), got \(3, 2"),
        (lambda: engine_of_a_ball().roll(np.zeros(6)), r"forces must be \(n, 6\), got \(6,\)"),
        (lambda: engine_of_a_ball().roll("push"), "forces must be numbers"),
        (lambda: engine_of_a_ball().step(-1), "steps must be a whole number >= 0, got -1"),
        (lambda: engine_of_a_ball().step(0.5), "steps must be a whole number"),
        (lambda: engine_of_a_ball().simulate(np.nan), "duration must be >= 0 s, got nan"),
    ],
)
def test_values_that_make_no_sense_are_named(mistake, message):
    with pytest.raises(ConfigError, match=message):
        mistake()


def test_the_shortest_time_takes_one_step():
    engine = engine_of_a_ball()
    lengths = [len(engine.simulate(share * engine.time_step).time) for share in (0.0, 0.1, 1.0)]
    assert lengths == [1, 2, 2]


def trough_file(folder, form):
    """Return a URDF, MJCF or SDF of a trough that stands on the ground, fixed."""
    obj = write_obj(folder / "trough.obj", *trough())
    text = {
        "urdf": f"""<robot name="trough"><link name="trough"><collision name="c"><geometry>
            <mesh filename="{obj}"/></geometry></collision></link></robot>""",
        "xml": f"""<mujoco><asset><mesh name="m" file="{obj}"/></asset>
            <worldbody><geom name="c" type="mesh" mesh="m"/></worldbody></mujoco>""",
        "sdf": f"""<sdf version="1.9"><model name="trough"><static>true</static>
            <link name="trough"><collision name="c"><geometry><mesh><uri>{obj}</uri></mesh>
            </geometry></collision></link></model></sdf>""",
    }[form]
    path = folder / f"trough.{form}"
    path.write_text(text)
    return path


@pytest.mark.parametrize("form", ["urdf", "xml", "sdf"])
def test_a_ball_falls_into_a_trough_of_parts_and_stands_on_its_hull(form, tmp_path):
    path, radius = trough_file(tmp_path, form), 0.02
    ball = body_urdf("ball", sphere(radius), mass=0.1, inertia=(1.6e-5,) * 3)
    surface = Surface(stiffness=1e4, dissipation=5.0, friction=0.5)

    def height_of_rest(xyz, decompose):
        world = World(surface=surface).add("trough", path, decompose=decompose)
        engine = world.add("ball", ball, xyz, free=True).build()
        assert engine.simulate(1.0).status == StepStatus.OK
        assert abs(engine.v).max() < 1e-3
        return engine.q[2]

    above, sag = (0.0, 0.5 * WIDTH, WIDTH + 1.5 * radius), 0.1 * 9.81 / 5e3
    with pytest.warns(ModelWarning, match=r"'c' \(30 mm, 1.92 times the volume\)"):
        on_hull = height_of_rest(above, False)
    assert on_hull == pytest.approx(WIDTH + radius - 0.5 * sag, abs=sag)
    pytest.importorskip("coacd")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        inside = height_of_rest(above, True)
    # The floor's parts are as far from it as parts may be from convex.
    assert inside == pytest.approx(WALL + radius, abs=0.02 * WIDTH + sag)


def test_hulls_are_as_simple_as_they_are_asked_to_be(tmp_path):
    angles = np.linspace(0.0, 2.0 * np.pi, 80, endpoint=False)
    rim = 0.05 * np.column_stack([np.cos(angles), np.sin(angles), np.ones(80)])
    drum = body_urdf("drum", hull_mesh(tmp_path, "drum", np.vstack([rim, rim * [1, 1, -1]])))
    whole, simple = (
        World().add("drum", drum, free=True, simplify=simplify).build().built.shapes[0].shape.mesh
        for simplify in (0.0, 1e-3)
    )
    assert len(simple.faces) < 0.5 * len(whole.faces)
    assert 0.0 == whole.deviation < simple.deviation <= 1e-3


def engine_of_a_ball():
    return World().add("ball", BALL, free=True).build()


def test_two_hundred_boxes_have_room_for_their_contacts():
    world = World().add_ground()
    for i in range(200):
        place = (0.5 * (i % 20), 0.5 * (i // 20), 0.05)
        world.add(f"box_{i}", body_urdf("box", box(0.1, 0.1, 0.1)), place, free=True)
    engine = world.build()
    assert engine.step(3) == 0
    assert engine.evaluate() == 800
    assert engine.observer.warnings() == []


def test_the_ground_ends_nowhere():
    world = World().add_ground(0.5).add("ball", BALL, (3e3, -8e3, 0.56), free=True)
    engine = world.build()
    assert engine.step(500) == StepStatus.OK
    assert engine.q[2] == pytest.approx(0.55, abs=2e-3)
    assert engine.observer.distance("ball", "ground").distance == pytest.approx(0.0, abs=2e-3)


def test_a_plane_of_a_sdf_ends_nowhere():
    text = """<sdf version="1.9"><model name="m"><static>true</static><pose>0 0 1 0 0 0</pose>
      <link name="l"><collision name="c"><geometry><plane><normal>-1 0 1</normal></plane></geometry>
      </collision></link></model></sdf>"""
    world = World(surface=Surface(2e4, 5.0, 0.0)).add("slope", text)
    engine = world.add("ball", BALL, (200.0, 0.0, 201.1), free=True).build()
    assert engine.step(500) == StepStatus.OK
    x, _, z = engine.q[:3]
    assert x < 199.5
    assert (z - 1.0 - x) / np.sqrt(2) == pytest.approx(0.05, abs=2e-3)


BLOCK = """<robot name="b"><link name="b"><inertial><mass value="{mass}"/>
  <inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry>{geometry}</geometry></collision></link></robot>"""


@pytest.mark.parametrize("mass", [1.0, 100.0, 4.5e4])
@pytest.mark.parametrize(
    "geometry, half",
    [
        ('<box size="2 1 0.5"/>', 0.25),
        ('<box size="0.1 0.1 0.1"/>', 0.05),
        ('<box size="1 1 0.004"/>', 0.002),
        ('<cylinder radius="0.05" length="0.2"/>', 0.1),
        ('<sphere radius="0.1"/>', 0.1),
        ('<sphere radius="0.02"/>', 0.02),
    ],
)
def test_what_is_heavy_stands_on_the_ground_and_on_what_is_light(mass, geometry, half):
    heavy = BLOCK.format(mass=mass, i=0.1 * mass * half, geometry=geometry)
    plate = BLOCK.format(mass=1, i=0.1, geometry='<box size="2 2 0.1"/>')
    world = World().add_ground().add("plate", plate, (0, 0, 0.05), free=True)
    engine = world.add("heavy", heavy, (0, 0, 0.1 + half), free=True).build()
    assert engine.step(2000) == StepStatus.OK
    assert engine.q[2] == pytest.approx(0.05, abs=0.02)
    sunk = 0.05 + half - (engine.q[9] - engine.q[2])
    assert sunk < 0.051 * min(0.1, 2.0 * half) + 1e-3
    assert np.abs(engine.v).max() < 0.02


def test_a_stiffness_that_cannot_bear_the_weight_is_told_and_kept():
    heavy = BLOCK.format(mass=45000, i=5000, geometry='<box size="2 1 0.5"/>')
    world = World(surface=Surface(2e4, 5.0, 0.5)).add_ground()
    with pytest.warns(ModelWarning, match="'heavy' and 'ground'|'ground' and 'heavy'"):
        engine = world.add("heavy", heavy, (0, 0, 0.25), free=True).build()
    assert set(engine.built.arrays.rules.stiffness) == {1e4}


@pytest.mark.parametrize(
    "geometry, points", [('<sphere radius="0.05"/>', 1), ('<box size="0.1 0.1 0.1"/>', 4)]
)
@pytest.mark.parametrize("short", [False, True])
def test_what_is_round_is_borne_by_fewer_points(geometry, points, short):
    """The limit is where a patch of so many points sinks in by the 10 cm of what lies there."""
    heavy = BLOCK.format(mass=10, i=0.01, geometry=geometry)
    needed = 10.0 * 9.81 / (points * 0.1)
    surface = Surface(2.0 * needed * (0.95 if short else 1.05), 5.0, 0.5)
    slab = BLOCK.format(mass=1, i=1, geometry='<box size="1 1 0.2"/>')
    world = World(surface=surface).add("slab", slab, (0, 0, -0.1))
    world.add("b", heavy, (0, 0, 0.05), free=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        world.build()
    assert bool(told) == short


@pytest.mark.parametrize("first", ["box", "sphere"])
def test_each_shape_of_a_link_is_asked_what_it_can_bear(first):
    shapes = {"box": '<box size="0.1 0.1 0.1"/>', "sphere": '<sphere radius="0.05"/>'}
    last = next(name for name in shapes if name != first)
    second = f'<collision><origin xyz="0 0 0.2"/><geometry>{shapes[last]}</geometry></collision>'
    heavy = BLOCK.format(mass=10, i=0.01, geometry=shapes[first]).replace(
        "</link>", f"{second}</link>"
    )
    slab = BLOCK.format(mass=1, i=1, geometry='<box size="1 1 0.2"/>')
    surface = Surface(10.0 * 9.81 / 0.1, 5.0, 0.5)  # of which the box bears twice as much
    world = World(surface=surface).add("slab", slab, (0, 0, -0.1))
    with pytest.warns(ModelWarning, match="'b'"):
        world.add("b", heavy, (0, 0, 0.05), free=True).build()


def test_what_is_light_keeps_the_default_stiffness():
    light = BLOCK.format(mass=1, i=1e-3, geometry='<box size="0.1 0.1 0.1"/>')
    engine = World().add_ground().add("light", light, (0, 0, 0.05), free=True).build()
    assert set(engine.built.arrays.rules.stiffness) == {1e4}
