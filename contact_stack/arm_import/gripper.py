"""The joints of a gripper as the graph drives them: one, zero where closed, the others after it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence

import numpy as np
import pinocchio as pin
import scipy

from contact_stack.arm_import.chain import Arm, LinkTree
from contact_stack.arm_import.from_mjcf import origin_of, text_of
from contact_stack.arm_import.geometry import pose_of

_WIDEST = 1.5  # of a joint without limits [rad or m]
_ROUNDING = 1e-6  # up to which positions are the same [rad or m]


def drive_gripper(
    tree: LinkTree, arm: Arm, points: Mapping[str, np.ndarray], notes: list[str]
) -> tuple[str, list[str]]:
    """Let one joint open the gripper, from zero on, and the others follow it.

    Args:
        tree: The model; changed.
        arm: Its arm.
        points: Link -> (n, 3) points of its surface, in its frame [m].
        notes: What was decided is added to it.

    Returns:
        The joint, empty if there is no gripper; and which joints count otherwise than in the
        model, and how, which is a note, too.
    """
    palm = tree.rigid(tree.child(arm.joints[-1]))
    masters = [name for name in arm.gripper if _mimic(tree, name) is None]
    fingers = [name for name in masters if tree.parent(name) in palm]
    fingers = [name for name in fingers if np.ptp(limits_of(tree.joints[name])) > 0.0]
    fingers = [name for name in fingers if tree.kind(name) == tree.kind(fingers[0])]
    moved = [name for name in arm.gripper
             if name in fingers or (_mimic(tree, name) or ("",))[0] in fingers[:1]]  # fmt: skip
    loose = [name for name in arm.gripper if name not in moved]
    if loose:
        notes.append(f"gripper joints {hold(tree, loose)} are held")
    if not fingers:
        return "", []
    # Joint -> where it is when the gripper is closed, and how far it moves per way of the driver.
    master, *others = fingers
    closed, opened = _ends(tree, arm, master, palm, points)
    laws = {master: (closed, float(np.sign(opened - closed)))}
    for name in others:
        shut, wide = _ends(tree, arm, name, palm, points)
        laws[name] = (shut, (wide - shut) / abs(opened - closed))
    for name in arm.gripper:
        law = _mimic(tree, name)
        if law is not None and law[0] == master:
            laws[name] = (law[1] * closed + law[2], law[1] * laws[master][1])
    # Pinocchio reads joints in an order of its own, in which those that follow have to be later.
    order = list(tree.model().names)
    driver = min((name for name in laws if laws[name][1]), key=order.index)
    scale = abs(laws[driver][1])
    span = scale * abs(opened - closed)
    for name, (zero, slope) in laws.items():
        joint, ratio = tree.joints[name], abs(slope) / scale
        _rezero(joint, zero, float(np.sign(slope)) or 1.0, ratio * span)
        for old in joint.findall("mimic"):
            joint.remove(old)
        if name != driver:
            ElementTree.SubElement(joint, "mimic", joint=driver, multiplier=f"{ratio:.9g}")
    changes = changes_of(laws)
    del laws[driver]
    unit = "m" if tree.kind(driver) == "prismatic" else "rad"
    followers = f"; {', '.join(laws)} follow" if laws else ""
    notes.append(f"gripper joint {driver}: 0 closed to {span:.3g} {unit} open{followers}")
    notes += changes
    return driver, changes


def changes_of(laws: Mapping[str, tuple[float, float]]) -> list[str]:
    """Say which joints do not count as in the model, and how those of the model are converted.

    Args:
        laws: Joint -> where it is in the model at zero, and how far it moves there per way of the
            driver [m or rad, and their ratio].
    """
    changes: dict[str, list[str]] = {}
    for name, (zero, slope) in laws.items():
        moved = abs(zero) > _ROUNDING
        if slope < 0.0:
            start = f"{zero:.4g} - " if moved else "-"
            how = f"run against the maker's, q = {start}q of the maker's"
        elif moved:
            back = "-" if zero > 0.0 else "+"
            how = f"start elsewhere than the maker's, q = q of the maker's {back} {abs(zero):.4g}"
        else:
            continue
        changes.setdefault(how, []).append(name)
    return [f"gripper joints that {how}: {', '.join(names)}" for how, names in changes.items()]


def hold(tree: LinkTree, joints: Sequence[str]) -> str:
    """Fix joints where they are zero, or at the limit that is nearest, or follow another one then.

    Args:
        tree: The model; changed.
        joints: Their names.

    Returns:
        The names, and where joints are held that are not at zero.
    """
    values = {name: _held_at(tree, name) for name in joints}
    for name, value in values.items():
        joint = tree.joints[name]
        axis = np.array((_axis(joint)), dtype=float)
        _set_origin(joint, pose_of(joint) * _motion(joint, axis, value))
        joint.set("type", "fixed")
        for tag in ("mimic", "limit", "axis", "dynamics"):
            for old in joint.findall(tag):
                joint.remove(old)
    return ", ".join(f"{name} (at {value:.3g})" if value else name
                     for name, value in values.items())  # fmt: skip


def _held_at(tree: LinkTree, name: str, followers: tuple[str, ...] = ()) -> float:
    law = _mimic(tree, name)
    if law is None or law[0] not in tree.joints or law[0] in followers:
        lower, upper = limits_of(tree.joints[name])
        return min(max(0.0, lower), upper)
    return law[1] * _held_at(tree, law[0], (*followers, name)) + law[2]


def limits_of(joint: ElementTree.Element) -> tuple[float, float]:
    """Return the position limits of a joint [rad or m], infinite where it has none."""
    limit = joint.find("limit")
    values = limit.attrib if limit is not None else {}
    if joint.get("type") == "continuous" or not {"lower", "upper"} & values.keys():
        return -np.inf, np.inf
    return float(values.get("lower", "0")), float(values.get("upper", "0"))


def _mimic(tree: LinkTree, name: str) -> tuple[str, float, float] | None:
    mimic = tree.joints[name].find("mimic")
    if mimic is None:
        return None
    ratio, offset = float(mimic.get("multiplier", "1")), float(mimic.get("offset", "0"))
    return mimic.get("joint", ""), ratio, offset


def _ends(
    tree: LinkTree, arm: Arm, name: str, palm: Sequence[str], points: Mapping[str, np.ndarray]
) -> tuple[float, float]:
    """Positions of a finger where the gripper is closed, and open.

    Closed is where the finger is closer to the other links of the gripper, those that follow it
    where they are then, or to the palm if it is the only one.
    """
    lower, upper = (
        limit if np.isfinite(limit) else np.clip(limit, -_WIDEST, _WIDEST)
        for limit in limits_of(tree.joints[name])
    )
    after = {other: _mimic(tree, other) for other in tree.joints}
    model = tree.model()
    data, distances = model.createData(), []
    own = set(tree.below(tree.child(name)))
    others = [link for joint in arm.gripper for link in tree.below(tree.child(joint))]
    others = [link for link in others if link not in own] or list(palm)
    for value in (lower, upper):
        q = pin.neutral(model)
        q[model.joints[model.getJointId(name)].idx_q] = value
        for other, law in after.items():
            if law is not None and law[0] == name and model.existJointName(other):
                q[model.joints[model.getJointId(other)].idx_q] = law[1] * value + law[2]
        pin.framesForwardKinematics(model, data, q)

        def placed(links: Sequence[str]) -> np.ndarray:
            clouds = [
                data.oMf[model.getFrameId(link, pin.FrameType.BODY)].act(point)
                for link in dict.fromkeys(links) if link in points for point in points[link][::7]
            ]  # fmt: skip
            return np.array(clouds).reshape(-1, 3)

        mine, theirs = placed(list(own)), placed(others)
        if not len(mine) or not len(theirs):
            return float(lower), float(upper)
        distances.append(scipy.spatial.cKDTree(theirs).query(mine)[0].mean())
    first, second = float(lower), float(upper)
    return (first, second) if distances[0] <= distances[1] else (second, first)


def _rezero(joint: ElementTree.Element, zero: float, sign: float, span: float) -> None:
    """Count a joint from a position on, in the direction of a sign, up to a span."""
    axis = np.array(_axis(joint), dtype=float)
    _set_origin(joint, pose_of(joint) * _motion(joint, axis, zero))
    for old in joint.findall("axis"):
        joint.remove(old)
    ElementTree.SubElement(joint, "axis", xyz=text_of(sign * axis))
    joint.set("type", "prismatic" if joint.get("type") == "prismatic" else "revolute")
    limit = joint.find("limit")
    if limit is None:
        limit = ElementTree.SubElement(joint, "limit")
    limit.attrib.update(lower="0", upper=f"{span:.9g}")


def _motion(joint: ElementTree.Element, axis: np.ndarray, value: float) -> pin.SE3:
    axis = axis / np.linalg.norm(axis)
    if joint.get("type") == "prismatic":
        return pin.SE3(np.eye(3), value * axis)
    return pin.SE3(pin.exp3(value * axis), np.zeros(3))


def _axis(joint: ElementTree.Element) -> list[float]:
    axis = joint.find("axis")
    return [
        float(word) for word in (axis.get("xyz", "1 0 0") if axis is not None else "1 0 0").split()
    ]


def _set_origin(joint: ElementTree.Element, pose: pin.SE3) -> None:
    for old in joint.findall("origin"):
        joint.remove(old)
    joint.insert(0, origin_of(pose))
