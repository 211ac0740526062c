"""Worlds from MJCF and SDF: mass, motion and contact as MuJoCo, Pinocchio and Drake have them."""

import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.articulation import read_articulation
from tamsi_sim.simulation.engine import StepStatus
from tamsi_sim.simulation.world import World

HOPPER = """<mujoco model="hopper"><compiler angle="degree"/>
  <default><joint armature="0.1" damping="1"/><geom density="800" conaffinity="0"/>
    <default class="leg"><geom type="capsule" size="0.04"/><joint range="-150 0"/></default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" conaffinity="1"/>
    <body name="torso" pos="0 0 1.1">
      <joint name="x" type="slide" axis="1 0 0" damping="0"/>
      <joint name="z" type="slide" axis="0 0 1" damping="0" ref="1.1"/>
      <joint name="pitch" axis="0 1 0" damping="0" pos="0 0 0.1"/>
      <geom name="torso" type="capsule" size="0.05" fromto="0 0 0.3 0 0 -0.1"/>
      <body name="thigh" pos="0 0 -0.1" childclass="leg">
        <joint name="hip" axis="0 -1 0"/><geom fromto="0 0 0 0 0 -0.4"/>
        <body name="shin" pos="0 0 -0.4" euler="0 10 0">
          <joint name="knee" axis="0 -1 0"/><geom fromto="0 0 0 0 0 -0.4"/>
          <body name="foot" pos="0 0 -0.4">
            <joint name="ankle" axis="0 -1 0" range="-45 45"/>
            <geom type="box" size="0.15 0.04 0.03" quat="1 0 0.1 0"/>
            <geom type="sphere" size="0.02" pos="0.1 0 0.1" contype="0" mass="0.3"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="hip" gear="200" ctrlrange="-1 1"/></actuator>
</mujoco>"""

EVERYTHING = """<mujoco model="all">
  <compiler angle="radian" eulerseq="XYz" balanceinertia="true" boundinertia="0.01"/>
  <default><geom density="500"/><default class="heavy"><geom mass="3"/></default></default>
  <worldbody>
    <geom type="box" size="1 1 0.1" pos="0 0 -2"/>
    <frame pos="0 1 0" euler="0.1 0.2 0.3">
      <body name="arm" pos="0 0 1" axisangle="1 1 0 0.7" childclass="heavy">
        <joint name="i" pos="0.1 0 0" axis="1 2 3" ref="0.3" armature="0.2"/>
        <joint name="j" type="slide" axis="0 1 0" ref="-0.1"/>
        <geom type="ellipsoid" size="0.1 0.2 0.3" xyaxes="0 1 0 1 1 0" contype="0" conaffinity="0"/>
        <geom type="cylinder" size="0.1" fromto="0 0 0 0.1 0.2 0.3"/>
        <body name="plate" pos="0 0 0.2" zaxis="1 0 1">
          <inertial pos="0 0 0.1" mass="2" fullinertia="0.1 0.2 0.25 0.01 0.02 0.03"/>
          <body name="tip"><joint name="k"/><geom type="capsule" size="0.1 0.2" density="9"/></body>
        </body>
      </body>
    </frame>
    <body name="one" pos="0 0 2"><freejoint name="floats"/><geom type="box" size="0.1 0.2 0.3"
      euler="0.4 0.5 0.6"/><body name="bob"><joint name="l" axis="1 0 0"/><geom size="0.1"
      pos="0 0 -1"/></body></body>
    <body name="two" pos="0 0 3"><joint type="free" armature="0.1"/><geom size="0.1"/></body>
  </worldbody>
  <equality><joint joint1="k" joint2="i" polycoef="0.1 -2"/></equality>
</mujoco>"""


@pytest.mark.parametrize("text", [HOPPER, EVERYTHING], ids=["hopper", "everything"])
def test_mass_and_poses_are_those_of_mujoco(text):
    mujoco = pytest.importorskip("mujoco")
    from mujoco_oracle import differences

    engine = World().add("robot", text).build()
    model = mujoco.MjModel.from_xml_string(text)
    masses, poses = differences(engine, read_articulation(text), model, samples=5)
    assert masses < 1e-12
    assert poses < 1e-12


def random_mjcf(seed):
    """Return a MJCF of random bodies, joints, geoms and orientations."""
    rng = np.random.default_rng(seed)

    def numbers(count, low=-1.0, high=1.0):
        return " ".join(f"{x:.6f}" for x in rng.uniform(low, high, count))

    def turn():
        kinds = (("quat", 4), ("euler", 3), ("axisangle", 4), ("xyaxes", 6), ("zaxis", 3))
        key, count = kinds[rng.integers(len(kinds))]
        return f'{key}="{numbers(count)}"'

    def geom():
        kind, count = (
            ("sphere", 1),
            ("box", 3),
            ("capsule", 2),
            ("cylinder", 2),
            ("ellipsoid", 3),
        )[rng.integers(5)]
        weight = f'{("mass", "density")[rng.integers(2)]}="{rng.uniform(1.0, 5.0):.6f}"'
        size = numbers(count, 0.1, 0.5)
        return (
            f'<geom type="{kind}" size="{size}" pos="{numbers(3)}" {turn()} {weight} '
            'contype="0" conaffinity="0"/>'
        )

    def body(depth):
        joints = "".join(
            f'<joint type="{("hinge", "slide")[rng.integers(2)]}" axis="{numbers(3)}" '
            f'pos="{numbers(3)}" ref="{numbers(1, -0.3, 0.3)}" armature="{numbers(1, 0.0)}"/>'
            for _ in range(rng.integers(3))
        )
        if rng.uniform() < 0.3:
            joints = f'<joint type="ball" pos="{numbers(3)}" armature="{numbers(1, 0.0)}"/>'
        joints = "<freejoint/>" if depth == 0 and rng.uniform() < 0.3 else joints
        inside = "".join(body(depth + 1) for _ in range(rng.integers(3 - depth)))
        return f'<body pos="{numbers(3)}" {turn()}>{joints}{geom()}{geom()}{inside}</body>'

    angle = ("degree", "radian")[rng.integers(2)]
    order = "".join(rng.permutation(list(("xyz", "XYZ", "xYz")[rng.integers(3)])))
    world = "".join(body(0) for _ in range(2))
    return f"""<mujoco><compiler angle="{angle}" eulerseq="{order}"/>
      <worldbody><frame pos="{numbers(3)}" {turn()}>{world}</frame></worldbody></mujoco>"""


@pytest.mark.parametrize("seed", range(20))
def test_random_files_have_mass_and_poses_of_mujoco(seed):
    mujoco = pytest.importorskip("mujoco")
    from mujoco_oracle import differences

    text = random_mjcf(seed)
    engine = World().add("robot", text).build()
    model = mujoco.MjModel.from_xml_string(text)
    masses, poses = differences(engine, read_articulation(text), model)
    assert masses < 1e-9
    assert poses < 1e-9


# An L: not convex.
CORNERS = "0 0 0 2 0 0 2 1 0 1 1 0 1 2 0 0 2 0 " + "0 0 1 2 0 1 2 1 1 1 1 1 1 2 1 0 2 1"
TOP = ((0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5))
SIDES = [((k, (k + 1) % 6, (k + 1) % 6 + 6), (k, (k + 1) % 6 + 6, k + 6)) for k in range(6)]
FACES = [(a, c, b) for a, b, c in TOP] + [(a + 6, b + 6, c + 6) for a, b, c in TOP]
FACES += [face for pair in SIDES for face in pair]


@pytest.mark.parametrize("rule", ["legacy", "exact", "convex"])
@pytest.mark.parametrize("scale", ["1 1 1", "0.1 0.2 -0.3"])
def test_a_mesh_weighs_what_it_weighs_in_mujoco(rule, scale):
    mujoco = pytest.importorskip("mujoco")
    from mujoco_oracle import differences

    faces = " ".join(str(corner) for face in FACES for corner in face)
    text = f"""<mujoco><asset><mesh name="l" inertia="{rule}" vertex="{CORNERS}" face="{faces}"
      scale="{scale}"/></asset><worldbody><body><freejoint/><geom type="mesh" mesh="l"/></body>
      </worldbody></mujoco>"""
    engine = World().add("robot", text).build()
    model = mujoco.MjModel.from_xml_string(text)
    masses, _ = differences(engine, read_articulation(text), model)
    assert masses < 1e-6  # MuJoCo keeps corners in single precision.


def test_mass_is_that_of_pinocchio(tmp_path):
    # Pinocchio's own reader leaves the weight of what cannot touch out.
    text = HOPPER.replace('contype="0" mass="0.3"', 'conaffinity="1" density="9"')
    (tmp_path / "hopper.xml").write_text(text)
    reference = pin.buildModelFromMJCF(tmp_path / "hopper.xml")
    engine = World().add("robot", tmp_path / "hopper.xml").build()
    q = np.array([0.1, 1.2, 0.3, -0.4, -0.5, 0.6])
    engine.q[:] = q
    engine.evaluate()
    matrix = pin.crba(reference, reference.createData(), q)
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    np.testing.assert_allclose(engine.observer.mass_matrix(), matrix, atol=1e-12)


def test_a_hopper_falls_and_lies_on_its_floor():
    engine = World().add("hopper", HOPPER).build()
    assert engine.built.efforts[engine.built.joints["hip"]] == 200.0
    assert engine.q[engine.built.joints["z"]] == 1.1
    run = engine.simulate(1.0)
    assert run.status == StepStatus.OK
    assert np.isfinite(run.q).all()
    assert {point.link_b for point in engine.contacts()} | {
        point.link_a for point in engine.contacts()
    } >= {"world", "foot"}
    weight = 9.81 * engine.built.arrays.inertias.mass.sum()
    mean = run.contact_force[700:, engine.built.joints["z"]].mean()
    assert mean == pytest.approx(weight, rel=0.25)


def balls(bits="", extra=""):
    """Return a floor and two balls, one above the other."""
    return f"""<mujoco><worldbody><geom type="plane" size="1 1 1"/>
      <body name="low" pos="0 0 0.1"><freejoint/><geom size="0.1" mass="1" {bits}/></body>
      <body name="high" pos="0 0 0.3"><freejoint/><geom size="0.1" mass="1" {bits}/></body>
      </worldbody>{extra}</mujoco>"""


def test_floating_bodies_are_trees_of_their_own():
    built = World().add("balls", balls()).build().built
    assert built.arrays.trees.first_dof.tolist() == [0, 6, 12]
    assert built.arrays.geometry.tree.tolist() == [-1, 0, 1]


@pytest.mark.parametrize(
    ("text", "heights"),
    [
        (balls(), (0.1, 0.3)),
        (balls('contype="2" conaffinity="1"'), (0.1, 0.1)),
        (balls('contype="2" conaffinity="4"'), (-0.1, 0.1)),
        (balls(extra='<contact><exclude body1="low" body2="high"/></contact>'), (0.1, 0.1)),
    ],
)
def test_the_file_says_what_may_touch(text, heights):
    engine = World().add("balls", text).build()
    assert engine.step(200) == StepStatus.OK
    found = [engine.observer.pose("balls", name).translation[2] for name in ("low", "high")]
    np.testing.assert_allclose(found, heights, atol=5e-3)


def test_geoms_of_an_explicit_pair_touch_whatever_else_they_do():
    """The balls touch each other, the lower one only touches the floor; as in MuJoCo."""
    mujoco = pytest.importorskip("mujoco")
    text = balls('contype="0" conaffinity="0"').replace('size="1 1 1"', 'size="1 1 1" name="f"')
    for name, height in (("low", 0.0995), ("high", 0.2985)):
        old = f'<body name="{name}" pos="0 0 {"0.1" if name == "low" else "0.3"}"><freejoint/><geom'
        assert old in text
        new = f'<body name="{name}" pos="0 0 {height}"><freejoint/><geom name="{name}"'
        text = text.replace(old, new)
    pairs = '<contact><pair geom1="f" geom2="low"/><pair geom1="high" geom2="low"/></contact>'
    text = text.replace("</worldbody>", f"</worldbody>{pairs}")
    engine = World().add("balls", text).build()
    assert len(engine.built.pairs) == 2
    assert engine.evaluate() == 2
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    assert data.ncon == 2
    with pytest.raises(ModelError, match="no geom 'z'"):
        World().add("balls", text.replace('geom1="high"', 'geom1="z"'))
    joined = text.replace(pairs, pairs + '<contact><exclude body1="low" body2="high"/></contact>')
    with pytest.raises(ModelError, match="'low' and 'high': their bodies are joined or excluded"):
        World().add("balls", joined)


def test_where_rounding_takes_an_inertia_a_warning_says_so(recwarn):
    grain = """<mujoco><worldbody><body name="b"><freejoint/><geom type="box" size="0.005 0.005
      0.005" mass="1e-3"/></body></worldbody></mujoco>"""
    World().add("near", grain, xyz=(1e3, 0.0, 0.0)).build()
    assert not recwarn.list
    with pytest.warns(ModelWarning, match=r"far: 1e\+06 m .* inertia by up to 1.* nearer"):
        World().add("far", grain, xyz=(0.0, 1e6, 0.0)).build()


def test_a_line_has_no_inertia_that_rounding_could_take(recwarn):
    rod = """<robot name="r"><link name="base"/><link name="a"><inertial><origin xyz="0.3 0.2 0.1"/>
      <mass value="1"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="b"><inertial><mass value="1"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0"
      iyz="0"/></inertial></link><joint name="j" type="continuous"><parent link="base"/>
      <child link="a"/><axis xyz="0 0 1"/></joint><joint name="k" type="fixed"><parent link="a"/>
      <child link="b"/></joint></robot>"""
    World().add("rod", rod, xyz=(3.0, 2.0, 1.0)).build()
    assert not recwarn.list


def test_bodies_that_start_inside_each_other_pass_through_each_other_if_asked_to():
    text = balls().replace('pos="0 0 0.3"', 'pos="0 0 0.12"')
    with pytest.raises(ModelError, match=r"low and balls/high start 180 mm inside"):
        World().add("balls", text).build()
    with pytest.warns(ModelWarning, match="start deep inside each other, so never touch: .*high"):
        engine = World().add("balls", text, repair=True).build()
    assert engine.step(200) == StepStatus.OK
    found = [engine.observer.pose("balls", name).translation[2] for name in ("low", "high")]
    np.testing.assert_allclose(found, (0.1, 0.1), atol=5e-3)


def test_bodies_that_are_held_apart_are_held_as_they_start_if_asked_to():
    weld = '<weld name="w" body1="low" body2="high" relpose="0 0 0.1 1 0 0 0"/>'
    text = balls(extra=f"<equality>{weld}</equality>")
    with pytest.raises(ModelError, match=r"closure 'balls/w': .* start 100 mm apart"):
        World().add("balls", text).build()
    with pytest.warns(ModelWarning, match=r"closure 'balls/w': .* 100 mm apart .*: held like this"):
        engine = World().add("balls", text, repair=True).build()
    assert engine.step(200) == StepStatus.OK
    low, high = (engine.observer.pose("balls", name).translation[2] for name in ("low", "high"))
    assert high - low == pytest.approx(0.2, abs=1e-4)


def test_bits_hold_between_files_too():
    ball = balls('contype="2" conaffinity="4"').replace('type="plane" size="1 1 1"', 'size="0.01"')
    ball = ball.replace("freejoint/", 'joint type="free"/')
    built = World().add_ground().add("balls", ball, (0.0, 0.0, 1.0)).build().built
    assert len(built.pairs) == 0


SLIDER = """<mujoco><worldbody><body name="b"><joint name="z" type="slide" stiffness="100"
  springref="0.2" damping="20" axis="0 0 1"/><geom size="0.1" mass="2"/></body></worldbody>
  {}</mujoco>"""


def test_a_spring_carries_the_weight():
    engine = World().add("slider", SLIDER.format("")).build()
    engine.step(2000)
    assert engine.q[0] == pytest.approx(0.2 - 2 * 9.81 / 100, abs=1e-6)


PENDULUM = """<mujoco><compiler angle="radian"/><option timestep="1e-3" integrator="RK4"/>
  <default><geom contype="0" conaffinity="0"/></default><worldbody><body pos="0 0 1">
    <joint name="a" axis="0 1 0" damping="0.3" stiffness="5" springref="0.4" ref="0.2"/>
    <geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0"/>
    <body pos="0.4 0 0"><joint name="b" axis="1 1 0" armature="0.02"/>
      <joint name="c" type="slide" axis="0 0 1" stiffness="300" damping="3"/>
      <geom type="box" size="0.2 0.05 0.1" pos="0.2 0.1 0" euler="0.3 0.2 0.1"/></body>
  </body></worldbody></mujoco>"""


def test_motion_approaches_that_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(PENDULUM)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 1000)
    ends = []
    for time_step in (1e-3, 5e-4):
        engine = World().add("robot", PENDULUM).build(time_step)
        assert engine.step(round(1.0 / time_step)) == StepStatus.OK
        ends.append(engine.q.copy())
    # The scheme is of first order: half the step, half the error.
    np.testing.assert_allclose(2.0 * ends[1] - ends[0], data.qpos, atol=1e-4)


def test_joints_and_floating_bodies_start_as_a_keyframe_says():
    keys = '<keyframe><key name="up" qpos="0 0 2 1 0 0 0 1 0 3 0 1 0 0"/></keyframe>'
    text = balls(extra=keys)
    engine = World().add("balls", text, (0.0, 5.0, 0.0), positions="up").build()
    np.testing.assert_allclose(engine.observer.pose("balls", "low").translation, [0, 5, 2])
    np.testing.assert_allclose(engine.observer.pose("balls", "high").translation, [1, 5, 3])
    with pytest.raises(ModelError, match=r"balls: no keyframe 'down' \(valid: up\)"):
        World().add("balls", text, positions="down").build()


TUMBLING = """<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="a" pos="0 0 1" euler="20 30 40"><freejoint name="f"/><geom type="box" size="1 2 3"/>
    <body name="b" pos="0 3 0" euler="10 0 50"><joint name="j" type="ball"/><geom size="0.1"
      pos="1 0 0"/><body name="c" pos="1 0 0"><joint name="k" axis="1 1 0"/><geom size="0.1"
      pos="0 1 0"/></body></body></body></worldbody>
  <keyframe><key name="go" qpos="{q}" qvel="{v}"/><key name="still" qvel="{v}"/><key name="rest"/>
    <key name="held" ctrl=""/></keyframe></mujoco>"""
TUMBLE = {
    "q": "0.1 0.2 0.3 0.9 0.1 0.2 0.4 0.7 0.3 0.5 0.2 0.4",
    "v": "1 2 3 0.4 0.5 0.6 0.7 0.8 0.9 1.1",
}


@pytest.mark.parametrize("key", ["go", "still", "rest"])
@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.5, -0.3, 0.8)])
def test_a_keyframe_moves_bodies_as_in_mujoco(key, rpy):
    mujoco = pytest.importorskip("mujoco")
    text = TUMBLING.format(**TUMBLE)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key(key).id)
    first, second = [], []
    placed = pin.SE3(pin.rpy.rpyToMatrix(*rpy), np.array([4.0, 5.0, 6.0]))
    engine = World(gravity=(0, 0, 0)).add("m", text, (4, 5, 6), rpy, positions=key).build(1e-6)
    for moment in (first, second):
        mujoco.mj_forward(model, data)
        for name in "abc":
            body = data.body(name)
            expected = placed * pin.SE3(body.xmat.reshape(3, 3), body.xpos)
            found = engine.observer.pose("m", name)
            np.testing.assert_allclose(found.homogeneous, expected.homogeneous, atol=1e-9)
            moment.append(found.translation)
        model.opt.timestep = 1e-6
        mujoco.mj_step(model, data)
        engine.step()
    assert (np.linalg.norm(np.subtract(second, first)) > 1e-9) == (key != "rest")


def test_what_else_a_keyframe_says_is_named():
    with pytest.warns(ModelWarning, match=r"keyframe 'held': ctrl not read \(Engine.actuators has"):
        World().add("m", TUMBLING.format(**TUMBLE), positions="held").build()


def test_a_body_that_the_file_fixes_may_be_set_free_or_pushed():
    text = '<mujoco><worldbody><body name="b"><geom size="0.1"/></body></worldbody></mujoco>'
    engine = World().add("ball", text, (0.0, 0.0, 1.0), free=True).build()
    engine.step(100)
    assert engine.q[2] == pytest.approx(1.0 - 9.81 * 0.1**2 / 2, abs=1e-3)
    engine = World().add("ball", text, kinematic=True).build()
    engine.set_velocity("ball", (1.0, 0.0, 0.0))
    engine.step(100)
    assert engine.q[0] == pytest.approx(0.1)
    with pytest.raises(ModelError, match="a MJCF says itself which bodies float"):
        World().add("balls", balls(), free=True).build()


def test_another_gravity_is_warned_of():
    with pytest.warns(
        ModelWarning, match=r"moon: its gravity is \[0.0, 0.0, -1.62\].* which holds"
    ):
        World().add("moon", SLIDER.format('<option gravity="0 0 -1.62"/>'))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        World().add("moon", SLIDER.format('<option gravity="0 0 -1.62"/>'), weightless=True)
    world = '<sdf version="1.9"><world name="w"><gravity>0 0 -1.62</gravity>{}</world></sdf>'
    with pytest.warns(ModelWarning, match="moon: its gravity is"):
        World().add("moon", world.format('<model name="m"><link name="a"/></model>'))


def test_links_that_start_deep_inside_each_other_never_touch():
    fat = HOPPER.replace('conaffinity="0"', 'conaffinity="1"').replace(
        '<geom name="torso" type="capsule" size="0.05"',
        '<geom name="torso" type="capsule" size=".5"',
    )
    with pytest.warns(ModelWarning, match="never touch: hopper/torso and hopper/shin"):
        World().add("hopper", fat).build()


def test_more_pairs_may_be_left_out():
    world = World().add("balls", balls()).collide_with_itself("balls", [("low", "high")])
    assert len(world.build().built.pairs) == 2
    with pytest.raises(ModelError, match=r"balls: no link 'mid' \(valid: low, high\)"):
        world.collide_with_itself("balls", [("low", "mid")])


INERTIAL = """<inertial><pose>0.1 0 0.2 0.3 0 0</pose><mass>2</mass><inertia><ixx>0.1</ixx>
  <iyy>0.2</iyy><izz>0.15</izz></inertia></inertial>"""

WORKCELL = f"""<sdf version="1.9"><world name="w">
  <frame name="table"><pose>0 0 0.7 0 0.1 1</pose></frame>
  <model name="arm"><pose relative_to="table">0.1 0 0 0.2 0 0</pose>
    <link name="a"><pose>0 0.2 0 0.1 0 0</pose>{INERTIAL}</link>
    <model name="hand" placement_frame="grip"><pose relative_to="a">0 0 1 0 0.3 0</pose>
      <link name="a"><pose>0.3 0 0 0 0.2 0</pose>{INERTIAL}</link>
      <link name="finger"><pose relative_to="grip">0 0.1 0 0 0 0.5</pose>{INERTIAL}</link>
      <frame name="grip" attached_to="a"><pose>0.1 0.2 0.3 0 0 0.4</pose></frame>
      <joint name="j" type="prismatic"><parent>grip</parent><child>finger</child>
        <axis><xyz expressed_in="__model__">1 0 1</xyz></axis></joint></model>
    <joint name="turn" type="revolute"><pose relative_to="a">0 0 0.5 0 0 0</pose><parent>a</parent>
      <child>hand::grip</child><axis><xyz expressed_in="hand">0 1 0</xyz></axis></joint></model>
  <model name="post" canonical_link="b"><pose relative_to="arm::hand::grip">1 0 0 0 0 0</pose>
    <static>true</static><link name="a">{INERTIAL}</link><link name="b">{INERTIAL}</link></model>
  <joint name="holds" type="fixed"><parent>arm::hand::finger</parent><child>tool</child></joint>
  <model name="tool"><pose relative_to="arm::hand::grip">0 0 0.2 0 0 0</pose>
    <link name="a">{INERTIAL}</link></model>
  </world></sdf>"""


def assert_where_drake_has_them(engine, instance, plant, context):
    from pydrake.multibody.tree import BodyIndex

    for index in range(1, plant.num_bodies()):
        body = plant.get_body(BodyIndex(index))
        name = f"{plant.GetModelInstanceName(body.model_instance())}::{body.name()}"
        expected = plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4()
        pose = engine.observer.pose(instance, name).homogeneous
        np.testing.assert_allclose(pose, expected, atol=1e-12, err_msg=name)


def test_a_workcell_of_several_models_is_that_of_drake():
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(WORKCELL, "sdf")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    engine = World().add("cell", WORKCELL).build()
    built, found = engine.built, {}
    position = plant.GetPositions(context)
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        name = {"turn": "arm::turn", "j": "arm::hand::j"}.get(joint.name())
        if name is not None:
            found[name] = joint
            position[joint.position_start()] = 0.2
            engine.q[built.arrays.joints.q[built.joints[name]]] = 0.2
    plant.SetPositions(context, position)
    engine.evaluate()
    assert_where_drake_has_them(engine, "cell", plant, context)
    order = [found[name].velocity_start() for name in ("arm::turn", "arm::hand::j")]
    ours = [built.joints[name] for name in ("arm::turn", "arm::hand::j")]
    matrix = engine.observer.mass_matrix()[np.ix_(ours, ours)]
    expected = plant.CalcMassMatrix(context)[np.ix_(order, order)]
    np.testing.assert_allclose(matrix, expected, atol=1e-12)


def write_models(folder):
    """Write a folder of two models, one of which includes the other, and a world of both."""
    for name, file, content in (
        ("leg", "leg.sdf", f'<link name="a"><pose>0.1 0 0 0 0 0.3</pose>{INERTIAL}</link>'
         f'<frame name="top" attached_to="a"><pose>0 0 0.2 0.4 0 0</pose></frame>'),
        ("stool", "model.sdf", f"""<link name="seat">{INERTIAL}</link><include><name>left</name>
          <uri>model://leg/leg.sdf</uri><pose relative_to="seat">0 0.3 0 0 0.2 0</pose></include>
          <joint name="j" type="revolute"><parent>seat</parent><child>left::top</child>
          <axis><xyz>0 1 0</xyz><dynamics><spring_stiffness>3</spring_stiffness></dynamics></axis>
          </joint>"""),
    ):  # fmt: skip
        (folder / name).mkdir()
        (folder / name / "model.config").write_text(
            f'<model><name>{name}</name><sdf version="1.8">{file}</sdf></model>'
        )
        (folder / name / file).write_text(
            f'<sdf version="1.8"><model name="{name}">{content}</model></sdf>'
        )
    (folder / "world.sdf").write_text("""<sdf version="1.8"><world name="w">
      <frame name="corner"><pose>1 2 0 0 0 1</pose></frame>
      <include><uri>package://stool/model.sdf</uri>
        <pose relative_to="corner">0 0 1 0.1 0 0</pose></include>
      <include><uri>model://leg/leg.sdf</uri><name>post</name><placement_frame>top</placement_frame>
        <pose>0 0 3 0 0 0</pose><static>true</static></include></world></sdf>""")


def test_included_models_are_where_they_are_in_drake(tmp_path):
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    write_models(tmp_path)
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    for name in ("leg", "stool"):
        parser.package_map().Add(name, str(tmp_path / name))
    parser.AddModels(str(tmp_path / "world.sdf"))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    engine = World(gravity=(0, 0, -9.8)).add("w", tmp_path / "world.sdf").build()
    assert_where_drake_has_them(engine, "w", plant, context)
    assert engine.built.arrays.joints.stiffness[engine.built.joints["stool::j"]] == 3.0
    # A folder says in its list which file it means.
    text = (tmp_path / "world.sdf").read_text().replace("/leg.sdf", "").replace("/model.sdf", "")
    (tmp_path / "short.sdf").write_text(text)
    short = World(gravity=(0, 0, -9.8)).add("w", tmp_path / "short.sdf").build()
    np.testing.assert_allclose(short.q, engine.q)
    (tmp_path / "leg" / "leg.sdf").write_text("<robot/>")
    with pytest.raises(ModelError, match=r"include 'model://leg.*' \(line \d\): .* has no model"):
        World().add("w", tmp_path / "world.sdf")


@pytest.mark.parametrize(
    ("version", "pose"),
    [("1.6", '<pose frame="b">0 1 0 0 0 0</pose>'), ("1.9", '<pose relative_to="b">0 1 0</pose>')],
)
def test_a_pose_of_any_version_is_relative_to_the_frame_it_names(version, pose):
    pose = pose.replace("0 1 0</pose>", "0 1 0 0 0 0</pose>")
    text = f"""<sdf version="{version}"><model name="m"><link name="b"><pose>1 0 0 0 0 1.5</pose>
      {INERTIAL}</link><link name="a">{pose}{INERTIAL}</link></model></sdf>"""
    engine = World().add("m", text).build()
    expected = [1.0 - np.sin(1.5), np.cos(1.5), 0.0]
    np.testing.assert_allclose(engine.observer.pose("m", "a").translation, expected, atol=1e-12)


def cubes(*heights):
    """Return a SDF of cubes of 0.2 m, a model each, and the second one of two."""
    shape = """<collision name="c"><geometry><box><size>0.2 0.2 0.2</size></box></geometry>
      </collision>"""
    cube = '<link name="{}"><pose>{} 0 0 0 0 0</pose>{}</link>'
    models = "".join(
        f'<model name="m{k}"><pose>0 0 {z} 0 0 0</pose>{cube.format("a", 0, INERTIAL + shape)}'
        f"{cube.format('b', 0.1, INERTIAL + shape) if k == 1 else ''}</model>"
        for k, z in enumerate(heights)
    )
    return f'<sdf version="1.9"><world name="w">{models}</world></sdf>'


def test_models_of_a_sdf_touch_each_other_and_not_themselves():
    engine = World().add("cubes", cubes(0.1, 0.3, 5.0)).build()
    pairs = {frozenset(engine.built.shapes[s].body for s in pair) for pair in engine.built.pairs}
    assert pairs == {
        frozenset(pair)
        for pair in (("m0::a", "m1::a"), ("m0::a", "m1::b"), ("m0::a", "m2::a"),
                     ("m1::a", "m2::a"), ("m1::b", "m2::a"))
    }  # fmt: skip


def test_a_model_among_several_touches_itself_if_it_says_so():
    text = cubes(0.1, 0.3).replace(
        '<model name="m1">', '<model name="m1"><self_collide>true</self_collide>'
    )
    joint = """<joint name="j" type="prismatic"><parent>a</parent><child>b</child>
      <axis><xyz>1 0 0</xyz></axis></joint></model></world>"""
    apart = text.replace("0.1 0 0 0 0 0", "0.5 0 0 0 0 0")
    for content, touching in ((apart, True), (apart.replace("</model></world>", joint), False)):
        built = World().add("cubes", content).build().built
        pairs = {frozenset(built.shapes[shape].body for shape in pair) for pair in built.pairs}
        assert (frozenset(("m1::a", "m1::b")) in pairs) == touching


def test_what_stands_on_another_model_at_the_start_stays_there():
    text = cubes(0.1, 0.3).replace('<model name="m0">', '<model name="m0"><static>true</static>')
    engine = World().add("cubes", text).build()
    assert engine.step(200) == StepStatus.OK
    assert engine.observer.pose("cubes", "m1::a").translation[2] == pytest.approx(0.3, abs=5e-3)


def drake_sdfs():
    """Return the SDFs that Drake ships."""
    import pydrake

    return sorted(Path(pydrake.__file__).parent.glob("share/drake/**/*.sdf"))


@pytest.mark.parametrize("path", drake_sdfs(), ids=lambda path: path.stem)
def test_mass_and_poses_are_those_of_drake(path):
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    (instance,) = Parser(plant).AddModels(str(path))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    pin.seed(0)
    engine = World().add("robot", path).build()
    built, rng = engine.built, np.random.default_rng(0)
    order = np.zeros(len(engine.v), dtype=int)
    assert plant.num_velocities() == len(order)
    for name, (q, dof) in built.free_bodies.items():
        body = plant.GetBodyByName(name.split("/")[1], instance)
        pose = pin.SE3.Random()
        engine.q[q : q + 7] = pin.SE3ToXYZQUAT(pose)
        plant.SetFreeBodyPose(
            context, body, RigidTransform(RotationMatrix(pose.rotation), pose.translation)
        )
        start = body.floating_velocities_start_in_v()
        order[dof : dof + 6] = [*range(start + 3, start + 6), *range(start, start + 3)]
    for name, dof in built.joints.items():
        joint = plant.GetJointByName(name, instance)
        order[dof] = joint.velocity_start()
        value = rng.uniform(-0.3, 0.3)
        engine.q[built.arrays.joints.q[dof]] = value
        q = plant.GetPositions(context)
        q[joint.position_start()] = value
        plant.SetPositions(context, q)
    engine.evaluate()
    if len(order):
        expected = plant.CalcMassMatrix(context)[np.ix_(order, order)]
        matrix = engine.observer.mass_matrix()
        np.testing.assert_allclose(matrix, expected, atol=1e-9 * np.abs(expected).max())
    for index in plant.GetBodyIndices(instance):
        body = plant.get_body(index)
        found = engine.observer.pose("robot", body.name()).homogeneous
        expected = plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4()
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_sdf_falls_on_the_ground():
    text = """<sdf version="1.9"><model name="m"><link name="a"><collision name="c"><geometry>
      <sphere><radius>0.1</radius></sphere></geometry></collision></link></model></sdf>"""
    engine = World().add_ground().add("ball", text, (0.0, 0.0, 0.2)).build()
    assert engine.step(1000) == StepStatus.OK
    assert engine.observer.pose("ball", "a").translation[2] == pytest.approx(0.1, abs=2e-3)


@pytest.mark.parametrize("name", ["a_first", "z_last"])
def test_a_mjcf_may_start_on_what_is_not_its_own(name):
    """Whose links are in no root of its file."""
    ball = (
        '<mujoco><worldbody><body name="ball" pos="0 0 0.049"><freejoint/>'
        '<geom size="0.05" mass="1"/></body></worldbody></mujoco>'
    )
    engine = World().add_ground().add(name, ball).build()
    assert engine.evaluate() == 1
    assert engine.step(100) == StepStatus.OK


@pytest.mark.parametrize("how", ["free", "kinematic"])
def test_a_sdf_that_floats_by_itself_may_be_told_to(how):
    """Its frame then is that of the model, of which the link is 10 cm above."""
    text = """<sdf version="1.7"><model name="ball"><link name="l"><pose>0 0 0.1 0 0 0</pose>
      <inertial><mass>0.5</mass></inertial><collision name="c"><geometry><sphere><radius>0.05
      </radius></sphere></geometry></collision></link></model></sdf>"""
    heights = []
    for told in ({}, {how: True}):
        engine = World().add("ball", text, xyz=(0.0, 0.0, 1.0), **told).build()
        assert len(engine.built.free_bodies) == 1
        engine.step(100)
        heights.append(engine.q[2])
    fallen = 0.1 if how == "free" else 0.1 - 0.5 * 9.81 * 0.1**2
    assert heights[0] - heights[1] == pytest.approx(fallen, abs=1e-3)
