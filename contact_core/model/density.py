"""Links that a URDF gives no inertia: what they weigh if their shapes are of one density."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from copy import deepcopy

import pinocchio as pin

from contact_core.base.errors import ModelError, real_number
from contact_core.model.mesh_file import inertia_of, read_solids
from contact_core.model.urdf import read_tree

NOT_FOR_MJCF = "a density is for the links of a URDF or SDF (a MJCF's geoms have one)"
"""Why nothing weighs the links of a MJCF."""

_MOMENTS = {
    "ixx": (0, 0),
    "ixy": (0, 1),
    "ixz": (0, 2),
    "iyy": (1, 1),
    "iyz": (1, 2),
    "izz": (2, 2),
}


def weigh_links(robot: ElementTree.Element, density: float) -> str:
    """Give the links of a URDF without an inertial that of their shapes.

    Those are the collision shapes, or what is seen of a link that has none; where shapes overlap,
    they count twice. A link without either stays as it is.

    Args:
        robot: Root element of the URDF, with absolute paths to its meshes; changed.
        density: [kg/m^3].

    Returns:
        What they weigh, for a person; empty if nothing is changed.

    Raises:
        ConfigError: If the density is no positive number.
        ModelError: If it is no URDF, or a mesh cannot be read.
    """
    real_number(density, "density", "> 0 kg/m^3", above=0.0)
    if robot.tag != "robot":
        raise ModelError(NOT_FOR_MJCF)
    bare = [link for link in robot.findall("link") if link.find("inertial") is None]
    if not bare:
        return ""
    text = _with_shapes_to_weigh(robot)
    model, weights = read_tree(text), []
    solids = defaultdict(list)
    try:
        for kind in (pin.GeometryType.COLLISION, pin.GeometryType.VISUAL):
            for solid in read_solids(model, text, kind):
                solids[model.frames[solid.parentFrame].name].append(solid)
    except (ValueError, RuntimeError) as error:
        raise ModelError(f"cannot weigh the links: {' '.join(str(error).split())}") from error
    for link in bare:
        name = link.get("name", "")
        volume = inertia_of(solids[name])
        if volume is not None:
            place = model.frames[model.getFrameId(name, pin.FrameType.BODY)].placement
            own = place.actInv(volume)
            _add_inertial(link, pin.Inertia(density * own.mass, own.lever, density * own.inertia))
            weights.append(f"'{name}' {density * own.mass:.3g} kg")
    what = "links without an inertial weigh what their shapes do"
    return f"{what} at {density:g} kg/m^3: {', '.join(weights)}" if weights else ""


def _with_shapes_to_weigh(robot: ElementTree.Element) -> str:
    """Text of a URDF without shapes that say nothing of a weight: their meshes may be missing."""
    copy = deepcopy(robot)
    for link in copy.findall("link"):
        weighed = link.find("inertial") is None
        kept = ("collision" if link.find("collision") is not None else "visual") if weighed else ""
        for shape in [*link.findall("collision"), *link.findall("visual")]:
            if shape.tag != kept:
                link.remove(shape)
    return ElementTree.tostring(copy, encoding="unicode")


def _add_inertial(link: ElementTree.Element, inertia: pin.Inertia) -> None:
    inertial = ElementTree.SubElement(link, "inertial")
    ElementTree.SubElement(inertial, "origin", xyz=" ".join(map(repr, inertia.lever.tolist())))
    ElementTree.SubElement(inertial, "mass", value=repr(float(inertia.mass)))
    moments = {key: repr(float(inertia.inertia[place])) for key, place in _MOMENTS.items()}
    ElementTree.SubElement(inertial, "inertia", moments)
