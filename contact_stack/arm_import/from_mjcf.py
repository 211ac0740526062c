"""A MJCF as a URDF: its bodies and joints, and what of them a URDF can say."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.model.mjcf.geom import Geom
from contact_core.model.mjcf.model import MjcfModel, read_mjcf
from contact_core.multibody.collision.collision_element import CAPSULE_VERSION
from contact_core.multibody.rigid_body.joints import FREE, PRISMATIC, REVOLUTE, joint_type


@dataclass(frozen=True)
class MjcfArm:
    """What a MJCF says and a URDF cannot.

    Attributes:
        armature: Joint -> rotor inertia [kg m^2 or kg].
        start: Joint -> position in the file's keyframe, its home if it has one of that name.
        meshes: File name that stands for a mesh in the URDF -> its geom, where no file has it.
        loops: Equality -> the two bodies that it holds together.
    """

    armature: Mapping[str, float] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)
    meshes: Mapping[str, Geom] = field(default_factory=dict)
    loops: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def urdf_of_mjcf(text: str, name: str) -> tuple[ElementTree.Element, MjcfArm]:
    """Turn a MJCF into a URDF; joints that are free hold where the file places their bodies.

    Args:
        text: The MJCF, see :func:`self_contained`.
        name: Name of the robot.

    Returns:
        Root element of the URDF, and what it cannot say.

    Raises:
        ModelError: If it cannot be read, or has a ball joint.
    """
    model = read_mjcf(text)
    robot = ElementTree.Element("robot", name=name, version=CAPSULE_VERSION)
    tree, meshes = model.tree, dict[str, Geom]()
    carriers: dict[int, str] = {}
    for frame in tree.frames:
        if frame.type != pin.FrameType.BODY:
            continue
        joint = frame.parentJoint
        _add_carriers(robot, model, joint, carriers, frame.name)
        link = _link(robot, frame.name)
        if carriers[joint] != frame.name:
            _joint(robot, f"{frame.name}_fixed", "fixed", carriers[joint], frame.name,
                   frame.placement)  # fmt: skip
        for kind, geoms in (("visual", model.looks), ("collision", model.geoms)):
            for geom in geoms:
                if geom.body == frame.name and geom.kind != "plane":
                    _add_geom(link, kind, geom, meshes)
    armature = {
        str(tree.names[i]): float(tree.armature[tree.joints[i].idx_v])
        for i in range(1, tree.njoints)
        if tree.joints[i].nv == 1
    }
    keys = model.keyframes
    key = keys.get("home", next(iter(keys.values()), None))
    start = {joint: float(q[0]) for joint, q in key.positions.items()} if key else {}
    unsaid = [
        f"{what} {', '.join(names)}"
        for what, names in (("the springs of", model.springs), ("the tendons", model.tendons))
        if names
    ]
    if unsaid:
        warnings.warn(
            f"{' and '.join(unsaid)} are left out: a URDF has none", ModelWarning, stacklevel=2
        )
    loops = {name: equality.bodies for name, equality in model.held.items()}
    return robot, MjcfArm(armature, start, meshes, loops)


def _add_carriers(
    robot: ElementTree.Element, model: MjcfModel, joint: int, carriers: dict[int, str], body: str
) -> None:
    """Add a joint, those before it, and the link that each moves; named as the body if it can."""
    if joint in carriers:
        return
    tree = model.tree
    if joint == 0:
        carriers[0] = body
        return
    parent = tree.parents[joint]
    if parent not in carriers:
        _add_carriers(robot, model, parent, carriers, f"{tree.names[parent]}_axis")
    name = str(tree.names[joint])
    frame = tree.frames[tree.getFrameId(body, pin.FrameType.BODY)] if _is_body(tree, body) else None
    at_origin = frame is not None and frame.placement.isIdentity(1e-12)
    carriers[joint] = body if at_origin else f"{name}_axis"
    link = _link(robot, carriers[joint])
    if tree.inertias[joint].mass > 0.0:
        _add_inertial(link, tree.inertias[joint])
    kind, axis = joint_type(name, tree.joints[joint])
    # What floats is held: an arm of the graph stands on its base.
    kinds = {REVOLUTE: "revolute", PRISMATIC: "prismatic", FREE: "fixed"}
    if kind not in kinds:
        raise ModelError(f"joint '{name}' is a ball joint (valid: revolute, prismatic, fixed)")
    element = _joint(robot, name, kinds[kind], carriers[parent], carriers[joint],
                     tree.jointPlacements[joint])  # fmt: skip
    if kind != FREE:
        _add_law(element, model, name, axis)


def _is_body(tree: pin.Model, name: str) -> bool:
    return bool(tree.existFrame(name, pin.FrameType.BODY))


def _add_law(
    element: ElementTree.Element, model: MjcfModel, name: str, axis: tuple[float, ...]
) -> None:
    source = model.tree.joints[model.tree.getJointId(name)]
    q, v = source.idx_q, source.idx_v
    ElementTree.SubElement(element, "axis", xyz=text_of(axis))
    values = {
        "effort": model.tree.upperEffortLimit[v],
        "velocity": model.tree.upperVelocityLimit[v],
        "lower": model.tree.lowerPositionLimit[q],
        "upper": model.tree.upperPositionLimit[q],
    }
    limits = {key: f"{value:.9g}" for key, value in values.items() if abs(value) < 1e10}
    if "lower" not in limits or "upper" not in limits:
        limits.pop("lower", None), limits.pop("upper", None)
        element.set("type", "continuous" if element.get("type") == "revolute" else "prismatic")
    ElementTree.SubElement(element, "limit", limits)
    friction, damping = model.tree.upperDryFrictionLimit[v], model.tree.damping[v]
    ElementTree.SubElement(
        element, "dynamics", damping=f"{damping:.9g}", friction=f"{friction:.9g}"
    )
    if name in model.followers:
        master, ratio, offset = model.followers[name]
        ElementTree.SubElement(
            element, "mimic", joint=master, multiplier=f"{ratio:.9g}", offset=f"{offset:.9g}"
        )


def _link(robot: ElementTree.Element, name: str) -> ElementTree.Element:
    found = robot.find(f"link[@name='{name}']")
    return ElementTree.SubElement(robot, "link", name=name) if found is None else found


def _joint(
    robot: ElementTree.Element, name: str, kind: str, parent: str, child: str, pose: pin.SE3
) -> ElementTree.Element:
    joint = ElementTree.SubElement(robot, "joint", name=name, type=kind)
    ElementTree.SubElement(joint, "parent", link=parent)
    ElementTree.SubElement(joint, "child", link=child)
    joint.append(origin_of(pose))
    return joint


def _add_inertial(link: ElementTree.Element, inertia: pin.Inertia) -> None:
    inertial = ElementTree.SubElement(link, "inertial")
    ElementTree.SubElement(inertial, "origin", xyz=text_of(inertia.lever))
    ElementTree.SubElement(inertial, "mass", value=f"{inertia.mass:.9g}")
    moments = inertia.inertia
    ElementTree.SubElement(inertial, "inertia", {
        f"i{'xyz'[i]}{'xyz'[j]}": f"{moments[i, j]:.9g}" for i in range(3) for j in range(i, 3)
    })  # fmt: skip


def _add_geom(link: ElementTree.Element, kind: str, geom: Geom, meshes: dict[str, Geom]) -> None:
    element = ElementTree.SubElement(link, kind, name=geom.name)
    element.append(origin_of(geom.placement))
    geometry = ElementTree.SubElement(element, "geometry")
    a, b, c = np.resize(geom.size, 3) if len(geom.size) else (0.0, 0.0, 0.0)
    match geom.kind:
        case "sphere":
            ElementTree.SubElement(geometry, "sphere", radius=f"{a:.9g}")
        case "capsule" | "cylinder":
            ElementTree.SubElement(geometry, geom.kind, radius=f"{a:.9g}", length=f"{2 * b:.9g}")
        case "box":
            ElementTree.SubElement(geometry, "box", size=text_of((2 * a, 2 * b, 2 * c)))
        case _:
            file = geom.mesh.get("file", "")
            if not file or file.endswith(".msh") or geom.kind == "ellipsoid":
                file = f"{geom.mesh.get('name', geom.name)}.stl".replace("/", "_")
                meshes[file] = geom
                ElementTree.SubElement(geometry, "mesh", filename=file)
            else:
                scale = geom.mesh.get("scale", "1 1 1")
                ElementTree.SubElement(geometry, "mesh", filename=file, scale=scale)
    if kind == "visual":
        material = ElementTree.SubElement(element, "material", name="")
        ElementTree.SubElement(material, "color", rgba=text_of(geom.color))


def origin_of(pose: pin.SE3) -> ElementTree.Element:
    """Return a pose as an element of a URDF."""
    rpy = pin.rpy.matrixToRpy(pose.rotation)
    return ElementTree.Element("origin", xyz=text_of(pose.translation), rpy=text_of(rpy))


def text_of(numbers: np.ndarray | tuple[float, ...]) -> str:
    """Return numbers as an attribute of a URDF has them."""
    return " ".join(f"{0.0 if abs(number) < 1e-12 else float(number):.9g}" for number in numbers)
