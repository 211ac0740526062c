"""A scene in 3-D as arrays: what its kinematics and contact kernels read."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from contact_core.multibody.collision.convex_mesh import Meshes, stack_meshes
from contact_core.multibody.collision.shapes import Shape, ShapeKind
from contact_core.multibody.rigid_body.joints import PRISMATIC, joint_type
from contact_core.robot.description import collision_shapes, read_urdf
from contact_core.robot.scene import ROBOT
from contact_core.robot.surface import combine
from irs_planner.scenes.spatial_scene import SpatialScene, moves

WORLD = 0
MAX_SPACING = 0.03
"""Of the spheres that stand for a capsule [m]."""
UPRIGHT = 1.0 - 1e-9
"""Cosine between an axis of what is upright, and the vertical."""
RIM = 8
"""Points of a cylinder's rim at each end; where its side touches is found exactly."""


class SpatialArrays(NamedTuple):
    """Bodies are numbered: 0 = everything fixed, 1..O = objects, then what the L joints move.

    Attributes:
        objects: Number O of objects.
        pitch_first: (O) the order of their angles, see :func:`place_rotation`.
        joint_parent: (L) body that carries every joint, never one of a later joint.
        joint_column: (L) the state of every joint; fingers that move together share one.
        joint_slides: (L) whether it is prismatic; else it is revolute.
        joint_rotation: (L, 3, 3) joint frame in the body that carries it.
        joint_position: (L, 3) [m].
        joint_axis: (L, 3) unit axis in the joint frame.
        tool_body: Body of the tool frame.
        tool: (4, 3) origin of the tool frame in that body [m], then its axes.
        shape_kind: (S) ShapeKind.
        shape_size: (S, 3), see Shape.size; the first number of a mesh is its index.
        shape_body: (S) body of every shape.
        shape_rotation: (S, 3, 3) in the body frame.
        shape_position: (S, 3) [m].
        shape_radius: (S) of the sphere around every shape [m].
        meshes: The convex meshes.
        probe_body: (B) body of every probe, a sphere on the surface of a shape.
        probe_position: (B, 3) centre in the body frame [m].
        probe_radius: (B) [m]; 0 for a corner.
        probe_pair: (A, 2) probe and shape that can touch.
        shape_pair: (P - A, 2) two shapes that can touch where they are nearest to each other.
        friction: (P) friction coefficient of every pair, those of probes first.
    """

    objects: int
    pitch_first: np.ndarray
    joint_parent: np.ndarray
    joint_column: np.ndarray
    joint_slides: np.ndarray
    joint_rotation: np.ndarray
    joint_position: np.ndarray
    joint_axis: np.ndarray
    tool_body: int
    tool: np.ndarray
    shape_kind: np.ndarray
    shape_size: np.ndarray
    shape_body: np.ndarray
    shape_rotation: np.ndarray
    shape_position: np.ndarray
    shape_radius: np.ndarray
    meshes: Meshes
    probe_body: np.ndarray
    probe_position: np.ndarray
    probe_radius: np.ndarray
    probe_pair: np.ndarray
    shape_pair: np.ndarray
    friction: np.ndarray


@dataclass(frozen=True)
class BodyShape:
    """A shape on a numbered body.

    Attributes:
        instance: The robot, or an object of the scene.
        link: The link of that instance.
        body: Number of the body.
        shape: The shape.
        placement: Its pose in the body frame.
        touches: Whether it is meant to touch; the other links of the robot stay away.
    """

    instance: str
    link: str
    body: int
    shape: Shape
    placement: pin.SE3
    touches: bool

    @property
    def name(self) -> str:
        """What contacts of this part are reported by."""
        if self.instance == ROBOT:
            return self.link
        return "" if self.body == WORLD else self.instance


def build_spatial_arrays(
    scene: SpatialScene, parts: Sequence[BodyShape]
) -> tuple[SpatialArrays, list[tuple[BodyShape, BodyShape]]]:
    """Number the bodies of a scene and list what can touch.

    Two shapes touch where they are nearest to each other. So that things stand, and faces lie flat
    on each other, corners and rims of shapes that move, and spheres along capsules, touch as well.
    Parts that do not move relative to each other never touch, nor those the scene does not allow
    to.

    Args:
        scene: The scene.
        parts: Its shapes.

    Returns:
        Its arrays, and the two parts of every pair.

    Raises:
        ModelError: If a description is invalid.
    """
    source = scene.scene
    probes: list[tuple[int, np.ndarray, float]] = []
    probe_pairs: list[tuple[int, int]] = []
    shape_pairs: list[tuple[int, int]] = []
    for i, j in itertools.permutations(range(len(parts)), 2):
        a, b = parts[i], parts[j]
        if a.body == b.body or not source.may_touch((a.instance, a.link), (b.instance, b.link)):
            continue
        for center, radius in _probes(a, b, i < j):
            probe_pairs.append((len(probes), j))
            probes.append((i, a.placement.act(center), radius))
        if i < j and _are_solid(a, b):
            shape_pairs.append((i, j))
    pairs = [(parts[probes[i][0]], parts[j]) for i, j in probe_pairs]
    pairs += [(parts[i], parts[j]) for i, j in shape_pairs]
    surfaces = ([source.surface_of(part.instance, part.link) for part in pair] for pair in pairs)
    meshes = [part.shape.mesh for part in parts if part.shape.mesh is not None]
    robot, objects = scene.model, len(scene.object_names)
    placements = list(robot.jointPlacements)[1:]
    tool = robot.frames[robot.getFrameId(source.robot.tool_link, pin.FrameType.BODY)].placement
    joints = [
        joint_type(name, joint)
        for name, joint in zip(list(robot.names)[1:], list(robot.joints)[1:], strict=True)
    ]
    arrays = SpatialArrays(
        objects,
        np.array([name in scene.pitch_first for name in scene.object_names], dtype=bool),
        np.array([objects + i if i > 0 else WORLD for i in list(robot.parents)[1:]]),
        6 * objects + np.array(scene.joint_columns),
        np.array([kind == PRISMATIC for kind, _ in joints]),
        np.array([placement.rotation for placement in placements]),
        np.array([placement.translation for placement in placements]),
        np.array([axis for _, axis in joints]),
        objects + scene.body_of(source.robot.tool_link),
        np.vstack((tool.translation, tool.rotation.T)),
        np.array([int(part.shape.kind) for part in parts], dtype=np.int64),
        _sizes(parts),
        np.array([part.body for part in parts], dtype=np.int64),
        np.array([part.placement.rotation for part in parts]).reshape(-1, 3, 3),
        np.array([part.placement.translation for part in parts]).reshape(-1, 3),
        np.array([part.shape.bounding_radius for part in parts]),
        stack_meshes(meshes),
        np.array([parts[i].body for i, _, _ in probes], dtype=np.int64),
        np.array([center for _, center, _ in probes]).reshape(-1, 3),
        np.array([radius for _, _, radius in probes]),
        np.array(probe_pairs, dtype=np.int64).reshape(-1, 2),
        np.array(shape_pairs, dtype=np.int64).reshape(-1, 2),
        np.array([combine(*pair).friction for pair in surfaces]),
    )
    return arrays, pairs


def body_shapes(scene: SpatialScene) -> list[BodyShape]:
    """Return the shapes of objects, in the frames of their coordinates, and of the robot.

    Args:
        scene: The scene.
    """
    source, numbers = scene.scene, {name: 1 + i for i, name in enumerate(scene.object_names)}
    parts = []
    for name, item in source.objects.items():
        frame = source.object_placement(name)
        if moves(item):
            frame = pin.SE3(scene.own_turn(name), np.zeros(3))
        for placed in collision_shapes(read_urdf(item.urdf), meshes=True):
            pose, body = frame * placed.placement, numbers.get(name, WORLD)
            parts.append(BodyShape(name, placed.body, body, placed.shape, pose, touches=True))
    for placed in source.robot.shapes():
        link = scene.model.frames[scene.model.getFrameId(placed.body, pin.FrameType.BODY)]
        touches = placed.body in scene.contact_links
        if touches or (scene.config.whole_arm and link.parentJoint > 0):
            body = len(numbers) + link.parentJoint if link.parentJoint > 0 else WORLD
            pose = link.placement * placed.placement
            parts.append(BodyShape(ROBOT, placed.body, body, placed.shape, pose, touches))
    return parts


def _sizes(parts: Sequence[BodyShape]) -> np.ndarray:
    """Return sizes (S, 3) as kernels read them."""
    numbers = itertools.count()
    sizes = [p.shape.size if p.shape.mesh is None else (next(numbers), 0.0, 0.0) for p in parts]
    return np.array(sizes, dtype=float).reshape(-1, 3)


def _are_solid(a: BodyShape, b: BodyShape) -> bool:
    """Whether two parts touch where they are nearest, beyond what their probes find."""
    kinds = (a.shape.kind, b.shape.kind)
    if ShapeKind.SPHERE in kinds or ShapeKind.HALF_SPACE in kinds:
        return False
    return ShapeKind.CAPSULE not in kinds or not (a.touches and b.touches)


def _probes(a: BodyShape, b: BodyShape, first: bool) -> Iterator[tuple[np.ndarray, float]]:
    """Yield centres and radii of the spheres, in its frame, by which part a touches part b.

    Args:
        a: The part.
        b: The other one.
        first: Whether a comes first; of two round ones one has probes.
    """
    kind, other = a.shape.kind, b.shape.kind
    radius, half, _ = a.shape.size
    lie = (a.touches and b.touches) or other is ShapeKind.HALF_SPACE
    if kind is ShapeKind.SPHERE:
        if other is not ShapeKind.SPHERE or first:
            yield np.zeros(3), radius
    elif kind is ShapeKind.HALF_SPACE or other is ShapeKind.SPHERE or not lie:
        return
    elif kind is ShapeKind.CAPSULE:
        if other is not ShapeKind.CAPSULE or first:
            count = 1 + int(np.ceil(2.0 * half / MAX_SPACING))
            for z in np.linspace(-half, half, count):
                yield np.array([0.0, 0.0, z]), radius
    elif a.body != WORLD and other is not ShapeKind.CAPSULE:
        for corner in _corners(a.shape):
            yield corner, 0.0


def _corners(shape: Shape) -> np.ndarray:
    """Return the corners (n, 3) of a box or mesh, or points of a cylinder's rims, in its frame."""
    if shape.mesh is not None:
        return shape.mesh.vertices
    if shape.kind is ShapeKind.CYLINDER:
        radius, half, _ = shape.size
        angle = 2.0 * np.pi * np.arange(RIM) / RIM
        rim = np.column_stack((radius * np.cos(angle), radius * np.sin(angle), np.full(RIM, half)))
        return np.concatenate((rim, rim * (1.0, 1.0, -1.0)))
    return np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * shape.size


def reach_about(point: np.ndarray, parts: Iterable[BodyShape]) -> float:
    """Return how far parts of one body reach from a point (3) in its frame [m]."""
    return max(
        (
            float(np.linalg.norm(part.placement.translation - point)) + part.shape.bounding_radius
            for part in parts
        ),
        default=0.0,
    )


def heights(part: BodyShape, pose: pin.SE3) -> tuple[float, float, bool]:
    """Return how high a part begins and ends [m], and whether it is upright and flat there.

    Args:
        part: A part.
        pose: Of its body; z is up.
    """
    placement, shape = pose * part.placement, part.shape
    up, middle = placement.rotation[2], float(placement.translation[2])
    a, b, _ = shape.size
    reach, flat = 0.0, bool(np.abs(up).max() > UPRIGHT)
    match shape.kind:
        case ShapeKind.MESH:
            corners = middle + shape.hull.vertices @ up
            return float(corners.min()), float(corners.max()), False
        case ShapeKind.HALF_SPACE:
            return -np.inf, middle if flat else np.inf, flat
        case ShapeKind.BOX:
            reach = float(np.abs(up) @ shape.size)
        case ShapeKind.CYLINDER:
            reach, flat = b * abs(up[2]) + a * np.hypot(up[0], up[1]), abs(up[2]) > UPRIGHT
        case ShapeKind.CAPSULE | ShapeKind.SPHERE:
            reach, flat = a + b * abs(up[2]), False
    return middle - reach, middle + reach, bool(flat)
