"""From a model to the files of a robot: URDF, meshes and what the graph knows of the joints."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import yaml
from tqdm import tqdm

from contact_core.base.errors import ModelError
from contact_core.base.waiting import LONG
from contact_core.model.articulation import ROUNDING
from contact_core.model.density import weigh_links
from contact_core.model.extensions import ARMATURE
from contact_core.multibody.collision.collision_element import CAPSULE_VERSION
from contact_core.multibody.collision.shapes import Shape, ShapeKind
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_stack.arm_import.chain import Arm, LinkTree, add_tool, find_arm
from contact_stack.arm_import.fit import MAX_PARTS, fit_primitives
from contact_stack.arm_import.from_mjcf import origin_of, text_of
from contact_stack.arm_import.geometry import Solid, copy_mesh, read_solids_of
from contact_stack.arm_import.gripper import drive_gripper, hold, limits_of
from contact_stack.arm_import.joint_values import (
    bound_joint,
    fill_limits,
    gains,
    inside,
    search_home,
)
from contact_stack.arm_import.source import ModelSource

TOLERANCE_SHARE, TOLERANCES = 0.02, (0.015, 0.025)  # of the reach, within bounds [m]
_KEPT = {
    "robot": ("link", "joint", "material"),
    "link": ("inertial", "visual", "collision"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
}


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
        density: Of links without an inertial [kg/m^3], see :func:`weigh_links`; None if they weigh
            nothing.
        home: Joint positions at the start [rad]; empty to look for some.
        ask: Chooses one of several links; None for nobody to ask.
    """

    name: str
    base: str = ""
    tip: str = ""
    axis: str = ""
    gripper: bool = True
    tolerance: float | None = None
    density: float | None = None
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
        ConfigError: If there is no arm, or several and nobody to ask, or the density is no
            positive number.
        ModelError: If it cannot be a robot of the graph, for instance as nothing of it has a mass.
    """
    tree = LinkTree(source.robot, options.base)
    built = Built(folder / f"{options.name}.yaml", find_arm(tree, options.tip, options.gripper,
                  options.ask), list(source.notes))  # fmt: skip
    robot, notes = tree.robot, built.notes
    _check_loops(tree, built.arm, source.mjcf.loops)
    if options.density is not None and (weights := weigh_links(robot, options.density)):
        notes.append(weights)
    _name_weightless(tree, built.arm, notes)
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
    blind = [link.get("name", "") for link in _with_shapes(robot)]
    blind = [link for link in blind if not (seen[link] or touched[link])]
    if blind:
        raise ModelError(f"no mesh of links {', '.join(blind)} can be read, so nothing could touch "
                         f"them: {', '.join(missing)} (valid: --package-path FOLDER with their "
                         "packages)")  # fmt: skip
    points = {link: np.vstack([solid.points for solid in touched[link] or seen[link]])
              for link in seen if touched[link] or seen[link]}  # fmt: skip
    _repair_inertias(robot, notes)
    driver = drive_gripper(tree, built.arm, points, notes)
    tool = add_tool(tree, built.arm, points, options.axis)
    for name in built.arm.joints:
        bound_joint(tree.joints[name], notes)
    reach = _reach(tree, built.arm, tool)
    tolerance = options.tolerance or float(np.clip(TOLERANCE_SHARE * reach, *TOLERANCES))
    _replace_collisions(robot, seen, touched, tolerance, built)
    _keep_visuals(robot, folder / "meshes", source, missing, notes)
    efforts = fill_limits(tree, built.arm, driver, notes)
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


def _check_loops(tree: LinkTree, arm: Arm, loops: Mapping[str, tuple[str, str]]) -> None:
    """Check that nothing closes a loop but what is held."""
    for name, (one, other) in loops.items():
        between = set(tree.path(one)) ^ set(tree.path(other))
        if between - set(arm.held):
            gripper = between - set(arm.joints) == between
            raise ModelError(
                f"equality '{name}' closes a loop of {', '.join(sorted(between))} "
                + ("(valid: --no-gripper, which holds what is beyond the arm)" if gripper
                   else "(valid: a serial arm)")
            )  # fmt: skip


def _name_weightless(tree: LinkTree, arm: Arm, notes: list[str]) -> None:
    """Name the links that move, have shapes and weigh nothing; refuse an arm without any mass."""
    moved = tree.below(tree.child(arm.joints[0]))
    links = [link for link in tree.robot.findall("link") if link.get("name") in moved]
    masses = [mass.get("value", "0") for link in links for mass in link.findall("inertial/mass")]
    if not any(float(mass) > 0.0 for mass in masses):
        raise ModelError("none of the links that the arm moves has a mass (valid: an inertial, or "
                         "--density for links without one)")  # fmt: skip
    bare = [link.get("name", "") for link in _with_shapes(tree.robot)
            if link in links and link.find("inertial") is None]  # fmt: skip
    if bare:
        notes.append(f"without an inertial, so they weigh nothing: {', '.join(bare)} (valid: "
                     "--density)")  # fmt: skip


def _with_shapes(robot: ElementTree.Element) -> list[ElementTree.Element]:
    def has_shape(link: ElementTree.Element) -> bool:
        return any(link.find(f"{tag}/geometry") is not None for tag in ("visual", "collision"))

    return [link for link in robot.findall("link") if has_shape(link)]


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


def _reach(tree: LinkTree, arm: Arm, tool: str) -> float:
    """Length of the arm, from its second joint to the tool [m]."""
    model = tree.model()
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
    for name, link in tqdm(links.items(), "fit collision shapes", delay=LONG, leave=False):
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
    armature = np.array([source.mjcf.armature.get(name, 0.0) for name in arm.joints])
    bounds = np.array([limits_of(tree.joints[name]) for name in arm.joints]).T
    return {
        "name": options.name,
        "arm": {"urdf": f"{options.name}.urdf"},
        "arm_joints": list(arm.joints),
        "tool_link": tool,
        **({"gripper_joint": driver} if driver else {}),
        "joints": {"home": inside(np.zeros(len(effort)), bounds), **gains(effort, armature)},
    }


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
        home, said = search_home(robot), "chosen well inside the reach"
    values["joints"]["home"] = inside(home, robot.position_limits)
    built.notes.append(f"home: {said}")
