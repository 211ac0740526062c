"""Meshes in metres and with z up, whatever their files have."""

from __future__ import annotations

import re
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin

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
