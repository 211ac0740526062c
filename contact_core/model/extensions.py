"""What the parser of URDFs does not read, and does not say: extensions, zeros, what is left out."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, ModelWarning, choices
from contact_core.model.elements import is_zero, named, place
from contact_core.model.file_surface import read_surfaces
from contact_core.model.urdf import malformed
from contact_core.multibody.collision.collision_element import CAPSULE_VERSION, HALF_SPACE

ARMATURE = "armature"  # attribute of a URDF's joint that keeps its reflected inertia
# Attributes of a URDF's dynamics that are those of a joint's spring.
SPRING = ("spring_stiffness", "spring_reference")
ROTOR, GEAR = "drake:rotor_inertia", "drake:gear_ratio"
_MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
_THICK = 2.0  # of the box that is drawn for a plane [m]
_WIDE = 100.0
_STRUCTURE = {"link", "joint"}
_DRIVEN = {"revolute", "continuous", "prismatic"}
_QUATERNION_VERSIONS = ("1.1", CAPSULE_VERSION)


def add_half_space(geometry: ElementTree.Element, normal: str) -> pin.SE3:
    """Add a half space, which does not exist in URDF, so that it is noted at a box.

    Args:
        geometry: The geometry of a collision, changed.
        normal: Text of its outward normal.

    Returns:
        Pose of the box in the frame of the half space.

    Raises:
        ValueError: If the normal has no direction.
    """
    direction = np.array(normal.split(), dtype=float)
    if not (len(direction) == 3 and np.linalg.norm(direction) > 0.0):
        raise ValueError(f"normal '{normal}'")
    box = {"size": f"{_WIDE} {_WIDE} {_THICK}", HALF_SPACE: "true"}
    ElementTree.SubElement(geometry, "box", box)
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), direction).matrix()
    return pin.SE3(turn, -0.5 * _THICK * turn[:, 2])


def set_origin(element: ElementTree.Element, pose: pin.SE3) -> None:
    """Add the origin of an element of a URDF."""
    xyz, rpy = as_text(pose.translation), as_text(pin.rpy.matrixToRpy(pose.rotation))
    ElementTree.SubElement(element, "origin", xyz=xyz, rpy=rpy)


def as_text(vector: np.ndarray) -> str:
    """Return numbers as an attribute, with all their digits."""
    return " ".join(repr(float(value)) for value in vector)


def _read_planes(robot: ElementTree.Element, where: str) -> bool:
    """Turn the planes of Bullet's URDFs into half spaces."""
    found = False
    for collision in robot.iter("collision"):
        for geometry in collision.findall("geometry"):
            for plane in geometry.findall("plane"):
                origin = collision.find("origin")
                place_of = {} if origin is None else origin.attrib
                xyz, rpy = (
                    np.array(place_of.get(key, "0 0 0").split(), dtype=float)
                    for key in ("xyz", "rpy")
                )
                try:
                    pose = add_half_space(geometry, plane.get("normal", "0 0 1"))
                except ValueError as error:
                    raise ModelError(
                        f"{where}: plane ({place(plane, where)}) has no direction: {error}"
                    ) from error
                geometry.remove(plane)
                if origin is not None:
                    collision.remove(origin)
                set_origin(collision, pin.SE3(pin.rpy.rpyToMatrix(rpy), xyz) * pose)
                found = True
    return found


def read_extensions(robot: ElementTree.Element, where: str) -> bool:
    """Make a URDF one that Pinocchio's parser reads as it is meant; say what it would pass over.

    Rotor inertias, capsules and surfaces of Drake's extensions are read, the friction of Gazebo's,
    and Bullet's planes; what else has a prefix is dropped.

    Args:
        robot: Its root element.
        where: What it is, for errors and warnings.

    Returns:
        Whether anything has changed.

    Raises:
        ModelError: If an extension adds links or joints, a rotor is that of no joint or its inertia
            no number, a surface has none, or the file's version is older than what it has.
    """
    for joint in robot.findall("joint"):
        joint.attrib.pop(ARMATURE, None)  # It is ours.
    check_numbers(robot, where)
    _check_quaternions(robot, where)
    axes = [axis for axis in robot.findall("joint/axis") if "xyz" not in axis.attrib]
    for axis in axes:
        axis.set("xyz", "1 0 0")  # The parser takes the default where there is no axis alone.
    completed = _complete_inertials(robot, where) or bool(axes)
    rotors = _read_rotors(robot, where)
    surfaces = read_surfaces(robot, where)
    planes = _read_planes(robot, where)
    capsules = list(robot.iter("drake:capsule"))
    for capsule in capsules:
        capsule.tag = "capsule"
        robot.set("version", CAPSULE_VERSION)
    foreign = _drop_foreign(robot, where)
    return foreign or rotors or surfaces or planes or completed or bool(capsules)


def check_numbers(robot: ElementTree.Element, where: str) -> None:
    """Check the numbers of a URDF, also of one that was made of a SDF; name limits of zero.

    Args:
        robot: Its root element.
        where: What it is, for errors and warnings.

    Raises:
        ModelError: If an attribute is not the numbers that it has to be.
    """
    for reason in malformed(robot, where):
        raise ModelError(f"{where}: {reason}")
    _name_zero_limits(robot, where)


def reflected_inertia(inertia: str, ratio: str) -> float:
    """Return what a rotor adds to its joint: its inertia times the gear ratio squared.

    Args:
        inertia: Text of the rotor's inertia [kg m^2 or kg].
        ratio: Text of the gear ratio.

    Raises:
        ValueError: If one is no number, or the inertia is negative.
    """
    value = float(inertia) * float(ratio) ** 2
    if not 0.0 <= value < float("inf"):
        raise ValueError(f"'{inertia}' behind '{ratio}'")
    return value


def _read_rotors(robot: ElementTree.Element, where: str) -> bool:
    joints = {joint.get("name"): joint for joint in robot.findall("joint")}
    found = False
    for transmission in robot.findall("transmission"):
        for actuator in transmission.findall("actuator"):
            for rotor in named(actuator, ROTOR):
                ratio = next(named(actuator, GEAR), ElementTree.Element(GEAR)).get("value", "1")
                spot = f"{where}: {ROTOR} ({place(rotor, where)})"
                try:
                    reflected = reflected_inertia(rotor.get("value", ""), ratio)
                except ValueError as error:
                    raise ModelError(f"{spot} is no inertia: {error} (valid: >= 0)") from error
                names = [joint.get("name") for joint in transmission.findall("joint")]
                for name in names:
                    if name not in joints:
                        raise ModelError(f"{spot}: no joint '{name}' ({choices(joints)})")
                    if joints[name].get("type") not in _DRIVEN:
                        raise ModelError(f"{spot} is that of joint '{name}' (valid: of one axis)")
                    total = float(joints[name].get(ARMATURE, "0")) + reflected
                    joints[name].set(ARMATURE, repr(total))
                    found = True
    return found


def _complete_inertials(robot: ElementTree.Element, where: str) -> bool:
    """Write out zeros that an inertial leaves out; the parser would drop it as a whole."""
    points, found = [], False
    for link in robot.findall("link"):
        for inertial in link.findall("inertial"):
            if inertial.find("mass") is None:
                ElementTree.SubElement(inertial, "mass", value="0")
                found = True
            inertia = inertial.find("inertia")
            if inertia is None:
                inertia = ElementTree.SubElement(inertial, "inertia")
                points.append(f"'{link.get('name')}' ({place(inertial, where)})")
            missing = [key for key in _MOMENTS if key not in inertia.attrib]
            inertia.attrib.update(dict.fromkeys(missing, "0"))
            found = found or bool(missing)
    if points:
        warnings.warn(
            f"{where}: links without an inertia are points with a mass: {', '.join(points)}",
            ModelWarning,
            stacklevel=5,
        )
    return found


def _check_quaternions(robot: ElementTree.Element, where: str) -> None:
    """Refuse an orientation that the parser would pass over."""
    version = robot.get("version", "1.0")
    for origin in robot.iter("origin"):
        if "quat_xyzw" in origin.attrib and version not in _QUATERNION_VERSIONS:
            raise ModelError(
                f"{where}: origin quat_xyzw ({place(origin, where)}) needs "
                f'<robot version="{_QUATERNION_VERSIONS[0]}">, got "{version}"'
            )


def _name_zero_limits(robot: ElementTree.Element, where: str) -> None:
    """Say which joints have a limit of zero, which is taken as none."""
    names = []
    for joint in robot.findall("joint"):
        limit = joint.find("limit")
        driven = joint.get("type") in _DRIVEN and joint.find("mimic") is None
        if driven and limit is not None:
            zero = [key for key in ("effort", "velocity") if is_zero(limit.get(key, ""))]
            if zero:
                name = joint.get("name")
                names.append(f"{' and '.join(zero)} of '{name}' ({place(limit, where)})")
    if names:
        warnings.warn(
            f"{where}: limits of zero taken as none: {', '.join(names)}", ModelWarning, stacklevel=5
        )


def _drop_foreign(robot: ElementTree.Element, where: str) -> bool:
    """Remove elements and attributes of other programs, whose names have a prefix."""
    found = False
    for element in list(robot.iter()):
        for key in [key for key in element.attrib if ":" in key and not key.startswith("xmlns:")]:
            del element.attrib[key]
            found = True
        for child in list(element):
            if ":" in child.tag:
                name = child.tag.partition(":")[2]
                if element is robot and name in _STRUCTURE:
                    raise ModelError(
                        f"{where}: {name} '{child.get('name')}' belongs to an extension of URDF "
                        f"({place(child, where)}; {choices(sorted(_STRUCTURE))} without a prefix)"
                    )
                element.remove(child)
                found = True
    return found
