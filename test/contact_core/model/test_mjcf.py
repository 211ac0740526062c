"""What a MJCF says: joints, inertias, classes, files; and one error for what we cannot simulate."""

import warnings

import numpy as np
import pytest
from concave_meshes import WIDTH, trough, write_obj
from mjcf_texts import JOINT, TIED, TWO, body, mjcf

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.articulation import read_articulation
from contact_core.model.mjcf.model import read_mjcf
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.multibody.rigid_body.joints import BALL as BALL_JOINT
from contact_core.multibody.rigid_body.joints import FREE, PRISMATIC, REVOLUTE
from contact_core.robot.description import collision_shapes, read_urdf
from tamsi_sim.simulation.world import World


def test_joints_of_one_body_follow_each_other():
    text = mjcf(body('<joint name="x" type="slide" axis="2 0 0"/><joint name="turn" pos="0 1 0"/>'))
    slide, turn = read_articulation(text).bodies
    assert (slide.kind, slide.axis, slide.parent) == (PRISMATIC, (1.0, 0.0, 0.0), -1)
    assert (turn.kind, turn.axis, turn.parent) == (REVOLUTE, (0.0, 0.0, 1.0), 0)
    assert (slide.inertia.mass, turn.inertia.mass) == (0.0, pytest.approx(2.0))
    np.testing.assert_allclose(turn.inertia.lever, [0.0, -1.0, 0.0])
    assert read_articulation(text).links["b"][0] == 1


def test_root_bodies_that_float_are_free_bodies():
    text = mjcf(body("<freejoint/>", "a", pos="0 0 1") + body('<joint type="free"/>', "b"))
    bodies = read_articulation(text).bodies
    assert [b.kind for b in bodies] == [FREE, FREE]
    assert [b.joint for b in bodies] == ["a_joint", "b_joint"]
    np.testing.assert_allclose(bodies[0].placement.translation, [0.0, 0.0, 1.0])


def test_a_joint_says_what_it_does():
    joint = """<joint name="j" armature="0.1" damping="0.2" frictionloss="0.3" range="-90 90"
      stiffness="4" springref="45" ref="30"/>"""
    (only,) = read_articulation(mjcf(body(joint))).bodies
    law = only.law
    assert (law.armature, law.damping, law.friction, law.stiffness) == (0.1, 0.2, 0.3, 4.0)
    assert (law.lower, law.upper, law.rest) == pytest.approx((-np.pi / 2, np.pi / 2, np.pi / 4))
    assert only.start == pytest.approx((np.pi / 6,))
    assert read_articulation(mjcf(body(joint))).start({}) == {"j": pytest.approx((np.pi / 6,))}


def test_a_ball_joint_has_the_same_armature_and_damping_about_all_axes():
    joint = '<joint name="j" type="ball" armature="0.1" damping="0.2" pos="1 0 0"/>'
    model = read_mjcf(mjcf(body(joint)))
    assert model.tree.armature.tolist() == [0.1] * 3
    assert model.tree.damping.tolist() == [0.2] * 3
    (only,) = read_articulation(mjcf(body(joint))).bodies
    assert (only.kind, only.law.armature, only.law.damping) == (BALL_JOINT, 0.1, 0.2)
    np.testing.assert_allclose(only.inertia.lever, [-1.0, 0.0, 0.0])


@pytest.mark.parametrize("armature", [0.0, 0.4])
def test_a_springdamper_has_the_stiffness_and_damping_of_mujoco(armature):
    mujoco = pytest.importorskip("mujoco")
    inner = '<geom size="0.3"/><joint name="{}" type="slide" stiffness="3" springdamper="0.5 2"/>'
    text = mjcf(
        '<body name="a"><joint name="i" axis="1 2 0" ref="0.4" armature="0.1" springref="0.2" '
        'springdamper="0.02 0.7"/><geom type="box" size="1 0.2 0.3" pos="1 0 0"/>'
        f'<body pos="1 0 0">{inner.format("j")}</body></body><body>{inner.format("k")}</body>',
        f'<tendon><fixed name="t" armature="{armature}"><joint joint="i" coef="0.5"/>'
        '<joint joint="j" coef="-2"/></fixed></tendon>',
        '<actuator><position joint="j" kp="9" dampratio="0.8"/></actuator>',
        compiler='angle="radian"',
    )
    model, found = mujoco.MjModel.from_xml_string(text), read_mjcf(text)
    stiffness = [found.springs[name][0] for name in "ijk"]
    np.testing.assert_allclose(stiffness, model.jnt_stiffness, rtol=1e-9)
    np.testing.assert_allclose(found.tree.damping, model.dof_damping, rtol=1e-9)
    assert found.springs["i"][1] == 0.2
    (servo,) = found.actuators.values()
    assert servo.damping == pytest.approx(-model.actuator_biasprm[0, 2], rel=1e-9)


@pytest.mark.parametrize(
    ("limit", "compiler", "expected"),
    [
        ('range="-1 1"', "", 1.0),
        ('range="-1 1" limited="false"', "", np.inf),
        ('range="-1 1"', 'autolimits="false"', np.inf),
        ('range="-1 1" limited="true"', 'autolimits="false"', 1.0),
        ('range="1 -1"', "", np.inf),
        ('range="1 1"', "", np.inf),
    ],
)
def test_a_range_holds_if_it_is_switched_on(limit, compiler, expected):
    text = mjcf(body(f'<joint name="j" {limit}/>'), compiler=f'angle="radian" {compiler}')
    assert read_articulation(text).bodies[0].law.upper == expected


def test_classes_hold_below_the_body_that_names_them_and_for_the_class_inside():
    classes = """<default><joint damping="1"/><default class="leg"><joint armature="2"/>
      <geom size="0.5 0.25" type="capsule"/>
      <default class="knee"><joint damping="3"/></default></default></default>"""
    inner = '<body name="c"><joint name="k" class="knee"/><geom mass="1" size="0.1"/></body>'
    text = mjcf(body('<joint name="h"/>' + inner, childclass="leg"), classes)
    hip, knee = read_articulation(text).bodies
    assert (hip.law.damping, hip.law.armature) == (1.0, 2.0)
    assert (knee.law.damping, knee.law.armature) == (3.0, 2.0)
    capsules = {shape.name: shape.shape for shape in collision_shapes(text)}
    assert capsules["c_0"].kind == ShapeKind.CAPSULE
    assert capsules["c_0"].size == (0.1, 0.25, 0.0)


def test_what_has_no_name_gets_one_that_nothing_has():
    """It took the place of what was called so, or was refused."""
    hinges = "".join(
        body(f'<joint name="{n}"/><geom name="{n}_1" size="0.1"/><geom size="0.2"/>', n)
        for n in "ab"
    )
    tie = 'stiffness="1"><joint joint="a" coef="2"/><joint joint="b" coef="1"/></fixed>'
    ties = f'<fixed name="tendon_1" {tie}<fixed {tie}'
    drives = '<motor name="actuator_1" joint="a"/><motor joint="b"/>'
    welds = '<weld name="weld_1" body1="a"/><weld body1="b"/>'
    keys = '<key name="key_1" qpos="1 2"/><key qpos="3 4"/>'
    text = mjcf(
        hinges, f"<tendon>{ties}</tendon><actuator>{drives}</actuator>",
        f"<equality>{welds}</equality><keyframe>{keys}</keyframe>",
    )  # fmt: skip
    model = read_mjcf(text)
    names = [geom.name for geom in model.geoms if "ball" not in geom.name]
    assert names == ["a_1", "a_1_", "b_1", "b_1_"]
    for found, name in (
        (model.tendons, "tendon_1"), (model.actuators, "actuator_1"), (model.held, "weld_1"),
        (model.keyframes, "key_1"),
    ):  # fmt: skip
        assert list(found) == [name, f"{name}_"]


def test_a_mesh_that_mujoco_makes_is_named():
    mesh = '<asset><mesh name="m" builtin="sphere" params="2"/></asset>'
    with pytest.raises(ModelError, match=r"mesh 'm' is builtin='sphere' .valid: a file or vert"):
        read_mjcf(mjcf(body('<geom type="mesh" mesh="m"/>'), mesh))


def test_classes_may_switch_equalities_off():
    classes = '<default><equality active="false"/></default>'
    equality = '<equality><joint joint1="i" joint2="j" {}/></equality>'
    joints = body('<joint name="i"/>', "a") + body('<joint name="j"/>', "b")
    assert read_mjcf(mjcf(joints, classes, equality.format(""))).followers == {}
    on = read_mjcf(mjcf(joints, classes, equality.format('active="true"'))).followers
    assert on == {"i": ("j", 1.0, 0.0)}


def test_a_class_gives_the_frictions_that_a_geom_leaves_out():
    classes = '<default><geom friction="1 0.2 0.3" condim="6"/></default>'
    text = mjcf('<body name="b"><geom friction="0.5" size="1"/></body>', classes)
    assert read_mjcf(text).geoms[0].friction == (0.5, 0.2, 0.3)


def test_weights_are_compensated_body_by_body_as_in_mujoco():
    mujoco = pytest.importorskip("mujoco")
    fixed = body("", "c", gravcomp=0.4, pos="0 0.3 0")
    inner = body('<joint name="k" axis="1 0 0"/>' + fixed, "b", gravcomp=0.4, pos="0 1 0")
    text = mjcf(body('<joint name="j" axis="1 1 0"/>' + inner, "a", gravcomp=1))
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    engine = World().add("arm", text).build()
    engine.q[:] = data.qpos[:] = 0.3, 0.7
    mujoco.mj_forward(model, data)
    engine.evaluate()
    expected = data.qfrc_bias - data.qfrc_passive
    assert np.abs(data.qfrc_passive).min() > 1.0
    np.testing.assert_allclose(engine.work.dynamics.bias, expected, rtol=1e-9)


@pytest.mark.parametrize(
    "reference",
    [
        'refpos="0.1 -0.2 0.3" scale="1 2 3"',
        'refquat="2 1 -1 0.5" scale="2 2 2"',
        'refpos="0.1 -0.2 0.3" refquat="1 -1 0 0" scale="0.5 0.5 0.5"',
    ],
)
def test_the_frame_of_a_mesh_is_that_of_mujoco(reference):
    mujoco = pytest.importorskip("mujoco")
    corners = np.random.default_rng(1).normal(size=(9, 3)) * [0.05, 0.1, 0.3] + 0.2
    vertex = " ".join(map(str, corners.ravel()))
    mesh = f'<asset><mesh name="m" inertia="convex" {reference} vertex="{vertex}"/></asset>'
    geom = '<geom type="mesh" mesh="m" pos="1 2 3" euler="10 20 30"/>'
    text = mjcf(f'<body name="b"><freejoint/>{geom}</body>', mesh)
    inertia = read_articulation(text).bodies[0].inertia
    model = mujoco.MjModel.from_xml_string(text)
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, model.body_iquat[1])
    turn = turn.reshape(3, 3)
    assert inertia.mass == pytest.approx(model.body_mass[1], rel=1e-5)
    np.testing.assert_allclose(inertia.lever, model.body_ipos[1], atol=1e-5)
    expected = turn @ np.diag(model.body_inertia[1]) @ turn.T
    np.testing.assert_allclose(inertia.inertia, expected, rtol=1e-4, atol=1e-4 * expected.max())


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "box", "ellipsoid"])
def test_a_simple_geom_is_fitted_to_a_mesh_as_in_mujoco(kind):
    mujoco = pytest.importorskip("mujoco")
    corners = np.random.default_rng(0).normal(size=(12, 3)) * [0.05, 0.1, 0.3] + 0.2
    mesh = f'<mesh name="m" inertia="convex" vertex="{" ".join(map(str, corners.ravel()))}"/>'
    geom = f'<geom name="g" type="{kind}" mesh="m" fitscale="1.5" pos="1 2 3" euler="10 20 30"/>'
    text = mjcf(f'<body name="b"><freejoint/>{geom}</body>', f"<asset>{mesh}</asset>")
    (found,) = read_mjcf(text).geoms
    model = mujoco.MjModel.from_xml_string(text)
    assert found.kind == kind
    assert found.size == pytest.approx(model.geom_size[0, : len(found.size)], rel=1e-5)
    assert found.placement.translation == pytest.approx(model.geom_pos[0], abs=1e-5)
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, model.geom_quat[0])
    if kind != "sphere":
        along = found.placement.rotation.T @ turn.reshape(3, 3)
        assert abs(along[2, 2]) == pytest.approx(1.0, abs=1e-6)
    inertia = read_articulation(text).bodies[0].inertia
    assert inertia.mass == pytest.approx(model.body_mass[1], rel=1e-5)


LEFT_OUT = """<tendon><spatial name="t" stiffness="1" range="0 1"><site site="a"/><site site="b"/>
  </spatial></tendon><equality><tendon name="e" tendon1="t" tendon2="t"/></equality>"""


def test_what_cannot_be_simulated_is_left_out_if_asked_to():
    text = mjcf(
        '<geom name="hill" type="hfield" hfield="h"/>'
        + body('<joint name="i"/>', "a")
        + body('<joint name="j"/>', "b"),
        LEFT_OUT,
    )
    with pytest.raises(ModelError, match="geom 'hill' is of type 'hfield'"):
        read_articulation(text)
    with pytest.warns(
        ModelWarning,
        match="'hill' is a height field: left out; .*tendon 't' has stiffness, range: ",
    ):
        model = read_mjcf(text, repair=True)
    assert set(model.starts) == {"i", "j"}
    assert "hill" not in [geom.name for geom in model.geoms]


def test_a_keyframe_says_where_everything_starts():
    text = mjcf(
        body("<freejoint/>", "a") + body('<joint name="j" range="-1 1"/>', "b"),
        '<keyframe><key name="up" qpos="1 2 3 0 1 0 0 0.01"/><key name="far" qpos="0 0 0 1 0 0 0 9"'
        "/></keyframe>",
    )
    start = read_articulation(text).at("up")
    np.testing.assert_allclose(start.bodies[0].placement.translation, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(start.bodies[0].placement.rotation, np.diag([1.0, -1.0, -1.0]))
    assert start.start({}) == {"j": (0.01,)}
    with pytest.raises(ModelError, match=r"no keyframe 'down' \(valid: up, far\)"):
        start.at("down")
    with pytest.raises(ModelError, match="joint 'j' cannot start at 9"):
        start.at("far")


def test_bodies_that_a_joint_connects_are_apart_but_not_from_the_world():
    inner = body('<joint name="k"/>', "c") + body("", "held") + body('<joint name="l"/>', "d")
    text = mjcf(
        '<geom type="plane" size="1 1 1"/>' + body(f'<joint name="j"/>{inner}'),
        '<contact><exclude body1="c" body2="d"/></contact>',
    )
    pairs = {tuple(sorted(pair)) for pair in read_mjcf(text).apart}
    assert pairs == {("b", "c"), ("b", "d"), ("c", "held"), ("d", "held"), ("c", "d")}


def test_what_only_looks_does_not_collide_but_weighs():
    looks = '<geom name="skin" type="box" size="1 1 1" mass="3" contype="0" conaffinity="0"/>'
    text = mjcf(body('<joint name="j"/>' + looks))
    assert [shape.name for shape in collision_shapes(text)] == ["ball_b"]
    assert read_articulation(text).bodies[0].inertia.mass == pytest.approx(5.0)


def test_other_files_and_meshes_lie_relative_to_the_first(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "meshes").mkdir()
    corners = "\n".join(f"v {x} {y} {z}" for x in (0, 1) for y in (0, 2) for z in (0, 3))
    faces = "124 143 578 586 156 162 348 387 137 175 268 284"
    obj = corners + "\n" + "\n".join("f " + " ".join(face) for face in faces.split())
    (tmp_path / "meshes" / "brick.obj").write_text(obj)
    (tmp_path / "parts" / "brick.xml").write_text(
        """<mujocoinclude><asset><mesh file="brick.obj" scale="0.1 0.1 0.1"/></asset><worldbody>
        <body name="b"><freejoint/><geom type="mesh" mesh="brick"/></body></worldbody>
        </mujocoinclude>"""
    )
    (tmp_path / "main.xml").write_text(
        '<mujoco><compiler meshdir="meshes"/><include file="parts/brick.xml"/></mujoco>'
    )
    text = read_urdf(tmp_path / "main.xml")
    (only,) = read_articulation(text).bodies
    assert only.inertia.mass == pytest.approx(1000 * 0.1 * 0.2 * 0.3)
    np.testing.assert_allclose(only.inertia.lever, [0.05, 0.1, 0.15])
    moments = only.inertia.mass / 12 * np.array([0.2**2 + 0.3**2, 0.1**2 + 0.3**2, 0.05])
    np.testing.assert_allclose(only.inertia.inertia, np.diag(moments), atol=1e-12)
    (shape,) = collision_shapes(text, meshes=True)
    assert shape.shape.size == pytest.approx((0.05, 0.1, 0.15))
    (tmp_path / "main.xml").write_text('<mujoco><include file="none.xml"/></mujoco>')
    with pytest.raises(ModelError, match=r"cannot find the included file 'none.xml'"):
        read_urdf(tmp_path / "main.xml")
    with pytest.raises(ModelError, match="is a part of a MJCF"):
        read_urdf(tmp_path / "parts" / "brick.xml")


def test_the_own_format_of_meshes_is_read(tmp_path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], dtype="<i4")
    counts = np.array([4, 0, 0, 4], dtype="<i4")
    (tmp_path / "m.msh").write_bytes(counts.tobytes() + corners.tobytes() + faces.tobytes())
    text = mjcf(
        '<body name="b"><freejoint/><geom type="mesh" mesh="m"/></body>',
        f'<asset><mesh file="{tmp_path / "m.msh"}" name="m"/></asset>',
    )
    (only,) = read_articulation(text).bodies
    assert only.inertia.mass == pytest.approx(1000.0 / 6.0)
    (shape,) = collision_shapes(text, meshes=True)
    assert len(shape.shape.mesh.vertices) == 4
    (tmp_path / "m.msh").unlink()
    with pytest.raises(ModelError, match=r"geom 'b_0': cannot find or read its mesh '.*m.msh'"):
        read_articulation(text)


def test_an_ellipsoid_becomes_a_polyhedron_close_to_it():
    size = np.array([0.1, 0.2, 0.4])
    text = mjcf(body('<freejoint/><geom name="egg" type="ellipsoid" size="0.1 0.2 0.4"/>'))
    with pytest.warns(ModelWarning, match=r"ellipsoids egg: .* polyhedra, true to 1.4 %"):
        (only,) = read_articulation(text).bodies
    # It weighs what the ellipsoid does.
    assert only.inertia.mass == pytest.approx(2.0 + 1000.0 * 4.0 / 3.0 * np.pi * size.prod())
    egg = next(s.shape.mesh for s in collision_shapes(text, meshes=True) if s.name == "egg")
    assert len(egg.planes) == 180
    # In every direction, as far as the ellipsoid is. Left is right, front is back, top is bottom.
    directions = np.random.default_rng(0).standard_normal((1000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    reach = (egg.vertices @ directions.T).max(axis=0)
    share = reach / np.linalg.norm(directions * size, axis=1)
    assert np.abs(share - 1.0).max() < 0.015
    corners = {tuple(corner) for corner in np.round(egg.vertices, 9)}
    for mirror in 1.0 - 2.0 * np.eye(3):
        assert {tuple(corner) for corner in np.round(egg.vertices * mirror + 0.0, 9)} == corners


@pytest.mark.parametrize("form", ["file", "msh", "inline"])
def test_a_concave_mesh_of_any_form_is_named_and_split(form, tmp_path):
    points, triangles = trough()
    match form:
        case "file":
            mesh = f'file="{write_obj(tmp_path / "m.obj", points, triangles)}"'
        case "msh":
            counts = np.array([len(points), 0, 0, len(triangles)], dtype="<i4")
            data = points.astype("<f4").tobytes() + triangles.astype("<i4").tobytes()
            (tmp_path / "m.msh").write_bytes(counts.tobytes() + data)
            mesh = f'file="{tmp_path / "m.msh"}"'
        case "inline":
            vertex, face = (" ".join(map(str, values.ravel())) for values in (points, triangles))
            mesh = f'vertex="{vertex}" face="{face}"'
    geom = '<body name="b"><freejoint/><geom type="mesh" mesh="m"/></body>'
    text = mjcf(geom, f'<asset><mesh name="m" {mesh}/></asset>')
    with pytest.warns(ModelWarning, match=r"'b_0' \(30 mm, 1.92 times the volume\)"):
        (hull,) = collision_shapes(text, meshes=True)
    assert hull.shape.size == pytest.approx((0.5 * WIDTH,) * 3)
    pytest.importorskip("coacd")
    assert len(collision_shapes(text, meshes=True, decompose=0.02)) >= 3


def test_corners_alone_mean_their_hull():
    vertex = " ".join(map(str, trough()[0].ravel()))
    geom = '<body name="b"><freejoint/><geom type="mesh" mesh="m"/></body>'
    text = mjcf(geom, f'<asset><mesh name="m" vertex="{vertex}"/></asset>')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (hull,) = collision_shapes(text, meshes=True)
    assert hull.shape.size == pytest.approx((0.5 * WIDTH,) * 3)


REFUSED = [
    (mjcf(body('<joint name="j" type="x"/>')), r"type 'x' \(valid: hinge, slide, ball, free\)"),
    (mjcf(body('<joint name="j" type="ball" range="0 9"/>')), "joint 'j': range='0 9' of a ball"),
    (mjcf(body('<joint name="j" type="ball" stiffness="2"/>')), "joint 'j': stiffness='2' of a b"),
    (mjcf(body('<joint name="j" type="ball" frictionloss="2"/>')), "frictionloss='2' of a ball j"),
    (mjcf(body(JOINT + '<geom type="hfield" hfield="h"/>')), "of type 'hfield' .valid: plane, sph"),
    (mjcf(body(JOINT + '<geom type="sdf" mesh="h"/>')), "of type 'sdf'"),
    (mjcf(body(JOINT + '<geom type="box" size="1 1"/>')), "geom 'b_0': size must be 3 finite"),
    (mjcf(body(JOINT + '<geom type="plane" size="1 1 1"/>')), "is a plane .valid: on what is fix"),
    (mjcf(body(JOINT + '<geom condim="5" size="1"/>')), r"condim='5' \(valid: 1, 3, 4, 6\)"),
    (mjcf(body(JOINT + '<geom friction="1 -1" size="1"/>')), "'b_0': friction must be >= 0, got"),
    (mjcf(body(JOINT + '<geom class="c" size="1"/>')), r"of class 'c' \(valid: main\)"),
    (mjcf(body(JOINT + '<composite type="cable"/>')), "unknown element 'composite' .valid: body"),
    (mjcf(body(JOINT + "<freejoint/>")), "it floats .valid: as the only joint"),
    (mjcf(body(JOINT + body("<freejoint/>", "c"))), "it floats .valid: as the only joint"),
    (
        mjcf(
            '<body name="b"><freejoint/><geom type="mesh" mesh="m"/></body>',
            '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 4"/></asset>',
        ),
        r"mesh 'm': vertex and face must be triples, .* \(valid: 0 to 3\)",
    ),
    (mjcf(body('<joint name="j" stiffness="-1"/>')), r"joint 'j': stiffness='-1' \(valid: >= 0\)"),
    (mjcf(body(JOINT, euler="1 2")), "body 'b': euler must be 3 finite"),
    (mjcf(body('<joint name="j" damping="x"/>')), "joint 'j': damping must be finite numbers, got"),
    (mjcf(body('<joint name="j" damping="1 2"/>')), "damping='1 2' is not linear .valid: one num"),
    (
        mjcf(body('<joint name="j" springdamper="1 0"/>')),
        "springdamper must be 2 numb",
    ),
    (mjcf(body('<joint name="j" range="0 nan"/>')), "joint 'j': range must be 2 finite"),
    (mjcf(body('<joint name="j" range="1 -1" limited="true"/>')), "'j' has limits from 0.0174"),
    (mjcf(body('<joint name="j" damping="-1"/>')), "'j' has damping -1 .valid: >= 0"),
    (mjcf(body('<joint name="j" frictionloss="-1"/>')), "'j' has friction -1"),
    (mjcf(body('<joint name="j" armature="-1"/>')), "'j' has armature -1"),
    (mjcf(body('<joint name="j" axis="0 0 0"/>')), "joint 'j': a direction must not be zero"),
    (mjcf(body(JOINT) + body("<joint name='j'/>", "c")), "there are two joints 'j'"),
    (mjcf(body(JOINT) + body("<joint name='k'/>")), "there are two bodies 'b'"),
    (mjcf(body(JOINT), "<deformable/>"), "unknown section 'deformable'"),
    (mjcf(body(JOINT), compiler='coordinate="global"'), r"coordinate='global' \(valid: local\)"),
    (mjcf(body(JOINT), compiler='angel="radian"'), "unknown setting angel='radian' .valid: angle"),
    (
        mjcf(TWO, '<equality><tendon tendon1="t"/></equality>'),
        "equality tendon '': ..t.. .valid: none; no spatial tendon",
    ),
    (
        mjcf(TWO, '<equality><weld body1="a" body2="z"/></equality>'),
        r"equality weld 'weld_0': no body 'z' \(valid: world, a, b\)",
    ),
    (
        mjcf(TWO, '<equality><connect name="c" site1="s" site2="t"/></equality>'),
        r"equality connect 'c' \(valid: by body1 and body2\)",
    ),
    (
        mjcf(TWO, '<equality><connect name="c" body1="a" anchor="0 1"/></equality>'),
        "equality connect 'c': anchor must be 3 finite",
    ),
    (
        mjcf(TWO, '<equality><joint joint1="i" joint2="j" polycoef="0 1 1"/></equality>'),
        "polycoef 0 1 1 .valid: linear",
    ),
    (
        mjcf(TWO, '<equality><joint joint1="k"/></equality>'),
        "equality joint '': ..k.. .valid: j, i",
    ),
    (mjcf(TWO, '<equality><flex flex="f"/></equality>'), "valid: joint, tendon, connect, weld"),
    (
        mjcf(TWO, '<tendon><spatial name="t" stiffness="1"/></tendon>'),
        "tendon 't' has stiffness .valid: as a fixed one",
    ),
    (
        mjcf(TWO, '<tendon><fixed name="t"><joint joint="k" coef="1"/></fixed></tendon>'),
        "tendon 't': no joint 'k' .valid: j, i",
    ),
    (mjcf(TWO, TIED.format("t", 'damping="1 2"')), "tendon 't': damping='1 2' is not linear"),
    (
        mjcf(
            TWO,
            TIED.format("t", ""),
            '<equality><tendon tendon1="t" tendon2="t" polycoef="0 1 1"/></equality>',
        ),
        "equality tendon '': polycoef 0 1 1 .valid: linear",
    ),
    (
        mjcf(TWO, '<actuator><motor joint="k"/></actuator>'),
        r"motor '': no joint 'k' \(valid: j, i\)",
    ),
    (mjcf(TWO, '<contact><exclude body1="a" body2="z"/></contact>'), "exclude: no body 'z'"),
    (mjcf('<geom type="plane" mesh="m"/>'), "is of type 'plane' and has a mesh"),
    (mjcf('<geom type="mesh"/>'), "is of type 'mesh' and has no mesh"),
    (
        mjcf(
            '<geom type="mesh" mesh="m"/>',
            """<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" refquat="1 1 0 0"
              scale="1 2 1"/></asset>""",
        ),
        "mesh 'm' has a refquat and scales",
    ),
    (
        mjcf('<geom type="box" mesh="m"/>', compiler='fitaabb="true"'),
        r"fitted to a box about its mesh \(valid: fitaabb='false'\)",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_cannot_be_simulated_is_named(text, message):
    with pytest.raises(ModelError, match=message):
        read_articulation(text)
        collision_shapes(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (mjcf(body(JOINT, mocap="true").replace(JOINT, "")), "body 'b' is moved by motion capture"),
        (mjcf(body('<joint name="j" type="free" damping="1"/>')), "'j' floats: damping ignored"),
        (mjcf(body(JOINT), '<option viscosity="0.1"/>'), "option viscosity='0.1' ignored"),
        (
            mjcf(body(JOINT), '<actuator><position joint="j" forcerange="0 2"/></actuator>'),
            "position '' has the effort limits 0 and 2: taken as 2 both ways",
        ),
        (
            mjcf(body(JOINT), '<actuator><motor name="m" site="s"/></actuator>'),
            "motor 'm' not read: no actuator of a joint or a fixed tendon",
        ),
    ],
)
def test_what_is_simulated_differently_is_warned_of(text, message):
    with pytest.warns(ModelWarning, match=message):
        read_articulation(text)


def test_looks_sensors_and_settings_of_solvers_are_ignored():
    text = mjcf(
        body(JOINT + '<site name="s"/><camera name="c"/><light/>'),
        '<option timestep="0.1"/><visual/><statistic/><size/><custom/>'
        '<sensor><gyro site="s"/></sensor><asset><texture name="t"/><material name="m"/></asset>',
    )
    assert len(read_articulation(text).bodies) == 1
