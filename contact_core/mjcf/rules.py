"""What the sections beside a MJCF's bodies say: actuators, equalities, tendons, contact, options.

What is simulated differently is added to the notes of the caller.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.errors import ModelError, choices
from contact_core.mjcf.document import ACTUATORS, Document, number, numbers, unit, vector
from contact_core.mjcf.geom import Geom

WORLD = "world"
EARTH = "0 0 -9.81"
_FLUID = ("density", "viscosity")
_FLAGS = (
    "constraint", "limit", "frictionloss", "equality", "passive", "spring", "damper",
    "filterparent",
)  # fmt: skip
_PASSIVE = ("stiffness", "damping", "frictionloss", "armature")
WELD = "weld"
_OF_BODIES = ("connect", WELD)
_TRANSMISSIONS = ("joint", "jointinparent")


def symmetric(where: str, limits: np.ndarray, notes: list[str]) -> float:
    """Return the greater one of two limits.

    Args:
        where: What they limit.
        limits: (2) the lower and the upper one.
        notes: Gets one more if they differ.
    """
    least, most = (abs(float(limit)) for limit in limits)
    greatest = max(least, most)
    if least != most:
        notes.append(
            f"{where} has the effort limits {limits[0]:g} and {limits[1]:g}: taken as "
            f"{greatest:g} both ways"
        )
    return greatest


def effort_limits(
    document: Document,
    joints: Collection[str],
    floating: Collection[str],
    own: Mapping[str, float],
    notes: list[str],
) -> dict[str, float]:
    """Return what the actuators of a joint exert together at most.

    Args:
        document: The file.
        joints: Joints with one coordinate.
        floating: The others.
        own: Joint -> limit that it has itself [Nm or N].
        notes: Gets the actuators that do not drive one such joint.

    Returns:
        Joint -> limit [Nm or N], infinite if one of its actuators has none.

    Raises:
        ModelError: If there is no such actuator or joint.
    """
    sums: dict[str, float] = defaultdict(float)
    elsewhere = []
    for element in document.sections("actuator"):
        if element.tag not in ACTUATORS:
            raise ModelError(f"actuator: unknown '{element.tag}' ({choices(ACTUATORS)})")
        attributes = document.attributes(element)
        where = f"{element.tag} '{attributes.get('name', '')}'"
        joint = next((attributes[key] for key in _TRANSMISSIONS if key in attributes), None)
        if joint is None or joint in floating:
            elsewhere.append(where)
        elif joint in joints:
            gear = abs(number(attributes, "gear", "1"))
            sums[joint] += gear * _force(document, where, element.tag, attributes, notes)
        else:
            raise ModelError(f"{where}: no joint '{joint}' ({choices([*joints, *floating])})")
    if elsewhere:
        notes.append(f"{', '.join(elsewhere)} not read: no actuator of one joint")
    driven = {joint: min(limit, own.get(joint, np.inf)) for joint, limit in sums.items()}
    return {**own, **driven}


def _force(
    document: Document, where: str, tag: str, attributes: Mapping[str, str], notes: list[str]
) -> float:
    """Greatest force of an actuator, before its gear; infinite if there is none."""
    if document.limited(attributes, "forcerange", "forcelimited"):
        return symmetric(where, vector(attributes, "forcerange", 2), notes)
    # The force is the gain times the control.
    direct = tag == "motor" or (
        tag == "general"
        and attributes.get("gaintype", "fixed") == "fixed"
        and attributes.get("biastype", "none") == "none"
        and attributes.get("dyntype", "none") == "none"
    )
    if direct and document.limited(attributes, "ctrlrange", "ctrllimited"):
        gain = number(attributes, "gainprm", "1") if tag == "general" else 1.0
        return abs(gain) * symmetric(where, vector(attributes, "ctrlrange", 2), notes)
    return float(np.inf)


def followers(
    document: Document, starts: Mapping[str, float]
) -> Iterator[tuple[str, tuple[str, float, float]]]:
    """Yield the joints that a linear equality makes follow another one.

    Args:
        document: The file.
        starts: Joint -> coordinate from which equalities count.

    Yields:
        The joint; the one it follows, its coordinate per that one's, and its offset.

    Raises:
        ModelError: If an equality is neither this nor one of bodies.
    """
    seen: set[str] = set()
    for element in document.sections("equality"):
        attributes = element.attrib
        if attributes.get("active") == "false" or element.tag in _OF_BODIES:
            continue
        name, master = attributes.get("joint1", ""), attributes.get("joint2", "")
        where = f"equality {element.tag} '{attributes.get('name', name)}'"
        if element.tag != "joint" or not master:
            raise ModelError(
                f"{where} (valid: a joint that follows another one, {', '.join(_OF_BODIES)})"
            )
        for joint in (name, master):
            if joint not in starts:
                raise ModelError(f"{where}: no joint '{joint}' ({choices(starts)})")
        given = numbers(attributes, "polycoef")
        constant, ratio = (float(value) for value in (*given[:2], *(0.0, 1.0)[len(given) :]))
        if given[2:].any():
            raise ModelError(f"{where}: polycoef {attributes['polycoef']} (valid: linear)")
        if name in seen:
            raise ModelError(f"{where}: '{name}' follows another one already (valid: one)")
        seen.add(name)
        yield name, (master, ratio, starts[name] + constant - ratio * starts[master])


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
    for count, element in enumerate(document.sections("equality")):
        attributes = element.attrib
        if element.tag not in _OF_BODIES or attributes.get("active") == "false":
            continue
        name = attributes.get("name", f"{element.tag}_{count}")
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


def check_tendons(document: Document) -> None:
    """Check that tendons exert no force themselves; those that only pass one on change nothing.

    Raises:
        ModelError: If one does.
    """
    for element in document.sections("tendon"):
        attributes = document.attributes(element)
        forces = [key for key in _PASSIVE if numbers(attributes, key).any()]
        if document.limited(attributes, "range", "limited"):
            forces.append("range")
        if forces:
            where = f"tendon '{attributes.get('name', '')}'"
            raise ModelError(f"{where} has {', '.join(forces)} (valid: none of them)")


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


def excluded(
    document: Document, bodies: Collection[str], geoms: Sequence[Geom]
) -> Iterator[frozenset[str]]:
    """Yield the pairs of bodies that the file excludes from contact.

    Args:
        document: The file.
        bodies: All bodies.
        geoms: All geoms.

    Raises:
        ModelError: If there is no such body or geom, or geoms touch by an explicit pair only.
    """
    named = {geom.name: geom for geom in geoms}
    for element in document.sections("contact"):
        if element.tag == "exclude":
            pair = [element.get(key, "") for key in ("body1", "body2")]
            for body in pair:
                if body not in bodies:
                    raise ModelError(f"exclude: no body '{body}' ({choices(bodies)})")
            yield frozenset(pair)
        elif element.tag == "pair":
            names = [element.get(key, "") for key in ("geom1", "geom2")]
            for name in names:
                if name not in named:
                    raise ModelError(f"contact pair: no geom '{name}' ({choices(named)})")
            a, b = (named[name] for name in names)
            # The parameters of a pair that touches anyway belong to another law of contact.
            if not (a.contype & b.conaffinity or b.contype & a.conaffinity):
                raise ModelError(
                    f"contact pair '{a.name}' and '{b.name}': they touch by this pair only "
                    "(valid: by contype and conaffinity)"
                )
        else:
            raise ModelError(f"contact: unknown '{element.tag}' (valid: exclude, pair)")
