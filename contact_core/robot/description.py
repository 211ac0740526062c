"""Robot and object descriptions: where they are kept, and how parts make one robot."""

from __future__ import annotations

import hashlib
import math
import warnings
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import coal
import numpy as np
import pinocchio as pin

from contact_core.base.config import (
    config_file,
    for_joints,
    from_mapping,
    nested,
    parameter,
    read_extended,
)
from contact_core.base.errors import ConfigError, ModelError, ModelWarning, choices
from contact_core.base.files import find_shared
from contact_core.model.elements import parse, read_text
from contact_core.model.mesh_file import read_solids
from contact_core.model.mjcf.model import read_mjcf
from contact_core.model.model_file import MJCF, self_contained
from contact_core.model.sdf import set_free
from contact_core.model.urdf import check_uncoupled, lock_joints, read_tree
from contact_core.multibody.collision.collision_element import CollisionElement, collision_elements
from contact_core.multibody.collision.convex_parts import convex_hulls, load_coacd
from contact_core.multibody.collision.shapes import (
    PlacedShape,
    Shape,
    ShapeKind,
    mesh_shape,
    shape_from_coal,
    triangles_from_coal,
)

ZERO = (0.0, 0.0, 0.0)
BASE = "base_mount"
"""Root link of a robot whose first part is not at its origin."""
PARTS = ("arm", "gripper", "other_arm", "other_gripper")
"""Of a robot's file, in the order in which they are mounted."""
NO_SHAPE = Shape(ShapeKind.SPHERE)  # in the place of one that is not yet made


@dataclass(frozen=True)
class Part:
    """One URDF file of a robot, and where it is bolted on.

    The first part of a robot is its base and needs no mount: its root link is the robot's, unless
    it is elsewhere or leans, as under a ceiling. Gravity is along -z of the robot's root link.
    """

    urdf: str = parameter("", "URDF file below description/; empty if there is no such part")
    prefix: str = parameter("", "text put before every link and joint name of the part")
    mount_link: str = parameter(
        "", "link of an earlier part that carries this part's root link; of the first, a new one"
    )
    xyz: tuple[float, ...] = parameter(
        ZERO, "origin of the part's root link in the mount link", unit="m", size=3
    )
    rpy: tuple[float, ...] = parameter(
        ZERO, "roll, pitch and yaw of the part's root link in the mount link", unit="rad", size=3
    )


@dataclass(frozen=True)
class JointFrictionConfig:
    """Friction of the arm's joints; a zero leaves what the arm's description says."""

    kinetic: tuple[float, ...] = parameter(
        (0.0,), "friction while a joint slides", unit="Nm", low=0.0, per_joint=True
    )
    static_ratio: float = parameter(
        1.0,
        "friction at which a joint breaks away, relative to the kinetic friction",
        low=1.0,
        high=10.0,
    )
    stribeck_velocity: float = parameter(
        0.01,
        "velocity at which 1/e of the difference of static and kinetic friction is left",
        unit="rad/s",
        above=0.0,
    )
    viscous: tuple[float, ...] = parameter(
        (0.0,),
        "viscous damping on top of Coulomb friction",
        unit="Nm s/rad",
        low=0.0,
        per_joint=True,
    )
    presliding_stiffness: tuple[float, ...] = parameter(
        (0.0,),
        "stiffness of the spring that friction is before it slides; with 0 friction is "
        "regularised, and creeps",
        unit="Nm/rad",
        low=0.0,
        per_joint=True,
    )


@dataclass(frozen=True)
class JointsConfig:
    """What the arm's joints are like, and the controller of its factory that moves them."""

    home: tuple[float, ...] = parameter(
        description="joint positions at the start of a scene that does not state any",
        unit="rad",
        per_joint=True,
    )
    stiffness: tuple[float, ...] = parameter(
        description="diagonal of K of the joint impedance control, as set on the robot",
        unit="Nm/rad",
        above=0.0,
        high=1e5,
        per_joint=True,
    )
    spring_torque: tuple[float, ...] = parameter(
        description="largest torque that a controller may ask of the joint springs",
        unit="Nm",
        above=0.0,
        high=1e4,
        per_joint=True,
    )
    damping_ratio: float = parameter(
        0.7,
        "damping of the joint springs relative to critical, 2 ratio sqrt(K m_ii)",
        low=0.0,
        high=1.0,
    )
    effective_armature: tuple[float, ...] = parameter(
        (0.0,),
        "rotor inertia that a simulated arm feels at the joint under joint-torque feedback",
        unit="kg m^2",
        low=0.0,
        per_joint=True,
    )
    friction: JointFrictionConfig = nested(JointFrictionConfig)
    torque_noise: tuple[float, ...] = parameter(
        (0.1,),
        "standard deviation of the external torque's white noise",
        unit="Nm",
        low=0.0,
        per_joint=True,
    )


@dataclass(frozen=True)
class RobotConfig:
    """The schema of ``config/robots/*.yaml``.

    A file may start from another one, ``extends: NAME``, and say only what differs.
    """

    name: str = parameter(description="name of the composed robot")
    arm_joints: tuple[str, ...] = parameter(
        description="arm joints from the base to the flange, in the order of q; those of another "
        "arm after them"
    )
    tool_link: str = parameter(description="link whose frame is the end effector")
    joints: JointsConfig = parameter(description="properties of the joints")
    arm: Part = nested(Part)
    gripper: Part = nested(Part)
    other_arm: Part = nested(Part)
    other_gripper: Part = nested(Part)
    gripper_joint: str = parameter("", "joint that opens the gripper; empty without a gripper")
    calibration: str = parameter(
        "",
        "file beside this one, written by `contact-stack calibrate`, that says how far one arm "
        "differs from all this; empty if that is not known",
    )


def _check_joints(file: str, model: pin.Model, config: RobotConfig) -> None:
    """Compare what a robot's file says of joints with the limits of the URDF.

    Raises:
        ModelError: If a limit of speed or effort is missing, or a value beyond its limit.
    """
    joints = config.joints
    for name, home, spring in zip(
        config.arm_joints, joints.home, joints.spring_torque, strict=True
    ):
        joint = model.joints[model.getJointId(name)]
        if joint.nq != 1:
            continue  # a robot says what is wrong with it
        speed, effort = model.velocityLimit[joint.idx_v], model.effortLimit[joint.idx_v]
        low, high = model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q]
        if not (0.0 < speed < math.inf and 0.0 < effort < math.inf):
            raise ModelError(
                f"{file}: joint '{name}' has a velocity limit of {speed:g} rad/s and an effort "
                f"limit of {effort:g} Nm in the URDF (valid: > 0)"
            )
        if not low <= home <= high:
            raise ModelError(
                f"{file}: joints.home has joint '{name}' at {home:g} rad "
                f"(valid: {low:g} to {high:g} rad)"
            )
        if spring > effort:
            raise ModelError(
                f"{file}: joints.spring_torque of '{name}' is {spring:g} Nm (valid: at most its "
                f"effort limit, {effort:g} Nm)"
            )


class GripperDrive(NamedTuple):
    """The joint that opens a gripper.

    Attributes:
        lower: Smallest position of a finger [m or rad].
        upper: Largest position of a finger [m or rad].
        speed: Its velocity limit [m/s or rad/s].
        turns: Whether it turns.
    """

    lower: float
    upper: float
    speed: float
    turns: bool


@dataclass(frozen=True)
class RobotDescription:
    """A robot as simulator, controller, estimator and viewer share it.

    Attributes:
        name: Name of the robot.
        urdf: Text of the composed URDF, fit for ``robot_description``.
        arm_joints: Names of the n arm joints in the order of q.
        tool_link: Link whose frame is the end effector (z = approach direction).
        joints: What the joints are like, one value a joint.
        gripper_joint: Joint that opens the gripper; empty without gripper.
        calibration: File that says how wrong this description is of one arm, or None.
    """

    name: str
    urdf: str
    arm_joints: tuple[str, ...]
    tool_link: str
    joints: JointsConfig
    gripper_joint: str
    calibration: Path | None = None

    @staticmethod
    def load(name: str) -> RobotDescription:
        """Read a robot.

        Args:
            name: File name in ``config/robots`` without ``.yaml``, or a path to a file.

        Returns:
            The robot.

        Raises:
            ConfigError: If the file is missing or has invalid values.
            ModelError: If the parts do not fit together, or a joint or the tool link that
                the file names does not exist or is in the wrong place, or if a joint of the arm
                follows another one.
        """
        path = config_file("robots", name)
        values = read_extended("robots", path, _files)
        try:
            config = from_mapping(RobotConfig, values)
            config = for_joints(config, len(config.arm_joints))
        except ConfigError as error:
            raise ConfigError(f"{path.name}: {error}") from error
        parts = [part for part in (getattr(config, name) for name in PARTS) if part.urdf]
        urdf = compose(config.name, parts)
        model = read_tree(urdf)
        joints = [*config.arm_joints, *filter(None, [config.gripper_joint])]
        for joint in joints:
            if not model.existJointName(joint):
                raise ModelError(
                    f"{path.name}: no joint '{joint}' ({choices(list(model.names)[1:])})"
                )
        try:
            check_uncoupled(urdf, config.arm_joints, config.gripper_joint)
        except ModelError as error:
            raise ModelError(f"{path.name}: {error}") from error
        if not model.existBodyName(config.tool_link):
            links = [frame.name for frame in model.frames if frame.type == pin.FrameType.BODY]
            raise ModelError(f"{path.name}: no link '{config.tool_link}' ({choices(links)})")
        if config.gripper_joint in config.arm_joints:
            others = [name for name in list(model.names)[1:] if name not in config.arm_joints]
            raise ModelError(f"{path.name}: gripper_joint '{config.gripper_joint}' is one of "
                             f"arm_joints ({choices(others)})")  # fmt: skip
        arm = {model.getJointId(name) for name in config.arm_joints}
        moved = [frame.name for frame in model.frames if frame.type == pin.FrameType.BODY
                 and arm.intersection(model.supports[frame.parentJoint])]  # fmt: skip
        if config.tool_link not in moved:
            raise ModelError(f"{path.name}: no joint of arm_joints moves tool_link "
                             f"'{config.tool_link}' ({choices(moved)})")  # fmt: skip
        _check_joints(path.name, model, config)
        return RobotDescription(
            config.name,
            urdf,
            config.arm_joints,
            config.tool_link,
            config.joints,
            config.gripper_joint,
            path.parent / config.calibration if config.calibration else None,
        )

    @property
    def fingerprint(self) -> str:
        """Twelve digits that two robots share only if nothing a controller knows differs."""
        known = (self.urdf, self.arm_joints, self.tool_link, self.joints, self.gripper_joint)
        return hashlib.sha256(repr(known).encode()).hexdigest()[:12]

    @property
    def base_link(self) -> str:
        """Name of the root link, whose frame is the world frame."""
        return _root_link(parse(self.urdf, self.name), self.name)

    @property
    def open_position(self) -> float:
        """Largest position of a finger [m or rad]; infinite without a gripper."""
        drive = self.gripper_drive
        return math.inf if drive is None else drive.upper

    @property
    def gripper_turns(self) -> bool:
        """Whether the gripper's joint turns: in rad and Nm is then what else is in m and N."""
        drive = self.gripper_drive
        return drive is not None and drive.turns

    @cached_property
    def gripper_drive(self) -> GripperDrive | None:
        """The joint that opens the gripper; None without one."""
        model = self.model()
        if not model.existJointName(self.gripper_joint):
            return None
        joint = model.joints[model.getJointId(self.gripper_joint)]
        return GripperDrive(
            float(model.lowerPositionLimit[joint.idx_q]),
            float(model.upperPositionLimit[joint.idx_q]),
            float(model.velocityLimit[joint.idx_v]),
            joint.shortname().startswith("JointModelR"),
        )

    def model(self) -> pin.Model:
        """Return the kinematic tree of arm and gripper, one finger following the other."""
        return pin.buildModelFromXML(self.urdf, True)

    def arm_model(self, gripper_position: float = 0.0) -> pin.Model:
        """Return the model of the arm alone with the gripper as part of its last link.

        Args:
            gripper_position: Where the fingers are held [m or rad].

        Returns:
            A model with nq = nv = n whose joints are in the order of ``arm_joints``, and
            whose frames include every link of the arm and the gripper.
        """
        model = read_tree(self.urdf)
        fingers = [name for name in list(model.names)[1:] if name not in self.arm_joints]
        configuration = pin.neutral(model)
        for name in fingers:
            configuration[model.joints[model.getJointId(name)].idx_q] = gripper_position
        locked = [model.getJointId(name) for name in fingers]
        return lock_joints(model, locked, configuration)

    def shapes(self) -> tuple[PlacedShape, ...]:
        """Return the collision shapes of all links, each placed in the frame of its link."""
        return collision_shapes(self.urdf)


def _files(values: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """What names files in a robot's file."""
    for part in map(values.get, PARTS):
        if isinstance(part, dict) and part.get("urdf"):
            yield part, "urdf"
    if values.get("calibration"):
        yield values, "calibration"


def collision_shapes(
    text: str,
    meshes: bool = False,
    repair: bool = False,
    decompose: float = 0.0,
    simplify: float = 0.0,
) -> tuple[PlacedShape, ...]:
    """Return the collision shapes of a URDF or MJCF, each placed in the frame of its link.

    Args:
        text: Its text.
        meshes: Whether to accept meshes, as their convex hulls; a warning names those whose
            surface is further from the hull's than a share CONCAVE of its extent.
        repair: Whether meshes that are missing or have no volume, and shapes of no size, are left
            out, with a warning.
        decompose: Meshes whose surface is further from the hull's than this share of its extent
            become convex parts, NAME_0, NAME_1, ..., see :func:`convex_parts`; none if zero.
        simplify: How far from them simplified convex hulls may be [m]; if zero, only those of
            too many faces are simplified, see :func:`convex_hull`.

    Returns:
        The shapes, in the order of the file.

    Raises:
        ModelError: If the file is invalid, a mesh is missing, or a shape is none we know; the
            message names the link. If what splits meshes is not installed.
    """
    if decompose:
        load_coacd()
    solids = _mjcf_solids(text, repair) if is_mjcf(text) else _urdf_solids(text, repair)
    shapes: list[PlacedShape] = []
    solid: list[str] = []
    for geometry, placed in solids:
        if not (meshes and isinstance(geometry, coal.BVHModelBase | coal.ConvexBase)):
            shapes.append(replace(placed, shape=shape_from_coal(geometry, placed.name)))
            continue
        try:
            hulls, excess = convex_hulls(
                *triangles_from_coal(geometry), placed.name, decompose, simplify
            )
        except ModelError as error:
            if not repair:
                raise
            warnings.warn(f"{error}: left out", ModelWarning, stacklevel=2)
            continue
        if excess:
            solid.append(f"'{placed.name}' ({excess})")
        for number, (hull, center) in enumerate(hulls):
            name = placed.name if len(hulls) == 1 else f"{placed.name}_{number}"
            pose = placed.placement * pin.SE3(np.eye(3), center)
            shapes.append(replace(placed, name=name, shape=mesh_shape(hull), placement=pose))
    if solid:
        warnings.warn(
            "these meshes are not convex, or not closed, and collide as convex hulls, so far from "
            f"their surfaces: {', '.join(solid)}; decompose splits them into convex parts",
            ModelWarning,
            stacklevel=2,
        )
    return tuple(shapes)


def _urdf_solids(urdf: str, repair: bool) -> Iterator[tuple[coal.CollisionGeometry, PlacedShape]]:
    """What collides in a URDF: Coal's geometry, and all but the shape that it becomes."""
    model = read_tree(urdf)
    if repair:
        urdf = _without_missing(urdf)
    elements = collision_elements(parse(urdf, "the URDF"), repair)
    try:
        solids = read_solids(model, urdf, pin.GeometryType.COLLISION)
    except (ValueError, RuntimeError) as error:
        raise ModelError(_mesh_error(elements, " ".join(str(error).split()))) from error
    read = Counter(model.frames[item.parentFrame].name for item in solids)
    for name, count in Counter(element.link for element in elements).items():
        if read[name] != count:
            raise ModelError(
                f"link '{name}' has {count} collisions, of which {read[name]} can be read (valid: "
                "all; the parser stops at an element that it cannot read)"
            )
    for item in solids:
        link = model.frames[item.parentFrame]
        # Pinocchio numbers the collisions of a link: LINK_0, LINK_1, ...
        number = int(item.name.removeprefix(f"{link.name}_"))
        element = [element for element in elements if element.link == link.name][number]
        if element.wrong:
            warnings.warn(f"{element.wrong}: left out", ModelWarning, stacklevel=3)
            continue
        solid, placement = item.geometry, link.placement.actInv(item.placement)
        if element.endless:
            placement = placement * pin.SE3(np.eye(3), np.array([0.0, 0.0, solid.halfSide[2]]))
            solid = coal.Halfspace(0.0, 0.0, 1.0, 0.0)
        said = element.surface.get
        yield (
            solid,
            PlacedShape(
                element.name,
                link.name,
                NO_SHAPE,
                placement,
                stiffness=said("stiffness"),
                dissipation=said("dissipation"),
                friction=said("friction"),
            ),
        )


def _without_missing(urdf: str) -> str:
    """Leave out collision meshes whose files do not exist, with a warning."""
    robot, missing = parse(urdf, "the URDF"), []
    for link in robot.findall("link"):
        for collision in link.findall("collision"):
            mesh = collision.find("geometry/mesh")
            name = "" if mesh is None else mesh.get("filename", "")
            if mesh is not None and not Path(name).is_file():
                link.remove(collision)
                missing.append(f"'{name}' of link '{link.get('name')}'")
    if missing:
        warnings.warn(
            f"missing collision meshes left out: {', '.join(missing)}", ModelWarning, stacklevel=4
        )
    return ElementTree.tostring(robot, encoding="unicode")


def _mjcf_solids(mjcf: str, repair: bool) -> Iterator[tuple[coal.CollisionGeometry, PlacedShape]]:
    """What collides in a MJCF, likewise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # Given with the bodies.
        geoms = read_mjcf(mjcf, weigh=False, repair=repair).geoms
    for geom in geoms:
        yield (
            geom.solid(),
            PlacedShape(
                geom.name,
                geom.body,
                NO_SHAPE,
                geom.placement,
                geom.contype,
                geom.conaffinity,
                geom.condim,
                geom.priority,
                None,
                None,
                *geom.friction,
                geom.name,
                geom.partners,
            ),
        )


def _mesh_error(elements: Sequence[CollisionElement], message: str) -> str:
    """Add to a message of the mesh loader which collision it is about."""
    for element in elements:
        if element.filename and element.filename in message:
            return f"link '{element.link}': collision '{element.name}': {message}"
    return f"cannot read the collision shapes: {message}"


def read_urdf(urdf: str | Path, roots: Sequence[str | Path] = (), free: bool = False) -> str:
    """Return the text of a URDF or MJCF file, with absolute paths to its meshes.

    Args:
        urdf: Path below ``description/``, e.g. ``"urdf/mug.urdf"``; or else one from the
            current folder, or an absolute one.
        roots: Folders in which meshes and their packages are looked for first; else they are
            those above the file, and those that ROS knows.
        free: Whether its root is to float, see :func:`contact_core.model.sdf.set_free`.

    Returns:
        The text.

    Raises:
        ConfigError: If there is no such file.
        ModelError: If it is no text, or not well-formed XML.
    """
    path = Path(urdf)
    if not path.is_absolute() and (shipped := find_shared("description", str(urdf))):
        path = shipped
    try:
        text = read_text(path)
    except OSError as error:
        raise ConfigError(
            f"cannot find or read {path.absolute()}, nor one below description/: {error.strerror}"
        ) from error
    text = self_contained(text, str(path), path.absolute().parent, [Path(root) for root in roots])
    return set_free(text) if free else text


def is_mjcf(text: str) -> bool:
    """Tell whether what :func:`read_urdf` returned is a MJCF, for simulators alone.

    Args:
        text: The text.

    Raises:
        ModelError: If it is not well-formed XML.
    """
    return bool(parse(text, "the URDF").tag == MJCF)


def compose(name: str, parts: Sequence[Part]) -> str:
    """Join several URDF files to one robot.

    Args:
        name: Name of the robot.
        parts: Its parts; each but the first names the link that carries it, the first may name a
            root link of its own.

    Returns:
        Text of one URDF, with every part's names prefixed.

    Raises:
        ConfigError: If a file is missing.
        ModelError: If a mount link does not exist or two parts share a name.
    """
    robot = ElementTree.Element("robot", name=name)
    for part in parts:
        source = parse(read_urdf(part.urdf), part.urdf)
        # The newest version has all that the others have.
        if source.get("version", "") > robot.get("version", ""):
            robot.set("version", source.get("version", ""))
        _add_prefix(source, part.prefix)
        if not len(robot) and (part.mount_link or any((*part.xyz, *part.rpy))):
            part = replace(part, mount_link=part.mount_link or BASE)
            ElementTree.SubElement(robot, "link", name=part.mount_link)
        if len(robot):
            robot.append(_mount_joint(robot, part, _root_link(source, part.urdf)))
        _merge(robot, source, part.urdf)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding="unicode")


def _add_prefix(source: ElementTree.Element, prefix: str) -> None:
    for element in [*source.findall("link"), *source.findall("joint")]:
        element.set("name", prefix + element.get("name", ""))
    for joint in source.findall("joint"):
        for tag, attribute in (("parent", "link"), ("child", "link"), ("mimic", "joint")):
            for reference in joint.findall(tag):
                reference.set(attribute, prefix + reference.get(attribute, ""))


def _root_link(source: ElementTree.Element, urdf: str) -> str:
    children = {child.get("link") for child in source.findall("joint/child")}
    roots = [link.get("name", "") for link in source.findall("link")]
    roots = [link for link in roots if link not in children]
    if len(roots) != 1:
        raise ModelError(f"{urdf} must have one root link, found: {', '.join(roots) or 'none'}")
    return roots[0]


def _mount_joint(robot: ElementTree.Element, part: Part, child: str) -> ElementTree.Element:
    links = [link.get("name", "") for link in robot.findall("link")]
    if part.mount_link not in links:
        raise ModelError(f"{part.urdf} is mounted on '{part.mount_link}' ({choices(links)})")
    joint = ElementTree.Element("joint", name=f"{child}_mount", type="fixed")
    ElementTree.SubElement(joint, "parent", link=part.mount_link)
    ElementTree.SubElement(joint, "child", link=child)
    xyz, rpy = (" ".join(f"{x:.12g}" for x in vector) for vector in (part.xyz, part.rpy))
    ElementTree.SubElement(joint, "origin", xyz=xyz, rpy=rpy)
    return joint


def _merge(robot: ElementTree.Element, source: ElementTree.Element, urdf: str) -> None:
    taken = {(element.tag, element.get("name")) for element in robot}
    for element in source:
        if (element.tag, element.get("name")) not in taken:
            robot.append(element)
        elif element.tag != "material":
            raise ModelError(f"{urdf}: {element.tag} '{element.get('name')}' exists already")


def placement(xyz: Sequence[float] = ZERO, rpy: Sequence[float] = ZERO) -> pin.SE3:
    """Return a pose from URDF's numbers.

    Args:
        xyz: Translation [m].
        rpy: Roll, pitch, yaw [rad], applied about the fixed x, y, z axes in this order.

    Returns:
        The pose.
    """
    return pin.SE3(pin.rpy.rpyToMatrix(*rpy), np.array(xyz, dtype=float))
