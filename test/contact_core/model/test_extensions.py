"""Drake's extensions of URDF: what they mean there, they mean here."""

import numpy as np
import pytest

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.articulation import read_articulation
from contact_core.model.model_file import self_contained
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.robot.description import collision_shapes
from tamsi_sim.simulation.world import World

INERTIAL = """<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0"
  iyz="0"/></inertial>"""


def urdf(content="", kind="revolute", inside="", limit='effort="9" velocity="9"'):
    """Return two links, each on a joint."""
    joints = "".join(
        f'''<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
        <axis xyz="0 1 0"/><limit lower="-1" upper="1" {limit}/>{inside if name == "k" else ""}
        </joint><link name="{child}">{INERTIAL}</link>'''
        for name, parent, child in (("j", "base", "a"), ("k", "a", "b"))
    )
    return f'<robot name="r"><link name="base"/>{joints}{content}</robot>'


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "planar"])
def test_an_axis_without_numbers_is_the_default(tmp_path, kind):
    """The parser took none at all, and the inertia was blamed."""
    empty = urdf(kind=kind).replace('<axis xyz="0 1 0"/>', "<axis/>")
    default = urdf(kind=kind).replace('<axis xyz="0 1 0"/>', "")
    found, expected = (
        [b.axis for b in read_articulation(self_contained(text, "it", tmp_path)).bodies]
        for text in (empty, default)
    )
    assert found == expected


def transmission(joint, inertia, gear=""):
    """Return a transmission with a rotor."""
    ratio = f'<drake:gear_ratio value="{gear}"/>' if gear else ""
    return f'''<transmission name="t_{joint}"><type>SimpleTransmission</type><joint name="{joint}"/>
      <actuator name="m_{joint}"><drake:rotor_inertia value="{inertia}"/>{ratio}</actuator>
      </transmission>'''


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_a_rotor_adds_to_its_joint_what_it_adds_in_drake(kind):
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    text = urdf(transmission("j", 3e-4, -50) + transmission("k", 0.2), kind)
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "urdf")
    plant.Finalize()
    order = [plant.GetJointByName(name).velocity_start() for name in ("j", "k")]
    expected = plant.CalcMassMatrix(plant.CreateDefaultContext())[np.ix_(order, order)]
    found = World().add("r", text).build().observer.mass_matrix()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found[0, 0] > 0.75


def test_the_rotor_of_a_joint_that_follows_acts_on_its_master():
    mimic = '<mimic joint="j" multiplier="-3"/>'
    plain, geared = (
        World().add("r", urdf(extra, inside=mimic)).build().observer.mass_matrix()[0, 0]
        for extra in ("", transmission("k", 0.01, 2))
    )
    assert geared - plain == pytest.approx(0.04 * 9)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (transmission("elbow", 1.0), r"rotor_inertia \(line \d+\): no joint 'elbow'.*valid: j, k"),
        (transmission("j", "heavy"), r"rotor_inertia \(line \d+\) is no inertia: .*'heavy'"),
        (transmission("j", -1.0), r"is no inertia: '-1.0'"),
        (
            transmission("f", 1.0) + '<joint name="f" type="fixed"><parent link="b"/><child '
            'link="c"/></joint><link name="c"/>',
            r"rotor_inertia \(line \d+\) is that of joint 'f' \(valid: of one axis\)",
        ),
        ("<drake:ball_constraint/>", r"robot/drake:ball_constraint \(line \d+\): closes a loop"),
        ("<drake:linear_spring_damper/>", "spring between two links cannot be simulated"),
        ("<loop_joint name='l'/>", "loop_joint"),
    ],
)
def test_what_would_change_the_motion_is_refused(tmp_path, content, message):
    with pytest.raises(ModelError, match=message):
        self_contained(urdf(content), "it", tmp_path)


def test_a_capsule_of_drake_is_one():
    shape = """<link name="c"><collision><geometry><drake:capsule radius="0.1" length="0.6"/>
      </geometry></collision></link>"""
    text = f'<robot name="r">{shape}</robot>'
    engine = World().add("r", text).build()
    (placed,) = engine.built.shapes
    assert (placed.shape.kind, placed.shape.size) == (ShapeKind.CAPSULE, (0.1, 0.3, 0.0))


def test_limits_of_zero_are_none_and_said(tmp_path):
    text = urdf(limit='effort="0" velocity="0.0"', inside='<mimic joint="j"/>')
    with pytest.warns(ModelWarning, match=r"taken as none: effort and velocity of 'j' .line 2.$"):
        self_contained(text, "it", tmp_path)
    law = read_articulation(text).bodies[0].law
    assert law.effort == law.velocity == np.inf


def test_an_orientation_that_the_parser_passes_over_is_refused(tmp_path):
    joint = '<origin xyz="0 0 1" quat_xyzw="1 0 0 1"/>'
    with pytest.raises(ModelError, match=r'quat_xyzw \(line \d\) needs <robot version="1.1">'):
        self_contained(urdf(inside=joint), "it", tmp_path)
    text = urdf(inside=joint).replace('name="r"', 'name="r" version="1.1"')
    (_, body) = read_articulation(self_contained(text, "it", tmp_path)).bodies
    np.testing.assert_allclose(body.placement.rotation[:, 2], [0, -1, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            'mass value="1"',
            'mass value="one"',
            r"it: link 'a': mass value='one' \(line 3; ",
        ),
        ('ixx="0.1"', 'ixx=""', "it: link 'a': inertia ixx=''"),
        ('mass value="1"', 'mass value="nan"', "it: link 'a': mass value='nan'"),
        ('lower="-1"', 'lower="1.5"', r"'j': limit lower='1.5' upper='1' \(.*; valid: lower <= u"),
        ("</joint>", '<dynamics damping="-2"/></joint>', "damping='-2' .*; valid: 1 number >= 0"),
    ],
)
def test_no_number_that_is_none_or_cannot_be_is_passed_over(tmp_path, right, wrong, message):
    with pytest.raises(ModelError, match=message):
        self_contained(urdf().replace(right, wrong), "it", tmp_path)


def test_what_an_inertial_leaves_out_is_zero():
    weight = '<inertial><mass value="3"/></inertial>'
    fixed = f"""<joint name="f" type="fixed"><parent link="b"/><child link="c"/><origin
      xyz="2 0 0"/></joint><link name="c">{weight}</link>"""
    text = urdf(fixed).replace(' ixy="0" ixz="0"\n  iyz="0"', "")
    with pytest.warns(ModelWarning, match=r"r: links without an inertia are points .*'c' \(line"):
        matrix = World().add("r", text).build().observer.mass_matrix()
    np.testing.assert_allclose(matrix, [[12.2, 12.1], [12.1, 12.1]])


def test_a_plane_of_bullet_is_a_half_space(tmp_path):
    text = """<robot name="r"><link name="a"><collision><origin xyz="1 2 3"
      rpy="0 0 1.5707963267948966"/><geometry>
      <plane normal="2 0 0"/></geometry></collision></link></robot>"""
    (shape,) = collision_shapes(self_contained(text, "it", tmp_path))
    assert shape.shape.kind is ShapeKind.HALF_SPACE
    np.testing.assert_allclose(shape.placement.translation, [1.0, 2.0, 3.0], atol=1e-12)
    np.testing.assert_allclose(shape.placement.rotation[:, 2], [0.0, 1.0, 0.0], atol=1e-12)
    with pytest.raises(ModelError, match=r"it: plane \(line 3\) has no direction: normal '0 0 0'"):
        self_contained(text.replace("2 0 0", "0 0 0"), "it", tmp_path)


def test_shapes_of_a_plane_are_on_what_is_fixed():
    text = """<robot name="r"><link name="a"><collision><geometry><box size="1 1 2"
      half_space="true"/></geometry></collision></link></robot>"""
    (shape,) = collision_shapes(text)
    assert shape.shape.kind == ShapeKind.HALF_SPACE
    np.testing.assert_allclose(shape.placement.translation, [0, 0, 1])
    moving = text.replace("<collision>", INERTIAL + "<collision>")
    with pytest.raises(ModelError, match="link 'a': 'a_0' is a plane"):
        World().add("r", moving, free=True).build()
