"""A scene in 3-D as arrays: what its kinematics and contact kernels read."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from contact_core.collision.shapes import Shape, ShapeKind
from contact_core.description import collision_shapes, read_urdf
from contact_core.errors import ModelError
from contact_core.rigid_body.joints import joint_type
from contact_core.scene import ROBOT
from contact_core.surface import combine
from irs_planner.scenes.spatial_scene import SpatialScene

WORLD = 0
ROUND = (ShapeKind.SPHERE, ShapeKind.CAPSULE)
FLAT = (ShapeKind.BOX, ShapeKind.HALF_SPACE)


class SpatialArrays(NamedTuple):
    """Bodies are numbered: 0 = everything fixed, 1..O = objects, then the arm's links.

    Attributes:
        objects: Number O of objects; joint j is state 6 O + j.
        joint_rotation: (L, 3, 3) joint frame in the link before.
        joint_position: (L, 3) [m].
        joint_axis: (L, 3) unit axis in the joint frame.
        tool: (4, 3) origin of the tool frame in the last link [m], then its axes.
        shape_kind: (S) ShapeKind.
        shape_size: (S, 3), see Shape.size.
        shape_body: (S) body of every shape.
        shape_rotation: (S, 3, 3) in the body frame.
        shape_position: (S, 3) [m].
        probe_body: (B) body of every probe, a sphere on the surface of a shape.
        probe_position: (B, 3) centre in the body frame [m].
        probe_radius: (B) [m]; 0 for a corner.
        pair: (P, 2) probe and shape that can touch.
        friction: (P) friction coefficient of every pair.
    """

    objects: int
    joint_rotation: np.ndarray
    joint_position: np.ndarray
    joint_axis: np.ndarray
    tool: np.ndarray
    shape_kind: np.ndarray
    shape_size: np.ndarray
    shape_body: np.ndarray
    shape_rotation: np.ndarray
    shape_position: np.ndarray
    probe_body: np.ndarray
    probe_position: np.ndarray
    probe_radius: np.ndarray
    pair: np.ndarray
    friction: np.ndarray


@dataclass(frozen=True)
class Part:
    """A shape on a numbered body.

    Attributes:
        instance: The robot, or an object of the scene.
        link: The link of that instance.
        body: Number of the body.
        shape: The shape.
        placement: Its pose in the body frame.
    """

    instance: str
    link: str
    body: int
    shape: Shape
    placement: pin.SE3

    @property
    def name(self) -> str:
        """What contacts of this part are reported by."""
        if self.instance == ROBOT:
            return self.link
        return "" if self.body == WORLD else self.instance


def build_spatial_arrays(
    scene: SpatialScene,
) -> tuple[SpatialArrays, tuple[tuple[str, str], ...]]:
    """Number the bodies of a scene and list what can touch.

    Spheres and capsules touch any shape; a capsule is represented by spheres along its
    axis. Boxes that move touch boxes and half spaces with their corners. Parts that do not move
    relative to each other never touch, nor those the scene does not allow to.

    Args:
        scene: The scene.

    Returns:
        Its arrays, and the names of the two parts of every pair; "" for anything fixed.

    Raises:
        ModelError: If two kinds of shape cannot be planned with; the message names them.
    """
    parts = _parts(scene)
    source = scene.scene
    probes: list[tuple[int, np.ndarray, float]] = []
    pairs: list[tuple[int, int]] = []
    names: list[tuple[str, str]] = []
    friction: list[float] = []
    for i, j in itertools.permutations(range(len(parts)), 2):
        a, b = parts[i], parts[j]
        allowed = source.may_touch((a.instance, a.link), (b.instance, b.link))
        if a.body == b.body or not allowed or not _probes(a, b, i < j):
            continue
        surfaces = (source.surface_of(part.instance, part.link) for part in (a, b))
        _, _, coefficient = combine(*surfaces)
        for center, radius in _spheres(a.shape, scene.config.probe_spacing):
            pairs.append((len(probes), j))
            probes.append((a.body, a.placement.act(center), radius))
            friction.append(coefficient)
            names.append((a.name, b.name))
    arm = source.robot.arm_model(source.config.robot.gripper.initial_position)
    placements = list(arm.jointPlacements)[1:]
    tool = arm.frames[arm.getFrameId(source.robot.tool_link)].placement
    joints = zip(list(arm.names)[1:], list(arm.joints)[1:], strict=True)
    arrays = SpatialArrays(
        len(scene.object_names),
        np.array([placement.rotation for placement in placements]),
        np.array([placement.translation for placement in placements]),
        np.array([joint_type(name, joint)[1] for name, joint in joints]),
        np.vstack((tool.translation, tool.rotation.T)),
        np.array([int(part.shape.kind) for part in parts], dtype=np.int64),
        np.array([part.shape.size for part in parts]).reshape(-1, 3),
        np.array([part.body for part in parts], dtype=np.int64),
        np.array([part.placement.rotation for part in parts]).reshape(-1, 3, 3),
        np.array([part.placement.translation for part in parts]).reshape(-1, 3),
        np.array([body for body, _, _ in probes], dtype=np.int64),
        np.array([center for _, center, _ in probes]).reshape(-1, 3),
        np.array([radius for _, _, radius in probes]),
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
        np.array(friction),
    )
    return arrays, tuple(names)


def object_inertias(scene: SpatialScene) -> list[pin.Inertia]:
    """Return the spatial inertia of every free object, in the frame of its URDF."""
    inertias = []
    for name in scene.object_names:
        urdf = read_urdf(scene.scene.objects[name].urdf)
        inertias.append(pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer()).inertias[1])
    return inertias


def _parts(scene: SpatialScene) -> list[Part]:
    """Return the shapes of objects, in body frames at the centre of mass, and of the robot."""
    source, numbers = scene.scene, {name: 1 + i for i, name in enumerate(scene.object_names)}
    levers = dict(zip(scene.object_names, (i.lever for i in object_inertias(scene)), strict=True))
    parts = []
    for name, item in source.objects.items():
        frame = source.object_placement(name)
        if item.free:
            frame = pin.SE3(np.eye(3), -levers[name])
        for placed in collision_shapes(read_urdf(item.urdf)):
            pose = frame * placed.placement
            parts.append(Part(name, placed.body, numbers.get(name, WORLD), placed.shape, pose))
    arm = source.robot.arm_model(source.config.robot.gripper.initial_position)
    for placed in source.robot.shapes():
        if placed.body in scene.config.contact_links:
            link = arm.frames[arm.getFrameId(placed.body)]
            body = len(numbers) + link.parentJoint if link.parentJoint > 0 else WORLD
            pose = link.placement * placed.placement
            parts.append(Part(ROBOT, placed.body, body, placed.shape, pose))
    return parts


def _probes(a: Part, b: Part, first: bool) -> bool:
    """Whether part a touches part b with its spheres or corners."""
    kind, other = a.shape.kind, b.shape.kind
    if kind in ROUND:
        return other not in ROUND or first
    if other in ROUND:
        return False
    if kind in FLAT and other in FLAT:
        return kind is ShapeKind.BOX and a.body != WORLD
    raise ModelError(
        f"'{a.link}' and '{b.link}': no planned contact between {kind.name.lower()} and "
        f"{other.name.lower()} (valid: sphere or capsule with any shape, box with box or half "
        "space)"
    )


def _spheres(shape: Shape, spacing: float) -> list[tuple[np.ndarray, float]]:
    """Return the centres and radii of the spheres or corners of a shape, in its frame."""
    radius, half, _ = shape.size
    if shape.kind is ShapeKind.SPHERE:
        return [(np.zeros(3), radius)]
    if shape.kind is ShapeKind.CAPSULE:
        count = 1 + int(np.ceil(2.0 * half / spacing))
        return [(np.array([0.0, 0.0, z]), radius) for z in np.linspace(-half, half, count)]
    signs = itertools.product((-1.0, 1.0), repeat=3)
    return [(np.array(sign) * shape.size, 0.0) for sign in signs]
