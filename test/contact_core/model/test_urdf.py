"""What is wrong with a URDF is said in the error, not only on stderr."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.model_file import self_contained
from contact_core.model.urdf import lock_joints, read_tree
from contact_core.model.visuals import visuals
from contact_core.robot.description import collision_shapes
from contact_core.robot.robot import Robot

GOOD = """<robot name="r"><link name="base"/><joint name="elbow" type="revolute"><origin
  xyz="0 0 1" rpy="0 0 0"/><parent link="base"/><child link="c"/><axis xyz="0 1 0"/><limit
  lower="-3" upper="3" effort="10" velocity="10"/></joint><link name="c"><inertial>
  <mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  </robot>"""


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        (
            'rpy="0 0 0"',
            'rpy="1.57, 0 0"',
            "joint 'elbow': origin rpy='1.57, 0 0'",
        ),
        ('xyz="0 0 1"', 'xyz="0 0"', "joint 'elbow': origin xyz='0 0'"),
        ('effort="10"', 'effort="-10"', r"limit effort='-10' \(line 2; valid: 1 number >= 0\)"),
        ('upper="3"', 'upper="3,5"', r"limit upper='3,5' \(line 2; valid: 1 num"),
        ('lower="-3"', 'lower="nan"', r"limit lower='nan' \(line 2; valid: 1 number\)"),
        ('type="revolute"', 'type="hinge"', "elbow.*hinge"),
        ('<child link="c"/>', '<child link="d"/>', "d"),
        ('<link name="base"/>', '<link name="c"/>', "c.*not unique"),
        ('<limit\n  lower="-3" upper="3" effort="10" velocity="10"/>', "", "elbow.*limit"),
    ],
)
def test_the_error_names_what_is_wrong(right, wrong, message):
    assert read_tree(GOOD).nv == 1
    assert right in GOOD
    with pytest.raises(ModelError, match=f"cannot read the URDF: .*{message}"):
        read_tree(GOOD.replace(right, wrong))


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (
            '<joint name="k" type="fixed"><parent link="base"/><child link="c"/></joint>',
            r"link 'c' is the child of joint 'elbow' and of joint 'k' \(line 5; valid: of one\)",
        ),
        (
            '<joint name="k" type="fixed"><parent link="c"/><child link="base"/></joint>',
            "joints carry links in a circle: 'elbow', 'k'",
        ),
        (
            '<link name="d"/><joint name="k" type="fixed"><parent link="d"/><child link="d"/>'
            "</joint>",
            "joints carry links in a circle: 'k'",
        ),
    ],
)
def test_joints_make_a_tree(tmp_path, joint, message):
    with pytest.raises(ModelError, match=message):
        self_contained(GOOD.replace("</robot>", joint + "</robot>"), "it", tmp_path)


def chain(*joints):
    """Return an arm; each joint carries a link of the same number, L1, L2, ..."""
    parts = "".join(
        f'''<joint name="{name}" type="revolute"><origin xyz="0 0.1 0.3"/><parent link="L{k}"/>
        <child link="L{k + 1}"/><axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="10"
        velocity="10"/></joint><link name="L{k + 1}"><inertial><origin xyz="0.1 0 0.1"/>
        <mass value="{k + 1}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><geometry><sphere radius="0.1"/></geometry></collision></link>'''
        for k, name in enumerate(joints)
    )
    return f'<robot name="r"><link name="L0"/>{parts}</robot>'


def test_joints_may_have_the_names_of_links():
    plain, clash = chain("a", "b", "c"), chain("L1", "L3", "L2")
    q = np.array([0.1, 0.2, 0.3])
    trees = [lock_joints(read_tree(text), [2], q) for text in (plain, clash)]
    assert list(trees[1].names) == ["universe", "L1", "L2"]
    for tree in trees:
        assert [f.name for f in tree.frames if f.type == pin.FrameType.BODY][-1] == "L3"
    matrices = [pin.crba(tree, tree.createData(), np.array([0.4, 0.5])) for tree in trees]
    np.testing.assert_allclose(matrices[0], matrices[1])
    poses = []
    for text, joints in ((plain, ("a", "b", "c")), (clash, ("L1", "L3", "L2"))):
        robot = Robot(text, joints, "L3")
        robot.update(q)
        poses.append(robot.tool_pose())
    assert poses[0].isApprox(poses[1])


def test_a_fixed_joint_may_have_the_name_of_its_link():
    hand = """<link name="hand"/><joint name="hand" type="fixed"><parent link="L2"/>
      <child link="hand"/></joint><joint name="slide" type="prismatic"><parent link="hand"/>
      <child link="finger"/><limit lower="0" upper="1" effort="1" velocity="1"/></joint>
      <link name="finger"/></robot>"""
    tree = lock_joints(read_tree(chain("a", "b").replace("</robot>", hand)), [2], np.zeros(3))
    kinds = {frame.type for frame in tree.frames if frame.name == "hand"}
    assert kinds == {pin.FrameType.BODY, pin.FrameType.FIXED_JOINT}
    assert tree.existFrame("b", pin.FrameType.FIXED_JOINT)


BOX = '<geometry><box size="0.2 0.2 0.2"/></geometry>'
TOOL = """<robot name="r"><link name="tool"><inertial>{origin}<mass value="{mass}"/><inertia ixx="1"
  iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{look}<collision><geometry><cylinder
  radius="{radius}" length="1"/></geometry></collision>
  <collision><geometry><box size="{size}"/></geometry></collision></link></robot>"""
PLAIN = {
    "origin": '<origin xyz="1 0 0"/>', "mass": "5", "radius": "0.1", "size": "1 2 3", "look": "",
}  # fmt: skip


def read(**said):
    text = self_contained(TOOL.format(**PLAIN | said), "tool.urdf", Path())
    model = read_tree(text, pin.JointModelFreeFlyer())
    return model.inertias[1], collision_shapes(text), visuals(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [("origin", '<origin xyz="1\t0\n0"/>'), ("mass", " 5 "), ("radius", "0.1\n"),
     ("size", "\n1\n 2\t3")],
)  # fmt: skip
def test_white_space_around_numbers_says_nothing(name, value):
    inertia, shapes, _ = read(**{name: value})
    expected = read()
    assert inertia == expected[0]
    assert [shape.shape for shape in shapes] == [shape.shape for shape in expected[1]]
    assert len(shapes) == 2


@pytest.mark.parametrize("value", ["1_0", "１0"])
def test_numbers_are_those_of_xml(value):
    with pytest.raises(ModelError, match=r"mass value='.*valid: 1 number\)"):
        read(mass=value)


@pytest.mark.parametrize(
    ("look", "said"),
    [
        ('<visual><geometry><ellipsoid size="1 1 1"/></geometry></visual>', "ellipsoid.*valid:"),
        ('<visual><geometry><mesh filename="a.obj" scale="0.001"/></geometry></visual>',
         "mesh scale='0.001'"),
        ('<visual><geometry><cylinder radius="1"/></geometry></visual>', "without its length"),
        (f'<visual><origin rpy="0 0"/>{BOX}</visual>', "origin rpy='0 0'"),
        ('<visual><geometry><capsule radius="1" length="1"/></geometry></visual>', "capsule.*1.2"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_takes_no_collision_along(look, said):
    with pytest.warns(ModelWarning, match=rf"tool.urdf: not shown: .*{said}.* of link 'tool'"):
        _, shapes, shown = read(look=f"{look}<visual>{BOX}</visual>")
    assert (len(shapes), len(shown)) == (2, 1)


@pytest.mark.parametrize(
    "look",
    ["<visual/>", "<visual><geometry/></visual>", f"<visual><geometry/>{BOX}</visual>"],
)
def test_what_looks_like_nothing_takes_nothing_along(look):
    _, shapes, shown = read(look=f"{look}<visual>{BOX}</visual>")
    assert (len(shapes), len(shown)) == (2, 1)


@pytest.mark.parametrize(
    "material",
    ['<material><color rgba="1 0 0 1"/></material>', "<material/>",
     '<material name="red"><color rgba="1 0\t0\n1"/></material>',
     '<material name="red"><color rgba="red"/></material>'],
)  # fmt: skip
def test_materials_take_nothing_along(material):
    _, shapes, shown = read(look=f"<visual>{BOX}{material}</visual><visual>{BOX}</visual>")
    assert (len(shapes), len(shown)) == (2, 2)
    if "1 0" in material:
        assert shown[0].color == (1.0, 0.0, 0.0)


def test_a_material_whose_color_cannot_be_read_keeps_its_name():
    red = '<material name="red"><color rgba="1 0 0 1"/></material>'
    look = '<visual>{}<material name="red"><color rgba="1 0 0"/></material></visual>'
    text = TOOL.format(**PLAIN | {"look": look.format(BOX)}).replace("<link", f"{red}<link")
    (shown,) = visuals(self_contained(text, "tool.urdf", Path()))
    assert shown.color == (1.0, 0.0, 0.0)


def test_collisions_that_get_lost_are_an_error():
    text = TOOL.format(**PLAIN | {"look": "<visual/>"})  # as it is, not made readable
    with pytest.raises(ModelError, match="link 'tool' has 2 collisions, of which 0"):
        collision_shapes(text)


@pytest.mark.parametrize("size", ["1 2 3", "\n  1\n  2\t3\n"])
def test_a_size_of_an_sdf_may_have_lines_of_its_own(size):
    text = f"""<sdf version="1.9"><model name="m"><link name="l"><collision name="c"><geometry><box>
      <size>{size}</size></box></geometry></collision></link></model></sdf>"""
    (box,) = collision_shapes(self_contained(text, "box.sdf", Path()))
    assert box.shape.size == (0.5, 1.0, 1.5)
