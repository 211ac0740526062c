"""What a model looks like: visual elements of a URDF, and the geoms that MuJoCo shows."""

import coal
import numpy as np
import pytest
from concave_meshes import trough, write_obj

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.urdf import read_tree
from contact_core.model.visuals import read_visuals, visuals

MJCF = """<mujoco>
  <default><default class="dark"><material rgba="0.1 0.1 0.1 1"/></default></default>
  <asset><material name="red" rgba="1 0 0 1"/><material name="black" class="dark"/></asset>
  <worldbody><geom name="floor" type="plane" size="1 1 1"/><body name="b" pos="0 0 1">
    <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
    <geom name="seen" type="box" size="0.1 0.2 0.3" group="2" contype="0" conaffinity="0"
      material="red" pos="1 0 0"/>
    <geom name="own" material="red" rgba="0 1 0 1" size="0.1"/>
    <geom name="dark" material="black" type="ellipsoid" size="0.1 0.2 0.3" contype="0"
      conaffinity="0"/>
    <geom name="hidden" size="0.1" group="3"/>
    <geom name="clear" size="0.1" rgba="1 1 1 0"/></body></worldbody></mujoco>"""


def test_geoms_of_the_groups_that_are_shown_have_the_colors_of_their_materials():
    found = {item.name: item for item in visuals(MJCF)}
    assert list(found) == ["floor", "seen", "own", "dark"]
    assert [item.color for item in found.values()] == [
        (0.5, 0.5, 0.5), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.1, 0.1, 0.1),
    ]  # fmt: skip
    seen = found["seen"]
    assert (seen.link, found["floor"].link) == ("b", "world")
    np.testing.assert_allclose(seen.solid.halfSide, [0.1, 0.2, 0.3])
    np.testing.assert_allclose(seen.placement.translation, [1.0, 0.0, 0.0])
    assert isinstance(found["dark"].solid, coal.Ellipsoid)


URDF = """<robot name="r"><link name="base"/><link name="hand">
  <visual><origin xyz="0 0 0.5"/><geometry><mesh filename="{mesh}" scale="2 2 2"/></geometry>
    <material name="m"><color rgba="0 0 1 1"/></material></visual></link>
  <joint name="j" type="fixed"><parent link="base"/><child link="hand"/>
    <origin xyz="1 0 0"/></joint></robot>"""


def test_visual_meshes_are_placed_in_their_link(tmp_path):
    points, triangles = trough()
    (item,) = visuals(URDF.format(mesh=write_obj(tmp_path / "m.obj", points, triangles)))
    assert (item.link, item.color) == ("hand", (0.0, 0.0, 1.0))
    np.testing.assert_allclose(item.placement.translation, [0.0, 0.0, 0.5])
    corners = np.array(item.solid.vertices())
    np.testing.assert_allclose(corners.max(axis=0), 2.0 * points.max(axis=0))


def test_a_mesh_that_is_missing_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"cannot read what it looks like: .*m\.obj"):
        visuals(URDF.format(mesh=tmp_path / "m.obj"))


LINK = """<robot name="r"><link name="a"><collision><geometry><mesh filename="gone.dae"/></geometry>
  </collision><visual><geometry><mesh filename="gone.dae"/></geometry></visual></link></robot>"""


def test_what_looks_like_a_missing_mesh_is_drawn_as_it_collides():
    """The page ended there, and was started again without end."""
    text = LINK.replace(
        '<collision><geometry><mesh filename="gone.dae"/>',
        '<collision><origin xyz="0 0 1"/><geometry><sphere radius="0.3"/>',
    )
    with pytest.warns(ModelWarning, match=r"gone\.dae' of link 'a'"):
        (ball,) = read_visuals(read_tree(text), text)
    assert ball.geometry.radius == 0.3 and ball.placement.translation == pytest.approx([0, 0, 1])
    # What collides may not be missing.
    with pytest.warns(ModelWarning), pytest.raises(ValueError, match=r"gone\.dae"):
        read_visuals(read_tree(LINK), LINK)
