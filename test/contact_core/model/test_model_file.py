"""Files of models are found wherever they lie, and extensions of other programs do no harm."""

import pytest
from concave_meshes import WIDTH, trough, write_obj

from contact_core.base.errors import ConfigError, ModelError, ModelWarning
from contact_core.model.articulation import read_articulation
from contact_core.model.elements import parse
from contact_core.model.model_file import find_mesh, self_contained
from contact_core.multibody.collision import convex_parts
from contact_core.robot import description
from contact_core.robot.description import collision_shapes, read_urdf

CUBE = "\n".join(
    [f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    + ["f 1 2 4", "f 1 4 3", "f 5 7 8", "f 5 8 6", "f 1 5 6", "f 1 6 2"]
    + ["f 3 4 8", "f 3 8 7", "f 1 3 7", "f 1 7 5", "f 2 6 8", "f 2 8 4"]
)
# A prism with a notch.
NOTCH = "\n".join(
    [f"v {x} {y} {z}" for z in (0, 1) for x, y in ((0, 0), (1, 0), (0.1, 0.1), (0, 1))]
    + ["f 1 2 6", "f 1 6 5", "f 1 5 8", "f 1 8 4", "f 2 3 7", "f 2 7 6", "f 3 4 8", "f 3 8 7"]
)


def urdf(mesh):
    return f"""<robot name="r"><link name="a"><collision name="c"><geometry>
      <mesh filename="{mesh}"/></geometry></collision></link></robot>"""


@pytest.fixture
def package(tmp_path):
    """A package of a model: meshes/cube.obj and urdf/robot.urdf."""
    root = tmp_path / "some_robot"
    (root / "meshes").mkdir(parents=True)
    (root / "urdf").mkdir()
    (root / "meshes" / "cube.obj").write_text(CUBE)
    return root


@pytest.mark.parametrize(
    "name",
    [
        "../meshes/cube.obj",
        "package://some_robot/meshes/cube.obj",
        "package:///some_robot/meshes/cube.obj",
        "model://some_robot/meshes/cube.obj",
        "{root}/meshes/cube.obj",
        "file://{root}/meshes/cube.obj",
    ],
)
def test_a_mesh_is_found_beside_the_file_and_in_the_package_above(package, name):
    file = package / "urdf" / "robot.urdf"
    file.write_text(urdf(name.format(root=package)))
    (shape,) = collision_shapes(read_urdf(file), meshes=True)
    assert shape.shape.size == pytest.approx((0.5, 0.5, 0.5))


@pytest.mark.parametrize("variable", ["ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", None])
def test_a_package_is_found_where_ros_or_the_caller_says(package, tmp_path, monkeypatch, variable):
    name = "package://some_robot/meshes/cube.obj"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = tmp_path / "prefix" / "share"
    moved.mkdir(parents=True)
    package.rename(moved / "some_robot")
    assert find_mesh(name, elsewhere) is None
    if variable is not None:
        monkeypatch.setenv(variable, str(moved if variable[0] == "R" else moved.parent))
    roots = [] if variable else [moved / "some_robot"]
    assert find_mesh(name, elsewhere, roots) == moved / "some_robot" / "meshes" / "cube.obj"


@pytest.mark.parametrize(
    ("declared", "codec"),
    [
        ("", "utf-8"),
        ("utf-8", "utf-8-sig"),
        ("ISO-8859-1", "latin1"),
        ("windows-1252", "cp1252"),
        ("UTF-16", "utf-16"),
        ("UTF-16", "utf-8"),
    ],
)
def test_a_file_is_read_in_the_encoding_that_it_declares(tmp_path, declared, codec):
    head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    text = head + urdf("cube.obj").replace('name="a"', 'name="bügel"')
    (tmp_path / "cube.obj").write_text(CUBE)
    (tmp_path / "r.urdf").write_bytes(text.encode(codec))
    (shape,) = collision_shapes(read_urdf(tmp_path / "r.urdf"), meshes=True)
    assert shape.body == "bügel"


@pytest.mark.parametrize("declared", ["utf-8", "klingon"])
def test_a_file_in_no_encoding_is_named(tmp_path, declared):
    text = f'<?xml version="1.0" encoding="{declared}"?><robot name="bügel"/>'
    (tmp_path / "r.urdf").write_bytes(text.encode("latin1"))
    with pytest.raises(ModelError, match=f"r.urdf is not a text file: .*{declared}"):
        read_urdf(tmp_path / "r.urdf")


def test_entities_stand_for_what_they_say(tmp_path):
    text = """<!DOCTYPE robot [<!ENTITY m "2">]><robot name="r"><link name="a"><inertial>
      <mass value="&m;"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      </link></robot>"""
    (body,) = read_articulation(self_contained(text, "it", tmp_path), free=True).bodies
    assert body.inertia.mass == 2.0


def test_a_file_in_the_current_folder_is_found(tmp_path, monkeypatch):
    (tmp_path / "my.urdf").write_text(urdf("cube.obj"))
    (tmp_path / "cube.obj").write_text(CUBE)
    monkeypatch.chdir(tmp_path)
    assert str(tmp_path / "cube.obj") in read_urdf("my.urdf")
    with pytest.raises(ConfigError, match=r"cannot find or read .*/my\.obj"):
        read_urdf("my.obj")


def test_what_needs_no_change_stays_as_it_is(tmp_path):
    text = '<robot name="r"><!-- a comment --><link name="a"/></robot>'
    assert self_contained(text, "text", tmp_path) is text
    missing = urdf("missing.obj")
    assert self_contained(missing, "text", tmp_path) is missing


def test_extensions_without_a_declared_prefix_are_left_out(tmp_path):
    text = '<robot name="r"><link name="a"/><drake:{0} name="f"><drake:of/></drake:{0}></robot>'
    with pytest.warns(ModelWarning, match=r"text: robot/drake:filter \(line 1\)"):
        assert "filter" not in self_contained(text.format("filter"), "text", tmp_path)
    with pytest.raises(ModelError, match="text: joint 'f' belongs to an extension"):
        self_contained(text.format("joint"), "text", tmp_path)
    with pytest.raises(ModelError, match="text is not valid XML"):
        parse("<robot><drake:link></robot>", "text")


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ('<xacro:include filename="arm.xacro"/>', "xacro:include"),
        ('<xacro:arm prefix="left"/>', "xacro:arm"),
        ('<link name="b">\n<inertial><xacro:sphere m="1"/></inertial></link>', "xacro:sphere"),
        ('<link name="${prefix}hand"/>', "link name='${prefix}hand'"),
        ('<link name="$(arg prefix)hand"/>', r"link name='$(arg prefix)hand'"),
        ('<x:macro name="m" xmlns:y="z"/>', "x:macro"),
    ],
)
def test_a_file_for_xacro_is_refused_with_what_expands_it(tmp_path, content, named):
    text = f'<robot name="r" xmlns:x="http://ros.org/wiki/xacro"><link name="a"/>{content}</robot>'
    with pytest.raises(ModelError) as error:
        self_contained(text, "it", tmp_path)
    assert str(error.value).startswith(f"it: {named} (line ")
    assert "`xacro FILE > robot.urdf`" in str(error.value)


def test_an_expanded_file_may_still_declare_the_prefix(tmp_path):
    text = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/></robot>'
    assert self_contained(text, "it", tmp_path) is text


def test_a_concave_mesh_is_a_solid_hull_with_a_warning(tmp_path):
    (tmp_path / "notch.obj").write_text(NOTCH)
    with pytest.warns(ModelWarning, match=r"not convex.*'c' \(442 mm, of unknown volume\)"):
        collision_shapes(urdf(tmp_path / "notch.obj"), meshes=True)


def test_a_concave_mesh_becomes_convex_parts_on_demand(tmp_path):
    pytest.importorskip("coacd")
    write_obj(tmp_path / "trough.obj", *trough())
    text = urdf(tmp_path / "trough.obj")
    parts = collision_shapes(text, meshes=True, decompose=0.02)
    assert [part.name for part in parts] == [f"c_{k}" for k in range(len(parts))]
    assert {part.body for part in parts} == {"a"}
    low = min(part.placement.translation[2] - part.shape.size[2] for part in parts)
    assert low == pytest.approx(0.0, abs=0.02 * WIDTH)
    (tmp_path / "cube.obj").write_text(CUBE)
    (cube,) = collision_shapes(urdf(tmp_path / "cube.obj"), meshes=True, decompose=0.02)
    assert cube.name == "c"


def test_parts_that_are_not_convex_either_are_named(tmp_path, monkeypatch):
    points, triangles = trough()
    write_obj(tmp_path / "trough.obj", points, triangles)
    monkeypatch.setattr(convex_parts, "load_coacd", lambda: None)
    monkeypatch.setattr(description, "load_coacd", lambda: None)
    monkeypatch.setattr(convex_parts, "convex_parts", lambda *_: [points, points])
    with pytest.warns(ModelWarning, match=r"'c' \(20 mm, in 2 parts\)"):
        collision_shapes(urdf(tmp_path / "trough.obj"), meshes=True, decompose=0.02)
