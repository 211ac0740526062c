"""Pinocchio's tree of a URDF, and what is wrong with the file where it has none."""

from __future__ import annotations

import math
import os
import tempfile
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, ModelWarning, choices
from contact_core.model.elements import parse, place
from contact_core.multibody.collision.collision_element import CAPSULE_VERSION

# Attributes that are numbers, and how many; of elements in links and joints.
_NUMBERS = {
    "origin": {"xyz": 3, "rpy": 3, "quat_xyzw": 4},
    "axis": {"xyz": 3},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), 1),
    "limit": dict.fromkeys(("lower", "upper", "effort", "velocity"), 1),
    "dynamics": {"damping": 1, "friction": 1, "spring_stiffness": 1, "spring_reference": 1},
    "mimic": {"multiplier": 1, "offset": 1},
    "mesh": {"scale": 3},
    "box": {"size": 3},
    "sphere": {"radius": 1},
    "cylinder": {"radius": 1, "length": 1},
    "capsule": {"radius": 1, "length": 1},
    "color": {"rgba": 4},
}
# What must not be negative, and may be infinite.
_POSITIVE = {"limit": {"effort", "velocity"}, "dynamics": {"damping", "friction"}}
_WITHIN = {"inertial", "collision", "geometry", *_NUMBERS}
_SHAPES = {"mesh": ("filename",)} | {
    tag: tuple(_NUMBERS[tag]) for tag in ("box", "sphere", "cylinder", "capsule")
}
"""What looks consist of, and what each has to say."""
_LIMITED = ("revolute", "prismatic")
_RENAMED = " (joint)"  # added to the name of a joint for a moment
_STDERR = 2


def read_tree(text: str, *base: pin.JointModel) -> pin.Model:
    """Return the kinematic tree of a URDF.

    Args:
        text: Its text.
        base: The joint of its root link; none if that is fixed.

    Raises:
        ModelError: If it is invalid; the message names the element and what is wrong.
    """
    try:
        return pin.buildModelFromXML(text, *base)
    except (ValueError, RuntimeError) as error:
        reason = next(malformed(parse(text, ""), ""), "") or _printed(
            lambda: pin.buildModelFromXML(text)
        )
        raise ModelError(f"cannot read the URDF: {reason or error}") from error


def lock_joints(model: pin.Model, locked: Sequence[int], q: np.ndarray) -> pin.Model:
    """Return a tree without some of its joints; any joint may have the name of a link.

    Args:
        model: The tree.
        locked: Numbers of the joints to hold.
        q: (nq) where to hold them.
    """
    bodies = {frame.name for frame in model.frames if frame.type == pin.FrameType.BODY}
    whole = model.copy()
    clashing = {name: f"{name}{_RENAMED}" for name in bodies}
    _rename_joints(whole, clashing)
    reduced = pin.buildReducedModel(whole, list(locked), q)
    _rename_joints(reduced, {new: old for old, new in clashing.items()})
    return reduced


def _rename_joints(model: pin.Model, names: Mapping[str, str]) -> None:
    for number, name in enumerate(list(model.names)):
        model.names[number] = names.get(name, name)
    for frame in model.frames:
        if frame.type != pin.FrameType.BODY:
            frame.name = names.get(frame.name, frame.name)


def check_uncoupled(text: str, arm_joints: Sequence[str], gripper_joint: str = "") -> None:
    """Check that the joints of an arm and the one that opens its gripper move by themselves.

    Args:
        text: The URDF.
        arm_joints: Names of the arm's joints, which no other joint may follow either.
        gripper_joint: The joint that opens the gripper; empty without one.

    Raises:
        ModelError: If a joint follows another one; the message names both.
    """
    for joint in parse(text, "the URDF").findall("joint"):
        mimic = joint.find("mimic")
        if mimic is None:
            continue
        name, master = joint.get("name", ""), mimic.get("joint", "")
        if name in (*arm_joints, gripper_joint) or master in arm_joints:
            raise ModelError(
                f"joint '{name}' follows joint '{master}' (mimic), which controller and estimator "
                "do not know: their kinematics would be wrong (valid: an arm whose joints move by "
                "themselves, and which none follows)"
            )


def malformed(robot: ElementTree.Element, where: str) -> Iterator[str]:
    """Yield joints that make no tree, attributes that are no numbers, and limits that are reversed.

    Pinocchio's parser refuses most numbers, but only drops a whole inertial, and links that are
    carried in a circle. Looks are not checked.

    Args:
        robot: Root element of the URDF.
        where: What it is.
    """
    yield from _loops(robot, where)
    for owner in robot:
        for element in _without_looks(owner):
            for wrong, valid in _wrong_numbers(element):
                yield (
                    f"{owner.tag} '{owner.get('name', '')}': {wrong} "
                    f"({place(element, where)}; valid: {valid})"
                )
            if element.tag == "limit" and owner.get("type") in _LIMITED:
                lower, upper = element.get("lower", "0"), element.get("upper", "0")
                if float(lower) > float(upper):
                    yield (
                        f"joint '{owner.get('name', '')}': limit lower='{lower}' upper='{upper}' "
                        f"({place(element, where)}; valid: lower <= upper)"
                    )


def make_readable(robot: ElementTree.Element, where: str) -> bool:
    """Change what the parser would stop at, in silence: it drops the rest of that link.

    White space around and between numbers becomes single blanks, a material without a name gets
    one, and what cannot be shown is left out, with a warning.

    Args:
        robot: Root element of the URDF.
        where: What it is, for the warning.

    Returns:
        Whether anything has changed.
    """
    changed, hidden, version = False, list[str](), robot.get("version", "")
    colored = {
        material.get("name")
        for material in robot.iter("material")
        if len(material) and not any(any(_wrong_numbers(part)) for part in material)
    }
    for element in robot.iter():
        for key in _NUMBERS.get(element.tag, {}).keys() & element.keys():
            plain = " ".join(element.attrib[key].split())
            changed = changed or plain != element.attrib[key]
            element.set(key, plain)
    for link in robot.findall("link"):
        for number, visual in enumerate(link.findall("visual")):
            shape = next(iter(visual.find("geometry") or ()), None)
            wrong = "" if shape is None else next(_not_shown(visual, shape, version), "")
            if wrong:
                hidden.append(f"{wrong} of link '{link.get('name')}' ({place(visual, where)})")
            if wrong or shape is None:
                link.remove(visual)
                changed = True
            for material in visual.findall("material"):
                wrong_colors = [color for color in material if any(_wrong_numbers(color))]
                if "name" in material.attrib and not wrong_colors:
                    continue
                changed = True
                for color in wrong_colors:
                    material.remove(color)
                material.attrib.setdefault("name", f"{link.get('name')} {number}")
                if not len(material) and material.get("name") not in colored:
                    visual.remove(material)
    if hidden:
        warnings.warn(f"{where}: not shown: {', '.join(hidden)}", ModelWarning, stacklevel=3)
    return changed


def _not_shown(
    visual: ElementTree.Element, shape: ElementTree.Element, version: str
) -> Iterator[str]:
    """What of a look cannot be read."""
    if shape.tag not in _SHAPES:
        yield f"{shape.tag} ({choices(_SHAPES)})"
    if shape.tag == "capsule" and version != CAPSULE_VERSION:
        yield f"capsule (valid: in version {CAPSULE_VERSION})"
    yield from (
        f"{shape.tag} without its {key}"
        for key in _SHAPES.get(shape.tag, ())
        if key not in shape.attrib
    )
    for element in (*visual.findall("origin"), shape):
        yield from (wrong for wrong, _ in _wrong_numbers(element))


def _wrong_numbers(element: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Yield attributes of an element that are not the numbers they have to be, and what is."""
    for key, count in _NUMBERS.get(element.tag, {}).items():
        value = element.get(key)
        positive = key in _POSITIVE.get(element.tag, ())
        endless = positive or element.tag == "limit"
        if value is not None and not _are_numbers(value, count, positive, endless):
            valid = "1 number" if count == 1 else f"{count} numbers"
            yield f"{element.tag} {key}='{value}'", valid + (" >= 0" if positive else "")


def _loops(robot: ElementTree.Element, where: str) -> Iterator[str]:
    above: dict[str, tuple[str, str]] = {}
    for joint in robot.findall("joint"):
        name, spot = joint.get("name", ""), place(joint, where)
        parent, child = (
            next((end.get("link", "") for end in joint.findall(tag)), "")
            for tag in ("parent", "child")
        )
        if not (parent and child):
            continue  # The parser says so.
        if child in above:
            yield (
                f"link '{child}' is the child of joint '{above[child][0]}' and of joint '{name}' "
                f"({spot}; valid: of one)"
            )
        above[child] = name, parent
    rooted: set[str] = set()
    for link in above:
        way = dict[str, str]()  # links and the joints that carry them
        at = link
        while at in above and at not in rooted and at not in way:
            way[at], at = above[at]
        if at in way:
            circle = list(way)[list(way).index(at) :]
            names = ", ".join(f"'{way[link]}'" for link in circle)
            yield f"joints carry links in a circle: {names} (valid: from one root link on)"
        rooted |= way.keys()


def _without_looks(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    if element.tag in ("link", "joint", *_WITHIN):
        yield element
        for child in element:
            yield from _without_looks(child)


def _are_numbers(text: str, count: int, positive: bool, endless: bool) -> bool:
    if "_" in text or not text.isascii():
        return False  # Python alone takes these for numbers.
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        return False
    known = not any(math.isnan(x) or (math.isinf(x) and not endless) for x in numbers)
    return len(numbers) == count and known and not (positive and min(numbers) < 0.0)


def _printed(action: Callable[[], object]) -> str:
    """What a library prints about its failure, which its exception does not say."""
    with tempfile.TemporaryFile() as file:
        saved = os.dup(_STDERR)
        os.dup2(file.fileno(), _STDERR)
        try:
            with suppress(ValueError, RuntimeError):
                action()
        finally:
            os.dup2(saved, _STDERR)
            os.close(saved)
        file.seek(0)
        lines = file.read().decode(errors="replace").splitlines()
    causes = (line.partition("Error:")[2].strip() for line in lines if "Error:" in line)
    return "; ".join(dict.fromkeys(causes))
