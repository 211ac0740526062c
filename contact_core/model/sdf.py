"""SDF as a URDF: the common subset of both, and what SDF says about floating and ball joints.

A model that is not static floats, unless a joint holds it; so the root of the URDF is the world.
A joint that is not where its child link is gets a link of its own there. Names of nested models,
and of several ones, keep their scope: ``MODEL::LINK``.
"""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ElementTree
from itertools import combinations

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, ModelWarning, choices
from contact_core.model.elements import named, parse, place
from contact_core.model.extensions import (
    ARMATURE,
    GEAR,
    ROTOR,
    SPRING,
    add_half_space,
    as_text,
    reflected_inertia,
    set_origin,
)
from contact_core.model.file_surface import set_surface, surface_of_sdf
from contact_core.multibody.collision.collision_element import CAPSULE_VERSION

SDF = "sdf"  # its root element
WORLD = "world"
GRAVITY = "gravity"  # attribute of the URDF's root that keeps that of the file's world
BALL = "ball"  # kind of a joint; attribute of the floating one that stands for it in a URDF
# Attribute of a link that keeps the model it belongs to where the file has several, and of a joint
# that keeps the link that it carries.
OWNER, CARRIED = "model", "carried"
WEIGHTLESS = "weightless"  # attribute of a link of the URDF without gravity
TOUCHES_OWN = "self_collide"  # attribute of such a link: whether it touches others of its model
JOINTS = ("revolute", "continuous", "prismatic", "fixed", BALL)
_GEOMETRIES = ("box", "sphere", "cylinder", "capsule", "mesh", "plane")
_SCOPE = "::"
_HERE = "__model__"
_FRAMES = ("link", "joint", "frame", "model")  # elements with a frame of their name
_AXES_IN_JOINTS = (1, 5)  # the version from which axes are not in the model's frame
_ENDLESS = 1e16  # SDF's way to say that there is no limit
_NONE = 1e305  # ours, in a URDF
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def sdf_to_urdf(root: ElementTree.Element) -> ElementTree.Element:
    """Return the URDF of the models in a SDF.

    Args:
        root: Its root element.

    Returns:
        Root element of the URDF, whose root link is the world.

    Raises:
        ModelError: If there is no model in it, or it has what we cannot simulate; the message
            names it.
    """
    worlds = root.findall("world")
    if len(worlds) > 1 or (worlds and root.findall("model")):
        raise ModelError(f"the SDF has {len(worlds)} worlds, and models beside (valid: one world)")
    place = worlds[0] if worlds else root
    models = place.findall("model")
    if not models:
        raise ModelError("the SDF has no model (valid: one or more)")
    try:
        reader = _Reader(place, models, has_old_axes(root))
        gravity = place.findtext("gravity")
        if gravity:
            reader.robot.set(GRAVITY, as_text(np.array(gravity.split(), dtype=float)))
        reader.read()
    except ValueError as error:
        raise ModelError(f"the SDF has a number that is none: {error}") from error
    return reader.robot


def models_apart(robot: ElementTree.Element) -> tuple[dict[str, str], set[frozenset[str]]]:
    """Return which links of several models do not touch each other.

    Args:
        robot: Root element of a URDF that has been made of a SDF.

    Returns:
        Link -> its model, and pairs of links: those of one model unless it collides with itself,
        and those that a joint connects. Both are empty if there is one model, or no SDF.
    """
    links = [link for link in robot.findall("link") if OWNER in link.attrib]
    owners = {link.get("name", ""): link.get(OWNER, "") for link in links}
    passing = [link.get("name", "") for link in links if link.get(TOUCHES_OWN) != "true"]
    apart = {frozenset(p) for p in combinations(passing, 2) if owners[p[0]] == owners[p[1]]}
    for joint in robot.findall("joint"):
        parent = joint.find("parent")
        if CARRIED in joint.attrib and parent is not None:
            apart.add(frozenset((parent.get("link", ""), joint.get(CARRIED, ""))))
    return owners, apart


def set_free(text: str) -> str:
    """Return a model as it is where its root is to float: what floats alone is fixed to that.

    A SDF floats by itself, below a root that is the world.

    Args:
        text: Of a URDF that was a SDF, or of any other model, which is returned as it is.
    """
    robot = parse(text, "the model")
    floating = [joint for joint in robot.iter("joint") if joint.get("type") == "floating"]
    parents = [joint.find("parent") for joint in floating]
    if len(floating) != 1 or parents[0] is None or parents[0].get("link") != WORLD:
        return text
    floating[0].set("type", "fixed")
    return ElementTree.tostring(robot, encoding="unicode")


def has_old_axes(root: ElementTree.Element) -> bool:
    """Return whether axes are in the frame of the model and not in that of the joint.

    Args:
        root: Root element of the SDF.

    Raises:
        ValueError: If its version is none.
    """
    return tuple(map(int, root.get("version", "1.7").split("."))) < _AXES_IN_JOINTS


def _joined(scope: str, name: str) -> str:
    return f"{scope}{_SCOPE}{name}" if scope else name


def says(element: ElementTree.Element, name: str, default: str = "false") -> bool:
    """Return whether an attribute or element of a SDF says yes, in small letters or large ones.

    Args:
        element: What has it.
        name: Its name.
        default: What holds where there is none, or nothing in it.

    Raises:
        ModelError: If it is no boolean.
    """
    given = (element.get(name) or element.findtext(name) or "").strip()
    word = (given or default).lower()
    if word not in _BOOLEANS:
        spot = place(element, "")
        raise ModelError(f"{element.tag}: {name} is '{given}' ({spot}; {choices(_BOOLEANS)})")
    return _BOOLEANS[word]


class _Reader:
    """Reads the models; names of frames are those in the world, which itself is the empty one."""

    def __init__(
        self, place: ElementTree.Element, models: list[ElementTree.Element], old_axes: bool
    ) -> None:
        self.old_axes = old_axes
        name = models[0].get("name", "model")
        self.several = len(models) > 1
        self.robot = ElementTree.Element("robot", name=name, version=CAPSULE_VERSION)
        self.elements: dict[str, ElementTree.Element] = {"": place}
        self.scopes: dict[str, str] = {}  # a name may hold what separates scopes itself
        self.poses: dict[tuple[str, str], pin.SE3] = {}
        self.pending: list[tuple[str, str]] = []
        self._register(place, "")
        self.links = {name: link for name, link in self.elements.items() if link.tag == "link"}
        # What a scope is left out of: the only model has none.
        self.bare = "" if self.several else f"{name}{_SCOPE}"

    def _register(self, element: ElementTree.Element, scope: str) -> None:
        for child in element:
            if child.tag in _FRAMES:
                name = _joined(scope, child.get("name", ""))
                if name in self.elements:
                    raise ModelError(f"two links, joints, frames or models are called '{name}'")
                self.elements[name], self.scopes[name] = child, scope
                if child.tag == "model":
                    self._register(child, name)

    def _outer(self, name: str) -> str:
        return self.scopes.get(name, "")

    def read(self) -> None:
        """Read links, then joints, then what floats."""
        for name, element in self.elements.items():
            own = element.tag == "model" and says(element, "self_collide")
            if own and not self.several:
                warnings.warn(
                    f"model '{name}' collides with itself: ask for it, World.collide_with_itself",
                    ModelWarning,
                    stacklevel=4,
                )
        ElementTree.SubElement(self.robot, "link", name=WORLD)
        for name, link in self.links.items():
            self._add_link(name, link)
        held: dict[str, str] = {}
        for name, joint in self.elements.items():
            if joint.tag == "joint":
                parent, child = self._ends(name, joint)
                # In a static model nothing moves.
                if not self._is_static(child):
                    if child in held:
                        raise ModelError(
                            f"joints form a loop: link '{child}' is the child of '{held[child]}' "
                            f"and '{name}' (valid: of one)"
                        )
                    held[child] = name
                    self._add_joint(name, joint, parent, child)
        for name in self.links:
            if name not in held:
                kind = "fixed" if self._is_static(name) else "floating"
                self._connect(self._name(name), kind, WORLD, self._name(name), self._pose(name))

    def _name(self, name: str) -> str:
        """Name in the URDF."""
        return name.removeprefix(self.bare) if name else WORLD

    def _is_static(self, name: str) -> bool:
        """Whether a model that holds a link, at any depth, is static."""
        while name := self._outer(name):
            if says(self.elements[name], "static"):
                return True
        return False

    def _resolve(self, name: str, scope: str) -> str:
        """Name in the world of a frame that is named within a model."""
        if name in ("", _HERE):
            return scope
        if name == WORLD:
            return ""
        # Old files put their own model's name before the names in it.
        for full in (_joined(scope, name), _joined(self._outer(scope), name)):
            if full in self.elements:
                return full
        within = f"{scope}{_SCOPE}" if scope else ""
        known = [full.removeprefix(within) for full in self.elements if full.startswith(within)]
        raise ModelError(f"no frame '{name}' ({choices([_HERE, *filter(None, known)])})")

    def _pose(self, name: str, base: str = "") -> pin.SE3:
        """Pose of a link, joint, frame or model in the world, or in a model around it."""
        if name == base:
            return pin.SE3.Identity()
        if not name:
            return self._pose(base).inverse()
        if (name, base) in self.poses:
            return self.poses[name, base]
        if (name, base) in self.pending:
            names = ", ".join(name for name, _ in self.pending)
            raise ModelError(f"frames are given in each other: {names}")
        self.pending.append((name, base))
        element = self.elements[name]
        default = {"joint": element.findtext("child", "").strip()}.get(
            element.tag, element.get("attached_to", "")
        )
        within = self._resolve(_relative_to(element) or default, self._outer(name))
        pose = self._pose(within, base) * _pose(element)
        self.pending.remove((name, base))
        frame = element.get("placement_frame", "") if element.tag == "model" else ""
        if frame:
            pose = pose * self._pose(self._resolve(frame, name), name).inverse()
        self.poses[name, base] = pose
        return pose

    def _link_of(self, name: str) -> str:
        """Link that a frame is fixed to; empty if that is the world."""
        element, scope = self.elements[name], self._outer(name)
        match element.tag:
            case "link":
                return name
            case "joint":
                return self._link_of(self._resolve(element.findtext("child", "").strip(), scope))
            case "frame":
                return self._link_of(self._resolve(element.get("attached_to", ""), scope))
            case "model":
                first = next(
                    (child for tag in ("link", "model") for child in element.findall(tag)), None
                )
                if first is None:
                    raise ModelError(f"model '{name}' has no link")
                canonical = element.get("canonical_link", "") or first.get("name", "")
                return self._link_of(self._resolve(canonical, name))
        return ""

    def _ends(self, name: str, joint: ElementTree.Element) -> tuple[str, str]:
        """Links that a joint connects."""
        try:
            parent, child = (
                self._link_of(self._resolve(_text(joint, key), self._outer(name)))
                for key in ("parent", "child")
            )
        except ModelError as error:
            raise ModelError(f"joint '{self._name(name)}': {error}") from error
        if not child:
            raise ModelError(f"joint '{self._name(name)}' carries the world (valid: a link)")
        return parent, child

    def _relative(self, source: ElementTree.Element, link: str) -> pin.SE3:
        """Pose in a link of what is within it."""
        within = _relative_to(source)
        if not within:
            return _pose(source)
        frame = self._pose(self._resolve(within, self._outer(link)))
        return self._pose(link).actInv(frame) * _pose(source)

    def _add_link(self, name: str, source: ElementTree.Element) -> None:
        own = self._name(name)
        link = ElementTree.SubElement(self.robot, "link", name=own)
        if self.several:
            owner = name
            while outer := self._outer(owner):
                owner = outer
            link.set(OWNER, owner)
            link.set(TOUCHES_OWN, str(says(self.elements[owner], "self_collide")).lower())
        if not says(source, "gravity", "true"):
            link.set(WEIGHTLESS, "true")
        if says(source, "kinematic"):
            raise ModelError(f"link '{own}' is kinematic (valid: World.add's kinematic)")
        self._add_inertial(link, name, source.find("inertial"))
        for collision in source.findall("collision"):
            self._add_collision(link, name, collision)

    def _add_inertial(
        self, link: ElementTree.Element, name: str, source: ElementTree.Element | None
    ) -> None:
        source = ElementTree.Element("inertial") if source is None else source
        if says(source, "auto") or source.find("fluid_added_mass") is not None:
            raise ModelError(
                f"link '{self._name(name)}': inertial auto or in a fluid (valid: mass and inertia)"
            )
        inertial = ElementTree.SubElement(link, "inertial")
        set_origin(inertial, self._relative(source, name))
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
        where = f"link '{self._name(body)}': collision '{name}'"
        shapes = source.findall("geometry/*")
        if len(shapes) != 1 or shapes[0].tag not in _GEOMETRIES:
            kinds = " and ".join(shape.tag for shape in shapes) or "nothing"
            raise ModelError(f"{where} is {kinds} ({choices(_GEOMETRIES)})")
        (shape,) = shapes
        pose = self._relative(source, body)
        collision = ElementTree.SubElement(link, "collision", name=name)
        set_surface([collision], surface_of_sdf(source), where)
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
                pose = pose * add_half_space(geometry, shape.findtext("normal", "0 0 1"))
            case tag:
                ElementTree.SubElement(
                    geometry, tag, radius=_text(shape, "radius"), length=_text(shape, "length")
                )
        set_origin(collision, pose)

    def _add_joint(self, full: str, source: ElementTree.Element, parent: str, child: str) -> None:
        name, kind = self._name(full), source.get("type", "")
        if kind not in JOINTS:
            raise ModelError(f"joint '{name}' is of type '{kind}' ({choices(JOINTS)})")
        place = self._pose(full)
        offset = place.actInv(self._pose(child))
        carrier = self._name(child)
        if not offset.isIdentity(1e-12):
            carrier = f"{name}_carrier"
            while carrier in map(self._name, self.elements):
                carrier += "_"
            ElementTree.SubElement(self.robot, "link", name=carrier)
            self._connect(carrier, "fixed", carrier, self._name(child), offset)
        in_urdf = "floating" if kind == BALL else kind
        at = self._pose(parent).actInv(place) if parent else place
        joint = self._connect(name, in_urdf, self._name(parent), carrier, at)
        if self.several:
            joint.set(CARRIED, self._name(child))
        if kind in ("fixed", BALL):
            _check_without_axis(name, kind, source)
        if kind == "fixed":
            return
        axis = source.find("axis")
        axis = ElementTree.Element("axis") if axis is None else axis
        if kind == BALL:
            joint.set(BALL, axis.findtext("dynamics/damping", "0").strip())
            return
        self._describe(joint, full, axis)
        self._add_mimic(joint, full, source, axis)
        for rotor in named(source, ROTOR):
            ratio = next(named(source, GEAR), None)
            reflected = reflected_inertia(
                rotor.text or "", "1" if ratio is None else ratio.text or ""
            )
            joint.set(ARMATURE, repr(reflected))

    def _describe(self, joint: ElementTree.Element, name: str, axis: ElementTree.Element) -> None:
        """Axis, losses and limits."""
        xyz = axis.find("xyz")
        direction = np.array(axis.findtext("xyz", "0 0 1").split(), dtype=float)
        frame = xyz.get("expressed_in") if xyz is not None else None
        if self.old_axes or says(axis, "use_parent_model_frame"):
            frame = _HERE
        if frame:
            turn = self._pose(self._resolve(frame, self._outer(name))).rotation
            direction = self._pose(name).rotation.T @ turn @ direction
        ElementTree.SubElement(joint, "axis", xyz=as_text(direction))
        losses = {
            key: repr(float(axis.findtext(f"dynamics/{key}", "0")))
            for key in ("damping", "friction", *SPRING)
        }
        ElementTree.SubElement(joint, "dynamics", losses)
        if joint.get("type") != "continuous":
            limits = {
                key: _limit(axis.findtext(f"limit/{key}", default))
                for key, default in (("lower", "-inf"), ("upper", "inf"))
            }
        else:
            limits = {"lower": "0", "upper": "0"}
        for key in ("effort", "velocity"):
            value = axis.findtext(f"limit/{key}", "-1").strip()
            none = float(value) < 0.0 or float(value) > _ENDLESS
            limits[key] = repr(_NONE) if none else value
        ElementTree.SubElement(joint, "limit", limits)

    def _add_mimic(
        self,
        joint: ElementTree.Element,
        name: str,
        source: ElementTree.Element,
        axis: ElementTree.Element,
    ) -> None:
        """Add the joint that it follows, as SDF or Drake says it."""
        mimic, ours = axis.find("mimic"), next(named(source, "drake:mimic"), None)
        if mimic is not None:
            master = mimic.get("joint", "")
            ratio, offset, reference = (
                float(mimic.findtext(key, default))
                for key, default in (("multiplier", "1"), ("offset", "0"), ("reference", "0"))
            )
        elif ours is not None:
            master, reference = ours.get("joint", ""), 0.0
            ratio, offset = float(ours.get("multiplier", "1")), float(ours.get("offset", "0"))
        else:
            return
        ElementTree.SubElement(
            joint, "mimic", joint=self._name(self._resolve(master, self._outer(name))),
            multiplier=repr(ratio), offset=repr(offset - ratio * reference),
        )  # fmt: skip

    def _connect(
        self, name: str, kind: str, parent: str, child: str, pose: pin.SE3
    ) -> ElementTree.Element:
        """Add a joint; all names are those in the URDF."""
        joint = ElementTree.SubElement(self.robot, "joint", name=name, type=kind)
        set_origin(joint, pose)
        ElementTree.SubElement(joint, "parent", link=parent)
        ElementTree.SubElement(joint, "child", link=child)
        return joint


def _check_without_axis(name: str, kind: str, source: ElementTree.Element) -> None:
    """Check that a joint has nothing that belongs to an axis which it has not."""
    keys = ("friction", "spring_stiffness") if kind == BALL else ()
    has = [k for k in keys if float(source.findtext(f"axis/dynamics/{k}", "0")) != 0.0]
    has += [child.tag for child in source if child.tag in (ROTOR, "drake:mimic")]
    if has:
        raise ModelError(f"joint '{name}' is a {kind} joint with {has[0]} (valid: none)")


def _text(element: ElementTree.Element, path: str) -> str:
    text = (element.findtext(path) or "").strip()
    if not text:
        raise ModelError(f"{element.tag} '{element.get('name', '')}' has no {path}")
    return text


def _relative_to(element: ElementTree.Element) -> str:
    """Frame that an element's pose is given in; until SDF 1.6 it was called otherwise."""
    pose = element.find("pose")
    return "" if pose is None else pose.get("relative_to") or pose.get("frame") or ""


def _pose(element: ElementTree.Element) -> pin.SE3:
    """Pose that an element gives, in whatever it is relative to."""
    pose = element.find("pose")
    if pose is None or not (pose.text or "").split():
        return pin.SE3.Identity()
    numbers = np.array((pose.text or "").split(), dtype=float)
    if pose.get("rotation_format") == "quat_xyzw" and len(numbers) == 7:
        turn = pin.Quaternion(numbers[6], *numbers[3:6]).normalized().matrix()
    elif len(numbers) == 6:
        degrees = says(pose, "degrees")
        turn = pin.rpy.rpyToMatrix(np.deg2rad(numbers[3:]) if degrees else numbers[3:])
    else:
        raise ModelError(f"a pose must be 6 numbers, or 7 with a quaternion, got '{pose.text}'")
    return pin.SE3(turn, numbers[:3])


def _limit(text: str) -> str:
    value = float(text)
    return repr(value if abs(value) < _ENDLESS else float(np.copysign(_NONE, value)))
