"""Scenes in 3-D: what of a simulator's scene planning cares about, as data and as arrays."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from contact_core.collision.shapes import Shape, ShapeKind
from contact_core.config import load, parameter
from contact_core.description import collision_shapes, read_urdf
from contact_core.errors import ConfigError, ModelError, choices
from contact_core.files import share
from contact_core.rigid_body.joints import joint_type
from contact_core.scene import ROBOT, Scene
from contact_core.surface import combine

POSE_AXES = ("x", "y", "z", "roll", "pitch", "yaw")
TOOL_AXES = ("x", "y", "z", "axis_x", "axis_y", "axis_z")


@dataclass(frozen=True, kw_only=True)
class SpatialSceneConfig:
    """The schema of ``config/irs/spatial_scenes/*.yaml``."""

    scene: str = parameter(description="simulator's scene, a file of config/scenes without .yaml")
    contact_links: tuple[str, ...] = parameter(
        description="robot links that may touch something; the others are planned without contact"
    )
    cone_edges: int = parameter(4, "edges of the polyhedral friction cone", low=3, high=64)
    probe_spacing: float = parameter(
        0.03, "largest distance of the spheres that stand for a capsule", unit="m", above=0.0
    )


@dataclass(frozen=True)
class SpatialScene:
    """A scene in 3-D: the arm's joints and the free objects move, everything else is fixed.

    The configuration is q = [q_u; q_a]: position x, y, z [m] of the centre of mass and roll,
    pitch, yaw [rad] of every free object, then the joints of the arm. Outputs are position
    [m] and z axis of the tool.

    Attributes:
        config: What planning looks at.
        scene: Robot, objects, surfaces, and who may touch whom.
    """

    config: SpatialSceneConfig
    scene: Scene

    @property
    def object_names(self) -> tuple[str, ...]:
        """The free objects."""
        return tuple(name for name, item in self.scene.objects.items() if item.free)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Name of every state, e.g. ``box/yaw`` or ``lbr_A1``."""
        poses = [f"{name}/{axis}" for name in self.object_names for axis in POSE_AXES]
        return (*poses, *self.scene.robot.arm_joints, *(f"tool/{axis}" for axis in TOOL_AXES))


def spatial_scene_names() -> tuple[str, ...]:
    """Return the names of the scenes in 3-D that come with the planner."""
    folder = share("config", "irs", "spatial_scenes")
    return tuple(sorted(path.stem for path in folder.glob("*.yaml")))


def load_spatial_scene(name: str) -> SpatialScene:
    """Read a scene in 3-D.

    Args:
        name: One of :func:`spatial_scene_names`.

    Returns:
        The scene.

    Raises:
        ConfigError: If there is no such scene, or a value is invalid.
        ModelError: If the robot's description is invalid.
    """
    if name not in spatial_scene_names():
        raise ConfigError(f"unknown scene '{name}' ({choices(spatial_scene_names())})")
    path = share("config", "irs", "spatial_scenes", f"{name}.yaml")
    config = load(SpatialSceneConfig, path)
    scene = Scene.load(config.scene)
    links = {shape.body for shape in scene.robot.shapes()}
    for link in config.contact_links:
        if link not in links:
            raise ConfigError(f"{path.name}: contact_links: '{link}' ({choices(sorted(links))})")
    return SpatialScene(config, scene)


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
class BodyShape:
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
        surfaces = [source.surface_of(part.instance, part.link) for part in (a, b)]
        for center, radius in _spheres(a.shape, scene.config.probe_spacing):
            pairs.append((len(probes), j))
            probes.append((a.body, a.placement.act(center), radius))
            friction.append(combine(*surfaces).friction)
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


def object_radii(scene: SpatialScene) -> np.ndarray:
    """Return how far every free object reaches from its centre of mass, (O) [m]."""
    radii = dict.fromkeys(scene.object_names, 0.0)
    for part in _parts(scene):
        if part.instance in radii:
            reach = np.linalg.norm(part.placement.translation) + part.shape.bounding_radius
            radii[part.instance] = max(radii[part.instance], float(reach))
    return np.array(list(radii.values()))


def _parts(scene: SpatialScene) -> list[BodyShape]:
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
            parts.append(BodyShape(name, placed.body, numbers.get(name, WORLD), placed.shape, pose))
    arm = source.robot.arm_model(source.config.robot.gripper.initial_position)
    for placed in source.robot.shapes():
        if placed.body in scene.config.contact_links:
            link = arm.frames[arm.getFrameId(placed.body)]
            body = len(numbers) + link.parentJoint if link.parentJoint > 0 else WORLD
            pose = link.placement * placed.placement
            parts.append(BodyShape(ROBOT, placed.body, body, placed.shape, pose))
    return parts


def _probes(a: BodyShape, b: BodyShape, first: bool) -> bool:
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
