"""What moves in a URDF: joints of all kinds, those that follow others, bodies without mass."""

import numpy as np
import pinocchio as pin
import pytest

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.articulation import read_articulation
from contact_core.multibody.rigid_body.joints import FREE, PRISMATIC, REVOLUTE

HEAVY = """<inertial><mass value="2"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"""


def joint(name, kind, parent, child, extra="", axis="0 0 1"):
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
      <axis xyz="{axis}"/><limit lower="-1" upper="2" effort="3" velocity="4"/>{extra}</joint>"""


def robot(*joints, links="abcd", massless=""):
    bodies = (f'<link name="{n}">{"" if n in massless else HEAVY}</link>' for n in links)
    return f'<robot name="r">{"".join(bodies)}{"".join(joints)}</robot>'


def test_a_continuous_joint_has_no_limits():
    text = robot(joint("j", "continuous", "a", "b", '<dynamics damping="5"/>'), links="ab")
    (body,) = read_articulation(text).bodies
    assert (body.kind, body.axis) == (REVOLUTE, (0.0, 0.0, 1.0))
    assert (body.law.lower, body.law.upper) == (-np.inf, np.inf)
    assert (body.law.effort, body.law.velocity, body.law.damping) == (3.0, 4.0, 5.0)


def test_a_continuous_joint_may_have_any_axis():
    text = robot(joint("j", "continuous", "a", "b", axis="0 0.6 -0.8"), links="ab")
    (body,) = read_articulation(text).bodies
    assert (body.kind, body.axis) == (REVOLUTE, pytest.approx((0.0, 0.6, -0.8)))


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 0.6, 0.8)])
def test_a_planar_joint_slides_in_the_plane_of_its_axis_and_turns_about_it(axis):
    text = robot(joint("j", "planar", "a", "b", axis="{} {} {}".format(*axis)), links="ab")
    x, y, yaw = read_articulation(text).bodies
    assert [body.joint for body in (x, y, yaw)] == ["j_x", "j_y", "j_yaw"]
    assert [body.kind for body in (x, y, yaw)] == [PRISMATIC, PRISMATIC, REVOLUTE]
    assert [body.parent for body in (x, y, yaw)] == [-1, 0, 1]
    np.testing.assert_allclose(np.cross(x.axis, y.axis), axis, atol=1e-15)
    np.testing.assert_allclose(yaw.axis, axis)
    assert [body.inertia.mass for body in (x, y, yaw)] == [0.0, 0.0, 2.0]


@pytest.mark.parametrize("name", ["p_x", "p_y", "p_yaw"])
def test_a_planar_joint_needs_three_names(name):
    """The other joint took over its coordinate: the mass matrix had a row of zeros."""
    text = robot(joint("p", "planar", "a", "b"), joint(name, "prismatic", "b", "c"), links="abc")
    with pytest.raises(ModelError, match=f"2 joints are called '{name}' .valid: names that diff"):
        read_articulation(text)


def test_a_floating_joint_is_a_free_body():
    (body,) = read_articulation(robot(joint("j", "floating", "a", "b"), links="ab")).bodies
    assert body.kind == FREE
    chain = robot(joint("i", "revolute", "a", "b"), joint("j", "floating", "b", "c"), links="abc")
    with pytest.raises(ModelError, match="joint 'j' floats on a link that moves"):
        read_articulation(chain)


def test_joints_of_several_axes_have_losses_too():
    losses = '<dynamics damping="0.5" friction="{}"/>'
    planar = robot(joint("j", "planar", "a", "b", losses.format(3)), links="ab")
    laws = [body.law for body in read_articulation(planar).bodies]
    assert [(law.damping, law.friction) for law in laws] == [(0.5, 3.0)] * 3
    floating = robot(joint("j", "floating", "a", "b", losses.format(0)), links="ab")
    assert read_articulation(floating).bodies[0].law.damping == 0.5
    with pytest.warns(ModelWarning, match="joint 'j' floats: friction ignored"):
        read_articulation(floating.replace('friction="0"', 'friction="3"'))


def test_a_mimic_joint_may_come_before_its_master_and_follow_another_one():
    follow = '<mimic joint="{}" multiplier="{}" offset="{}"/>'
    text = robot(
        joint("a1", "revolute", "a", "b", follow.format("b1", 2.0, 0.5)),
        joint("b1", "revolute", "a", "c", follow.format("c1", -3.0, 0.1)),
        joint("c1", "revolute", "a", "d"),
    )
    # A transmission names a joint as well.
    text = text.replace("</robot>", '<transmission><joint name="a1"/></transmission></robot>')
    laws = {body.joint: body.mimic for body in read_articulation(text).bodies}
    assert laws["c1"] is None
    assert (laws["b1"].master, laws["b1"].ratio, laws["b1"].offset) == ("c1", -3.0, 0.1)
    assert (laws["a1"].master, laws["a1"].ratio) == ("c1", -6.0)
    assert laws["a1"].offset == pytest.approx(2.0 * 0.1 + 0.5)


@pytest.mark.parametrize(
    ("master", "message"),
    [("none", r"joint 'i' follows 'none'.*valid: j"), ("i", "mimic joints follow each other: i")],
)
def test_a_mimic_joint_without_a_master_is_named(master, message):
    text = robot(
        joint("i", "revolute", "a", "b", f'<mimic joint="{master}"/>'),
        joint("j", "revolute", "a", "c"),
        links="abc",
    )
    with pytest.raises(ModelError, match=message):
        read_articulation(text)


def test_a_link_without_mass_may_carry_one_that_has():
    chain = (joint("i", "revolute", "a", "b"), joint("j", "revolute", "b", "c", axis="1 0 0"))
    assert len(read_articulation(robot(*chain, links="abc", massless="b")).bodies) == 2
    with pytest.raises(ModelError, match=r"body 'c' has mass 0 kg and carries none; joint 'j'"):
        read_articulation(robot(*chain, links="abc", massless="c"))
    fixed = (joint("i", "fixed", "a", "b"), joint("j", "fixed", "b", "c"))
    assert read_articulation(robot(*fixed, links="abc", massless="abc")).bodies == ()


def test_a_mimic_joint_without_mass_moves_with_a_master_that_has():
    text = robot(
        joint("i", "prismatic", "a", "b"),
        joint("j", "prismatic", "a", "c", '<mimic joint="i"/>'),
        links="abc",
        massless="c",
    )
    assert len(read_articulation(text).bodies) == 2


@pytest.mark.parametrize("moments", ["1 1 2.1", "-0.1 1 1", "nan 1 1", "inf 1 1"])
def test_an_inertia_that_no_body_has_is_refused(moments):
    x, y, z = moments.split()
    text = robot(joint("j", "revolute", "a", "b"), links="ab").replace(
        'ixx="0.1" iyy="0.1" izz="0.1"', f'ixx="{x}" iyy="{y}" izz="{z}"'
    )
    with pytest.raises(ModelError, match="body 'b' has principal inertias"):
        read_articulation(text)


def test_an_inertia_that_no_body_has_is_repaired_if_asked_to():
    text = robot(joint("j", "revolute", "a", "b"), links="ab").replace('izz="0.1"', 'izz="0.4"')
    with pytest.warns(ModelWarning, match=r"body 'b' .* \[0.1 0.1 0.4\] .*: taken as 0.2 each"):
        (body,) = read_articulation(text, repair=True).bodies
    np.testing.assert_allclose(body.inertia.inertia, 0.2 * np.eye(3))


BLOB = """<robot name="r"><link name="a"><inertial><origin xyz="0 0 0.01"/><mass value="0.3"/>
  <inertia ixx="1" iyy="1" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>{}</link></robot>"""
HALF = '<collision><origin xyz="{} 0 0"/><geometry><box size="0.2 0.4 0.6"/></geometry></collision>'


def test_a_body_that_would_turn_without_inertia_gets_that_of_its_shapes():
    """Of two boxes side by side: that of the box that they make."""
    text = BLOB.format(HALF.format(0.1) + HALF.format(-0.1))
    with pytest.raises(ModelError, match=r"inertias \[0 1 1\] .*they must be > 0"):
        read_articulation(text, free=True)
    with pytest.warns(ModelWarning, match=r"\[0 1 1\] .*: taken as those of its shapes, \[0.008 "):
        (body,) = read_articulation(text, free=True, repair=True).bodies
    assert body.inertia.mass == 0.3
    np.testing.assert_allclose(body.inertia.lever, [0.0, 0.0, 0.01])
    box = pin.Inertia.FromBox(0.3, 0.4, 0.4, 0.6)
    np.testing.assert_allclose(body.inertia.inertia, box.inertia, atol=1e-15)
    with pytest.warns(ModelWarning, match=r"taken as 0.667 each"):
        read_articulation(BLOB.format(""), free=True, repair=True)
    point = text.replace('ixx="1" iyy="1"', 'ixx="0" iyy="0"')
    with pytest.warns(ModelWarning, match=r"\[0 0 0\] .*: taken as those of its shapes"):
        (same,) = read_articulation(point, free=True, repair=True).bodies
    np.testing.assert_array_equal(same.inertia.inertia, body.inertia.inertia)


def test_a_joint_that_moves_no_mass_is_held_if_asked_to():
    text = robot(
        joint("i", "revolute", "a", "b"),
        joint("j", "revolute", "b", "c"),
        joint("k", "revolute", "b", "d", '<mimic joint="j"/>'),
        massless="cd",
    )
    with pytest.warns(ModelWarning, match="joint 'j' moves no mass: held; joint 'k'"):
        articulation = read_articulation(text, repair=True)
    assert [body.joint for body in articulation.bodies] == ["i"]
    assert articulation.links["c"][0] == articulation.links["d"][0] == 0


def test_a_thin_plate_is_a_body():
    text = robot(joint("j", "revolute", "a", "b"), links="ab")
    read_articulation(text.replace('izz="0.1"', 'izz="0.2"'))


def test_joints_start_at_zero_or_the_nearest_limit_or_where_they_are_told():
    text = robot(joint("i", "revolute", "a", "b"), joint("j", "revolute", "a", "c"), links="abc")
    text = text.replace('lower="-1"', 'lower="0.25"', 1)
    articulation = read_articulation(text)
    assert articulation.start({}) == {"i": (0.25,), "j": (0.0,)}
    assert articulation.start({"j": 1.5}) == {"i": (0.25,), "j": (1.5,)}


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ({"k": 1.0}, r"no joint 'k' to start at 1.0 \(valid: i\)"),
        ({"i": 2.1}, r"joint 'i' cannot start at 2.1 \(valid: -1 to 2\)"),
        ({"i": np.nan}, "position of joint 'i' must be 1 finite number.*, got nan"),
        ({"i": (0.1, 0.2)}, "position of joint 'i' must be 1 finite number"),
        ({"i": "far"}, "position of joint 'i' must be 1 finite number.*, got 'far'"),
        ({"j": 0.5}, "no joint 'j'"),
    ],
)
def test_a_start_that_is_none_is_named(positions, message):
    text = robot(
        joint("i", "revolute", "a", "b"),
        joint("j", "revolute", "a", "c", '<mimic joint="i"/>'),
        links="abc",
    )
    with pytest.raises(ModelError, match=message):
        read_articulation(text).start(positions)


IDLE = """<mujoco><worldbody><body><joint name="b" type="ball"/><geom size="0.1" mass="0"/>
  <body pos="1 0 0"><joint name="h"/><geom size="0.1" mass="0"/></body></body></worldbody>
  </mujoco>"""


def test_a_ball_joint_that_moves_no_mass_is_named_or_held():
    with pytest.raises(ModelError, match="carries none; joint 'b' moves it"):
        read_articulation(IDLE)
    with pytest.warns(ModelWarning, match="joint 'b' moves no mass: held"):
        assert read_articulation(IDLE, repair=True).bodies == ()


@pytest.mark.parametrize(
    ("position", "expected"), [(2.0, 2.0), (2.01, 2.0), (-1.009, -1.0), (2.02, None)]
)
def test_a_start_that_a_file_rounded_beyond_a_limit_is_at_the_limit(position, expected):
    articulation = read_articulation(robot(joint("j", "revolute", "a", "b"), links="ab"))
    if expected is None:
        with pytest.raises(ModelError, match=r"joint 'j' cannot start at 2.02 \(valid: -1 to 2\)"):
            articulation.start({"j": position})
    elif expected == position:
        assert articulation.start({"j": position}) == {"j": (expected,)}
    else:
        with pytest.warns(ModelWarning, match="joint 'j' cannot start at .* at its limit, "):
            assert articulation.start({"j": position}) == {"j": (expected,)}


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "planar"])
def test_an_axis_without_a_direction_is_named(kind):
    text = robot(joint("j", kind, "a", "b", axis="0 0 0"), links="ab")
    with pytest.raises(ModelError, match=r"joint 'j' has the axis '0 0 0' \(valid: a direction\)"):
        read_articulation(text)
    fixed = robot(joint("j", "fixed", "a", "b", axis="0 0 0"), links="ab")
    assert read_articulation(fixed).bodies == ()


def grain(mass, moment, lever=0.0):
    return f"""<robot name="r"><link name="a"><inertial><origin xyz="{lever} 0 0"/>
      <mass value="{mass}"/><inertia ixx="{moment}" iyy="{moment}" izz="{moment}" ixy="0" ixz="0"
      iyz="0"/></inertial></link></robot>"""


@pytest.mark.parametrize(("mass", "moment"), [(1e-9, 1e-16), (1e-12, 1e-20), (1e6, 1e-3)])
@pytest.mark.parametrize("lever", [0.0, 0.1])
def test_a_body_may_be_as_small_as_it_is(mass, moment, lever):
    (body,) = read_articulation(grain(mass, moment, lever), free=True).bodies
    assert body.inertia.mass == mass


@pytest.mark.parametrize("mass", [1e-9, 1.0, 1e4])
@pytest.mark.parametrize("lever", [0.0, 0.1, 0.7])
def test_a_point_turns_nothing_however_heavy_it_is(mass, lever):
    with pytest.raises(ModelError, match="joint 'root_joint' turns it"):
        read_articulation(grain(mass, 0.0, lever), free=True)
    # Nor about an axis through it.
    text = robot(joint("j", "revolute", "a", "b", axis="0.6 0 0.8"), links="ab", massless="b")
    point = f'''<inertial><origin xyz="{0.6 * lever} 0 {0.8 * lever}"/><mass value="{mass}"/>
      <inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>'''
    with pytest.raises(ModelError, match="joint 'j' turns it"):
        read_articulation(text.replace('<link name="b">', f'<link name="b">{point}'))
