"""Meshes are in metres and upright, whatever unit and axis their files have."""

import json

import numpy as np
import pinocchio as pin
import pytest
from concave_meshes import WALL, WIDTH, trough

from contact_core.base.errors import ModelError
from contact_core.model.mesh_file import load_mesh, shared_inertia
from contact_core.model.visuals import read_visuals, visuals
from contact_core.multibody.collision.shapes import triangles_from_coal, triangles_to_coal
from contact_core.robot.description import collision_shapes

DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema"
  version="1.4.1"><asset>{unit}<up_axis>Z_UP</up_axis></asset><library_geometries>
  <geometry id="g"><mesh><source id="p"><float_array id="a" count="12">0 0 0 200 0 0 0 400 0 0 0 600
  </float_array><technique_common><accessor source="#a" count="4" stride="3">
  <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
  </accessor></technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/>
  </vertices><triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
  <p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node id="n"><translate>100 0 0</translate>
  <instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def urdf(file, scale="1 1 1"):
    """Return a link that looks and collides like a mesh."""
    geometry = f'<geometry><mesh filename="{file}" scale="{scale}"/></geometry>'
    return f"""<robot name="r"><link name="a"><collision>{geometry}</collision>
      <visual>{geometry}</visual></link></robot>"""


def extent(points):
    return np.ptp(points, axis=0)


@pytest.mark.parametrize(
    ("unit", "metres"),
    [
        ('<unit name="millimeter" meter="0.001"/>', 1e-3),
        ("<unit meter='0.0254' name='inch'/>", 0.0254),
        ('<unit name="meter" meter="1"/>', 1.0),
        ("", 1.0),
    ],
)
def test_the_unit_of_a_dae_is_read(tmp_path, unit, metres):
    file = tmp_path / "m.dae"
    file.write_text(DAE.format(unit=unit))
    points, _ = triangles_from_coal(load_mesh(file, np.array([1.0, 1.0, 2.0])))
    np.testing.assert_allclose(extent(points), metres * np.array([200.0, 400.0, 1200.0]))
    assert points[:, 0].min() == pytest.approx(100.0 * metres)
    (shape,) = collision_shapes(urdf(file), meshes=True)
    (seen,) = visuals(urdf(file))
    for found in (2.0 * np.array(shape.shape.size), extent(triangles_from_coal(seen.solid)[0])):
        assert found.max() < 700.0 * metres


@pytest.mark.parametrize("codec", ["utf-8", "latin1", "utf-16"])
@pytest.mark.parametrize("before", ['<!-- <unit meter="5"/> -- -->', f"<!--{70000 * ' '}-->", ""])
def test_the_unit_of_a_dae_is_that_of_the_whole_file(tmp_path, before, codec):
    nested = '<geometry id="g"><asset><unit meter="7"/></asset>'
    asset = f"<title>Bügel</title>{before}<unit meter='0.01'/>"
    file = tmp_path / "m.dae"
    file.write_bytes(DAE.format(unit=asset).replace('<geometry id="g">', nested).encode(codec))
    points, _ = triangles_from_coal(load_mesh(file, np.ones(3)))
    np.testing.assert_allclose(extent(points), [2.0, 4.0, 6.0])


@pytest.mark.parametrize("kind", ["glb", "gltf"])
def test_y_of_a_gltf_is_up(tmp_path, kind):
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box(extents=(0.2, 0.4, 0.6))
    box.apply_translation((0.0, 0.2, 0.1))
    file = tmp_path / f"box.{kind}"
    box.export(file)
    (shape,) = collision_shapes(urdf(file, "1 2 3"), meshes=True)
    np.testing.assert_allclose(shape.shape.size, [0.1, 0.6, 0.6], rtol=1e-6)
    np.testing.assert_allclose(shape.placement.translation, [0.0, -0.2, 0.6], atol=1e-6)


def test_the_data_of_a_gltf_may_be_in_a_file_of_any_name(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    file = tmp_path / "box.gltf"
    trimesh.creation.box(extents=(0.2, 0.4, 0.6)).export(file)
    content = json.loads(file.read_text())
    for number, buffer in enumerate(content["buffers"]):
        (tmp_path / buffer["uri"]).rename(tmp_path / f"fußball {number}.bin")
        buffer["uri"] = f"fu%C3%9Fball%20{number}.bin"
    file.write_text(json.dumps(content))
    (shape,) = collision_shapes(urdf(file), meshes=True)
    np.testing.assert_allclose(shape.shape.size, [0.1, 0.3, 0.2], rtol=1e-6)
    (seen,) = read_visuals(pin.buildModelFromXML(urdf(file)), urdf(file))
    np.testing.assert_allclose(extent(triangles_from_coal(seen.geometry)[0]), [0.2, 0.6, 0.4])


def test_a_gltf_whose_corners_are_coded_is_named(tmp_path):
    file = tmp_path / "m.gltf"
    file.write_text('{"extensionsRequired": ["KHR_materials_unlit", "KHR_mesh_quantization"]}')
    with pytest.raises(
        ModelError, match=r"link 'a'.*m\.gltf .* needs KHR_mesh_quantization .valid"
    ):
        collision_shapes(urdf(file), meshes=True)


@pytest.mark.parametrize("kind", ["glb", "gltf"])
def test_the_poses_of_all_nodes_of_a_gltf_count(tmp_path, kind):
    """Also that of a single root, which Assimp's users take for a turn to y up."""
    trimesh = pytest.importorskip("trimesh")
    transform = trimesh.transformations.euler_matrix
    scene = trimesh.Scene(base_frame="base")
    outer, inner = transform(0.3, 0.2, 0.1), transform(0.0, 0.0, 0.5)
    outer[:3, 3], inner[:3, 3] = (1.0, 2.0, 3.0), (0.1, 0.0, 0.0)
    box = trimesh.creation.box(extents=(0.2, 0.4, 0.6))
    scene.graph.update("outer", "base", matrix=outer)
    scene.add_geometry(box, "box", parent_node_name="outer", transform=inner)
    file = tmp_path / f"box.{kind}"
    scene.export(file)
    (found,) = collision_shapes(urdf(file), meshes=True)
    corners = trimesh.transform_points(box.vertices, outer @ inner)
    expected = np.column_stack((corners[:, 0], -corners[:, 2], corners[:, 1]))
    points = found.placement.act(pin.SE3.Identity()).translation
    size = found.shape.mesh.vertices if found.shape.mesh is not None else np.zeros((1, 3))
    vertices = size @ found.placement.rotation.T + points
    np.testing.assert_allclose(vertices.min(axis=0), expected.min(axis=0), atol=1e-6)
    np.testing.assert_allclose(vertices.max(axis=0), expected.max(axis=0), atol=1e-6)


def test_an_upright_gltf_is_that_of_drake(tmp_path):
    from pydrake.geometry import Convex, SceneGraph
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    trimesh = pytest.importorskip("trimesh")
    corners = trimesh.convex.convex_hull(np.random.default_rng(0).normal(size=(9, 3)))
    file = tmp_path / "m.gltf"
    corners.export(file)
    convex = "><drake:declare_convex/></mesh></geometry></coll"
    text = urdf(file).replace("/></geometry></coll", convex)
    (tmp_path / "m.urdf").write_text(text.replace("<robot", "<robot xmlns:drake='d'"))
    scene = SceneGraph()
    plant = MultibodyPlant(0.0)
    plant.RegisterAsSourceForSceneGraph(scene)
    Parser(plant).AddModels(str(tmp_path / "m.urdf"))
    (geometry,) = plant.GetCollisionGeometriesForBody(plant.GetBodyByName("a"))
    shape = scene.model_inspector().GetShape(geometry)
    assert isinstance(shape, Convex)
    hull = shape.GetConvexHull()
    expected = np.array([hull.vertex(k) for k in range(hull.num_vertices())])
    (found,) = collision_shapes(urdf(file), meshes=True)
    points = found.shape.mesh.vertices + found.placement.translation
    np.testing.assert_allclose(points.min(axis=0), expected.min(axis=0), atol=1e-6)
    np.testing.assert_allclose(points.max(axis=0), expected.max(axis=0), atol=1e-6)


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_closed_mesh_has_the_inertia_of_its_walls_and_another_one_that_of_its_hull(
    missing, mirrored
):
    points, triangles = trough()
    triangles = triangles[missing:, ::-1] if mirrored else triangles[missing:]
    mesh = triangles_to_coal(points, triangles)
    place = pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.2, 0.3), np.array([1.0, 2.0, 3.0]))
    solid = pin.GeometryObject("trough", 0, 0, place, mesh)
    boxes = [((WIDTH, WIDTH, WALL), 0.0), *[((WALL, WIDTH, WIDTH - WALL), x) for x in (-1, 1)]]
    expected = pin.Inertia.Zero()
    for (x, y, z), side in [((WIDTH,) * 3, 0.0)] if missing else boxes:
        middle = [0.5 * side * (WIDTH - WALL), 0.5 * y, z / 2 if not side else (WIDTH + WALL) / 2]
        box = pin.Inertia.FromBox(x * y * z, x, y, z)
        expected += pin.SE3(np.eye(3), np.array(middle)).act(box)
    moments = place.rotation @ expected.inertia @ place.rotation.T * (0.7 / expected.mass)
    np.testing.assert_allclose(shared_inertia([solid], 0.7), moments, atol=1e-12)


def test_nothing_has_no_inertia():
    assert shared_inertia([], 1.0) is None
    flat = triangles_to_coal(np.eye(3), np.array([[0, 1, 2]]))
    solid = pin.GeometryObject("flat", 0, 0, pin.SE3.Identity(), flat)
    assert shared_inertia([solid], 1.0) is None


def test_a_corner_that_is_no_number_is_named_with_its_file(tmp_path) -> None:
    file = tmp_path / "link.stl"
    corners = "vertex 0 0 0\nvertex nan 0 0\nvertex 0 1 0"
    file.write_text(
        f"solid a\nfacet normal 0 0 1\nouter loop\n{corners}\nendloop\nendfacet\nendsolid a\n"
    )
    with pytest.raises(ValueError, match=r"link\.stl has corners that are not finite numbers"):
        load_mesh(file, np.ones(3))
