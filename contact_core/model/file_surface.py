"""What URDF and SDF say of surfaces: friction, and Drake's compliant contact.

It is kept as attributes of the URDF's collisions.
"""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Collection, Iterable, Iterator
from math import inf

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.elements import named, place
from contact_core.multibody.collision.collision_element import SURFACE

PROXIMITY = "drake:proximity_properties"
# Element -> attribute; of two that say the same, the later one holds.
_ATTRIBUTES = {
    "drake:point_contact_stiffness": "stiffness",
    "drake:hunt_crossley_dissipation": "dissipation",
    "friction": "friction",  # in a SDF's bullet
    "mu": "friction",
    "mu1": "friction",
    "mu2": "friction",
    "drake:mu_static": "friction",
    "drake:mu_dynamic": "friction",
}
_ORDER = list(_ATTRIBUTES)


def read_surfaces(robot: ElementTree.Element, where: str) -> bool:
    """Take over what a URDF says of its surfaces: friction of Gazebo, Drake's proximity properties.

    Args:
        robot: Its root element, changed.
        where: What it is, for errors and warnings.

    Returns:
        Whether anything has changed.

    Raises:
        ModelError: If a number is none, or out of its range.
    """
    found = False
    links = {link.get("name"): link for link in robot.findall("link")}
    for collision in robot.iter("collision"):
        for key in SURFACE:
            collision.attrib.pop(key, None)  # They are ours.
    for gazebo in robot.findall("gazebo"):
        link = links.get(gazebo.get("reference"))
        said = _said(gazebo)
        if said and link is None:
            warnings.warn(
                f"{where}: friction of '{gazebo.get('reference', '')}' ({place(gazebo, where)}) is "
                "that of no link",
                ModelWarning,
                stacklevel=4,
            )
        found = set_surface([] if link is None else link.findall("collision"), said, where) or found
    for collision in robot.iter("collision"):
        for properties in named(collision, PROXIMITY):
            found = set_surface([collision], _said(properties), where) or found
    return found


def surface_of_sdf(collision: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Yield what a SDF says of the surface of a collision; what comes later holds."""
    for path in ("surface/friction/bullet", "surface/friction/ode"):
        for law in collision.findall(path):
            yield from _said(law)
    for properties in named(collision, PROXIMITY):
        yield from _said(properties)


def set_surface(
    collisions: Collection[ElementTree.Element], said: Iterable[ElementTree.Element], where: str
) -> bool:
    """Write at collisions of a URDF what is said of their surface.

    Args:
        collisions: The collisions, changed.
        said: Elements with a number each; of two that say the same, the later one holds.
        where: What they are in, for errors and warnings.

    Returns:
        Whether anything has changed.

    Raises:
        ModelError: If a number is none, or out of its range.
    """
    values: dict[str, dict[str, float]] = {}
    for element in said:
        key = _ATTRIBUTES[element.tag]
        values.setdefault(key, {})[element.tag] = _number(element, where, key == "stiffness")
        value = repr(values[key][element.tag])
        for collision in collisions:
            collision.set(key, value)
        if collisions and len(set(values[key].values())) > 1:
            names = ", ".join(f"{name} {value:g}" for name, value in values[key].items())
            warnings.warn(
                f"{where}: {names} ({place(element, where)}): one {key}, taken as {value}",
                ModelWarning,
                stacklevel=4,
            )
    return bool(values and collisions)


def _said(owner: ElementTree.Element) -> list[ElementTree.Element]:
    return sorted(
        (child for child in owner if child.tag in _ATTRIBUTES),
        key=lambda child: _ORDER.index(child.tag),
    )


def _number(element: ElementTree.Element, where: str, positive: bool) -> float:
    text = element.get("value", element.text or "")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < inf or (positive and value == 0.0):
        valid = "> 0" if positive else ">= 0"
        raise ModelError(
            f"{where}: {element.tag} is '{text.strip()}' ({place(element, where)}; valid: {valid})"
        )
    return value
