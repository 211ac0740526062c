"""The collision elements of a URDF: their names, and the mistakes its parser lets pass.

The parser leaves a collision out that it does not understand, and things would then pass
through each other in silence.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from contact_core.base.errors import ModelError, choices

# For each geometry the attributes that hold its size, and how many numbers these are.
SIZES = {
    "sphere": (("radius",), 1),
    "box": (("size",), 3),
    "cylinder": (("radius", "length"), 2),
    "capsule": (("radius", "length"), 2),
    "mesh": ((), 0),
}

# Version of URDF that brought capsules.
CAPSULE_VERSION = "1.2"
# Attributes of a collision that keep what its file says of its surface, which URDF has not.
SURFACE = ("stiffness", "dissipation", "friction")
# Attribute of a box whose top is that of a half space, which URDF has not.
HALF_SPACE = "half_space"


@dataclass(frozen=True)
class CollisionElement:
    """One collision of a link.

    Attributes:
        name: Its name; the link's and its number if it has none.
        link: The link.
        geometry: A key of SIZES.
        filename: File of a mesh, empty for all others.
        endless: Whether it is a box that stands for the half space below its top.
        surface: What its file says of its surface: stiffness [N/m], dissipation [s/m], friction.
        wrong: What is wrong with its size; empty if nothing is.
    """

    name: str
    link: str
    geometry: str
    filename: str
    endless: bool
    surface: Mapping[str, float]
    wrong: str = ""


def collision_elements(robot: ElementTree.Element, repair: bool = False) -> list[CollisionElement]:
    """Return the collision elements of a URDF, in the order of the file.

    Args:
        robot: Its root element.
        repair: Whether those without a size are wanted, too.

    Raises:
        ModelError: If one has no geometry we know, or no size; the message names its link.
    """
    elements = []
    for link in robot.iter("link"):
        body = link.get("name", "")
        for number, collision in enumerate(link.findall("collision")):
            name = collision.get("name", f"{body}_{number}")
            shapes = collision.findall("geometry/*")
            where = f"link '{body}': collision '{name}'"
            if len(shapes) != 1:
                kinds = ", ".join(shape.tag for shape in shapes) or "no geometry"
                raise ModelError(f"{where} has {kinds} ({choices(SIZES)})")
            (geometry,) = shapes
            if geometry.tag not in SIZES:
                raise ModelError(f"{where} is a {geometry.tag} ({choices(SIZES)})")
            if geometry.tag == "capsule" and robot.get("version") != CAPSULE_VERSION:
                raise ModelError(
                    f'{where} is a capsule, which needs <robot version="{CAPSULE_VERSION}">'
                )
            wrong = _wrong_size(where, geometry)
            if wrong and not repair:
                raise ModelError(wrong)
            filename = geometry.get("filename", "")
            endless = geometry.get(HALF_SPACE) == "true"
            said = ((key, collision.get(key)) for key in SURFACE)
            surface = {key: float(text) for key, text in said if text is not None}
            element = CollisionElement(name, body, geometry.tag, filename, endless, surface, wrong)
            elements.append(element)
    return elements


def _wrong_size(where: str, geometry: ElementTree.Element) -> str:
    """What is wrong with the size of a shape; empty if nothing is."""
    attributes, count = SIZES[geometry.tag]
    text = " ".join(geometry.get(attribute, "") for attribute in attributes)
    try:
        size = np.array(text.split(), dtype=float)
    except ValueError:
        size = np.array([])
    if len(size) != count or not (np.isfinite(size) & (size > 0.0)).all():
        needs = f"must be {count} positive number{'s' if count > 1 else ''}"
        return f"{where} is a {geometry.tag} whose {' and '.join(attributes)} {needs}, got '{text}'"
    return ""
