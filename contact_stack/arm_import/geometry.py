"""What the links of a model collide as, or look like: primitives, and meshes from their files."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError
from contact_core.model.mesh_file import load_mesh
from contact_core.model.mjcf.geom import Geom
from contact_core.multibody.collision.convex_mesh import hull_triangles
from contact_core.multibody.collision.shapes import triangles_from_coal

SEGMENTS = 24  # of what is round


@dataclass(frozen=True)
class Solid:
    """A solid of a link.

    Attributes:
        element: Its collision or visual element.
        points: (n, 3) corners of its surface, frame of the link [m].
        triangles: (m, 3) corners of its triangles.
        mesh: Whether it is a mesh, and no primitive.
    """

    element: ElementTree.Element
    points: np.ndarray
    triangles: np.ndarray
    mesh: bool


def pose_of(element: ElementTree.Element) -> pin.SE3:
    """Return the origin of a collision, visual or joint."""
    origin = element.find("origin")
    values = origin.attrib if origin is not None else {}
    xyz, rpy = (np.array(values.get(key, "0 0 0").split(), dtype=float) for key in ("xyz", "rpy"))
    return pin.SE3(pin.rpy.rpyToMatrix(*rpy), xyz)


def read_solids_of(
    link: ElementTree.Element, tag: str, meshes: Mapping[str, Geom], missing: list[str]
) -> list[Solid]:
    """Return what a link collides as, or looks like.

    Args:
        link: The link.
        tag: "collision" or "visual".
        meshes: Those that no file has, see :class:`MjcfArm`.
        missing: What cannot be found or read is added to it.
    """
    found = []
    for element in link.findall(tag):
        shape = next(iter(element.find("geometry") or ()), None)
        if shape is None:
            continue
        try:
            points, triangles = triangles_of(_solid(shape, meshes))
        except (ValueError, RuntimeError, OSError, ModelError):
            what = shape.get("filename") or " ".join(f"{k}='{v}'" for k, v in shape.items())
            missing.append(f"{tag} {shape.tag} {what} of link '{link.get('name')}'")
            continue
        points = points @ pose_of(element).rotation.T + pose_of(element).translation
        found.append(Solid(element, points, triangles, shape.tag == "mesh"))
    return found


def _solid(shape: ElementTree.Element, meshes: Mapping[str, Geom]) -> coal.CollisionGeometry:
    numbers = {k: np.array(v.split(), dtype=float) for k, v in shape.attrib.items()
               if k != "filename"}  # fmt: skip
    match shape.tag:
        case "mesh":
            name = shape.get("filename", "")
            scale = numbers.get("scale", np.ones(3))
            if name in meshes:
                return meshes[name].solid()
            return load_mesh(name.removeprefix("file://"), np.resize(scale, 3))
        case "box":
            return coal.Box(numbers["size"])
        case "sphere":
            return coal.Sphere(float(numbers["radius"][0]))
        case "cylinder" | "capsule":
            kind = coal.Cylinder if shape.tag == "cylinder" else coal.Capsule
            return kind(float(numbers["radius"][0]), float(numbers["length"][0]))
    raise ValueError(f"geometry '{shape.tag}'")


def triangles_of(solid: coal.CollisionGeometry) -> tuple[np.ndarray, np.ndarray]:
    """Return (n, 3) corners of the surface of a solid [m], and (m, 3) those of its triangles.

    What is round has SEGMENTS corners all around, on its surface.

    Args:
        solid: A primitive, a mesh or a convex polyhedron.
    """
    if isinstance(solid, coal.BVHModelBase):
        return triangles_from_coal(solid)
    angles = np.linspace(0.0, 2.0 * np.pi, SEGMENTS, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(SEGMENTS)])
    up, caps = np.array([0.0, 0.0, 1.0]), np.linspace(0.0, 0.5 * np.pi, SEGMENTS // 4 + 1)
    match solid:
        case coal.Box():
            corners = np.array(np.meshgrid(*3 * [[-1.0, 1.0]])).reshape(3, -1).T
            points = corners * solid.halfSide
        case coal.Cylinder():
            points = np.vstack([solid.radius * circle + side * solid.halfLength * up
                                for side in (-1.0, 1.0)])  # fmt: skip
        case coal.Sphere() | coal.Capsule():
            half = solid.halfLength if isinstance(solid, coal.Capsule) else 0.0
            points = np.vstack([
                solid.radius * (np.cos(a) * circle + side * np.sin(a) * up) + side * half * up
                for a in caps for side in (-1.0, 1.0)
            ])  # fmt: skip
        case _:
            points, _ = triangles_from_coal(solid)
    return points, hull_triangles(points)


def copy_mesh(shape: ElementTree.Element, folder: Path, meshes: Mapping[str, Geom]) -> bool:
    """Copy the file of a mesh into a folder, and let the element name the copy.

    Args:
        shape: The mesh's element.
        folder: The folder, beside which the URDF will be; made if need be.
        meshes: Those that no file has, see :class:`MjcfArm`.

    Returns:
        Whether there is such a file.
    """
    name = shape.get("filename", "").removeprefix("file://")
    folder.mkdir(parents=True, exist_ok=True)
    if name in meshes:
        target = folder / name
        points, triangles = triangles_of(meshes[name].solid())
        if not len(triangles):
            triangles = hull_triangles(points)
        write_stl(target, points, triangles)
    else:
        source = Path(name)
        if not source.is_file():
            return False
        target = folder / source.name
        number = 1
        while target.exists() and target.read_bytes() != source.read_bytes():
            target = folder / f"{source.stem}_{number}{source.suffix}"
            number += 1
        shutil.copyfile(source, target)
    shape.set("filename", f"{folder.name}/{target.name}")
    return True


def write_stl(path: Path, points: np.ndarray, triangles: np.ndarray) -> None:
    """Write a mesh as a binary STL.

    Args:
        path: The file.
        points: (n, 3) corners [m].
        triangles: (m, 3) corners of the triangles.
    """
    corners = points[triangles].astype("<f4")
    records = np.zeros(len(corners), dtype=[("normal", "<f4", 3), ("corner", "<f4", (3, 3)),
                                            ("attribute", "<u2")])  # fmt: skip
    records["corner"] = corners
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    records["normal"] = normals / np.where(lengths > 0.0, lengths, 1.0)
    path.write_bytes(bytes(80) + np.uint32(len(corners)).tobytes() + records.tobytes())
