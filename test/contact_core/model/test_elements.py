"""What a file says is read, harmless, named with its line, or refused; never nothing."""

import warnings
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest
from format_elements import DRAKE_IN_SDF, DRAKE_IN_URDF, SDF, URDF, mjcf_outline, paths

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.articulation import read_articulation
from contact_core.model.elements import check_elements, parse, place
from contact_core.model.model_file import self_contained
from contact_core.model.vocabulary import REASONS, TABLES
from contact_core.multibody.collision.collision_element import collision_elements
from contact_core.robot.description import collision_shapes

UNKNOWN = "-"


def marks(path, table):
    """Marks of the elements of a path, below the root; it ends where nothing is read any more."""
    for number in range(1, len(path)):
        key = "/".join(path[max(number - 2, 0) : number])
        words = table.get(key if key in table else path[number - 1], "").split()
        known = {word.rstrip(".?#!"): word[len(word.rstrip(".?#!")) :] for word in words}
        name = path[number]
        wildcard = known.get("@*" if name.startswith("@") else "*", UNKNOWN)
        mark = known.get(name, known.get(f"{name.partition(':')[0]}:*", wildcard))
        yield mark
        if mark:
            return


def outlines():
    yield from ((URDF, "robot"), (DRAKE_IN_URDF, "robot"), (SDF, "sdf"), (DRAKE_IN_SDF, "sdf"))


@pytest.mark.parametrize(("outline", "root"), list(outlines()))
def test_all_that_urdf_sdf_and_drake_have_is_known(outline, root):
    missing = [path for path in paths(outline) if UNKNOWN in marks(path, TABLES[root])]
    assert not missing


def test_all_that_mjcf_has_is_known():
    mujoco = pytest.importorskip("mujoco")
    found = paths(mjcf_outline(mujoco.mj_printSchema(False, False)))
    assert len(found) > 2000
    # The attributes of a body are not those of the world.
    world = [("mujoco", "worldbody", *path[2:]) for path in found if path[:2] == ("mujoco", "body")]
    inside = [path for path in world if len(path) > 2 and not path[2].startswith("@")]
    bodies = [("mujoco", "worldbody", "body", *path[2:]) for path in world]
    others = [path for path in found if path[:2] != ("mujoco", "body")]
    missing = [
        path for path in others + inside + bodies if UNKNOWN in marks(path, TABLES["mujoco"])
    ]
    assert not missing


def document(path, value="7"):
    """Return a file with one element, or an attribute, at a path."""
    *above, last = path
    text = f"<{last}>{value}</{last}>"
    if last.startswith("@"):
        above, text = above[:-1], f'<{above[-1]} {last[1:]}="{value}"/>'
    for tag in reversed(above):
        text = f"<{tag}>\n{text}</{tag}>"
    return text


@pytest.mark.parametrize(("outline", "root"), list(outlines())[1:])
def test_what_is_marked_is_named_with_its_line(outline, root):
    tried = 0
    for path in paths(outline):
        *above, mark = [*marks(path, TABLES[root])] or [""]
        if len(above) != len(path) - 2 or mark in ("", "."):
            continue
        tried += 1
        line = len(path) - path[-1].startswith("@")
        name = rf"it: {path[-2]}/{path[-1]} \(line {line}\): "
        element = parse(document(path), "it")
        if mark == "!":
            with pytest.raises(ModelError, match=name):
                check_elements(element, "it", TABLES[root], REASONS)
        else:
            with pytest.warns(ModelWarning, match=name):
                check_elements(element, "it", TABLES[root], REASONS)
    assert tried > 3


def warned(text, tmp_path):
    """What the reader of a file warns of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        self_contained(text, "it", tmp_path)
    return [str(item.message) for item in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<robot name="r"><link name="a"><visual><geometry/></visual></link></robot>', []),
        (
            '<robot name="r">\n<link name="a"/>\n<linc name="b"/></robot>',
            ["it: robot/linc (line 3): unknown, not read"],
        ),
        (
            '<robot name="r"><link name="a" colour="red"/></robot>',
            ["it: link/@colour (line 1): unknown, not read"],
        ),
        (
            '<robot name="r"><gazebo><selfCollide>false</selfCollide><gravity>1</gravity></gazebo>'
            "</robot>",
            [],
        ),
        (
            '<robot name="r"><gazebo>\n<selfCollide>1</selfCollide></gazebo></robot>',
            ["it: gazebo/selfCollide (line 2): not read (World.collide_with_itself)"],
        ),
        (
            "<mujoco><worldbody><body>\n<geom size='1' margin='0.1'/><geom size='1' margin='0'/>"
            "</body></worldbody></mujoco>",
            ["it: geom/@margin (line 2): parameters of another law of contact, not read"],
        ),
        (
            '<robot name="r"><gazebo><joint name="loop"/></gazebo></robot>',
            ["it: gazebo/joint (line 1): not read: what it closes stays open"],
        ),
        ("<mujoco><worldbody pos='1 0 0'/></mujoco>", ["it: worldbody/@pos (line 1): unknown"]),
    ],
)
def test_what_is_left_out_is_said_once_and_only_where_it_matters(tmp_path, text, expected):
    found = warned(text, tmp_path)
    assert len(found) == len(expected)
    for message, start in zip(found, expected, strict=True):
        assert message.startswith(start)


def test_many_lines_are_not_all_told(tmp_path):
    lines = "\n".join(f'<linc name="{k}"/>' for k in range(9))
    (message,) = warned(f'<robot name="r">\n{lines}</robot>', tmp_path)
    assert message == "it: robot/linc (line 2, line 3, line 4 and 6 more): unknown, not read"


def test_what_is_there_twice_has_to_say_the_same(tmp_path):
    text = """<robot name="r"><link name="a"><inertial><mass value="1"/>\n<mass  value="{}" />
      <inertia ixx="1" iyy="1" izz="1"/></inertial></link></robot>"""
    assert warned(text.format(1), tmp_path) == []
    with pytest.raises(ModelError, match=r"inertial/mass \(line 2\): is there twice"):
        self_contained(text.format(2), "it", tmp_path)


def test_blank_lines_above_a_file_count(tmp_path):
    (message,) = warned(
        '\n\n<?xml version="1.0"?>\n<robot name="r">\n<linc name="a"/></robot>', tmp_path
    )
    assert message == "it: robot/linc (line 5): unknown, not read"


def test_a_line_is_that_of_the_file_that_has_it(tmp_path):
    part = tmp_path / "part.xml"
    part.write_text('<mujocoinclude>\n<body>\n<geom size="1" gap="1"/></body></mujocoinclude>')
    text = '<mujoco><worldbody><include file="part.xml"/></worldbody></mujoco>'
    (message,) = warned(text, tmp_path)
    assert f"geom/@gap (line 3 of {part})" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '<robot name="r"><link name="a"><inertial><mass value="1"/></inertial>\n'
            '<inertial><mass value="2"/></inertial></link></robot>',
            r"it: link/inertial \(line 2\): is there twice \(valid: once\)",
        ),
        (
            '<sdf version="1.9"><model name="m"><link name="a"><pose>0 0 1 0 0 0</pose>'
            "<pose>0 0 2 0 0 0</pose></link></model></sdf>",
            "it: link/pose .line 1.: is there twice",
        ),
        (
            '<mujoco><worldbody><body><inertial pos="0 0 0" mass="1"/><inertial pos="0 0 0" '
            'mass="2"/></body></worldbody></mujoco>',
            "it: body/inertial .line 1.: is there twice",
        ),
    ],
)
def test_what_a_reader_would_take_the_first_of_is_there_once(tmp_path, text, message):
    with pytest.raises(ModelError, match=message):
        self_contained(text, "it", tmp_path)


def test_a_collision_of_two_shapes_is_refused():
    shapes = '<box size="1 1 1"/><sphere radius="1"/>'
    text = f"""<robot name="r"><link name="a"><collision><geometry>{shapes}</geometry></collision>
      </link></robot>"""
    with pytest.raises(ModelError, match=r"collision 'a_0' has box, sphere \(valid: sphere"):
        collision_elements(parse(text, "it"))


ROBOT = """<robot name="r"><link name="base"/><joint name="j" type="revolute">
  <parent link="base"/><child link="c"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="9" velocity="9"/></joint><link name="c">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><sphere radius="1"/></geometry></collision></link></robot>"""
WORLD = """<sdf version="1.11"><model name="m"><link name="a"><inertial><mass>1</mass></inertial>
  <collision name="c"><geometry><sphere><radius>1</radius></sphere></geometry></collision></link>
  <joint name="j" type="revolute"><parent>world</parent><child>a</child>
  <axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""
BODIES = """<mujoco><worldbody><body name="b"><joint name="j"/><geom name="g" size="1"/></body>
  </worldbody><actuator><motor name="a" joint="j"/></actuator></mujoco>"""


def fed(base, path, value):
    """A file with one more element or attribute; None if it has it anyway."""
    node, new = ElementTree.fromstring(base), None
    root = node
    for tag in path[1:]:
        if tag.startswith("@"):
            new = root if tag[1:] not in node.attrib else None
            node.attrib.setdefault(tag[1:], value)
        else:
            child = next((child for child in node if child.tag == tag), None)
            if child is None:
                child = new = ElementTree.SubElement(node, tag)
                child.text = value if tag is path[-1] and base is not BODIES else None
            node = child
    return None if new is None else ElementTree.tostring(root, encoding="unicode")


def outlines_to_feed():
    yield from ((URDF, ROBOT), (DRAKE_IN_URDF, ROBOT), (SDF, WORLD), (DRAKE_IN_SDF, WORLD))
    try:
        import mujoco
    except ImportError:
        return
    yield mjcf_outline(mujoco.mj_printSchema(False, False)), BODIES


@pytest.mark.parametrize("value", ["7", "x"])
@pytest.mark.parametrize(("outline", "base"), list(outlines_to_feed()))
def test_whatever_a_format_has_is_read_named_or_refused(tmp_path, outline, base, value):
    """And nothing ends in another exception."""
    table, found = TABLES[parse(base, "it").tag], Counter()
    for path in paths(outline):
        if path[:2] == ("mujoco", "body"):
            path = ("mujoco", "worldbody", "body", *path[2:])
        text, known = fed(base, path, value), [*marks(path, table)]
        if text is None or len(known) < len(path) - 1:
            continue  # It has it, or nothing there is read.
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                text = self_contained(text, "it", tmp_path)
                read_articulation(text)
                collision_shapes(text, meshes=True)
            except ModelError:
                found["refused"] += 1
                continue
        found["warned" if said else "quiet"] += 1
        # An element that is named unless it is off may be empty here.
        silent = ("", ".") if path[-1].startswith("@") else ("", ".", "?")
        assert said or known[-1] in silent, path
    assert min(found["quiet"], found["refused"]) > 2


def test_comments_may_hold_dashes_and_lines_are_still_right():
    text = "<sdf>\n<!-- ---- a -- b\n --->\n<model name='m'/></sdf>"
    root = parse(text, "w")
    assert root[0].get("name") == "m"
    assert place(root[0], "w") == "line 4"
    with pytest.raises(ModelError, match=r"w is not valid XML: .*line 2, column 2"):
        parse("<a>\n</b>", "w")
