"""From a model to the files of a robot: URDF, meshes and what the graph knows of the joints."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import yaml
from tqdm import tqdm

from contact_aware_control.config import SelfCollisionConfig
from contact_aware_control.safety.command_guard import SelfCollision
from contact_core.base.errors import ModelError
from contact_core.base.seeds import generator
from contact_core.model.articulation import ROUNDING
from contact_core.model.extensions import ARMATURE
from contact_core.model.urdf import read_tree
from contact_core.multibody.collision.collision_element import CAPSULE_VERSION
from contact_core.multibody.collision.shapes import Shape, ShapeKind
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_stack.arm_import.chain import Arm, LinkTree, add_tool, find_arm
from contact_stack.arm_import.fit import MAX_PARTS, fit_primitives
from contact_stack.arm_import.from_mjcf import origin_of, text_of
from contact_stack.arm_import.geometry import Solid, copy_mesh, read_solids_of
from contact_stack.arm_import.gripper import drive_gripper, hold, limits_of
from contact_stack.arm_import.source import ModelSource

# What is guessed where a model does not say it, and what no model says.
SPEED = 3.0  # of a joint [rad/s]
FINGER_SPEED, FINGER_EFFORT = 0.2, 40.0  # [m/s or rad/s, N or Nm]
TURN = 6.283  # of a joint without end stops, to both sides [rad]
STRENGTH = 3.0  # effort limit over the largest torque of weight and friction
SPRING_SHARE = 0.6  # of the effort limit
STIFFNESS = 4.0  # per effort limit [1/rad]: the springs' share of it is at 0.15 rad
MAX_STIFFNESS = 1000.0  # [Nm/rad]
ARMATURE_SHARE = 2e-3  # rotor inertia per effort limit [kg m^2 / Nm]
NOISE_SHARE = 1e-3  # of the effort limit
TOLERANCE_SHARE, TOLERANCES = 0.02, (0.015, 0.025)  # of the reach, within bounds [m]
_KEPT = {
    "robot": ("link", "joint", "material"),
    "link": ("inertial", "visual", "collision"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
}
_HOMES = 600  # configurations that are tried


@dataclass
class ImportOptions:
    """What a person may say of the arm.

    Attributes:
        name: Name of the robot.
        base: Link that stands still; empty for the root.
        tip: Link at the end of the arm; empty to guess it.
        axis: Direction of approach in its frame, e.g. "x"; empty to guess it.
        gripper: Whether it may have a gripper.
        tolerance: How far primitives may stand off meshes [m]; None for a share of the reach.
        home: Joint positions at the start [rad]; empty to look for some.
        ask: Chooses one of several links; None for nobody to ask.
    """

    name: str
    base: str = ""
    tip: str = ""
    axis: str = ""
    gripper: bool = True
    tolerance: float | None = None
    home: tuple[float, ...] = ()
    ask: Callable[[list[str]], str] | None = None


@dataclass
class Built:
    """A robot that was written.

    Attributes:
        file: Its robot file.
        arm: What is what in it.
        notes: What was guessed, held, replaced or left out.
        shapes: Number of collision shapes.
        excess: How far these stand off the meshes at most [m].
        shortfall: How far meshes stick out of them at most [m].
    """

    file: Path
    arm: Arm
    notes: list[str] = field(default_factory=list)
    shapes: int = 0
    excess: float = 0.0
    shortfall: float = 0.0


def build_robot(source: ModelSource, options: ImportOptions, folder: Path) -> Built:
    """Write the files of a robot.

    Args:
        source: The model; its elements are changed.
        options: What a person says of it.
        folder: Where to write; it exists.

    Raises:
        ConfigError: If there is no arm, or several and nobody to ask.
        ModelError: If it cannot be a robot of the graph.
    """
    tree = LinkTree(source.robot, options.base)
    built = Built(folder / f"{options.name}.yaml", find_arm(tree, options.tip, options.gripper,
                  options.ask), list(source.notes))  # fmt: skip
    robot, notes = tree.robot, built.notes
    robot.set("name", options.name)
    robot.set("version", CAPSULE_VERSION)
    for owner in (robot, *robot.findall("link"), *robot.findall("joint")):
        for element in list(owner):
            if element.tag not in _KEPT[owner.tag]:
                owner.remove(element)
    beyond = [name for name in built.arm.held if name in tree.joints]
    if beyond:
        hold(tree, beyond)
        notes.append(f"joints {', '.join(beyond)} are held")
    missing: list[str] = []
    seen, touched = (
        {link.get("name", ""): read_solids_of(link, tag, source.mjcf.meshes, missing)
         for link in robot.findall("link")}
        for tag in ("visual", "collision")
    )  # fmt: skip
    points = {link: np.vstack([solid.points for solid in touched[link] or seen[link]])
              for link in seen if touched[link] or seen[link]}  # fmt: skip
    _repair_inertias(robot, notes)
    driver = drive_gripper(tree, built.arm, points, notes)
    tool = add_tool(tree, built.arm, points, options.axis)
    for name in built.arm.joints:
        _bound(tree.joints[name], notes)
    reach = _reach(tree, built.arm, tool)
    tolerance = options.tolerance or float(np.clip(TOLERANCE_SHARE * reach, *TOLERANCES))
    _replace_collisions(robot, seen, touched, tolerance, built)
    _keep_visuals(robot, folder / "meshes", source, missing, notes)
    efforts = _limits(tree, built.arm, driver, notes)
    for joint in robot.findall("joint"):
        joint.attrib.pop(ARMATURE, None)
    values = _robot_file(options, source, built.arm, tool, driver, efforts, tree)
    _write(built.file, robot, values)
    _choose_home(built, options, source, values)
    _write(built.file, robot, values)
    return built


def _write(file: Path, robot: ElementTree.Element, values: dict[str, Any]) -> None:
    ElementTree.indent(robot)
    file.with_suffix(".urdf").write_text(ElementTree.tostring(robot, encoding="unicode"))
    text = yaml.safe_dump(values, sort_keys=False, default_flow_style=None, width=96)
    file.write_text(f"{HEADER}{text}")


HEADER = """# Written by contact-stack import. Guessed: stiffness, spring_torque and torque_noise,
# as shares of the effort limits of the URDF, and effective_armature where the model has none.
"""


def _repair_inertias(robot: ElementTree.Element, notes: list[str]) -> None:
    """Give links whose inertia no body has the mean of its principal moments."""
    repaired = []
    for link in robot.findall("link"):
        inertia, mass = link.find("inertial/inertia"), link.find("inertial/mass")
        if inertia is None or mass is None:
            continue
        value = {key: float(inertia.get(key, "0")) for key in inertia.attrib}
        matrix = np.array([[value.get("i" + "".join(sorted(a + b)), 0.0) for a in "xyz"]
                           for b in "xyz"])  # fmt: skip
        least, middle, most = np.linalg.eigvalsh(matrix)
        if least >= -ROUNDING * most and most <= (1.0 + ROUNDING) * (least + middle):
            continue
        mean = max(float(np.trace(matrix)) / 3.0, 0.0)
        inertia.attrib = {"ixx": f"{mean:.6g}", "iyy": f"{mean:.6g}", "izz": f"{mean:.6g}",
                          "ixy": "0", "ixz": "0", "iyz": "0"}  # fmt: skip
        repaired.append(link.get("name", ""))
    if repaired:
        notes.append(f"no body has the inertia of links {', '.join(repaired)}: taken as the mean "
                     "of its principal moments")  # fmt: skip


def _bound(joint: ElementTree.Element, notes: list[str]) -> None:
    """Give a joint end stops, which the controller respects."""
    lower, upper = limits_of(joint)
    if joint.get("type") == "continuous" or not upper - lower < 2.0 * TURN:
        notes.append(f"joint {joint.get('name')} turns without end: limits of +-{TURN} rad")
        lower, upper = max(lower, -TURN), min(upper, TURN)
    joint.set("type", "revolute")
    limit = joint.find("limit")
    if limit is None:
        limit = ElementTree.SubElement(joint, "limit")
    limit.attrib.update(lower=f"{lower:.9g}", upper=f"{upper:.9g}")


def _model(tree: LinkTree) -> pin.Model:
    return read_tree(ElementTree.tostring(tree.robot, encoding="unicode"))


def _reach(tree: LinkTree, arm: Arm, tool: str) -> float:
    """Length of the arm, from its second joint to the tool [m]."""
    model = _model(tree)
    data = model.createData()
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    spots = [data.oMi[model.getJointId(name)].translation for name in arm.joints[1:]]
    spots.append(data.oMf[model.getFrameId(tool, pin.FrameType.BODY)].translation)
    return float(np.linalg.norm(np.diff(spots, axis=0), axis=1).sum())


def _replace_collisions(
    robot: ElementTree.Element,
    seen: dict[str, list[Solid]],
    touched: dict[str, list[Solid]],
    tolerance: float,
    built: Built,
) -> None:
    """Put primitives in the place of meshes; a link that collides as nothing, as it looks."""
    links = {link.get("name", ""): link for link in robot.findall("link")}
    looks, wide = [], []
    for name, link in tqdm(links.items(), "fit collision shapes", leave=False):
        solids = touched.get(name) or seen.get(name, [])
        looks += [name] if solids and not touched.get(name) else []
        for old in link.findall("collision"):
            link.remove(old)
        for solid in solids:
            if not solid.mesh:
                _add_collision(link, solid.element.find("origin"), solid.element.find("geometry"))
        meshes = [solid for solid in solids if solid.mesh and len(solid.triangles)]
        if meshes:
            first = np.cumsum([0, *(len(solid.points) for solid in meshes)])
            corners = [solid.triangles + k for solid, k in zip(meshes, first, strict=False)]
            fit = fit_primitives(np.vstack([solid.points for solid in meshes]), np.vstack(corners),
                                 tolerance)  # fmt: skip
            built.excess = max(built.excess, fit.excess)
            built.shortfall = max(built.shortfall, fit.shortfall)
            if max(fit.excess, 2.0 * fit.shortfall) > 1.2 * tolerance:
                wide.append(f"{name} (off by {1e3 * max(fit.excess, fit.shortfall):.0f} mm)")
            for shape, pose in fit.shapes:
                _add_collision(link, origin_of(pose), _geometry(shape))
        built.shapes += len(link.findall("collision"))
    if looks:
        built.notes.append(f"without collision shapes, so as they look: {', '.join(looks)}")
    if wide:
        built.notes.append(
            f"{MAX_PARTS} primitives are not as close as {1e3 * tolerance:.0f} mm: "
            f"{', '.join(wide)}"
        )


def _add_collision(
    link: ElementTree.Element,
    origin: ElementTree.Element | None,
    geometry: ElementTree.Element | None,
) -> None:
    number = len(link.findall("collision"))
    collision = ElementTree.SubElement(link, "collision", name=f"{link.get('name')}_{number}")
    collision.extend(part for part in (origin, geometry) if part is not None)


def _geometry(shape: Shape) -> ElementTree.Element:
    geometry, (a, b, c) = ElementTree.Element("geometry"), shape.size
    match shape.kind:
        case ShapeKind.BOX:
            ElementTree.SubElement(geometry, "box", size=text_of((2 * a, 2 * b, 2 * c)))
        case ShapeKind.SPHERE:
            ElementTree.SubElement(geometry, "sphere", radius=f"{a:.6g}")
        case kind:
            tag = "capsule" if kind is ShapeKind.CAPSULE else "cylinder"
            ElementTree.SubElement(geometry, tag, radius=f"{a:.6g}", length=f"{2 * b:.6g}")
    return geometry


def _keep_visuals(
    robot: ElementTree.Element,
    folder: Path,
    source: ModelSource,
    missing: list[str],
    notes: list[str],
) -> None:
    """Copy what links look like; draw as it collides what is missing, or looks like nothing."""
    for link in robot.findall("link"):
        for visual in link.findall("visual"):
            mesh = visual.find("geometry/mesh")
            if mesh is not None and not copy_mesh(mesh, folder, source.mjcf.meshes):
                link.remove(visual)
        if not link.findall("visual"):
            for collision in link.findall("collision"):
                visual = ElementTree.SubElement(link, "visual")
                visual.extend(list(collision))
    if missing:
        notes.append(f"missing or unreadable: {', '.join(missing)}")


def _limits(tree: LinkTree, arm: Arm, driver: str, notes: list[str]) -> dict[str, float]:
    """Fill in limits of speed and effort that the model does not have; return the efforts [Nm]."""
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


def _weights(tree: LinkTree, arm: Arm) -> np.ndarray:
    """Largest torque of the arm's weight at each of its joints, and of their friction [Nm]."""
    model = _model(tree)
    if not sum(inertia.mass for inertia in model.inertias) > 0.0:
        raise ModelError("the model's links have no mass, without which no arm can be simulated")
    data, dice = model.createData(), generator(0, "weights of an arm")
    torques = []
    for _ in range(200):
        q = pin.neutral(model)
        q[:] = dice.uniform(-2.0, 2.0, model.nq)
        torques.append(np.abs(pin.computeGeneralizedGravity(model, data, q)))
    v = [model.joints[model.getJointId(name)].idx_v for name in arm.joints]
    return np.asarray(np.max(torques, axis=0)[v] + model.upperDryFrictionLimit[v])


def _robot_file(
    options: ImportOptions,
    source: ModelSource,
    arm: Arm,
    tool: str,
    driver: str,
    efforts: dict[str, float],
    tree: LinkTree,
) -> dict[str, Any]:
    """What the robot file says; the home is where limits are nearest to zero."""
    effort = np.array([efforts[name] for name in arm.joints])
    known = [source.mjcf.armature.get(name, 0.0) for name in arm.joints]
    armature = np.where(np.array(known) > 0.0, known, ARMATURE_SHARE * effort)
    bounds = np.array([limits_of(tree.joints[name]) for name in arm.joints]).T
    return {
        "name": options.name,
        "arm": {"urdf": f"{options.name}.urdf"},
        "arm_joints": list(arm.joints),
        "tool_link": tool,
        **({"gripper_joint": driver} if driver else {}),
        "joints": {
            "home": _inside(np.zeros(len(effort)), bounds),
            "stiffness": _rounded(np.minimum(STIFFNESS * effort, MAX_STIFFNESS)),
            "damping_ratio": 0.7,
            "spring_torque": _rounded(SPRING_SHARE * effort),
            "effective_armature": _rounded(armature),
            "torque_noise": _rounded(NOISE_SHARE * effort),
        },
    }


def _rounded(numbers: np.ndarray) -> list[float]:
    return [float(f"{number:.4g}") for number in numbers]


def _inside(home: np.ndarray, bounds: np.ndarray) -> list[float]:
    """Joint positions of four decimals, within the limits (2, n)."""
    return [round(float(q), 4) for q in np.clip(home, bounds[0] + 1e-3, bounds[1] - 1e-3)]


def _choose_home(
    built: Built, options: ImportOptions, source: ModelSource, values: dict[str, Any]
) -> None:
    """Choose where simulations start: as given, as in a keyframe, or well inside the reach."""
    robot = Robot.from_description(RobotDescription.load(str(built.file)))
    start, joints = source.mjcf.start, built.arm.joints
    if options.home:
        home = np.array(options.home)
        said = "given"
    elif any(start.get(name) for name in joints):
        home, said = np.array([start.get(name, 0.0) for name in joints]), "that of the keyframe"
    else:
        home, said = _search_home(robot), "chosen well inside the reach"
    values["joints"]["home"] = _inside(home, robot.position_limits)
    built.notes.append(f"home: {said}")


def _search_home(robot: Robot) -> np.ndarray:
    """A configuration with the tool in front and free to move, far from limits and itself."""
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
        margin = float((np.minimum(q - low, high - q) / (high - low)).min())
        forward = tool.rotation[:, 2] @ (0.7, 0.0, -0.7)
        score = 4.0 * freedom + margin + 0.3 * forward - abs(y) - abs(np.hypot(x, y) - 0.55)
        score -= max(0.0, -x) + abs(z - 0.1)
        if score > best and apart.clearance(q) > 0.02 * reach:
            best, home = score, q
    return home
