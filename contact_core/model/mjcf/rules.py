"""What the sections beside a MJCF's bodies say: equalities, tendons, contact, options.

What is simulated differently is added to the notes of the caller.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, choices
from contact_core.model.mjcf.document import Document, number, numbers, unit, vector
from contact_core.model.mjcf.geom import Geom, pair_friction
from contact_core.multibody.collision.shapes import Friction

WORLD = "world"
EARTH = "0 0 -9.81"
_FLUID = ("density", "viscosity")
_FLAGS = (
    "constraint", "limit", "frictionloss", "equality", "passive", "spring", "damper",
    "filterparent",
)  # fmt: skip
WELD = "weld"
_OF_BODIES = ("connect", WELD)
OF_LENGTHS = ("joint", "tendon")


def followers(
    document: Document, starts: Mapping[str, float]
) -> Iterator[tuple[str, tuple[str, float, float]]]:
    """Yield the joints that a linear equality makes follow another one, also one of a tendon.

    Those that do not, or one that follows another one already, are those of :func:`kept_lengths`.

    Args:
        document: The file.
        starts: Joint -> coordinate from which equalities count.

    Yields:
        The joint; the one it follows, its coordinate per that one's, and its offset.

    Raises:
        ModelError: If an equality is none of joints, tendons or bodies, or not linear.
    """
    seen: set[str] = set()
    for element in document.sections("equality"):
        attributes = document.attributes(element, group="equality")
        if attributes.get("active") == "false" or element.tag in _OF_BODIES:
            continue
        name, master = attributes.get("joint1", ""), attributes.get("joint2", "")
        where = f"equality {element.tag} '{attributes.get('name', name)}'"
        coupled = _coupled(document, attributes) if element.tag == "tendon" else {}
        if element.tag not in OF_LENGTHS:
            raise ModelError(f"{where} (valid: {', '.join((*OF_LENGTHS, *_OF_BODIES))})")
        if coupled:
            master, name = coupled
        if not master or name in seen:
            continue
        for joint in (name, master):
            if joint not in starts:
                raise ModelError(f"{where}: no joint '{joint}' ({choices(starts)})")
        given = numbers(attributes, "polycoef")
        constant, ratio = (float(value) for value in (*given[:2], *(0.0, 1.0)[len(given) :]))
        if coupled:
            # Of a tendon's length only the constant counts.
            ratio = -coupled[master] / coupled[name]
            constant /= coupled[name]
        elif given[2:].any():
            raise ModelError(f"{where}: polycoef {attributes['polycoef']} (valid: linear)")
        seen.add(name)
        yield name, (master, ratio, starts[name] + constant - ratio * starts[master])


def _coupled(document: Document, attributes: Mapping[str, str]) -> dict[str, float]:
    """Two joints, and their coefficients in the fixed tendon whose length an equality keeps."""
    for tendon in document.root.findall("tendon/fixed"):
        if tendon.get("name") == attributes.get("tendon1") and "tendon2" not in attributes:
            parts = {joint.get("joint", ""): number(joint.attrib, "coef", "1") for joint in tendon}
            return parts if len(parts) == 2 and all(parts.values()) else {}
    return {}


@dataclass(frozen=True)
class HeldBodies:
    """An equality of two bodies.

    Attributes:
        bodies: Their names.
        frames: Pose in each of what is held together.
        weld: Whether orientations are, too, and not only points.
    """

    bodies: tuple[str, str]
    frames: tuple[pin.SE3, pin.SE3]
    weld: bool


def held_bodies(
    document: Document, poses: Mapping[str, pin.SE3]
) -> Iterator[tuple[str, HeldBodies]]:
    """Yield the equalities that hold two bodies together, with a name for each.

    Args:
        document: The file.
        poses: Of all bodies in the world, where the file places them.

    Raises:
        ModelError: If there is no such body, or the bodies are given by sites.
    """
    for name, element in document.named("equality"):
        attributes = document.attributes(element, group="equality")
        if element.tag not in _OF_BODIES or attributes.get("active") == "false":
            continue
        where = f"equality {element.tag} '{name}'"
        if "body1" not in attributes:
            raise ModelError(f"{where} (valid: by body1 and body2)")
        a, b = attributes["body1"], attributes.get("body2", WORLD)
        for body in (a, b):
            if body not in poses:
                raise ModelError(f"{where}: no body '{body}' ({choices(poses)})")
        try:
            frames = _held_frames(attributes, poses[a], poses[b], element.tag == WELD)
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from error
        yield name, HeldBodies((a, b), frames, element.tag == WELD)


def _held_frames(
    attributes: Mapping[str, str], a: pin.SE3, b: pin.SE3, weld: bool
) -> tuple[pin.SE3, pin.SE3]:
    """Poses in both bodies of what is held: by an anchor in A, of a weld by one in B."""
    anchor = pin.SE3(np.eye(3), vector(attributes, "anchor", 3, "0 0 0" if weld else None))
    if not weld:
        return anchor, b.actInv(a * anchor)
    if numbers(attributes, "relpose")[3:].any():
        relative = vector(attributes, "relpose", 7)
        turn = pin.Quaternion(*unit(relative[3:]))
        return pin.SE3(turn.matrix(), relative[:3]) * anchor, anchor
    return a.actInv(b * anchor), anchor


def surroundings(document: Document, notes: list[str]) -> tuple[bool, np.ndarray]:
    """Return whether anything touches anything, and gravity [m/s^2].

    Args:
        document: The file.
        notes: Gets what else is around the bodies.
    """
    options, flags = (
        {key: value for e in document.root.findall(path) for key, value in e.attrib.items()}
        for path in ("option", "option/flag")
    )
    for key in _FLUID:
        if number(options, key, "0") != 0.0:
            notes.append(f"option {key}='{options[key]}' ignored: bodies move in no fluid")
    if np.any(vector(options, "wind", 3, "0 0 0")):
        notes.append(f"option wind='{options['wind']}' ignored")
    notes += [f"flag {key}='disable' ignored" for key in _FLAGS if flags.get(key) == "disable"]
    weightless = flags.get("gravity") == "disable"
    gravity = np.zeros(3) if weightless else vector(options, "gravity", 3, EARTH)
    return flags.get("contact") != "disable", gravity


def excluded(document: Document, bodies: Collection[str]) -> Iterator[frozenset[str]]:
    """Yield the pairs of bodies that the file excludes from contact.

    Args:
        document: The file.
        bodies: All bodies.

    Raises:
        ModelError: If there is no such body.
    """
    for element in document.sections("contact"):
        if element.tag == "exclude":
            pair = [element.get(key, "") for key in ("body1", "body2")]
            for body in pair:
                if body not in bodies:
                    raise ModelError(f"exclude: no body '{body}' ({choices(bodies)})")
            yield frozenset(pair)
        elif element.tag != "pair":
            raise ModelError(f"contact: unknown '{element.tag}' (valid: exclude, pair)")


def paired(document: Document, geoms: Sequence[Geom], notes: list[str]) -> list[Geom]:
    """Return geoms with those that they touch by an explicit pair.

    Args:
        document: The file.
        geoms: All geoms.
        notes: Gets what is simulated differently.

    Raises:
        ModelError: If there is no such geom, or a friction cannot be.
    """
    partners: dict[str, dict[str, Friction]] = {geom.name: {} for geom in geoms}
    for element in document.sections("contact"):
        if element.tag == "pair":
            names = [element.get(key, "") for key in ("geom1", "geom2")]
            for name in names:
                if name not in partners:
                    raise ModelError(f"contact pair: no geom '{name}' ({choices(partners)})")
            friction = pair_friction(document.attributes(element), notes)
            if names[1] in partners[names[0]]:
                notes.append(
                    f"contact pair '{names[0]}' and '{names[1]}': the last of several holds"
                )
            for one, other in (names, names[::-1]):
                partners[one][other] = friction
    return [replace(geom, partners=tuple(partners[geom.name].items())) for geom in geoms]
