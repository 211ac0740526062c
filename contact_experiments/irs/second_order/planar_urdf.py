"""A planar scene as URDFs: objects on three joints, robots on their own, fixtures at rest."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable

import numpy as np

from irs_planner.scenes.scene import Box, Circle, HalfPlane, Link, PlanarRobot, PlanarScene, Shape
from irs_planner.scenes.scene_arrays import compose

AXES = {"revolute": "1 0 0", "prismatic_y": "0 1 0", "prismatic_z": "0 0 1"}
TYPES = {"revolute": "revolute", "prismatic_y": "prismatic", "prismatic_z": "prismatic"}
OBJECT_JOINTS = (("y", "prismatic_y"), ("z", "prismatic_z"), ("angle", "revolute"))

CARRIER_MASS = 1e-6
"""Mass [kg] and inertia [kg m^2] of the bodies between the joints of an object."""
DEPTH = 1.0
"""Extent of boxes across the plane [m]."""
GROUND = 10.0
"""Extent of the box that stands for a half plane [m]."""


def object_urdfs(scene: PlanarScene) -> dict[str, str]:
    """Return name -> URDF of every object; its joints are named as its states."""
    urdfs = {}
    for item in scene.objects:
        robot = _robot(item.name)
        parent = f"{item.name}/base"
        for axis, joint in OBJECT_JOINTS:
            child = item.name if axis == "angle" else f"{item.name}/{axis}_carrier"
            mass, inertia = (item.mass, item.inertia) if axis == "angle" else (CARRIER_MASS,) * 2
            _add_link(robot, child, mass, inertia, item.shapes if axis == "angle" else ())
            _add_joint(robot, f"{item.name}/{axis}", joint, parent, child, (0.0, 0.0, 0.0))
            parent = child
        urdfs[item.name] = ElementTree.tostring(robot, encoding="unicode")
    return urdfs


def joint_name(link: Link) -> str:
    """Return the name of the joint that moves a link."""
    return f"{link.name}_joint"


def robot_urdfs(scene: PlanarScene, mass: float, inertia: float) -> dict[str, str]:
    """Return name -> URDF of every robot.

    Args:
        scene: The scene, whose links have no mass.
        mass: Of every link [kg].
        inertia: Of every link, about its frame [kg m^2].
    """
    return {robot.name: _robot_urdf(robot, mass, inertia) for robot in scene.robots}


def fixture_urdfs(scene: PlanarScene) -> dict[str, str]:
    """Return name -> URDF of everything that never moves."""
    urdfs = {}
    for fixture in scene.fixtures:
        robot = _robot(fixture.name)
        root = robot.find("link")
        assert root is not None
        for i, shape in enumerate(fixture.shapes):
            _add_shape(root, f"{fixture.name}_{i}", shape)
        urdfs[fixture.name] = ElementTree.tostring(robot, encoding="unicode")
    return urdfs


def _robot_urdf(planar: PlanarRobot, mass: float, inertia: float) -> str:
    robot, base = _robot(planar.name), f"{planar.name}/base"
    root = robot.find("link")
    assert root is not None
    for i, shape in enumerate(planar.base_shapes):
        _add_shape(root, f"{planar.name}_base_{i}", shape, planar.base)
    for link in planar.links:
        _add_link(robot, link.name, mass, inertia, link.shapes)
        origin = link.origin if link.parent else compose(planar.base, link.origin)
        _add_joint(robot, joint_name(link), link.joint, link.parent or base, link.name, origin)
    return ElementTree.tostring(robot, encoding="unicode")


def _robot(name: str) -> ElementTree.Element:
    robot = ElementTree.Element("robot", name=name)
    ElementTree.SubElement(robot, "link", name=f"{name}/base")
    return robot


def _add_link(
    robot: ElementTree.Element, name: str, mass: float, inertia: float, shapes: Iterable[Shape]
) -> None:
    link = ElementTree.SubElement(robot, "link", name=name)
    inertial = ElementTree.SubElement(link, "inertial")
    ElementTree.SubElement(inertial, "mass", value=str(mass))
    isotropic = {"ixx": inertia, "iyy": inertia, "izz": inertia, "ixy": 0, "ixz": 0, "iyz": 0}
    ElementTree.SubElement(inertial, "inertia", {k: str(v) for k, v in isotropic.items()})
    for i, shape in enumerate(shapes):
        _add_shape(link, f"{name}_{i}", shape)


def _add_shape(
    link: ElementTree.Element, name: str, shape: Shape, frame: tuple[float, ...] = (0.0, 0.0, 0.0)
) -> None:
    collision = ElementTree.SubElement(link, "collision", name=name)
    match shape:
        case Circle():
            pose, kind, size = (*shape.center, 0.0), "sphere", {"radius": str(shape.radius)}
        case Box():
            pose = (*shape.center, shape.angle)
            kind, size = "box", {"size": f"{DEPTH} {shape.size[0]} {shape.size[1]}"}
        case HalfPlane():
            normal = np.array(shape.normal) / np.linalg.norm(shape.normal)
            center = np.array(shape.point) - 0.5 * GROUND * normal
            pose = (*center, float(np.arctan2(-normal[0], normal[1])))
            kind, size = "box", {"size": f"{GROUND} {GROUND} {GROUND}"}
    y, z, angle = compose(frame, pose)
    ElementTree.SubElement(collision, "origin", xyz=f"0 {y} {z}", rpy=f"{angle} 0 0")
    ElementTree.SubElement(ElementTree.SubElement(collision, "geometry"), kind, size)


def _add_joint(
    robot: ElementTree.Element,
    name: str,
    joint: str,
    parent: str,
    child: str,
    origin: tuple[float, ...],
) -> None:
    element = ElementTree.SubElement(robot, "joint", name=name, type=TYPES[joint])
    ElementTree.SubElement(element, "parent", link=parent)
    ElementTree.SubElement(element, "child", link=child)
    y, z, angle = origin
    ElementTree.SubElement(element, "origin", xyz=f"0 {y} {z}", rpy=f"{angle} 0 0")
    ElementTree.SubElement(element, "axis", xyz=AXES[joint])
    unlimited = {"lower": "-1e300", "upper": "1e300", "effort": "0", "velocity": "0"}
    ElementTree.SubElement(element, "limit", unlimited)
