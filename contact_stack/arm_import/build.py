"""From a model to the files of a robot: URDF, meshes and what the graph knows of the joints."""

from __future__ import annotations

import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import yaml
from tqdm import tqdm

from contact_core.base.errors import ConfigError, ModelError
from contact_core.base.waiting import LONG
from contact_core.model.articulation import ROUNDING, read_articulation
from contact_core.model.density import NOT_FOR_MJCF, weigh_links
from contact_core.model.elements import first_of
from contact_core.model.extensions import ARMATURE
from contact_core.multibody.collision.collision_element import CAPSULE_VERSION
from contact_core.multibody.collision.shapes import Shape, ShapeKind
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot
from contact_stack.arm_import.chain import MOVING, Arm, LinkTree, add_tool, find_arm
from contact_stack.arm_import.fit import MAX_PARTS, fit_primitives
from contact_stack.arm_import.from_mjcf import origin_of, text_of
from contact_stack.arm_import.geometry import Solid, copy_mesh, read_solids_of
from contact_stack.arm_import.gripper import drive_gripper, hold, limits_of
from contact_stack.arm_import.joint_values import (
    apply_soft_limits,
    bound_joint,
    drop_impossible_efforts,
    fill_limits,
    gains,
    inside,
    search_home,
)
from contact_stack.arm_import.source import ModelSource

UPRIGHT = 1e-3  # up to which a base does not lean [rad]
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
        ConfigError: If there is no arm, or several and nobody to ask, the density is no positive
            number, or the home is beyond the limits.
        ModelError: If it cannot be a robot of the graph, for instance as a joint moves no mass.
    """
    tree = LinkTree(source.robot, options.base)
    built = Built(folder / f"{options.name}.yaml", find_arm(tree, options.tip, options.gripper,
                  options.ask), list(source.notes))  # fmt: skip
    robot, notes = tree.robot, built.notes
    _check_loops(tree, built.arm, source.mjcf.loops)
    if options.density is not None and source.is_mjcf:
        raise ModelError(NOT_FOR_MJCF)
    if options.density is not None and (weights := weigh_links(robot, options.density)):
        notes.append(weights)
    _bound_joints(tree, options, built)
    _note_what_is_odd(tree, source, built)
    robot.set("name", options.name)
    robot.set("version", CAPSULE_VERSION)
    _drop_what_is_not_kept(robot)
    if beyond := [name for name in built.arm.held if name in tree.joints]:
        notes.append(f"joints {hold(tree, beyond)} are held")
    missing: list[str] = []
    seen, touched = _read_solids(robot, source, missing)
    points = {link: np.vstack([solid.points for solid in touched[link] or seen[link]])
              for link in seen if touched[link] or seen[link]}  # fmt: skip
    _repair_inertias(robot, notes)
    driver, changes = drive_gripper(tree, built.arm, points, notes)
    _check_masses(tree, source.is_mjcf)
    tool = add_tool(tree, built.arm, points, options.axis)
    reach = _reach(tree, built.arm, tool)
    tolerance = options.tolerance or float(np.clip(TOLERANCE_SHARE * reach, *TOLERANCES))
    _replace_collisions(robot, seen, touched, tolerance, built)
    _keep_visuals(robot, folder / "meshes", source, missing, notes)
    efforts = fill_limits(tree, built.arm, driver, notes)
    for joint in robot.findall("joint"):
        joint.attrib.pop(ARMATURE, None)
    values = _robot_file(options, source, built.arm, tool, driver, efforts, tree)
    _write(built.file, robot, values, changes)
    carried = _choose_home(built, options, source, values)
    if drop_impossible_efforts(tree, built.arm, carried, notes):
        efforts = fill_limits(tree, built.arm, driver, notes)
        values["joints"] |= _gains(source, built.arm, efforts)
    _write(built.file, robot, values, changes)
    return built


def _bound_joints(tree: LinkTree, options: ImportOptions, built: Built) -> None:
    """Let the narrower of a joint's limits count, and check their ranges and the home."""
    for name in (*built.arm.joints, *built.arm.gripper):
        apply_soft_limits(tree.joints[name], built.notes)
    for name in built.arm.joints:
        bound_joint(tree.joints[name], built.notes)
    _check_ranges(tree, built.arm)
    _check_home(options.home, tree, built.arm)


def _note_what_is_odd(tree: LinkTree, source: ModelSource, built: Built) -> None:
    """Say what stands otherwise than in the model, and what weighs nothing."""
    lean = np.arctan2(np.hypot(*tree.turn[:2, 2]), tree.turn[2, 2])
    if lean > UPRIGHT:
        rpy = (np.round(pin.rpy.matrixToRpy(tree.turn), 5) + 0.0).tolist()
        built.notes.append(
            f"in the model '{tree.base}' leans by {np.degrees(lean):.3g} deg; here it stands "
            f"upright, and leans with rpy: {rpy} beside the robot file's arm: urdf"
        )
    # Of a MJCF, what a body weighs may be with the link of its joint.
    bare = [] if source.is_mjcf else _weightless(tree, built.arm)
    if bare:
        built.notes.append(
            f"without an inertial, so they weigh nothing: {', '.join(bare)} (valid: --density)"
        )


def _drop_what_is_not_kept(robot: ElementTree.Element) -> None:
    """Remove what a robot's file does not have, such as transmissions and plugins."""
    for owner in (robot, *robot.findall("link"), *robot.findall("joint")):
        for element in list(owner):
            if element.tag not in _KEPT[owner.tag]:
                owner.remove(element)


def _read_solids(
    robot: ElementTree.Element, source: ModelSource, missing: list[str]
) -> tuple[dict[str, list[Solid]], dict[str, list[Solid]]]:
    """Return what of each link is seen and what is touched.

    Args:
        robot: The model.
        source: Where it is from.
        missing: Gets the meshes that cannot be read.

    Raises:
        ModelError: If there is none that can be read of a link that has some.
    """
    seen, touched = (
        {link.get("name", ""): read_solids_of(link, tag, source.mjcf.meshes, missing)
         for link in robot.findall("link")}
        for tag in ("visual", "collision")
    )  # fmt: skip
    blind = [link.get("name", "") for link in _with_shapes(robot)]
    blind = [link for link in blind if not (seen[link] or touched[link])]
    if blind:
        raise ModelError(f"no mesh of links {first_of(blind)} can be read, so nothing could touch "
                         "them (valid: --package-path FOLDER with their packages): "
                         f"{first_of(missing)}")  # fmt: skip
    return seen, touched


def _write(
    file: Path, robot: ElementTree.Element, values: dict[str, Any], remarks: Sequence[str]
) -> None:
    ElementTree.indent(robot)
    file.with_suffix(".urdf").write_text(ElementTree.tostring(robot, encoding="unicode"))
    text = yaml.safe_dump(values, sort_keys=False, default_flow_style=None, width=96)
    lines = [line for remark in remarks for line in textwrap.wrap(remark, 94)]
    file.write_text("".join([HEADER, *(f"# {line}\n" for line in lines), text]))


HEADER = """# Written by contact-stack import. Guessed: stiffness (1000 Nm/rad at most),
# spring_torque and torque_noise, as shares of the effort limits of the URDF, and
# effective_armature where the model has none.
"""


def _check_loops(tree: LinkTree, arm: Arm, loops: Mapping[str, tuple[str, str]]) -> None:
    """Check that nothing closes a loop but what is held."""
    for name, (one, other) in loops.items():
        between = set(tree.path(one)) ^ set(tree.path(other))
        if between - set(arm.held):
            gripper = between.isdisjoint(arm.joints)
            raise ModelError(
                f"equality '{name}' closes a loop of {', '.join(sorted(between))} "
                + ("(valid: --no-gripper, which holds what is beyond the arm)" if gripper
                   else "(valid: a serial arm)")
            )  # fmt: skip


def _check_ranges(tree: LinkTree, arm: Arm) -> None:
    """Check that the joints of the arm can move."""
    stuck = [name for name in arm.joints if not np.ptp(limits_of(tree.joints[name]))]
    if stuck:
        raise ModelError(f"the limits of joints {', '.join(stuck)} leave no range (valid: lower < "
                         "upper; type continuous without end stops, fixed for what does not "
                         "move)")  # fmt: skip


def _check_home(home: tuple[float, ...], tree: LinkTree, arm: Arm) -> None:
    """Check that a home that a person gave is one of the arm's."""
    if home and len(home) != len(arm.joints):
        raise ConfigError(f"--home has {len(home)} positions (valid: {len(arm.joints)}, of joints "
                          f"{', '.join(arm.joints)})")  # fmt: skip
    for name, q in zip(arm.joints, home, strict=False):
        low, high = limits_of(tree.joints[name])
        if not low <= q <= high:
            raise ConfigError(f"--home has joint '{name}' at {q:g} rad (valid: {low:g} to "
                              f"{high:g} rad)")  # fmt: skip


def _weightless(tree: LinkTree, arm: Arm) -> list[str]:
    """Links that the arm moves, which have shapes and no inertial."""
    moved = tree.below(tree.child(arm.joints[0]))
    links = {link.get("name", ""): link for link in _with_shapes(tree.robot)}
    return [name for name, link in links.items() if name in moved and link.find("inertial") is None]


def _check_masses(tree: LinkTree, is_mjcf: bool) -> None:
    """Check that joints move something, as the simulator does."""
    masses = {link.get("name", ""): sum(float(mass.get("value", "0"))
                                        for mass in link.findall("inertial/mass"))
              for link in tree.robot.findall("link")}  # fmt: skip
    for link, mass in masses.items():
        if mass < 0.0:
            raise ModelError(f"link '{link}' has a mass of {mass:g} kg (valid: >= 0 kg)")
    for name, joint in tree.joints.items():
        free = tree.kind(name) in MOVING and joint.find("mimic") is None
        if free and not any(masses[link] for link in tree.below(tree.child(name))):
            raise ModelError(f"joint '{name}' moves no mass, as link '{tree.child(name)}' has none "
                             "(valid: an inertial" + ("" if is_mjcf else ", or --density for "
                             "links without one") + ")")  # fmt: skip
    read_articulation(ElementTree.tostring(tree.robot, encoding="unicode"))


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
        notes.append(f"missing or unreadable: {first_of(missing)}")


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
    bounds = np.array([limits_of(tree.joints[name]) for name in arm.joints]).T
    return {
        "name": options.name,
        "arm": {"urdf": f"{options.name}.urdf"},
        "arm_joints": list(arm.joints),
        "tool_link": tool,
        **({"gripper_joint": driver} if driver else {}),
        "joints": {
            "home": inside(np.zeros(len(arm.joints)), bounds),
            **_gains(source, arm, efforts),
        },
    }


def _gains(source: ModelSource, arm: Arm, efforts: Mapping[str, float]) -> dict[str, Any]:
    """What the robot file says of the joints besides their home."""
    armature = [source.mjcf.armature.get(name, 0.0) for name in arm.joints]
    return gains(np.array([efforts[name] for name in arm.joints]), np.array(armature))


def _choose_home(
    built: Built, options: ImportOptions, source: ModelSource, values: dict[str, Any]
) -> np.ndarray:
    """Choose where simulations start: as given, as in a keyframe, or well inside the reach.

    Returns:
        (n) torques of the weight there [Nm].
    """
    robot = Robot.from_description(RobotDescription.load(str(built.file)))
    start, joints = source.mjcf.start, built.arm.joints
    low, high = robot.position_limits
    if options.home:
        home = np.array(options.home)
        said = "given"
    elif any(name in start for name in joints):
        home, said = np.array([start.get(name, 0.0) for name in joints]), "that of the keyframe"
        beyond = [f"{name} (at {q:.4g} rad)" for name, q, a, b
                  in zip(joints, home, low, high, strict=True) if not a <= q <= b]  # fmt: skip
        said += f", which has {', '.join(beyond)} beyond limits: moved inside" if beyond else ""
    else:
        home, said = search_home(robot), "chosen well inside the reach"
    values["joints"]["home"] = inside(home, robot.position_limits)
    built.notes.append(f"home: {said}")
    return robot.gravity_torque(np.array(values["joints"]["home"]))
