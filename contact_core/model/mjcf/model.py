"""The tree of a MJCF: bodies and joints as Pinocchio's model, its geoms, who may touch whom.

Pinocchio's own reader leaves out second root bodies, masses that a class gives, includes, and
what only looks but weighs, so the model is built here, joint by joint.
"""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, ModelWarning, choices
from contact_core.model.actuator import Actuator
from contact_core.model.mjcf.actuators import read_actuators
from contact_core.model.mjcf.document import MAIN, Document, number, vector
from contact_core.model.mjcf.geom import FACETED, Geom, read_geom
from contact_core.model.mjcf.joint import MjcfJoints, within
from contact_core.model.mjcf.rules import (
    WORLD,
    HeldBodies,
    excluded,
    followers,
    held_bodies,
    paired,
    surroundings,
)
from contact_core.model.mjcf.tendon import (
    fixed_tendons,
    follower_limits,
    kept_lengths,
    read_tendons,
    tendon_armatures,
)
from contact_core.model.moving_body import ModelKeyframe, Tendon

# Elements of a body that only concern looks and sensors.
_LOOKS = {"camera", "light", "site"}
_JOINTS = ("joint", "freejoint")
_BODY = ("body", "frame", "inertial", "geom", *_JOINTS)
_SECTIONS = (
    "compiler", "option", "size", "visual", "statistic", "default", "extension", "asset",
    "worldbody", "contact", "equality", "tendon", "actuator", "sensor", "keyframe", "custom",
)  # fmt: skip


@dataclass(frozen=True)
class MjcfModel:
    """What a MJCF says.

    Attributes:
        tree: Bodies and joints; a body on several joints is carried by one without mass each.
        starts: Joint with one coordinate -> its value where the bodies are as the file places them.
        springs: Joint -> stiffness [Nm/rad or N/m] and coordinate where it exerts nothing.
        weights: Joint -> share of the weight of what it carries itself that is not compensated.
        actuators: Name -> actuator of a joint with one coordinate, or of a tendon.
        tendons: Name -> fixed tendon of several joints, or of one with a law besides its range;
            also lengths that an equality keeps.
        held: Name -> two bodies that an equality holds together.
        followers: Joint -> the one it follows, its coordinate per that one's, and its offset.
        keyframes: Keyframes by name.
        geoms: Those that can touch anything.
        looks: Those that are seen.
        apart: Pairs of bodies that may not touch.
        roots: Body -> the body of the world that carries it, directly or not.
        gravity: [m/s^2].
    """

    tree: pin.Model
    starts: dict[str, float]
    springs: dict[str, tuple[float, float]]
    weights: dict[str, float]
    actuators: dict[str, Actuator]
    tendons: dict[str, Tendon]
    followers: dict[str, tuple[str, float, float]]
    held: dict[str, HeldBodies]
    keyframes: dict[str, ModelKeyframe]
    geoms: tuple[Geom, ...]
    looks: tuple[Geom, ...]
    apart: frozenset[frozenset[str]]
    roots: dict[str, str]
    gravity: np.ndarray


def read_mjcf(text: str, free: bool = False, weigh: bool = True, repair: bool = False) -> MjcfModel:
    """Read a MJCF.

    Args:
        text: Its text, with the files that it includes, see :func:`self_contained`.
        free: Whether its only root body floats, although the file fixes it.
        weigh: Whether the inertias are wanted, for which meshes have to be read.
        repair: Whether height fields, and what spatial tendons exert, are left out instead of
            being refused.

    Returns:
        The model. A warning says what is simulated differently.

    Raises:
        ModelError: If it is invalid, or has what we cannot simulate; the message names it.
    """
    reader = _Reader(Document(text), free, weigh, repair)
    model = reader.read()
    if reader.notes:
        warnings.warn("; ".join(reader.notes), ModelWarning, stacklevel=3)
    return model


@dataclass(frozen=True)
class _Place:
    """Where the children of a body or frame are.

    Attributes:
        body: Name of the body.
        joint: Pinocchio's joint that carries it.
        pose: Its pose in that joint's frame.
        childclass: Class of the elements that name none.
        frame: Pose in the body of the frame that the children are in.
    """

    body: str
    joint: int
    pose: pin.SE3
    childclass: str
    frame: pin.SE3 = field(default_factory=pin.SE3.Identity)


class _Reader:
    """Reads section by section; collects what is not simulated as it is written."""

    def __init__(self, document: Document, free: bool, weigh: bool, repair: bool) -> None:
        self.document = document
        self.free, self.weigh, self.repair = free, weigh, repair
        self.notes: list[str] = []
        self.tree = pin.Model()
        self.joints = MjcfJoints(document, self.tree, self.notes)
        self.geoms: list[Geom] = []
        self.bodies = [WORLD]
        self.roots = {WORLD: WORLD}
        self.parents: dict[str, str] = {}  # of a body that moves relative to it
        self.welded = {WORLD: WORLD}  # body -> the first body that it does not move relative to
        self.inertias: dict[str, pin.Inertia] = {}
        # Body, and joint that carries it -> share of its weight that acts.
        self.weights: dict[str, float] = {}
        self.joint_weights: dict[str, float] = {}
        self.meshes = {
            element.get("name", ""): document.attributes(element)
            for element in document.sections("asset")
            if element.tag == "mesh"
        }
        self.taken = {
            kind: {element.get("name") for element in document.root.iter(kind)}
            for kind in ("body", "geom", "joint")
        }
        self.colors = {
            element.get("name", ""): document.attributes(element).get("rgba", "1 1 1 1")
            for element in document.sections("asset")
            if element.tag == "material"
        }

    def read(self) -> MjcfModel:
        """Read all sections."""
        for section in self.document.root:
            if section.tag not in _SECTIONS and isinstance(section.tag, str):
                raise ModelError(f"unknown section '{section.tag}' ({choices(_SECTIONS)})")
        if self.free:
            self._check_fixed()
        self._read_children()
        self.geoms = paired(self.document, self.geoms, self.notes)
        if self.weigh:
            self._finish_tree()
        round_ones = [g.name for g in self.geoms if g.kind == "ellipsoid" and g.touches]
        if round_ones:
            self.notes.append(
                f"ellipsoids {', '.join(round_ones)}: they touch as polyhedra, true to "
                f"{100.0 * FACETED:.1f} %"
            )
        starts = self.joints.starts
        floating = [str(name) for name in self.tree.names if name not in starts][1:]
        ranges = {name: self._range(name) for name in starts}
        following = dict(followers(self.document, starts))
        lengths = fixed_tendons(self.document, starts, following)
        tendons, bounds = read_tendons(
            self.document, lengths, self.joints.rests, self.repair, self.notes
        )
        if self.weigh:
            self.joints.armatures = list(tendon_armatures(self.document, lengths))
            self.joints.relax_springs()
        own = self.joints.limits | {name: t.law.effort for name, t in tendons.items()}
        actuators, limits = read_actuators(
            self.document, ranges, floating, own, lengths, tendons,
            self.joints.inertia if self.weigh else lambda coefficients: 0.0, self.notes,
        )  # fmt: skip
        for name, limit in limits.items():
            if name in tendons:
                law = replace(tendons[name].law, effort=limit)
                tendons[name] = replace(tendons[name], law=law)
            else:
                joint = self.tree.joints[self.tree.getJointId(name)]
                self.tree.upperEffortLimit[joint.idx_v] = limit
        for name, (lower, upper) in (*bounds, *follower_limits(following, ranges)):
            self._narrow(name, lower, upper)
        taken = {*starts, *tendons}
        tendons |= kept_lengths(
            self.document, lengths, starts, following, taken, self.repair, self.notes
        )
        touches, gravity = surroundings(self.document, self.notes)
        return MjcfModel(
            tree=self.tree,
            starts=starts,
            springs=self.joints.springs,
            weights=self.joint_weights,
            actuators=actuators,
            tendons=tendons,
            followers=following,
            held=dict(held_bodies(self.document, self._poses())),
            keyframes=dict(self._keyframes()),
            geoms=tuple(geom for geom in self.geoms if geom.touches and touches),
            looks=tuple(geom for geom in self.geoms if geom.seen),
            apart=self._apart(),
            roots=self.roots,
            gravity=gravity,
        )

    def _range(self, name: str) -> tuple[float, float]:
        """Lower and upper limit of a joint with one coordinate."""
        q = self.tree.joints[self.tree.getJointId(name)].idx_q
        return float(self.tree.lowerPositionLimit[q]), float(self.tree.upperPositionLimit[q])

    def _narrow(self, name: str, lower: float, upper: float) -> None:
        """Limit a joint that has one coordinate to what a tendon or a follower allows, too."""
        q = self.tree.joints[self.tree.getJointId(name)].idx_q
        least, most = self._range(name)
        if max(least, lower) > min(most, upper):
            raise ModelError(
                f"joint '{name}' has no position within the ranges of its tendons and followers"
            )
        self.tree.lowerPositionLimit[q] = max(least, lower)
        self.tree.upperPositionLimit[q] = min(most, upper)

    def _check_fixed(self) -> None:
        """Check that the file is one body that is fixed, so that it can be set free."""
        world = list(self.document.sections("worldbody"))
        roots = [element for element in world if element.tag == "body"]
        joints = [e for root in roots for e in root if e.tag in _JOINTS]
        others = [e.tag for e in world if e.tag in ("geom", "frame")]
        if len(roots) != 1 or joints or others:
            raise ModelError(
                "free: a MJCF says itself which bodies float, by a freejoint (valid: one root body "
                f"without joints and nothing else; this one has {len(roots)} root bodies, "
                f"{len(joints)} joints at them and {len(others)} geoms of the world)"
            )

    def _read_children(self) -> None:
        self._add_frame(WORLD, 0, pin.SE3.Identity())
        place = _Place(WORLD, 0, pin.SE3.Identity(), MAIN)
        for section in self.document.root.findall("worldbody"):
            self._add_parts(section, place)

    def _parts(
        self, element: ElementTree.Element, place: _Place
    ) -> Iterator[tuple[ElementTree.Element, _Place]]:
        """Elements of a body, those within frames with the frame they are in."""
        for child in element:
            if child.tag == "frame":
                pose = place.frame * self.document.pose(child.attrib)
                inside = replace(
                    place, frame=pose, childclass=child.get("childclass", place.childclass)
                )
                for part, where in self._parts(child, inside):
                    if part.tag not in ("geom", "body", *_JOINTS):
                        raise ModelError(
                            f"body '{place.body}': {part.tag} within a frame (valid: geom, body, "
                            "joint)"
                        )
                    yield part, where
            elif child.tag in _BODY:
                yield child, place
            elif isinstance(child.tag, str) and child.tag not in _LOOKS:
                raise ModelError(
                    f"body '{place.body}': unknown element '{child.tag}' ({choices(_BODY)})"
                )

    def _add_parts(self, element: ElementTree.Element, place: _Place) -> None:
        """Add the geoms of a body, its inertia, and the bodies that it carries."""
        inertia, given = pin.Inertia.Zero(), element.find("inertial") is not None
        wanted = self.document.compiler["inertiafromgeom"]
        summed = wanted == "true" or (wanted == "auto" and not given)
        if place.body == WORLD:
            summed = False
        first, last = vector(self.document.compiler, "inertiagrouprange", 2)
        bodies = []
        for part, where in self._parts(element, place):
            if part.tag == "geom":
                attributes = self.document.attributes(part, where.childclass)
                if attributes.get("material") in self.colors:
                    attributes.setdefault("rgba", self.colors[attributes["material"]])
                count = sum(geom.body == place.body for geom in self.geoms)
                name = part.get("name") or self._new("geom", f"{place.body}_{count}")
                if self.repair and attributes.get("type") == "hfield":
                    self.notes.append(f"geom '{name}' is a height field: left out")
                    continue
                geom = read_geom(
                    self.document, attributes, place.body, name, where.frame, self.meshes
                )
                if geom.kind == "plane" and self.welded[place.body] != WORLD:
                    raise ModelError(
                        f"body '{place.body}': geom '{name}' is a plane (valid: on what is fixed)"
                    )
                self.geoms.append(geom)
                if summed and self.weigh and first <= geom.group <= last:
                    inertia += geom.inertia()
            elif part.tag == "body":
                bodies.append((part, where))
        weightless = not any(geom.body == place.body for geom in self.geoms)
        if place.body != WORLD and (not summed or (given and weightless)):
            if not given:
                raise ModelError(
                    f"body '{place.body}' has no inertial, and inertiafromgeom is {wanted}"
                )
            inertia = self._inertial(place.body, element)
        self.inertias[place.body] = inertia
        for part, where in bodies:
            self._add_body(part, where)

    def _inertial(self, body: str, element: ElementTree.Element) -> pin.Inertia:
        (attributes,) = (child.attrib for child in element.findall("inertial"))
        try:
            pose, mass = self.document.pose(attributes), number(attributes, "mass")
            if "fullinertia" in attributes:
                xx, yy, zz, xy, xz, yz = vector(attributes, "fullinertia", 6)
                matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            else:
                matrix = np.diag(vector(attributes, "diaginertia", 3, "0 0 0"))
        except ModelError as error:
            raise ModelError(f"body '{body}': inertial: {error}") from error
        turn = pose.rotation
        return pin.Inertia(mass, pose.translation, turn @ matrix @ turn.T)

    def _add_body(self, element: ElementTree.Element, place: _Place) -> None:
        name = element.get("name") or self._new("body", f"body_{len(self.bodies)}")
        if name in self.bodies:
            raise ModelError(f"there are two bodies '{name}'")
        self.bodies.append(name)
        self._check_body(name, element)
        childclass = element.get("childclass", place.childclass)
        try:
            pose = place.pose * place.frame * self.document.pose(element.attrib)
        except ModelError as error:
            raise ModelError(f"body '{name}': {error}") from error
        own_place = _Place(name, place.joint, pose, childclass)
        joints = [part for part in self._parts(element, own_place) if part[0].tag in _JOINTS]
        joint = place.joint
        for count, (child, where) in enumerate(joints):
            attributes = (
                {**child.attrib, "type": "free"}
                if child.tag == "freejoint"
                else within(where.frame, self.document.attributes(child, where.childclass))
            )
            own = self._new("joint", f"{name}_joint" + (f"_{count}" if len(joints) > 1 else ""))
            joint, pose = self.joints.add(
                child.get("name", own), attributes, joint, pose, len(joints)
            )
        if self.free and place.body == WORLD:
            joint, pose = self.joints.add_floating("root_joint", joint, pose), pin.SE3.Identity()
        self.roots[name] = name if place.body == WORLD else self.roots[place.body]
        moves = joint != place.joint
        self.welded[name] = name if moves else self.welded[place.body]
        if moves:
            self.parents[name] = self.welded[place.body]
        self._add_frame(name, joint, pose)
        self._add_parts(element, _Place(name, joint, pose, childclass))

    def _new(self, kind: str, name: str) -> str:
        """Return a name for what has none, which nothing of the kind has."""
        while name in self.taken[kind]:
            name += "_"
        return name

    def _check_body(self, name: str, element: ElementTree.Element) -> None:
        if element.get("mocap") == "true":
            self.notes.append(f"body '{name}' is moved by motion capture: it stays where it is")
        self.weights[name] = 1.0 - number(element.attrib, "gravcomp", "0")

    def _add_frame(self, name: str, joint: int, pose: pin.SE3) -> None:
        self.tree.addFrame(pin.Frame(name, joint, 0, pose, pin.FrameType.BODY))

    def _finish_tree(self) -> None:
        """Give the bodies their inertias, bounded, balanced and scaled as the compiler says."""
        settings = self.document.compiler
        least, moment, total = (
            number(settings, key) for key in ("boundmass", "boundinertia", "settotalmass")
        )
        self.inertias.pop(WORLD, None)
        for body, inertia in self.inertias.items():
            moments, axes = np.linalg.eigh(inertia.inertia)
            mass, bounded = max(inertia.mass, least), np.maximum(moments, moment)
            if settings["balanceinertia"] == "true" and bounded[2] > bounded[0] + bounded[1]:
                bounded = np.full(3, bounded.mean())
            if mass != inertia.mass or (bounded != moments).any():
                turned = axes @ np.diag(bounded) @ axes.T
                self.inertias[body] = pin.Inertia(mass, inertia.lever, turned)
        if total > 0.0:
            scale = total / sum(inertia.mass for inertia in self.inertias.values())
            for body, i in self.inertias.items():
                self.inertias[body] = pin.Inertia(scale * i.mass, i.lever, scale * i.inertia)
        for body, inertia in self.inertias.items():
            frame = self.tree.frames[self.tree.getFrameId(body, pin.FrameType.BODY)]
            if frame.parentJoint and inertia.mass != 0.0:
                before = self.tree.inertias[frame.parentJoint].mass
                self.tree.appendBodyToJoint(frame.parentJoint, inertia, frame.placement)
                joint, weight = str(self.tree.names[frame.parentJoint]), self.weights[body]
                known = self.joint_weights.setdefault(joint, weight)
                if known != weight:
                    mean = (before * known + inertia.mass * weight) / (before + inertia.mass)
                    self.joint_weights[joint] = mean
                    self.notes.append(
                        f"body '{body}' has another gravcomp than what it is fixed to: together "
                        f"{1.0 - mean:.3g}"
                    )

    def _poses(self) -> dict[str, pin.SE3]:
        """Bodies in the world, where the file places them."""
        q, data = pin.neutral(self.tree), self.tree.createData()
        for joint, start in self.joints.starts.items():
            q[self.tree.joints[self.tree.getJointId(joint)].idx_q] = start
        pin.framesForwardKinematics(self.tree, data, q)
        frames = enumerate(self.tree.frames)
        return {frame.name: data.oMf[i] for i, frame in frames if frame.type == pin.FrameType.BODY}

    def _keyframes(self) -> Iterator[tuple[str, ModelKeyframe]]:
        joints = list(zip(self.tree.names, self.tree.joints, strict=True))[1:]
        for name, element in self.document.named("keyframe", "key"):
            numbers = {}
            for key, size, what in (
                ("qpos", self.tree.nq, "positions"),
                ("qvel", self.tree.nv, "velocities"),
            ):
                if key in element.attrib:
                    given = len(element.get(key, "").split())
                    if given != size:
                        raise ModelError(f"keyframe '{name}' has {given} {what} (valid: {size})")
                    numbers[key] = vector(element.attrib, key, size)
            q, v = numbers.get("qpos"), numbers.get("qvel")
            yield (
                name,
                ModelKeyframe(
                    {} if q is None else {str(n): q[j.idx_q : j.idx_q + j.nq] for n, j in joints},
                    {} if v is None else {str(n): v[j.idx_v : j.idx_v + j.nv] for n, j in joints},
                    tuple(key for key in ("act", "ctrl", "mpos", "mquat") if key in element.attrib),
                ),
            )

    def _apart(self) -> frozenset[frozenset[str]]:
        """Pairs of bodies that do not touch."""
        apart = frozenset({*excluded(self.document, self.bodies), *self._joined()})
        owners = {geom.name: geom.body for geom in self.geoms}
        for geom in self.geoms:
            for partner, _ in geom.partners:
                if frozenset((geom.body, owners[partner])) in apart:
                    raise ModelError(
                        f"contact pair '{geom.name}' and '{partner}': their bodies are joined or "
                        "excluded (valid: bodies that may touch)"
                    )
        return apart

    def _joined(self) -> Iterator[frozenset[str]]:
        """Yield the bodies that a joint connects, unless it connects one to the world."""
        touching = dict.fromkeys(geom.body for geom in self.geoms if geom.touches)
        for a, b in combinations(touching, 2):
            first, second = self.welded[a], self.welded[b]
            if WORLD not in (first, second) and (
                self.parents[first] == second or self.parents[second] == first
            ):
                yield frozenset((a, b))
