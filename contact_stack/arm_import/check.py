"""What an arm can do and feel: reach, mass, torques at home, and where contacts are located.

A contact force causes joint torques tau = J(p)^T f. To first order they change with the force's
three components and with the two coordinates of its place on the surface: five unknowns. What is
known before is that a force presses, within the friction cone. A place counts as located if the
torque's error then leaves it less than LOCATED to wander.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from contact_aware_control.config import SelfCollisionConfig
from contact_aware_control.safety.command_guard import SelfCollision
from contact_core.base.figures import BLUE, GREY, ORANGE, RED, save
from contact_core.base.seeds import generator
from contact_core.multibody.collision.shapes import PlacedShape, shape_to_coal
from contact_core.robot.robot import Robot
from contact_stack.arm_import.geometry import triangles_of

FORCE = 20.0
"""Of a contact, as of a hand [N]."""

LOCATED = 0.05
"""Standard deviation of a place that counts as located [m]."""

FRICTION = 0.5
PEAK = 4.0  # of the torque's error over its standard deviation
UNKNOWN_FORCE, UNKNOWN_PLACE = 100.0, 0.5  # what is known before [N and m]
POSTURES = 12
LEVELS = ("located", "felt", "not felt")
COLORS = (BLUE, ORANGE, RED)
_LIGHT = np.array([0.5, -0.6, 0.62])


@dataclass(frozen=True)
class LinkCheck:
    """How contacts of FORCE along the normal are felt on a link.

    Attributes:
        link: Its name.
        joints: How many joints, counted from the base, move it.
        located: Share of its surface where they are located, at home.
        felt: Share where they are felt, at home.
        anywhere: Share where they are located, over POSTURES others.
    """

    link: str
    joints: int
    located: float
    felt: float
    anywhere: float


@dataclass(frozen=True)
class ArmCheck:
    """What an arm can do and feel.

    Attributes:
        reach: Largest distance of the tool from the second joint [m].
        mass: Of all that moves [kg].
        clearance: Distance of the closest links at home, those of neighbours left out [m].
        load: Largest share of an effort limit that the weight takes at home.
        force: Force at the tool, in the weakest direction, that the springs hold at home [N].
        links: What each link that moves feels, base to tool.
    """

    reach: float
    mass: float
    clearance: float
    load: float
    force: float
    links: tuple[LinkCheck, ...]


def check_arm(robot: Robot, home: Sequence[float]) -> ArmCheck:
    """Check an arm.

    Args:
        robot: The arm; it is updated.
        home: (n) joint positions [rad].
    """
    q = np.array(home)
    dice = generator(0, "postures of an imported arm")
    low, high = np.clip(robot.position_limits, -np.pi, np.pi)
    postures = [low + (high - low) * dice.random(robot.n) for _ in range(POSTURES)]
    links = dict.fromkeys(
        shape.body for shape in robot.collision_shapes if robot.joints_moving(shape.body)
    )
    checks = []
    for link in links:
        levels, areas = _levels_of_link(robot, link, q)
        others = [_levels_of_link(robot, link, posture) for posture in postures]
        anywhere = float(np.mean([np.average(other == 0, weights=area) for other, area in others]))
        located, felt = (float(np.average(levels <= k, weights=areas)) for k in (0, 1))
        checks.append(LinkCheck(link, robot.joints_moving(link), located, felt, anywhere))
    distances = []
    for posture in (np.zeros(robot.n), q, *postures):
        robot.update(np.clip(posture, *robot.position_limits))
        distances.append(np.linalg.norm(robot.tool_pose().translation - robot.joint_origins[1]))
    robot.update(q)
    weakest = robot.spring_torque[:, None] / np.maximum(np.abs(robot.tool_jacobian()[:3].T), 1e-9)
    apart = SelfCollision(robot, SelfCollisionConfig(distance=0.0))
    return ArmCheck(
        reach=float(max(distances)),
        mass=float(sum(inertia.mass for inertia in robot.model.inertias[1:])),
        clearance=apart.clearance(q),
        load=float((np.abs(robot.gravity_torque(q)) / robot.effort_limits).max()),
        force=float(weakest.min()),
        links=tuple(checks),
    )


def _levels_of_link(robot: Robot, link: str, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Levels of the faces of a link's shapes that are not inside others, and their areas [m^2]."""
    robot.update(q)
    levels, areas = [], []
    for shape in robot.collision_shapes:
        if shape.body == link:
            faces = _faces(robot, shape)
            levels.append(_levels(robot, link, faces))
            areas.append(_areas(faces))
    return np.concatenate(levels), np.concatenate(areas)


def _faces(robot: Robot, shape: PlacedShape) -> np.ndarray:
    """(m, 3, 3) corners of the triangles of a shape, in the world [m]."""
    points, triangles = triangles_of(shape_to_coal(shape.shape))
    pose = robot.link_pose(shape.body) * shape.placement
    return _divided((points @ pose.rotation.T + pose.translation)[triangles])


def _divided(faces: np.ndarray) -> np.ndarray:
    """Cut triangles into four, twice where they are few: those of a box are large."""
    while len(faces) < 100:
        a, b, c = np.moveaxis(faces, 1, 0)
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        parts = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        faces = np.concatenate([np.stack(part, axis=1) for part in parts])
    return faces


def _normals(faces: np.ndarray) -> np.ndarray:
    return np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])


def _areas(faces: np.ndarray) -> np.ndarray:
    return 0.5 * np.linalg.norm(_normals(faces), axis=1)


def _levels(robot: Robot, link: str, faces: np.ndarray) -> np.ndarray:
    """Index of LEVELS of a contact in the middle of each face."""
    doubled = _normals(faces)
    normals = doubled / np.maximum(np.linalg.norm(doubled, axis=1, keepdims=True), 1e-15)
    points, links = faces.mean(axis=1), [link] * len(faces)
    error = np.maximum(robot.torque_error, 1e-4 * robot.effort_limits)
    first = np.cross(normals, np.eye(3)[np.abs(normals).argmin(axis=1)])
    first /= np.maximum(np.linalg.norm(first, axis=1, keepdims=True), 1e-15)
    axes = (first, np.cross(normals, first), -normals)
    force = -FORCE * normals
    torque = robot.torques_of_forces(links, points, force)
    columns = [robot.torques_of_forces(links, points, axis) for axis in axes]
    # Torques are linear in the place.
    columns += [robot.torques_of_forces(links, points + axis, force) - torque for axis in axes[:2]]
    jacobians = np.stack(columns, axis=2) * (PEAK / error)[:, None]
    slip = FRICTION * FORCE
    before = np.array([slip, slip, UNKNOWN_FORCE, UNKNOWN_PLACE, UNKNOWN_PLACE])
    covariances = np.linalg.inv(jacobians.transpose(0, 2, 1) @ jacobians + np.diag(before**-2.0))
    deviations = np.sqrt(covariances[:, 3, 3] + covariances[:, 4, 4])
    felt = np.abs(torque / error).max(axis=1) > 1.0
    return np.where(felt, np.where(deviations < LOCATED, 0, 1), 2)


def draw_check(robot: Robot, home: Sequence[float], path: Path) -> Path:
    """Draw an arm at home, coloured by where contacts are located.

    Args:
        robot: The arm; it is updated.
        home: (n) joint positions [rad].
        path: The picture, without its ending or with it.
    """
    robot.update(np.array(home))
    figure = Figure(figsize=(7.0, 6.0), layout="constrained")
    axes = figure.add_subplot(projection="3d")
    polygons, shades = [], []
    palette = np.array([to_rgb(color) for color in COLORS])
    for shape in robot.collision_shapes:
        faces = _faces(robot, shape)
        normals = _normals(faces)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-15)
        light = 0.55 + 0.45 * np.maximum(normals @ _LIGHT, 0.0)
        colors = np.tile(to_rgb(GREY), (len(faces), 1))
        if robot.joints_moving(shape.body):
            colors = palette[_levels(robot, shape.body, faces)]
        polygons.append(faces)
        shades.append(np.clip(light[:, None] * colors, 0.0, 1.0))
    corners, colors = np.concatenate(polygons), np.concatenate(shades)
    axes.add_collection3d(
        Poly3DCollection(corners, facecolors=colors, edgecolors=colors, linewidths=0.2)
    )
    tool = robot.tool_pose()
    length = 0.12 * float(np.ptp(corners.reshape(-1, 3), axis=0).max())
    for axis, color in enumerate(("r", "g", "b")):
        axes.plot(*zip(tool.translation, tool.translation + length * tool.rotation[:, axis],
                       strict=True), color=color, linewidth=2.0, zorder=100)  # fmt: skip
    low, high = corners.reshape(-1, 3).min(axis=0), corners.reshape(-1, 3).max(axis=0)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]),
             xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")  # fmt: skip
    axes.set_box_aspect(high - low)
    axes.view_init(elev=18.0, azim=-55.0)
    axes.legend(
        handles=[Patch(color=c, label=text) for c, text in zip((*COLORS, GREY), (*LEVELS, "base"),
                                                              strict=True)],
        loc="upper left", frameon=False,
    )  # fmt: skip
    return save(figure, path, f"contacts of {FORCE:g} N at home")
