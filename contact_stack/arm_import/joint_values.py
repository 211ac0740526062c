"""What is guessed of joints: limits, gains, and where an arm starts."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pinocchio as pin

from contact_aware_control.config import SelfCollisionConfig
from contact_aware_control.safety.command_guard import SelfCollision
from contact_core.base.errors import ModelError
from contact_core.base.seeds import generator
from contact_core.robot.description import JointsConfig
from contact_core.robot.robot import Robot
from contact_stack.arm_import.chain import Arm, LinkTree
from contact_stack.arm_import.gripper import limits_of

# What is guessed where a model does not say it, and what no model says.
SPEED = 3.0  # of a joint [rad/s]
FINGER_SPEED, FINGER_EFFORT = 0.2, 40.0  # [m/s or rad/s, N or Nm]
TURN = 6.283  # of a joint without end stops, to both sides [rad]
_ENDLESS = 1000.0  # range of a revolute joint that some write who mean no end stops [rad]
STRENGTH = 3.0  # effort limit over the largest torque of weight and friction
SPRING_SHARE = 0.6  # of the effort limit
STIFFNESS = 4.0  # per effort limit [1/rad]: the springs' share of it is at 0.15 rad
MAX_STIFFNESS = 1000.0  # [Nm/rad]
ARMATURE_SHARE = 2e-3  # rotor inertia per effort limit [kg m^2 / Nm]
NOISE_SHARE = 1e-3  # of the effort limit
_HOMES = 600  # configurations that are tried


def apply_soft_limits(joint: ElementTree.Element, notes: list[str]) -> None:
    """Narrow the limits of a joint to its soft ones, where its maker's controller stops it.

    Args:
        joint: Its element; changed.
        notes: What was decided is added to it.

    Raises:
        ModelError: If a soft limit is no number.
    """
    controller = joint.find("safety_controller")
    said = controller.attrib if controller is not None else {}
    if not {"soft_lower_limit", "soft_upper_limit"} & said.keys():
        return
    soft_lower, soft_upper = (_soft_limit(joint, said, f"soft_{side}_limit")
                              for side in ("lower", "upper"))  # fmt: skip
    lower, upper = limits_of(joint)
    narrow = max(lower, soft_lower), min(upper, soft_upper)
    unit = "m" if joint.get("type") == "prismatic" else "rad"
    if not narrow[0] < narrow[1]:
        notes.append(f"joint {joint.get('name')} has soft limits of {soft_lower:g} to "
                     f"{soft_upper:g} {unit}, which leave no range: not read")  # fmt: skip
    elif narrow != (lower, upper):
        notes.append(f"joint {joint.get('name')} has limits of {narrow[0]:g} to {narrow[1]:g} "
                     f"{unit} by its soft ones, else {lower:g} to {upper:g}")  # fmt: skip
        limit = joint.find("limit")
        if limit is None:
            limit = ElementTree.SubElement(joint, "limit")
        limit.attrib.update(lower=f"{narrow[0]:.9g}", upper=f"{narrow[1]:.9g}")
        if joint.get("type") == "continuous":
            joint.set("type", "revolute")


def _soft_limit(joint: ElementTree.Element, said: Mapping[str, str], key: str) -> float:
    text = said.get(key, "0")
    try:
        return float(text)
    except ValueError as error:
        raise ModelError(f"joint '{joint.get('name')}': safety_controller {key}='{text}' (valid: "
                         "a number)") from error  # fmt: skip


def bound_joint(joint: ElementTree.Element, notes: list[str]) -> None:
    """Give a joint end stops, which the controller respects.

    Args:
        joint: Its element; changed.
        notes: What was decided is added to it.
    """
    lower, upper = limits_of(joint)
    if not upper - lower < _ENDLESS:
        notes.append(f"joint {joint.get('name')} turns without end: limits of +-{TURN} rad")
        lower, upper = max(lower, -TURN), min(upper, TURN)
    joint.set("type", "revolute")
    limit = joint.find("limit")
    if limit is None:
        limit = ElementTree.SubElement(joint, "limit")
    limit.attrib.update(lower=f"{lower:.9g}", upper=f"{upper:.9g}")


def fill_limits(tree: LinkTree, arm: Arm, driver: str, notes: list[str]) -> dict[str, float]:
    """Fill in limits of speed and effort that the model does not have.

    Args:
        tree: The model; changed.
        arm: Its arm.
        driver: Joint that opens its gripper; empty without one.
        notes: What was guessed is added to it.

    Returns:
        Joint of the arm -> its effort limit [Nm].
    """
    # A joint is at least as strong as those that it carries, whose weight it may not feel.
    weights = np.maximum.accumulate(_weights(tree, arm)[::-1])[::-1]
    least = max(0.15 * float(weights.max()), 1.0)
    efforts = {}
    guessed: dict[str, list[str]] = {"effort": [], "velocity": []}
    for name, weight in zip(arm.joints, weights, strict=True):
        limit = tree.joints[name].find("limit")
        assert limit is not None
        guesses = {"effort": max(STRENGTH * weight, least), "velocity": SPEED}
        for key, guess in guesses.items():
            if not 0.0 < float(limit.get(key, "0")) < np.inf:
                limit.set(key, f"{guess:.2g}")
                guessed[key].append(name)
        efforts[name] = float(limit.get("effort", "0"))
    if driver:
        limit = tree.joints[driver].find("limit")
        assert limit is not None
        for key, guess in (("effort", FINGER_EFFORT), ("velocity", FINGER_SPEED)):
            if not 0.0 < float(limit.get(key, "0")) < np.inf:
                limit.set(key, f"{guess:g}")
                guessed[key].append(driver)
    for name in arm.gripper:
        limit = tree.joints[name].find("limit")
        if limit is not None:
            limit.attrib.setdefault("effort", f"{FINGER_EFFORT:g}")
            limit.attrib.setdefault("velocity", f"{FINGER_SPEED:g}")
    for key, names in guessed.items():
        if names:
            notes.append(f"{key} limits are guessed: {', '.join(names)}")
    return efforts


def drop_impossible_efforts(
    tree: LinkTree, arm: Arm, weights: np.ndarray, notes: list[str]
) -> bool:
    """Remove effort limits with which the arm could not hold itself at home.

    The same number at another joint stands for nothing either, so it is removed, too.

    Args:
        tree: The model, all of whose arm's joints have limits; changed.
        arm: Its arm.
        weights: (n) torques of the arm's weight at home [Nm].
        notes: What was decided is added to it.

    Returns:
        Whether there were any, for :func:`fill_limits` to guess.
    """
    limits = {name: tree.joints[name].find("limit") for name in arm.joints}
    efforts = {name: float(limit.get("effort", "0"))
               for name, limit in limits.items() if limit is not None}  # fmt: skip
    held = dict(zip(arm.joints, np.abs(weights), strict=True))
    wrong = {name: effort for name, effort in efforts.items() if held[name] > effort}
    if not wrong:
        return False
    said = [f"{name} ({held[name]:.3g} of {effort:g} Nm)" for name, effort in wrong.items()]
    alike = [name for name, effort in efforts.items()
             if effort in wrong.values() and name not in wrong]  # fmt: skip
    also = f"; the same number at {', '.join(alike)} neither" if alike else ""
    notes.append("the weight at home takes more than the model's effort limit of "
                 f"{', '.join(said)}, so it cannot be true{also}")  # fmt: skip
    for name in (*wrong, *alike):
        limit = limits[name]
        assert limit is not None
        del limit.attrib["effort"]
    return True


def _weights(tree: LinkTree, arm: Arm) -> np.ndarray:
    """Largest torque of the arm's weight at each of its joints, and of their friction [Nm]."""
    model = tree.model()
    data, dice = model.createData(), generator(0, "weights of an arm")
    torques = []
    for _ in range(200):
        q = pin.neutral(model)
        q[:] = dice.uniform(-2.0, 2.0, model.nq)
        torques.append(np.abs(pin.computeGeneralizedGravity(model, data, q)))
    v = [model.joints[model.getJointId(name)].idx_v for name in arm.joints]
    return np.asarray(np.max(torques, axis=0)[v] + model.upperDryFrictionLimit[v])


def gains(efforts: np.ndarray, armature: np.ndarray) -> dict[str, Any]:
    """Guess what a robot's file says of the joints besides their home.

    Args:
        efforts: (n) effort limits [Nm].
        armature: (n) rotor inertias [kg m^2], zero where they are not known.
    """
    rotors = np.where(armature > 0.0, armature, ARMATURE_SHARE * efforts)
    guesses = {
        "stiffness": np.minimum(STIFFNESS * efforts, MAX_STIFFNESS),
        "spring_torque": SPRING_SHARE * efforts,
        "effective_armature": rotors,
        "torque_noise": NOISE_SHARE * efforts,
    }
    most = {field.name: field.metadata["range"].high for field in fields(JointsConfig)
            if field.name in guesses}  # fmt: skip
    return {"damping_ratio": 0.7} | {
        key: [min(float(f"{number:.4g}"), most[key]) for number in numbers]
        for key, numbers in guesses.items()
    }


def inside(home: np.ndarray, bounds: np.ndarray) -> list[float]:
    """Return joint positions of four decimals, if there are some, that are within limits.

    Args:
        home: (n) the positions [rad].
        bounds: (2, n) lower and upper limits [rad].
    """
    low, high = bounds
    margin = np.minimum(1e-3, 0.5 * (high - low))
    rounded = np.round(np.clip(home, low + margin, high - margin), 4)
    return [float(q) for q in np.clip(rounded, low, high)]


def search_home(robot: Robot) -> np.ndarray:
    """Return (n) a posture with the tool in front and free to move, far from limits and itself.

    Args:
        robot: The arm; it is updated.
    """
    dice, apart = generator(0, "home of an arm"), SelfCollision(robot, SelfCollisionConfig())
    low, high = np.clip(robot.position_limits, -2.4, 2.4)
    robot.update(np.clip(np.zeros(robot.n), low, high))
    base = robot.joint_origins[1]
    reach = np.linalg.norm(np.diff([*robot.joint_origins[1:], robot.tool_pose().translation],
                                   axis=0), axis=1).sum()  # fmt: skip
    best, home = -np.inf, np.clip(np.zeros(robot.n), low, high)
    for _ in range(_HOMES):
        q = low + (high - low) * dice.uniform(0.1, 0.9, robot.n)
        robot.update(q)
        tool = robot.tool_pose()
        x, y, z = (tool.translation - base) / reach
        jacobian = robot.tool_jacobian()
        jacobian[:3] /= reach
        freedom = np.linalg.svd(jacobian, compute_uv=False)[-1]
        margin = float((np.minimum(q - low, high - q) / np.maximum(high - low, 1e-9)).min())
        forward = tool.rotation[:, 2] @ (0.7, 0.0, -0.7)
        score = 4.0 * freedom + margin + 0.3 * forward - abs(y) - abs(np.hypot(x, y) - 0.55)
        score -= max(0.0, -x) + abs(z - 0.1)
        if score > best and apart.clearance(q) > 0.02 * reach:
            best, home = score, q
    return home
