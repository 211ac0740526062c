"""SDF as a URDF: the common subset of both, and what SDF says about floating and ball joints.

A model that is not static floats, unless a joint holds it; so the root of the URDF is the world.
A joint that is not where its child link is gets a link of its own there.
"""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, ModelWarning, choices
from contact_core.multibody.collision.collision_element import CAPSULE_VERSION

SDF = "sdf"  # its root element
WORLD = "world"
MODEL = "__model__"
GRAVITY = "gravity"  # attribute of the URDF's root that keeps that of the file's world
BALL = "ball"  # kind of a joint; attribute of the floating one that stands for it in a URDF
JOINTS = ("revolute", "continuous", "prismatic", "fixed", BALL)
_GEOMETRIES = ("box", "sphere", "cylinder", "capsule", "mesh", "plane")
_LOOKS = {"visual", "sensor", "light", "plugin", "self_collide", "static", "pose", "audio_sink",
          "audio_source", "particle_emitter", "projector", "enable_wind", "allow_auto_disable",
          "velocity_decay"}  # fmt: skip
_MODEL = ("link", "joint", "frame")
_LINK = ("inertial", "collision")
_ENDLESS = 1e16  # SDF's way to say that there is no limit
_NONE = 1e305  # ours, in a URDF
_THICK = 2.0  # of the box that stands for a plane [m]
_WIDE = 100.0


def sdf_to_urdf(root: ElementTree.Element) -> ElementTree.Element:
    """Return the URDF of the one model in a SDF.

    Args:
        root: Its root element.

    Returns:
        Root element of the URDF, whose root link is the world.

    Raises:
        ModelError: If there is not one model in it, or it has what we cannot simulate; the
            message names it.
    """
    models = [*root.findall("model"), *root.findall("world/model")]
    if len(models) != 1 or root.findall(".//include"):
        names = [model.get("name", "") for model in models]
        raise ModelError(
            f"the SDF has the models {names} and {len(root.findall('.//include'))} included ones "
            "(valid: one model, not included)"
        )
    reader = _Reader(models[0], root.get("version", "1.7"))
    gravity = root.findtext("world/gravity")
    try:
        if gravity:
            reader.robot.set(GRAVITY, _numbers(np.array(gravity.split(), dtype=float)))
        reader.read()
    except ValueError as error:
        raise ModelError(f"the SDF has a number that is none: {error}") from error
    return reader.robot


class _Reader:
    """Reads one model."""

    def __init__(self, model: ElementTree.Element, version: str) -> None:
        self.model = model
        self.old_axes = float(version) < 1.5  # Axes were given in the model's frame.
        name = model.get("name", "model")
        self.robot = ElementTree.Element("robot", name=name, version=CAPSULE_VERSION)
        self.elements: dict[str, ElementTree.Element] = {}
        self.poses: dict[str, pin.SE3] = {MODEL: pin.SE3.Identity()}
        self.pending: list[str] = []

    def read(self) -> None:
        """Read links, then joints, then what floats."""
        for element in self.model:
            if element.tag in _MODEL:
                self.elements[element.get("name", "")] = element
            elif element.tag not in _LOOKS:
                raise ModelError(f"model: unknown element '{element.tag}' ({choices(_MODEL)})")
        if self.model.findtext("self_collide", "").strip() in ("true", "1"):
            name = self.model.get("name")
            warnings.warn(
                f"model '{name}' collides with itself: ask for it, World.collide_with_itself",
                ModelWarning,
                stacklevel=4,
            )
        ElementTree.SubElement(self.robot, "link", name=WORLD)
        held = {
            _text(joint, "child").split("::")[-1]: joint for joint in self.model.findall("joint")
        }
        if len(held) != len(self.model.findall("joint")):
            raise ModelError("joints form a loop: a link is the child of two (valid: of one)")
        for link in self.model.findall("link"):
            self._add_link(link)
        for joint in self.model.findall("joint"):
            self._add_joint(joint)
        for link in self.model.findall("link"):
            if link.get("name", "") not in held:
                self._add_root(link.get("name", ""))

    def _pose(self, name: str) -> pin.SE3:
        """Pose of a link, joint or frame in the model."""
        if name in self.poses:
            return self.poses[name]
        if name not in self.elements:
            raise ModelError(f"no frame '{name}' ({choices([MODEL, *self.elements])})")
        if name in self.pending:
            raise ModelError(f"frames are given in each other: {', '.join(self.pending)}")
        self.pending.append(name)
        element = self.elements[name]
        fallback = {"joint": element.findtext("child", "").strip(), "link": MODEL}.get(
            element.tag, element.get("attached_to", MODEL)
        )
        pose = element.find("pose")
        within = (pose.get("relative_to") if pose is not None else None) or fallback
        self.poses[name] = self._pose(within or MODEL) * _pose(element)
        self.pending.remove(name)
        return self.poses[name]

    def _add_link(self, source: ElementTree.Element) -> None:
        name = source.get("name", "")
        link = ElementTree.SubElement(self.robot, "link", name=name)
        if source.findtext("gravity", "true").strip() in ("false", "0"):
            raise ModelError(f"link '{name}' has no gravity (valid: World.add's weightless)")
        if source.findtext("kinematic", "false").strip() in ("true", "1"):
            raise ModelError(f"link '{name}' is kinematic (valid: World.add's kinematic)")
        for element in source:
            if element.tag not in (*_LINK, *_LOOKS, "gravity", "kinematic"):
                raise ModelError(
                    f"link '{name}': unknown element '{element.tag}' ({choices(_LINK)})"
                )
        self._add_inertial(link, name, source.find("inertial"))
        for collision in source.findall("collision"):
            self._add_collision(link, name, collision)

    def _add_inertial(
        self, link: ElementTree.Element, name: str, source: ElementTree.Element | None
    ) -> None:
        source = ElementTree.Element("inertial") if source is None else source
        if source.get("auto") == "true" or source.find("fluid_added_mass") is not None:
            raise ModelError(
                f"link '{name}': inertial auto or in a fluid (valid: mass and inertia)"
            )
        inertial = ElementTree.SubElement(link, "inertial")
        _origin(inertial, _pose(source))
        ElementTree.SubElement(inertial, "mass", value=source.findtext("mass", "1").strip())
        values = {
            key: source.findtext(f"inertia/{key}", default).strip()
            for key, default in (("ixx", "1"), ("iyy", "1"), ("izz", "1"), ("ixy", "0"),
                                 ("ixz", "0"), ("iyz", "0"))
        }  # fmt: skip
        ElementTree.SubElement(inertial, "inertia", values)

    def _add_collision(
        self, link: ElementTree.Element, body: str, source: ElementTree.Element
    ) -> None:
        name = source.get("name", "")
        where = f"link '{body}': collision '{name}'"
        shape = source.find("geometry/*")
        if shape is None or shape.tag not in _GEOMETRIES:
            kind = "nothing" if shape is None else shape.tag
            raise ModelError(f"{where} is {kind} ({choices(_GEOMETRIES)})")
        pose_element = source.find("pose")
        within = pose_element.get("relative_to") if pose_element is not None else None
        pose = _pose(source)
        if within:
            pose = self._pose(body).actInv(self._pose(within)) * pose
        collision = ElementTree.SubElement(link, "collision", name=name)
        geometry = ElementTree.SubElement(collision, "geometry")
        match shape.tag:
            case "box":
                ElementTree.SubElement(geometry, "box", size=_text(shape, "size"))
            case "sphere":
                ElementTree.SubElement(geometry, "sphere", radius=_text(shape, "radius"))
            case "mesh":
                if shape.find("submesh") is not None:
                    raise ModelError(f"{where} is a submesh (valid: a whole mesh)")
                scale = shape.findtext("scale", "1 1 1").strip()
                ElementTree.SubElement(geometry, "mesh", filename=_text(shape, "uri"), scale=scale)
            case "plane":
                # A half space does not exist in URDF; a wide box is one for what stands on it.
                normal = np.array(shape.findtext("normal", "0 0 1").split(), dtype=float)
                turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal)
                pose = pose * pin.SE3(turn.matrix(), np.zeros(3))
                pose = pose * pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.5 * _THICK]))
                ElementTree.SubElement(geometry, "box", size=f"{_WIDE} {_WIDE} {_THICK}")
            case tag:
                ElementTree.SubElement(
                    geometry, tag, radius=_text(shape, "radius"), length=_text(shape, "length")
                )
        _origin(collision, pose)

    def _add_joint(self, source: ElementTree.Element) -> None:
        name, kind = source.get("name", ""), source.get("type", "")
        if kind not in JOINTS:
            raise ModelError(f"joint '{name}' is of type '{kind}' ({choices(JOINTS)})")
        links = [_text(source, key).split("::")[-1] for key in ("parent", "child")]
        for link in links:
            if link != WORLD and self.model.find(f"link[@name='{link}']") is None:
                known = [element.get("name") for element in self.model.findall("link")]
                raise ModelError(f"joint '{name}': no link '{link}' ({choices([WORLD, *known])})")
        parent, child = links
        place = self._pose(parent) if parent != WORLD else _pose(self.model).inverse()
        offset = self._pose(name).actInv(self._pose(child))
        carrier = child
        if not offset.isIdentity(1e-12):
            carrier = f"{name}_carrier"
            ElementTree.SubElement(self.robot, "link", name=carrier)
            self._connect(f"{name}_to_{child}", "fixed", carrier, child, offset)
        in_urdf = "floating" if kind == BALL else kind
        joint = self._connect(name, in_urdf, parent, carrier, place.actInv(self._pose(name)))
        if kind == "fixed":
            return
        axis = source.find("axis")
        axis = ElementTree.Element("axis") if axis is None else axis
        if float(axis.findtext("dynamics/spring_stiffness", "0")) != 0.0:
            raise ModelError(f"joint '{name}' has a spring (valid: spring_stiffness 0)")
        if kind == BALL:
            if float(axis.findtext("dynamics/friction", "0")) != 0.0:
                raise ModelError(f"joint '{name}' is a ball joint with friction (valid: 0)")
            joint.set(BALL, axis.findtext("dynamics/damping", "0").strip())
            return
        self._describe(joint, name, axis)

    def _describe(self, joint: ElementTree.Element, name: str, axis: ElementTree.Element) -> None:
        """Axis, losses, limits, and the joint that it follows."""
        xyz = axis.find("xyz")
        direction = np.array(axis.findtext("xyz", "0 0 1").split(), dtype=float)
        frame = xyz.get("expressed_in") if xyz is not None else None
        if self.old_axes or axis.findtext("use_parent_model_frame", "0").strip() in ("1", "true"):
            frame = MODEL
        if frame:
            direction = self._pose(name).rotation.T @ self._pose(frame).rotation @ direction
        ElementTree.SubElement(joint, "axis", xyz=_numbers(direction))
        damping, friction = (
            axis.findtext(f"dynamics/{key}", "0").strip() for key in ("damping", "friction")
        )
        ElementTree.SubElement(joint, "dynamics", damping=damping, friction=friction)
        if joint.get("type") != "continuous":
            limits = {
                key: _limit(axis.findtext(f"limit/{key}", default))
                for key, default in (("lower", "-inf"), ("upper", "inf"))
            }
        else:
            limits = {"lower": "0", "upper": "0"}
        for key in ("effort", "velocity"):
            value = axis.findtext(f"limit/{key}", "-1").strip()
            limits[key] = "0" if float(value) < 0.0 else value  # Neither is one.
        ElementTree.SubElement(joint, "limit", limits)
        mimic = axis.find("mimic")
        if mimic is not None:
            ratio, offset, reference = (
                float(mimic.findtext(key, default))
                for key, default in (("multiplier", "1"), ("offset", "0"), ("reference", "0"))
            )
            ElementTree.SubElement(
                joint, "mimic", joint=mimic.get("joint", ""), multiplier=repr(ratio),
                offset=repr(offset - ratio * reference),
            )  # fmt: skip

    def _add_root(self, link: str) -> None:
        """Hold or let float a link that no joint carries."""
        static = self.model.findtext("static", "false").strip() in ("true", "1")
        kind = "fixed" if static else "floating"
        self._connect(link, kind, WORLD, link, _pose(self.model) * self._pose(link))

    def _connect(
        self, name: str, kind: str, parent: str, child: str, pose: pin.SE3
    ) -> ElementTree.Element:
        joint = ElementTree.SubElement(self.robot, "joint", name=name, type=kind)
        _origin(joint, pose)
        ElementTree.SubElement(joint, "parent", link=parent)
        ElementTree.SubElement(joint, "child", link=child)
        return joint


def _text(element: ElementTree.Element, path: str) -> str:
    text = (element.findtext(path) or "").strip()
    if not text:
        raise ModelError(f"{element.tag} '{element.get('name', '')}' has no {path}")
    return text


def _pose(element: ElementTree.Element) -> pin.SE3:
    """Pose that an element gives, in whatever it is relative to."""
    pose = element.find("pose")
    if pose is None or not (pose.text or "").split():
        return pin.SE3.Identity()
    numbers = np.array((pose.text or "").split(), dtype=float)
    if pose.get("rotation_format") == "quat_xyzw" and len(numbers) == 7:
        turn = pin.Quaternion(numbers[6], *numbers[3:6]).normalized().matrix()
    elif len(numbers) == 6:
        degrees = pose.get("degrees") in ("true", "1")
        turn = pin.rpy.rpyToMatrix(np.deg2rad(numbers[3:]) if degrees else numbers[3:])
    else:
        raise ModelError(f"a pose must be 6 numbers, or 7 with a quaternion, got '{pose.text}'")
    return pin.SE3(turn, numbers[:3])


def _origin(element: ElementTree.Element, pose: pin.SE3) -> None:
    xyz, rpy = _numbers(pose.translation), _numbers(pin.rpy.matrixToRpy(pose.rotation))
    ElementTree.SubElement(element, "origin", xyz=xyz, rpy=rpy)


def _numbers(vector: np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in vector)


def _limit(text: str) -> str:
    value = float(text)
    return repr(value if abs(value) < _ENDLESS else float(np.copysign(_NONE, value)))
