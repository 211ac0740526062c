"""What the links of a URDF or MJCF look like."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.elements import parse
from contact_core.model.mesh_file import load_mesh, read_solids
from contact_core.model.mjcf.geom import Geom
from contact_core.model.mjcf.model import read_mjcf
from contact_core.model.model_file import MJCF
from contact_core.model.urdf import read_tree


@dataclass(frozen=True)
class Visual:
    """One solid that is seen.

    Attributes:
        name: Its name.
        link: The link it belongs to.
        solid: Its shape.
        color: Red, green, blue in 0..1.
        placement: Its pose in the frame of the link.
    """

    name: str
    link: str
    solid: coal.CollisionGeometry
    color: tuple[float, float, float]
    placement: pin.SE3


def visuals(text: str) -> list[Visual]:
    """Return what a URDF or MJCF looks like: visual elements, or geoms of MuJoCo's groups 0 to 2.

    Meshes have one colour; textures are left out.

    Args:
        text: Its text, see :func:`self_contained`.

    Raises:
        ModelError: If it is invalid or a mesh cannot be read.
    """
    if parse(text, "the URDF").tag == MJCF:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # Given when it is simulated.
            return [_of_geom(geom) for geom in read_mjcf(text, weigh=False).looks]
    try:
        model = read_tree(text)
        solids = read_solids(model, text, pin.GeometryType.VISUAL)
    except (ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ModelError(f"cannot read what it looks like: {reason}") from error
    found = []
    for item in solids:
        link = model.frames[item.parentFrame]
        red, green, blue, _ = (float(value) for value in item.meshColor)
        placement = link.placement.actInv(item.placement)
        found.append(Visual(item.name, link.name, item.geometry, (red, green, blue), placement))
    return found


def _of_geom(geom: Geom) -> Visual:
    red, green, blue, _ = (float(value) for value in geom.color)
    solid = coal.Ellipsoid(*geom.size) if geom.kind == "ellipsoid" else geom.solid()
    return Visual(geom.name, geom.body, solid, (red, green, blue), geom.placement)


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
    robot, missing = parse(urdf, "the URDF"), []
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
        load_mesh(file.removeprefix("file://"), np.ones(3))
    except (ValueError, RuntimeError):
        return False
    return True
