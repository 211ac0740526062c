"""Meshes in metres and with z up, whatever their files have."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelWarning
from contact_core.multibody.collision.shapes import triangles_from_coal, triangles_to_coal

_UNIT = re.compile(rb"<unit\b[^>]*?\bmeter\s*=\s*[\"']([^\"']+)[\"']")
_HEAD = 1 << 16  # bytes in which a DAE says its unit
_TURNED = (".dae", ".gltf", ".glb")
# A glTF has y up; what is forward there, z, becomes -y.
_Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


def load_mesh(file: str | Path, scale: np.ndarray) -> coal.BVHModelBase:
    """Load a mesh; a DAE's unit becomes the metre, and y of a glTF, which is up there, z.

    The axis that a DAE calls up is not turned, as in ROS, where none is.

    Args:
        file: STL, OBJ, DAE, glTF or GLB.
        scale: (3) factors along the axes of what is returned.

    Raises:
        ValueError: If there is no such file, or it cannot be read.
    """
    suffix = Path(file).suffix.lower()
    if suffix not in _TURNED:
        return coal.MeshLoader().load(str(file), np.asarray(scale, dtype=float))
    mesh = coal.MeshLoader().load(str(file), np.ones(3))
    turn = _metres(Path(file)) * np.eye(3) if suffix == ".dae" else _Z_UP
    points, triangles = triangles_from_coal(mesh)
    return triangles_to_coal(points @ turn.T * scale, triangles)


def _metres(file: Path) -> float:
    """Metres per unit of a DAE."""
    with file.open("rb") as stream:
        found = _UNIT.search(stream.read(_HEAD))
    value = float(found[1]) if found else 1.0
    if not 0.0 < value < np.inf:
        raise ValueError(f"{file} has a unit of {value:g} m")
    return value


def read_solids(model: pin.Model, urdf: str, kind: pin.GeometryType) -> list[pin.GeometryObject]:
    """Return what collides in a URDF, or is seen, as Pinocchio does, with its meshes as above.

    Args:
        model: Its kinematic tree.
        urdf: Its text.
        kind: COLLISION or VISUAL.

    Raises:
        ValueError: If a mesh cannot be read.
        RuntimeError: If Pinocchio cannot read the text.
    """
    solids = list(pin.buildGeomFromUrdfString(model, urdf, kind).geometryObjects)
    for solid in solids:
        if solid.meshPath.lower().endswith(_TURNED):
            solid.geometry = load_mesh(solid.meshPath, solid.meshScale)
    return solids


def read_visuals(model: pin.Model, urdf: str) -> list[pin.GeometryObject]:
    """Return what is seen of a URDF; a link looks as it collides where a mesh cannot be read.

    Args:
        model: Its kinematic tree.
        urdf: Its text.

    Raises:
        ValueError: If a mesh that collides cannot be read either.
        RuntimeError: If Pinocchio cannot read the text.
    """
    try:
        return read_solids(model, urdf, pin.GeometryType.VISUAL)
    except ValueError:
        readable = _without_missing(urdf)
        if readable == urdf:
            raise
        return read_solids(model, readable, pin.GeometryType.VISUAL)


def _without_missing(urdf: str) -> str:
    """Return a URDF whose links look as they collide where a mesh cannot be read."""
    robot, missing = ElementTree.fromstring(urdf), []
    for link in robot.iter("link"):
        for visual in link.findall("visual"):
            mesh = visual.find("geometry/mesh")
            if mesh is not None and not _is_readable(mesh.get("filename", "")):
                missing.append(f"'{mesh.get('filename')}' of link '{link.get('name')}'")
                link.remove(visual)
        if not link.findall("visual"):
            for collision in link.findall("collision"):
                ElementTree.SubElement(link, "visual").extend(collision)
    if not missing:
        return urdf
    warnings.warn(
        f"missing or unreadable meshes, drawn as the links collide: {', '.join(missing)}",
        ModelWarning,
        stacklevel=3,
    )
    return ElementTree.tostring(robot, encoding="unicode")


def _is_readable(file: str) -> bool:
    try:
        coal.MeshLoader().load(file.removeprefix("file://"), np.ones(3))
    except (ValueError, RuntimeError):
        return False
    return True
