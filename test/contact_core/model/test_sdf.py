"""SDF as a URDF: what floats, where joints are, and one error for what is not common to both."""

import numpy as np
import pytest

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.articulation import read_articulation
from contact_core.model.model_file import self_contained
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.multibody.rigid_body.joints import BALL, FREE, REVOLUTE
from contact_core.robot.description import collision_shapes, read_urdf

INERTIAL = """<inertial><pose>0.1 0 0 0 0 0</pose><mass>2</mass><inertia><ixx>0.1</ixx>
  <iyy>0.2</iyy><izz>0.15</izz></inertia></inertial>"""


def sdf(content, version="1.9"):
    """Return a SDF of one model."""
    return f'<sdf version="{version}"><model name="m">{content}</model></sdf>'


def link(name, content="", pose="0 0 0 0 0 0"):
    """Return a link."""
    return f'<link name="{name}"><pose>{pose}</pose>{INERTIAL}{content}</link>'


def joint(name, parent, child, kind="revolute", axis="<xyz>0 0 1</xyz>", pose=""):
    """Return a joint."""
    return f"""<joint name="{name}" type="{kind}">{pose}<parent>{parent}</parent>
      <child>{child}</child><axis>{axis}</axis></joint>"""


def urdf(text, tmp_path):
    """Return what our reader makes of a SDF."""
    return self_contained(text, "the SDF", tmp_path)


def test_a_model_floats_unless_it_is_static_or_held(tmp_path):
    free = read_articulation(urdf(sdf(link("a", pose="1 2 3 0 0 0")), tmp_path))
    assert [(body.joint, body.kind) for body in free.bodies] == [("a", FREE)]
    np.testing.assert_allclose(free.bodies[0].placement.translation, [1.0, 2.0, 3.0])
    static = read_articulation(urdf(sdf("<static>true</static>" + link("a")), tmp_path))
    assert static.bodies == ()
    held = read_articulation(urdf(sdf(link("a") + joint("j", "world", "a")), tmp_path))
    assert [(body.joint, body.kind) for body in held.bodies] == [("j", REVOLUTE)]


@pytest.mark.parametrize("yes", ["true", "True", "TRUE", "1", " true "])
def test_booleans_are_read_in_small_letters_and_large_ones(tmp_path, yes):
    kept = sdf(f"<static>{yes}</static>" + link("a"))
    assert read_articulation(urdf(kept, tmp_path)).bodies == ()
    (heavy,) = read_articulation(urdf(sdf(link("a", f"<gravity>{yes}</gravity>")), tmp_path)).bodies
    assert heavy.weight == 1.0
    turned = sdf(f'<pose degrees="{yes.strip()}">0 0 0 0 0 90</pose>' + link("a"))
    (body,) = read_articulation(urdf(turned, tmp_path)).bodies
    np.testing.assert_allclose(body.placement.rotation[:, 0], [0.0, 1.0, 0.0], atol=1e-9)
    axis = f"<xyz>1 0 0</xyz><use_parent_model_frame>{yes}</use_parent_model_frame>"
    text = sdf(link("a", pose=f"0 0 0 0 0 {np.pi / 2}") + joint("j", "world", "a", axis=axis))
    (body,) = read_articulation(urdf(text, tmp_path)).bodies
    assert body.axis == pytest.approx((0.0, -1.0, 0.0))
    (tmp_path / "part.sdf").write_text(sdf(link("a")))
    include = f"<uri>part.sdf</uri><static>{yes}</static>"
    text = f"<sdf version='1.9'><world name='w'><include>{include}</include></world></sdf>"
    assert read_articulation(urdf(text, tmp_path)).bodies == ()
    with pytest.raises(ModelError, match=r"include 'part.sdf' \(line 1\) is merged"):
        urdf(text.replace("<include>", f"<include merge='{yes.strip()}'>"), tmp_path)


def test_a_joint_may_be_elsewhere_than_its_child(tmp_path):
    text = sdf(
        "<pose>0 0 1 0 0 0</pose>" + link("a", pose="1 0 0 0 0 0")
        + joint("j", "world", "a", pose="<pose>0 2 0 0 0 0</pose>")
    )  # fmt: skip
    articulation = read_articulation(urdf(text, tmp_path))
    (body,) = articulation.bodies
    np.testing.assert_allclose(body.placement.translation, [1.0, 2.0, 1.0])
    np.testing.assert_allclose(body.inertia.lever, [0.1, -2.0, 0.0])
    np.testing.assert_allclose(articulation.links["a"][1].translation, [0.0, -2.0, 0.0])


@pytest.mark.parametrize(
    ("second", "last"),
    [("j_carrier", "k"), ("j_carrier", "j_carrier_"), ("b", "j_carrier"), ("b", "j_to_a")],
)
def test_names_may_be_like_those_that_we_add(tmp_path, second, last):
    aside = "<pose>0 2 0 0 0 0</pose>"
    text = sdf(
        link("a") + link(second) + joint("j", "world", "a", pose=aside)
        + joint(last, "a", second, pose=aside)
    )  # fmt: skip
    articulation = read_articulation(urdf(text, tmp_path))
    assert [body.joint for body in articulation.bodies] == ["j", last]
    np.testing.assert_allclose(articulation.links["a"][1].translation, [0.0, -2.0, 0.0])


def test_a_ball_joint_may_be_on_a_link_that_moves(tmp_path):
    text = sdf(link("a") + link("b") + joint("j", "world", "a") + joint("k", "a", "b", "ball"))
    hinge, ball = read_articulation(urdf(text, tmp_path)).bodies
    assert (hinge.kind, ball.kind, ball.parent) == (REVOLUTE, BALL, 0)


@pytest.mark.parametrize(
    ("version", "axis", "expected"),
    [
        ("1.9", "<xyz>1 0 0</xyz>", (1.0, 0.0, 0.0)),
        ("1.9", '<xyz expressed_in="__model__">1 0 0</xyz>', (0.0, -1.0, 0.0)),
        ("1.6", "<xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame>", (0, -1, 0)),
        ("1.4", "<xyz>1 0 0</xyz>", (0.0, -1.0, 0.0)),
        ("1.12", "<xyz>1 0 0</xyz>", (1.0, 0.0, 0.0)),
    ],
)
def test_an_axis_is_in_the_frame_that_it_is_expressed_in(tmp_path, version, axis, expected):
    turned = link("a", pose=f"0 0 0 0 0 {np.pi / 2}")
    text = sdf(turned + joint("j", "world", "a", axis=axis), version)
    (body,) = read_articulation(urdf(text, tmp_path)).bodies
    assert body.axis == pytest.approx(expected)


def test_a_joint_says_what_it_does(tmp_path):
    axis = """<xyz>0 0 1</xyz><limit><lower>-1</lower><upper>{}</upper><effort>3</effort>
      <velocity>-1</velocity></limit><dynamics><damping>4</damping><friction>5</friction></dynamics>
      """
    text = sdf(link("a") + joint("j", "world", "a", axis=axis.format("1e16")))
    law = read_articulation(urdf(text, tmp_path)).bodies[0].law
    assert (law.lower, law.upper, law.effort, law.velocity) == (-1.0, np.inf, 3.0, np.inf)
    assert (law.damping, law.friction) == (4.0, 5.0)
    follow = (
        axis.format(2)
        + """<mimic joint="j" axis="axis"><multiplier>-2</multiplier>
      <offset>0.5</offset><reference>0.25</reference></mimic>"""
    )
    text = sdf(link("a") + link("b") + joint("j", "world", "a") + joint("k", "a", "b", axis=follow))
    mimic = read_articulation(urdf(text, tmp_path)).bodies[1].mimic
    assert (mimic.master, mimic.ratio, mimic.offset) == ("j", -2.0, 1.0)


def test_a_joint_may_have_a_spring(tmp_path):
    axis = """<xyz>0 0 1</xyz><dynamics><spring_stiffness>6</spring_stiffness>
      <spring_reference>0.5</spring_reference></dynamics>"""
    law = read_articulation(urdf(sdf(link("a") + joint("j", "world", "a", axis=axis)), tmp_path))
    assert (law.bodies[0].law.stiffness, law.bodies[0].law.rest) == (6.0, 0.5)


def test_frames_may_be_given_in_each_other(tmp_path):
    frames = """<frame name="f" attached_to="a"><pose>0 0 1 0 0 0</pose></frame>
      <link name="b"><pose relative_to="f">0 1 0 0 0 0</pose></link>"""
    articulation = read_articulation(urdf(sdf(link("a", pose="1 0 0 0 0 0") + frames), tmp_path))
    where = {body.joint: body.placement.translation.tolist() for body in articulation.bodies}
    assert where == {"a": [1.0, 0.0, 0.0], "b": [1.0, 1.0, 1.0]}
    # Without an inertial a link has SDF's own default.
    assert articulation.bodies[1].inertia.mass == 1.0


def test_shapes_are_where_they_are(tmp_path):
    (tmp_path / "brick.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    shapes = """<collision name="a_box"><pose>0 0 1 0 0 0</pose><geometry><box><size>2 4 6</size>
        </box></geometry></collision>
      <collision name="b"><geometry><capsule><radius>1</radius><length>2</length></capsule>
        </geometry></collision>
      <collision name="c"><geometry><plane><normal>0 1 0</normal></plane></geometry></collision>
      <collision name="d"><geometry><mesh><uri>brick.obj</uri></mesh></geometry></collision>"""
    text = sdf("<static>1</static>" + link("a", shapes))
    box, capsule, plane, mesh = collision_shapes(urdf(text, tmp_path), meshes=True)
    assert (box.shape.kind, box.shape.size) == (ShapeKind.BOX, (1.0, 2.0, 3.0))
    np.testing.assert_allclose(box.placement.translation, [0.0, 0.0, 1.0])
    assert (capsule.shape.kind, capsule.shape.size) == (ShapeKind.CAPSULE, (1.0, 1.0, 0.0))
    assert plane.shape.kind == ShapeKind.HALF_SPACE
    np.testing.assert_allclose(
        plane.placement.act(np.array([3.0, 4.0, 0.0])), [3, 0, -4], atol=1e-9
    )
    assert mesh.shape.kind == ShapeKind.MESH


def geometry(content):
    """Return a model with one collision shape."""
    shape = f'<collision name="c"><geometry>{content}</geometry></collision>'
    return sdf(link("a", shape))


REFUSED = [
    (
        sdf("<static>yes</static>" + link("a")),
        r"model: static is 'yes' \(line 1 of the SDF; valid: true, 1, false, 0\)",
    ),
    (sdf('<pose degrees="on">0 0 0 0 0 90</pose>' + link("a")), "pose: degrees is 'on'"),
    (sdf(link("a") + joint("j", "world", "a", "screw")), r"type 'screw' \(valid: revolute, cont"),
    (
        sdf(link("a") + joint("j", "world", "a", "ball", "<xyz>0 0 1</xyz><dynamics><friction>2"
            "</friction></dynamics>")),
        "joint 'j' is a ball joint with friction .valid: none",
    ),
    (sdf(link("a") + joint("j", "b", "a")), r"joint 'j': no frame 'b' \(valid: __model__, a, j\)"),
    (
        sdf(link("a") + link("b") + joint("j", "a", "b") + joint("k", "world", "b")),
        "joints form a loop",
    ),
    (
        sdf(link("a") + link("b") + joint("j", "a", "b") + joint("k", "b", "a")),
        "joints carry links in a circle: 'j', 'k' .valid: from one root link on",
    ),
    (sdf(link("a") + joint("j", "a", "a")), "joints carry links in a circle: 'j'"),
    (geometry("<ellipsoid/>"), "link 'a': collision 'c' is ellipsoid .valid: box, sphere"),
    (geometry("<box/>"), "box '' has no size"),
    (sdf(link("a", pose="0 0 x 0 0 0")), "a number that is none: .*'x'"),
    (sdf(link("a", pose="0 0 0")), "a pose must be 6 numbers, or 7 with a quaternion"),
    (sdf(link("a") + joint("j", "a", "world")), "joint 'j' carries the world"),
    (sdf(link("a") + link("a")), "two links, joints, frames or models are called 'm::a'"),
    ("<sdf version='1.9'/>", "the SDF has no model"),
    (
        sdf(link("a") + joint("j", "world", "a", "fixed").replace(
            "<axis>", "<drake:rotor_inertia>1</drake:rotor_inertia><axis>")),
        "joint 'j' is a fixed joint with drake:rotor_inertia",
    ),
    ("<sdf version='new'><model name='m'/></sdf>", "a number that is none: .*'new'"),
    (
        sdf(link("a") + joint("j", "world", "a", axis="<xyz>0 0 1</xyz><dynamics>"
            "<spring_stiffness>stiff</spring_stiffness></dynamics>")),
        "a number that is none: .*'stiff'",
    ),
    (sdf(link("a") + "<frame name='f'><pose relative_to='g'/></frame>" + "<link name='b'><pose "
         "relative_to='f'/></link>"), "no frame 'g'"),
    (sdf(link("a") + link("b").replace("<mass>2<", "<mass>2,0<") + joint("j", "a", "b", "fixed")),
        r"link 'b': mass value='2,0' .* valid: 1 number"),
    (sdf(link("a").replace("<mass>2<", "<mass>inf<")), "link 'a': mass value='inf'"),
    ("<sdf><include><uri>model://m</uri></include></sdf>", "include 'model://m' .line 1.: cannot"),
    (
        sdf(link("a") + joint("j", "world", "a", "ball", "<xyz>0 0 1</xyz><dynamics>"
            "<spring_stiffness>2</spring_stiffness></dynamics>")),
        "joint 'j' is a ball joint with spring_stiffness",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_not_common_is_named(tmp_path, text, message):
    with pytest.raises(ModelError, match=message):
        urdf(text, tmp_path)


def test_names_of_several_models_keep_their_scope(tmp_path):
    nested = f'<model name="n"><pose>0 0 1 0 0 0</pose>{link("a")}</model>'
    one = read_articulation(urdf(sdf(link("a") + nested), tmp_path))
    assert list(one.links) == ["world", "a", "n::a"]
    text = f"""<sdf version="1.9"><world name="w"><model name="k">{link("a")}{nested}</model>
      <model name="m">{link("a")}{joint("j", "world", "a")}</model></world></sdf>"""
    several = read_articulation(urdf(text, tmp_path))
    assert {body.joint for body in several.bodies} == {"k::a", "k::n::a", "m::j"}
    np.testing.assert_allclose(several.bodies[1].placement.translation, [0.0, 0.0, 1.0])


def test_links_without_gravity_weigh_nothing(tmp_path):
    off = "<gravity>false</gravity>"
    text = sdf(link("a", off) + link("b", pose="0 0 1 0 0 0") + joint("j", "a", "b"))
    bodies = read_articulation(urdf(text, tmp_path)).bodies
    assert [(body.joint, body.weight) for body in bodies] == [("a", 0.0), ("j", 1.0)]
    fixed = text.replace('type="revolute"', 'type="fixed"')
    with pytest.warns(ModelWarning, match=r"joint 'a' carries links with .* 50 % of their w"):
        (body,) = read_articulation(urdf(fixed, tmp_path)).bodies
    assert body.weight == 0.5


def test_names_may_hold_what_separates_scopes(tmp_path):
    """As files that were flattened by older programs have them."""
    links = link("robot::base") + link("robot::arm", pose="0 0 1 0 0 0")
    text = sdf(links + joint("robot::j", "robot::base", "robot::arm") + "<static>0</static>")
    flat = read_articulation(urdf(text, tmp_path))
    assert [body.joint for body in flat.bodies] == ["robot::base", "robot::j"]
    np.testing.assert_allclose(flat.bodies[1].placement.translation, [0.0, 0.0, 1.0])


def test_a_static_model_moves_nowhere(tmp_path):
    nested = f'<model name="n">{link("b")}</model>'
    text = sdf(f"<static>1</static>{link('a')}{nested}{link('c')}{joint('j', 'a', 'c')}")
    assert read_articulation(urdf(text, tmp_path)).bodies == ()


def test_a_joint_of_drake_may_follow_another_one(tmp_path):
    follow = '<drake:mimic joint="j" multiplier="-2" offset="0.5"/>'
    second = joint("k", "a", "b").replace("</joint>", follow + "</joint>")
    text = sdf(link("a") + link("b") + joint("j", "world", "a") + second)
    mimic = read_articulation(urdf(text, tmp_path)).bodies[1].mimic
    assert (mimic.master, mimic.ratio, mimic.offset) == ("j", -2.0, 0.5)


def test_self_collision_has_to_be_asked_for(tmp_path):
    with pytest.warns(ModelWarning, match="collides with itself: ask for it"):
        urdf(sdf("<self_collide>true</self_collide>" + link("a")), tmp_path)


def test_an_effort_of_zero_is_taken_as_none_and_named(tmp_path):
    axis = "<xyz>0 0 1</xyz><limit><effort>0</effort></limit>"
    with pytest.warns(ModelWarning, match="limits of zero taken as none: effort of 'j'"):
        urdf(sdf(link("a") + joint("j", "world", "a", axis=axis)), tmp_path)


def test_a_file_of_the_name_sdf_is_read(tmp_path):
    (tmp_path / "m.sdf").write_text(sdf(link("a")))
    assert read_urdf(tmp_path / "m.sdf").startswith("<robot")
