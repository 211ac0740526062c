"""Which joints of a model are the arm, which the gripper, and where the tool is."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ConfigError, ModelError, choices
from contact_core.model.urdf import read_tree
from contact_stack.arm_import.from_mjcf import origin_of
from contact_stack.arm_import.geometry import pose_of

TURNING = ("revolute", "continuous")
MOVING = (*TURNING, "prismatic")
SHORTEST_ARM = 4
"""Joints of a chain that can be an arm; heads and legs have fewer, and so have fingers."""

_TELLING = 5e-3  # length of a vector from which on its direction says something [m]
_FINGER = re.compile(r"finger|thumb|jaw|claw|knuckle|pinch|gripper", re.IGNORECASE)
# What links at the end of an arm are called, the most telling first; then those of tools end.
_TOOLS = 5
_TIPS = (
    "tool0", "tcp", "tool", "pinch", "grasp", "ee_gripper", "end_?eff|eef", "(^|_)ee(_|$)", "tip",
    "flange", "link8|link_8", "hand|gripper_link|gripper_base|palm",
)  # fmt: skip


class LinkTree:
    """Links and joints of a URDF.

    Attributes:
        robot: Its root element.
        links: Names of its links.
        joints: Name of a joint -> its element.
        base: Its root link.
        turn: (3, 3) its rotation in the whole model's root, joints at zero.
    """

    def __init__(self, robot: ElementTree.Element, base: str = "") -> None:
        """Read the tree, and leave out what is not below a link if one is given.

        Args:
            robot: Root element of the URDF; changed if a base is given.
            base: The link that stands still; empty for the root.

        Raises:
            ConfigError: If there is no such link.
            ModelError: If it is no tree, or an axis has no direction; the message names where.
        """
        self.robot = robot
        self._read()
        self._check()
        if base and base not in self.links:
            raise ConfigError(f"no link '{base}' ({choices(self.links, base)})")
        self.turn = self._turn(base)
        if base:
            kept = set(self.below(base))
            for joint in list(self.joints.values()):
                if _end(joint, "child") not in kept - {base}:
                    robot.remove(joint)
            for link in list(robot.findall("link")):
                if link.get("name") not in kept:
                    robot.remove(link)
            self._read()
        roots = [link for link in self.links if link not in self._carrier]
        self.base = roots[0] if roots else ""

    def _read(self) -> None:
        self.links = [link.get("name", "") for link in self.robot.findall("link")]
        self.joints = {joint.get("name", ""): joint for joint in self.robot.findall("joint")}
        self._carrier = {_end(joint, "child"): name for name, joint in self.joints.items()}

    def _check(self) -> None:
        """Check names, and that all links and axes are there."""
        for tag in ("link", "joint"):
            names = [element.get("name", "") for element in self.robot.findall(tag)]
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ModelError(f"{tag} '{twice}' is there twice (valid: names that differ)")
        for name, joint in self.joints.items():
            for link in (_end(joint, "parent"), _end(joint, "child")):
                if link not in self.links:
                    raise ModelError(f"joint '{name}': no link '{link}' "
                                     f"({choices(self.links, link)})")  # fmt: skip
            axis = joint.find("axis")
            text = "1 0 0" if axis is None else axis.get("xyz", "1 0 0")
            if self.kind(name) in MOVING and not any(float(word) for word in text.split()):
                raise ModelError(f"joint '{name}' has the axis '{text}' (valid: a direction)")

    def _turn(self, link: str) -> np.ndarray:
        turn = np.eye(3)
        while link in self._carrier:
            joint = self._carrier[link]
            turn, link = pose_of(self.joints[joint]).rotation @ turn, self.parent(joint)
        return turn

    def model(self) -> pin.Model:
        """Return Pinocchio's model of it."""
        return read_tree(ElementTree.tostring(self.robot, encoding="unicode"))

    def kind(self, joint: str) -> str:
        """Return the type of a joint."""
        return self.joints[joint].get("type", "")

    def child(self, joint: str) -> str:
        """Return the link that a joint moves."""
        return _end(self.joints[joint], "child")

    def parent(self, joint: str) -> str:
        """Return the link that carries a joint."""
        return _end(self.joints[joint], "parent")

    def on(self, link: str) -> list[str]:
        """Return the joints on a link."""
        return [name for name, joint in self.joints.items() if _end(joint, "parent") == link]

    def path(self, link: str) -> list[str]:
        """Return the joints that move from the base to a link."""
        names: list[str] = []
        while link in self._carrier:
            name = self._carrier[link]
            names += [name] if self.kind(name) in MOVING else []
            link = self.parent(name)
        return names[::-1]

    def below(self, link: str) -> list[str]:
        """Return a link and all that it carries."""
        found = [link]
        for name in found:
            found += [self.child(joint) for joint in self.on(name)]
        return found

    def rigid(self, link: str) -> list[str]:
        """Return a link and all that is fixed to it."""
        found = [link]
        for name in found:
            found += [self.child(j) for j in self.on(name) if self.kind(j) not in MOVING]
        return found

    def moving_below(self, link: str) -> list[str]:
        """Return the joints that move what a link carries."""
        return [j for name in self.below(link) for j in self.on(name) if self.kind(j) in MOVING]


def _end(joint: ElementTree.Element, tag: str) -> str:
    element = joint.find(tag)
    return element.get("link", "") if element is not None else ""


@dataclass(frozen=True)
class Arm:
    """What is what in a model.

    Attributes:
        joints: Of the arm, base to flange.
        gripper: Joints of the gripper, the one that opens it first.
        held: Joints that move neither.
        tip: The link at the end of the arm whose frame is the tool's, or carries it.
    """

    joints: tuple[str, ...]
    gripper: tuple[str, ...]
    held: tuple[str, ...]
    tip: str


def find_arm(
    tree: LinkTree,
    tip: str = "",
    gripper: bool = True,
    ask: Callable[[list[str]], str] | None = None,
) -> Arm:
    """Find the arm of a model.

    Args:
        tree: The model.
        tip: The link at its end; empty to guess it.
        gripper: Whether joints beyond the arm may be a gripper.
        ask: Chooses one of several tips; None for nobody to ask.

    Raises:
        ConfigError: If there is no such link, no arm, or several and nobody to ask; the message
            lists the links at the ends of arms. If the arm has fewer than SHORTEST_ARM joints, one
            of them slides or follows another one, or a joint beyond it follows one of the arm.
    """
    if tip and tip not in tree.links:
        raise ConfigError(f"no link '{tip}' ({choices(tree.links, tip)})")
    if not tip:
        chains = _chains(tree)
        if not chains:
            raise ConfigError(
                f"no chain of {SHORTEST_ARM} or more revolute joints from link '{tree.base}' on "
                "(valid: --base LINK and --tip LINK of an arm)"
            )
        ends = [_named_tip(tree, chain[-1]) for chain in chains]
        if len(ends) > 1 and ask is None:
            raise ConfigError(f"several arms: choose --tip LINK ({choices(ends)})")
        tip = ends[0] if len(ends) == 1 or ask is None else ask(ends)
    path = tree.path(tip)
    slides = [name for name in path if tree.kind(name) == "prismatic"]
    if slides or len(path) < SHORTEST_ARM:
        moved = f"it is moved by {', '.join(path) or 'nothing'}"
        what = f"joint '{slides[0]}' before it slides" if slides else moved
        raise ConfigError(
            f"'{tip}' is the end of no arm of the graph: {what} (valid: a chain of {SHORTEST_ARM} "
            "or more revolute joints, which --base LINK begins and --tip LINK ends)"
        )
    beyond = tree.moving_below(tree.child(path[-1])) if gripper else []
    _check_uncoupled(tree, path, beyond)
    followed = {_master(tree.joints[name]) for name in beyond}
    # Who follows another opens nothing; a slide or a name tells most of what does.
    beyond.sort(key=lambda j: (bool(_master(tree.joints[j])), j not in followed))
    taken = {*path, *beyond}
    held = [name for name in tree.joints if tree.kind(name) in MOVING and name not in taken]
    return Arm(tuple(path), tuple(beyond), tuple(held), tip)


def _check_uncoupled(tree: LinkTree, path: Sequence[str], beyond: Sequence[str]) -> None:
    """Check that no joint of an arm follows another one, and none of its gripper one of these."""
    for name in (*path, *beyond):
        master = _master(tree.joints[name])
        if master and (name in path or master in path):
            before = tree.parent(name)
            shorter = f", --tip {before} --no-gripper ends it before" * (
                len(tree.path(before)) >= SHORTEST_ARM
            )
            raise ConfigError(
                f"joint '{name}' follows joint '{master}' (mimic) in the chain of the arm, which "
                "controller and estimator do not know: their kinematics would be wrong (valid: a "
                f"chain of joints that move by themselves; --base LINK begins it later{shorter})"
            )


def _master(joint: ElementTree.Element) -> str:
    mimic = joint.find("mimic")
    return mimic.get("joint", "") if mimic is not None else ""


def _chains(tree: LinkTree) -> list[list[str]]:
    """Chains of joints from the base that can be arms, each without its gripper."""
    found: dict[tuple[str, ...], None] = {}
    ends = [link for link in tree.links if not tree.on(link)]
    for path in dict.fromkeys(tuple(tree.path(link)) for link in ends):
        chain: list[str] = []
        for joint in path:
            child = tree.child(joint)
            # What carries a finger may be called a gripper, and turn as the arm's last joint.
            named = _FINGER.search(joint) or (
                _FINGER.search(child) and not tree.moving_below(child)
            )
            # What follows a joint of the arm is no finger.
            follows = _master(tree.joints[joint]) not in ("", *chain)
            slides = tree.kind(joint) == "prismatic" or follows
            parts = _branches(tree, chain[-1]) if len(chain) >= SHORTEST_ARM else 1
            if len(chain) >= SHORTEST_ARM - 1 and (named or slides or parts > 1):
                break
            chain.append(joint)
        if len(chain) >= SHORTEST_ARM:
            found[tuple(chain)] = None
    return [
        list(chain)
        for chain in found
        if not any(other != chain and other[: len(chain)] == chain for other in found)
    ]


def _branches(tree: LinkTree, joint: str) -> int:
    """Number of joints on what a joint moves."""
    rigid = tree.rigid(tree.child(joint))
    return sum(tree.kind(other) in MOVING for link in rigid for other in tree.on(link))


def _named_tip(tree: LinkTree, joint: str) -> str:
    """Guess the link at the end of an arm by its name; the last one if none is telling."""
    rigid = tree.rigid(tree.child(joint))
    for pattern in _TIPS:
        for link in rigid:
            if re.search(pattern, link, re.IGNORECASE):
                return link
    return rigid[0]


def add_tool(tree: LinkTree, arm: Arm, points: dict[str, np.ndarray], axis: str = "") -> str:
    """Return the tool link, whose z axis is the direction of approach; add one if none has it.

    Args:
        tree: The model; changed.
        arm: Its arm.
        points: Link -> (n, 3) points of its surface, in its frame [m].
        axis: Direction of approach in the frame of the tip, e.g. "x" or "-z"; empty to guess it.
    """
    model = tree.model()
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    poses = {
        frame.name: data.oMf[i]
        for i, frame in enumerate(model.frames)
        if frame.type == pin.FrameType.BODY
    }
    tip, last = poses[arm.tip], model.getJointId(arm.joints[-1])
    turn = model.joints[last]
    local = np.array(pin.computeJointJacobian(model, data, pin.neutral(model), last))[
        3:, turn.idx_v
    ]
    fingers = [link for joint in arm.gripper for link in tree.below(tree.child(joint))]
    ends = [tip.actInv(poses[link]).act(p) for link in dict.fromkeys(fingers)
            for p in points.get(link, ())]  # fmt: skip
    rigid = [tip.actInv(poses[link]).act(p) for link in tree.rigid(tree.child(arm.joints[-1]))
             for p in points.get(link, ())]  # fmt: skip
    here = tip.actInv(data.oMi[last])
    hints = [np.mean(ends, axis=0) - here.translation] if ends else []
    before = tip.actInv(data.oMi[model.parents[last]])
    hints += [-here.translation, here.translation - before.translation]
    hints += [np.mean(rigid, axis=0) - here.translation] if rigid else []
    approach = _axis(axis) if axis else _approach(here.rotation @ local, hints)
    named = bool(re.search("|".join(_TIPS[:_TOOLS]), arm.tip, re.IGNORECASE))
    # The name of a tool says where its z axis points, as does a person.
    known = named and not axis and abs((here.rotation @ local)[2]) > 0.95
    if known or (approach[2] > 0.95 and (axis or not ends)):
        return arm.tip
    reach = max((float(approach @ point) for point in ends), default=0.0)
    name = "tool"
    while name in tree.links:
        name += "_"
    shift = np.zeros(3) if named else approach * reach
    rotation = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), approach).matrix()
    if approach[2] < -0.95:
        rotation = np.diag([1.0, -1.0, -1.0])
    return add_fixed(tree, arm.tip, name, pin.SE3(rotation, shift))


def _axis(text: str) -> np.ndarray:
    sign = -1.0 if text.startswith("-") else 1.0
    return sign * np.eye(3)["xyz".index(text[-1])]


def _approach(turning: np.ndarray, hints: Sequence[np.ndarray]) -> np.ndarray:
    """Guess the direction of approach in the frame of the tip.

    It is the axis that the last joint turns about, if something lies along it; else towards that.

    Args:
        turning: (3) that axis.
        hints: Vectors (3) that point more or less that way, the most telling first [m].
    """
    along = next((d for d in (hint @ turning for hint in hints) if abs(d) > _TELLING), 0.0)
    away = next((hint for hint in hints if np.linalg.norm(hint) > _TELLING), turning)
    away = away / np.linalg.norm(away)
    wanted = np.copysign(1.0, along) * turning if abs(away @ turning) > 0.3 or along else away
    k = int(np.argmax(np.abs(wanted)))
    if abs(wanted[k]) > 0.95:
        return np.asarray(np.copysign(1.0, wanted[k]) * np.eye(3)[k])
    return np.asarray(wanted)


def add_fixed(tree: LinkTree, parent: str, name: str, pose: pin.SE3) -> str:
    """Add a link without a shape, fixed to another one.

    Args:
        tree: The model; changed.
        parent: The link that carries it.
        name: Its name.
        pose: Its pose in the frame of that.
    """
    ElementTree.SubElement(tree.robot, "link", name=name)
    joint = ElementTree.SubElement(tree.robot, "joint", name=f"{name}_fixed", type="fixed")
    ElementTree.SubElement(joint, "parent", link=parent)
    ElementTree.SubElement(joint, "child", link=name)
    joint.append(origin_of(pose))
    tree._read()
    return name
