"""Scenes: what stands where, whose surfaces touch, read from ``config/scenes/*.yaml``."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pinocchio as pin
import yaml

from contact_core.base.config import config_file, for_joints, from_mapping, merged, read_extended
from contact_core.base.errors import ConfigError, choices
from contact_core.base.files import share
from contact_core.robot.description import RobotDescription, placement, read_urdf
from contact_core.robot.scene_config import ENGINES, WORLD, ObjectConfig, SceneConfig, SurfaceConfig
from contact_core.robot.surface import Surface

ROBOT = "robot"
ENVIRONMENT = "environment"
Link = tuple[str, str]
"""Names of an instance and of one of its links."""

STROKE_TIME = 0.55
"""What the fingers of a WSG 50 take for their 55 mm at the default speed [s]."""

NO_GRAVITY = (0.0, 0.0, 0.0)
Item = TypeVar("Item")


@dataclass(frozen=True)
class Instance:
    """One URDF or MJCF in the scene.

    Attributes:
        name: Name of the instance, unique in the scene.
        urdf: Text of its URDF or MJCF.
        placement: Pose of its root link in the world; of a free one, its initial pose. Of a MJCF,
            pose of its own world.
        free: Whether it floats; otherwise its root link is fixed to the world.
        gravity: Gravity that acts on it [m/s^2]; zero where a controller compensates it.
        positions: Joint -> initial position [rad or m]; the others start at zero, or as near
            to it as their limits allow; of a ball joint roll, pitch and yaw [rad]. Or the name of a
            keyframe of the MJCF.
        repair: Whether inertias that cannot be are replaced, joints that move no mass held, and
            meshes without a volume left out.
        kinematic: Whether it floats and no force moves it: it goes on with the velocity that it
            is given.
        twist: Initial linear and angular velocity of a free one in world axes [m/s and rad/s].
        velocities: Joint -> initial velocity [rad/s or m/s], of a ball joint three, of a floating
            one six numbers; the others start at rest.
        decompose: Share of its extent from which a mesh that is not convex is split into convex
            parts; none is if zero.
        simplify: How far from them simplified convex hulls of its meshes may be [m].
        own_surfaces: Whether what its file says of its surfaces holds.
    """

    name: str
    urdf: str
    placement: pin.SE3 = field(default_factory=pin.SE3.Identity)
    free: bool = False
    gravity: tuple[float, float, float] = NO_GRAVITY
    positions: Mapping[str, float | Sequence[float]] | str = field(default_factory=dict)
    repair: bool = False
    kinematic: bool = False
    twist: tuple[float, ...] = (0.0,) * 6
    velocities: Mapping[str, float | Sequence[float]] = field(default_factory=dict)
    decompose: float = 0.0
    simplify: float = 0.0
    own_surfaces: bool = False


@dataclass(frozen=True)
class Closure:
    """Two links that are held together where they would form a loop with their joints.

    Attributes:
        a: Instance and link A.
        b: Instance and link B.
        frame_a: Pose in A of what is held together; None: where that of B is at the start.
        frame_b: Pose in B of it; None: where that of A is at the start.
        weld: Whether orientations are held together, too, and not only points.
        stiffness: Of the points [N/m]; None to choose it.
        rotational_stiffness: Of the orientations [Nm/rad]; None to choose it.
        dissipation: Damping as a multiple of the stiffness [s].
    """

    a: Link
    b: Link
    frame_a: pin.SE3 | None
    frame_b: pin.SE3 | None
    weld: bool
    stiffness: float | None = None
    rotational_stiffness: float | None = None
    dissipation: float = 0.0


@dataclass(frozen=True)
class Scene:
    """A scene: its configuration, objects and surfaces by name.

    Attributes:
        config: Everything with fixed keys.
        robot: Description of the robot.
        objects: Objects by name.
        surfaces: Surfaces by name; the first one that lists a body is its surface.
    """

    config: SceneConfig
    robot: RobotDescription
    objects: dict[str, ObjectConfig] = field(default_factory=dict)
    surfaces: dict[str, SurfaceConfig] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Give every joint its value of what the configuration says of joints.

        Raises:
            ConfigError: If it says it of another number of joints.
        """
        object.__setattr__(self, "config", for_joints(self.config, len(self.robot.arm_joints)))

    @staticmethod
    def load(name: str, robot: str = "") -> Scene:
        """Read a scene.

        Args:
            name: File name in ``config/scenes`` without ``.yaml``, or a path to a file.
            robot: Another robot in it, see :meth:`from_mapping`.

        Returns:
            The scene.

        Raises:
            ConfigError: If the file is missing, or a key or value is invalid.
            ModelError: If the robot's description is invalid.
        """
        path = config_file("scenes", name)
        values = read_extended("scenes", path, _files)
        try:
            return Scene.from_mapping(values, robot)
        except ConfigError as error:
            raise ConfigError(f"{path.name}: {error}") from error

    @staticmethod
    def from_mapping(values: Mapping[str, Any], robot: str = "") -> Scene:
        """Build a scene from nested mappings, e.g. of a YAML file.

        Args:
            values: The keys of :class:`SceneConfig`, and ``objects`` and ``surfaces``, each a
                mapping from names to :class:`ObjectConfig` and :class:`SurfaceConfig`.
            robot: Another robot in this scene, a file as of ``robot.description``. What the scene
                says of its own one's joints is not said of this one.

        Returns:
            The scene.

        Raises:
            ConfigError: If a key or value is invalid.
            ModelError: If the robot's description is invalid.
        """
        values = dict(values)
        objects = _named(ObjectConfig, values.pop("objects", {}), "objects")
        surfaces = _named(SurfaceConfig, values.pop("surfaces", {}), "surfaces")
        given = values.get("robot")
        if not isinstance(given, Mapping) or not isinstance(given.get("description"), str):
            raise ConfigError("parameter 'robot.description' is missing: the robot of the scene")
        description = RobotDescription.load(robot or given["description"])
        known = _of_robot(description)
        if robot:
            given = {k: v for k, v in given.items() if k not in {*known["robot"], "errors"}}
            given["description"] = robot
        known = merged(known, {"robot": {"gripper": _of_gripper(description)}})
        own = merged(known, {**values, "robot": given})
        config = from_mapping(SceneConfig, own, beside=("objects", "surfaces"))
        scene = Scene(config, description, objects, surfaces)
        scene._check_names()
        scene._check_start()
        return scene

    def _check_start(self) -> None:
        model = self.robot.model()
        for name, position in self.initial_joints().items():
            i = model.joints[model.getJointId(name)].idx_q
            low, high = model.lowerPositionLimit[i], model.upperPositionLimit[i]
            if not low <= position <= high:
                raise ConfigError(
                    f"joint '{name}' of the robot starts at {position:g} "
                    f"(valid: {low:g} to {high:g}, its limits)"
                )

    def _check_names(self) -> None:
        links = [frame.name for frame in self.robot.model().frames if _is_body(frame)]
        known = [ROBOT, ENVIRONMENT, *self.objects, *links]
        for name in self.objects:
            if name in (ROBOT, ENVIRONMENT, WORLD, ""):
                raise ConfigError(
                    f"objects: '{name}' is no name of an object: it means all of them, "
                    "the robot or the world"
                )
        used = [name for surface in self.surfaces.values() for name in surface.of]
        used += [name for pair in self.config.may_touch for name in _sides(pair)]
        used += [item.frame for item in self.objects.values() if item.frame != WORLD]
        for name in used:
            if name not in known:
                raise ConfigError(f"'{name}' is neither a group nor a body ({choices(known)})")

    def surface_of(self, instance: str, link: str) -> Surface:
        """Return the surface of a link: that of the first entry which lists it."""
        groups = _groups(instance, link)
        for surface in self.surfaces.values():
            if not surface.of or groups.intersection(surface.of):
                return surface.surface
        return SurfaceConfig().surface

    def may_touch(self, a: tuple[str, str], b: tuple[str, str]) -> bool:
        """Return whether two (instance, link) may touch."""
        if a[0] == b[0] != ROBOT:
            return False
        sides = [_sides(pair) for pair in self.config.may_touch]
        groups_a, groups_b = _groups(*a), _groups(*b)
        return any(
            (x in groups_a and y in groups_b) or (x in groups_b and y in groups_a) for x, y in sides
        )

    def object_placement(self, name: str) -> pin.SE3:
        """Return the initial pose of an object in the world."""
        item = self.objects[name]
        local = placement(item.xyz, item.rpy)
        return local if item.frame == WORLD else self.link_placement(item.frame) * local

    def link_placement(self, link: str) -> pin.SE3:
        """Return the initial pose of a link of the robot in the world."""
        config = self.config.robot
        model = self.robot.arm_model(config.gripper.initial_position)
        data = model.createData()
        pin.framesForwardKinematics(model, data, np.array(config.initial_positions))
        return data.oMf[model.getFrameId(link, pin.FrameType.BODY)]

    def instances(self) -> list[Instance]:
        """Return the robot and the objects as the model builder takes them."""
        x, y, z = self.config.gravity
        gravity = (x, y, z)
        own = (0.0, 0.0, 0.0) if self.config.gravity_compensated else gravity
        instances = [Instance(ROBOT, self.robot.urdf, gravity=own)]
        for name, item in self.objects.items():
            pose = self.object_placement(name)
            text = read_urdf(item.urdf, free=item.floats)
            instance = Instance(name, text, pose, item.floats, gravity)
            instances.append(dataclasses.replace(instance, kinematic=item.kinematic))
        return instances

    def on(self, engine: str) -> Scene:
        """Return the same scene on another engine.

        Args:
            engine: "tamsi" or "drake".

        Raises:
            ConfigError: If there is no such engine.
        """
        if engine not in ENGINES:
            raise ConfigError(f"no engine '{engine}' ({choices(ENGINES)})")
        return dataclasses.replace(self, config=dataclasses.replace(self.config, engine=engine))

    def every(self, period: float) -> Scene:
        """Return the same scene with another time between two commands; time steps fit into it.

        Args:
            period: The time [s].
        """
        step = period / math.ceil(period / self.config.time_step - 1e-9)
        config = dataclasses.replace(self.config, period=period, time_step=step)
        return dataclasses.replace(self, config=config)

    def initial_joints(self) -> dict[str, float]:
        """Return the initial positions of arm and gripper by joint name [rad or m]."""
        config = self.config.robot
        joints = dict(zip(self.robot.arm_joints, config.initial_positions, strict=True))
        if self.robot.gripper_joint:
            joints[self.robot.gripper_joint] = config.gripper.initial_position
        return joints


def _files(values: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """What names files in a scene's file."""
    objects = values.get("objects")
    for item in objects.values() if isinstance(objects, dict) else ():
        if isinstance(item, dict) and item.get("urdf"):
            yield item, "urdf"
    if isinstance(values.get("robot"), dict) and values["robot"].get("description"):
        yield values["robot"], "description"


def _of_robot(robot: RobotDescription) -> dict[str, Any]:
    """What a scene says that leaves all of the robot's joints to the robot's file."""
    joints = robot.joints
    arm = {
        "initial_positions": joints.home,
        "effective_armature": joints.effective_armature,
        "stiffness": joints.stiffness,
        "damping_ratio": joints.damping_ratio,
        "friction": dataclasses.asdict(joints.friction),
    }
    return {"robot": arm, "torque_sensor": {"noise": joints.torque_noise}}


def _of_gripper(robot: RobotDescription) -> dict[str, float]:
    """What a scene says that leaves a gripper whose drive turns to itself."""
    drive = robot.gripper_drive
    if drive is None or not drive.turns:
        return {}
    return {"speed": min((drive.upper - drive.lower) / STROKE_TIME, drive.speed)}


def _named(kind: type[Item], values: Any, where: str) -> dict[str, Item]:
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where} must map names to their settings, got {values!r}")
    return {str(name): from_mapping(kind, item, f"{where}.{name}") for name, item in values.items()}


def _is_body(frame: pin.Frame) -> bool:
    return frame.type == pin.FrameType.BODY


def _sides(pair: str) -> tuple[str, str]:
    sides = [side.strip() for side in pair.split("/")]
    if len(sides) != 2:
        raise ConfigError(f"may_touch needs entries like 'robot / environment', got '{pair}'")
    return sides[0], sides[1]


def _groups(instance: str, link: str) -> set[str]:
    """Names under which a scene may refer to a link."""
    return {instance, link, ROBOT if instance == ROBOT else ENVIRONMENT}


def write_scene(scene: str, path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Write a scene of config/scenes with some values changed, for a simulator to load.

    Args:
        scene: Its name.
        path: The file to write.
        change: Called with the scene's values, which it changes.

    Returns:
        The file, as an absolute path.
    """
    values = yaml.safe_load(share("config", "scenes", f"{scene}.yaml").read_text())
    change(values)
    path.write_text(yaml.safe_dump(values, sort_keys=False))
    return path.resolve()
