"""Meshes in metres and with z up, whatever their files have."""

from __future__ import annotations

import base64
import codecs
import json
import re
import struct
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import coal
import numpy as np
import pinocchio as pin

from contact_core.model.elements import COMMENT, parse
from contact_core.multibody.collision.convex_mesh import hull_to_coal
from contact_core.multibody.collision.shapes import (
    triangles_from_coal,
    triangles_to_coal,
)

_UNIT = re.compile(r"<unit\b[^>]*?\bmeter\s*=\s*[\"']([^\"']+)[\"']")
_CLOSED = 1e-6  # areas that should cancel out are rounded numbers
_HEADER = 12  # bytes of a GLB before its parts, which begin with their size and kind
_DATA = "data:application/octet-stream;base64,"
# Extensions of glTF that say where corners are in a way that the loader does not know.
_UNREAD = {
    "KHR_mesh_quantization", "KHR_meshopt_compression", "EXT_meshopt_compression",
    "KHR_draco_mesh_compression",
}  # fmt: skip
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
        ValueError: If there is no such file, it cannot be read, or corners are not finite.
    """
    mesh = _loaded(file, scale)
    if not np.isfinite(triangles_from_coal(mesh)[0]).all():
        raise ValueError(f"{file} has corners that are not finite numbers")
    return mesh


def _loaded(file: str | Path, scale: np.ndarray) -> coal.BVHModelBase:
    suffix = Path(file).suffix.lower()
    if suffix not in _TURNED:
        return coal.MeshLoader().load(str(file), np.asarray(scale, dtype=float))
    if suffix == ".dae":
        mesh = coal.MeshLoader().load(str(file), np.ones(3))
        turn = _metres(Path(file)) * np.eye(3)
    else:
        mesh, turn = _load_gltf(Path(file)), _Z_UP
    points, triangles = triangles_from_coal(mesh)
    return triangles_to_coal(points @ turn.T * scale, triangles)


def _metres(file: Path) -> float:
    """Metres per unit of a DAE, which its first asset says."""
    raw = file.read_bytes()
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    # All others are like ASCII in what is looked for, and may lie about themselves.
    text = raw.decode("utf-16" if wide else "latin-1")
    found = _UNIT.search(COMMENT.sub("", text).partition("</asset>")[0])
    value = float(found[1]) if found else 1.0
    if not 0.0 < value < np.inf:
        raise ValueError(f"{file} has a unit of {value:g} m")
    return value


def _load_gltf(file: Path) -> coal.BVHModelBase:
    """Load a glTF or GLB, y up. The loader leaves out the pose of a single root: it gets another.

    Raises:
        ValueError: If it cannot be read.
    """
    try:
        content, data = _parts(file.read_bytes())
        unread = _UNREAD.intersection(content.get("extensionsRequired", []))
        if unread:
            raise ValueError(f"it needs {', '.join(sorted(unread))} (valid: without)")
        for buffer in content.get("buffers", []):
            uri = buffer.get("uri")
            if uri is not None and not uri.startswith("data:"):
                data = (file.parent / unquote(uri)).read_bytes()
            if uri is None or not uri.startswith("data:"):
                buffer["uri"] = _DATA + base64.b64encode(data).decode()
        for scene in content["scenes"]:
            scene["nodes"] = [*scene["nodes"], len(content["nodes"])]
        content["nodes"].append({})
        _without_looks(content)
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise ValueError(f"{file} is no glTF that can be read: {error!r}") from error
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.gltf"
        copy.write_text(json.dumps(content))
        return coal.MeshLoader().load(str(copy), np.ones(3))


def _parts(raw: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the JSON of a glTF, and the data that comes with it in a GLB."""
    if raw[:4] != b"glTF":
        return json.loads(raw), b""
    (size,) = struct.unpack_from("<I", raw, _HEADER)
    text, rest = raw[_HEADER + 8 : _HEADER + 8 + size], raw[_HEADER + 8 + size :]
    return json.loads(text), rest[8:]


def _without_looks(content: dict[str, Any]) -> None:
    """Drop what a copy elsewhere would look for in vain."""
    for key in ("images", "textures", "samplers", "materials"):
        content.pop(key, None)
    for mesh in content.get("meshes", []):
        for primitive in mesh["primitives"]:
            primitive.pop("material", None)


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
    robot, own = parse(urdf, "the URDF"), dict[str, tuple[str, np.ndarray]]()
    for link in robot.findall("link"):
        for number, element in enumerate(link.findall(kind.name.lower())):
            for mesh in element.findall("geometry/mesh"):
                file = mesh.get("filename", "").removeprefix("file://")
                if file.lower().endswith(_TURNED):
                    scale = np.array(mesh.get("scale", "1 1 1").split(), dtype=float)
                    # As Pinocchio numbers them, which is given something else for a moment.
                    own[f"{link.get('name')}_{number}"] = file, scale
                    mesh.tag = "sphere"
                    mesh.set("radius", "1")
    text = ElementTree.tostring(robot, encoding="unicode") if own else urdf
    solids = list(pin.buildGeomFromUrdfString(model, text, kind).geometryObjects)
    for solid in solids:
        if solid.name in own:
            solid.geometry = load_mesh(*own[solid.name])
    return solids


def shared_inertia(solids: Iterable[pin.GeometryObject], mass: float) -> np.ndarray | None:
    """Return the rotational inertia (3, 3) of solids that share a mass evenly [kg m^2].

    Args:
        solids: See :func:`inertia_of`.
        mass: Of all together [kg].
    """
    total = inertia_of(solids)
    return None if total is None else np.array(total.inertia) * (mass / total.mass)


def inertia_of(solids: Iterable[pin.GeometryObject]) -> pin.Inertia | None:
    """Return the inertia of solids of density 1, in the frame of the joint that carries them.

    A mesh that is not closed counts as its convex hull. None if there are none, or one has no
    volume.

    Args:
        solids: They.
    """
    total = pin.Inertia.Zero()
    try:
        for solid in solids:
            geometry = solid.geometry
            if isinstance(geometry, coal.BVHModelBase):
                geometry = _closed(geometry)
            moments = geometry.computeMomentofInertiaRelatedToCOM()
            own = pin.Inertia(geometry.computeVolume(), geometry.computeCOM(), moments)
            total += solid.placement.act(own)
    except (ValueError, RuntimeError):
        return None
    return total if total.mass > 0.0 else None


def _closed(mesh: coal.BVHModelBase) -> coal.ShapeBase:
    """Return a mesh whose areas cancel out, as vectors, and point outwards; else its hull."""
    points, corners = triangles_from_coal(mesh)
    a, b, c = points[corners].transpose(1, 0, 2)
    areas = np.cross(b - a, c - a)
    total = np.linalg.norm(areas, axis=1).sum()
    if np.linalg.norm(areas.sum(axis=0)) >= _CLOSED * total:
        return hull_to_coal(mesh.vertices())
    # A mirrored mesh points inwards.
    return mesh if mesh.computeVolume() > 0.0 else triangles_to_coal(points, corners[:, ::-1])
