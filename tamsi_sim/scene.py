"""Scenes: the schema of ``config/scenes/*.yaml`` and what becomes of one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pinocchio as pin
import yaml

from contact_stack.core.arm_state import CommandMode
from contact_stack.core.config import from_mapping, nested, parameter
from contact_stack.core.description import RobotDescription, placement, read_urdf, share
from contact_stack.core.errors import ConfigError, choices
from tamsi_sim.cartesian_impedance import CartesianImpedanceConfig
from tamsi_sim.contact import Surface
from tamsi_sim.engine import Engine, SolverConfig
from tamsi_sim.model import Instance, build_model
from tamsi_sim.physics import ENGINES, Physics
from tamsi_sim.sensing import TorqueSensorConfig

ROBOT = "robot"
ENVIRONMENT = "environment"
WORLD = "world"
JOINT_IMPEDANCE = "joint_impedance"
CARTESIAN_IMPEDANCE = "cartesian_impedance"
JOINT_TORQUE = "joint_torque"
COMMAND_MODES = {
    JOINT_IMPEDANCE: CommandMode.POSITION,
    CARTESIAN_IMPEDANCE: CommandMode.WRENCH,
    JOINT_TORQUE: CommandMode.TORQUE,
}
Item = TypeVar("Item")


@dataclass(frozen=True)
class GripperConfig:
    """The gripper's own position controller; forces are those of one finger."""

    initial_position: float = parameter(0.0, "finger position at the start", unit="m", low=0.0)
    initial_target: float = parameter(
        0.0, "finger position that its drive holds or presses towards", unit="m", low=0.0
    )
    initial_effort: float = parameter(20.0, "grip force at the start", unit="N", low=0.0)
    stiffness: float = parameter(2000.0, "of the position controller", unit="N/m", above=0.0)
    damping_ratio: float = parameter(1.0, "of the position controller", low=0.0, high=10.0)
    armature: float = parameter(0.5, "effective mass of motor and gear", unit="kg", low=0.0)
    speed: float = parameter(0.1, "how fast the target position moves", unit="m/s", above=0.0)


@dataclass(frozen=True)
class RobotSceneConfig:
    """The robot, and the impedance controller of its factory that is part of the plant."""

    description: str = parameter(description="file in config/robots without .yaml")
    initial_positions: tuple[float, ...] = parameter(
        description="q at the start, and the first position command", unit="rad", size=7
    )
    effective_armature: tuple[float, ...] = parameter(
        description="rotor inertia felt at the joint under joint-torque feedback",
        unit="kg m^2",
        low=0.0,
        size=7,
    )
    control_mode: str = parameter(
        JOINT_IMPEDANCE,
        "joint springs, springs at the tool that take a wrench on top, or joint springs turned "
        "down to nothing, which leaves the arm to the torques of its commands",
        options=tuple(COMMAND_MODES),
    )
    stiffness: tuple[float, ...] = parameter(
        (800.0, 600.0, 600.0, 600.0, 400.0, 200.0, 200.0),
        "joint stiffness K of the impedance controller",
        unit="Nm/rad",
        above=0.0,
        size=7,
    )
    damping_ratio: float = parameter(
        0.7, "its damping relative to critical, 2 ratio sqrt(K m_ii)", low=0.0, high=10.0
    )
    cartesian: CartesianImpedanceConfig = nested(CartesianImpedanceConfig)
    gripper: GripperConfig = nested(GripperConfig)

    @property
    def command_mode(self) -> CommandMode:
        """What the arm's commands consist of."""
        return COMMAND_MODES[self.control_mode]


@dataclass(frozen=True)
class ObjectConfig:
    """A thing in the scene: furniture, or something to hold."""

    urdf: str = parameter(description="URDF file, beside the scene or below description/")
    free: bool = parameter(False, "whether it moves; otherwise it is fixed to the world")
    frame: str = parameter(WORLD, "world, or the robot's link that the pose is relative to")
    xyz: tuple[float, ...] = parameter((0.0, 0.0, 0.0), "position at the start", unit="m", size=3)
    rpy: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), "roll, pitch and yaw at the start", unit="rad", size=3
    )

    def beside(self, folder: Path) -> ObjectConfig:
        """Return the same object, with its file in a folder if it is there.

        Args:
            folder: Where the scene's file is.
        """
        file = folder.resolve() / self.urdf
        return dataclasses.replace(self, urdf=str(file)) if file.is_file() else self


@dataclass(frozen=True)
class SurfaceConfig:
    """Contact parameters of a surface; two surfaces in contact are combined."""

    of: tuple[str, ...] = parameter(
        (), "robot, environment, names of objects or links; empty for everything else"
    )
    stiffness: float = parameter(
        2e4, "of this surface, in series with the other's", unit="N/m", above=0.0
    )
    dissipation: float = parameter(5.0, "Hunt-Crossley dissipation", unit="s/m", low=0.0)
    friction: float = parameter(0.5, "coefficient of friction", low=0.0, high=10.0)


@dataclass(frozen=True)
class SceneConfig:
    """The part of a scene that has fixed keys."""

    name: str = parameter(description="name of the scene")
    robot: RobotSceneConfig = parameter(description="the robot")
    time_step: float = parameter(1e-3, "step h of the simulation", unit="s", above=0.0, high=0.1)
    period: float = parameter(5e-3, "time between two commands", unit="s", above=0.0, high=1.0)
    gravity: tuple[float, ...] = parameter((0.0, 0.0, -9.81), "gravity", unit="m/s^2", size=3)
    gravity_compensated: bool = parameter(True, "whether the robot's controller cancels its weight")
    may_touch: tuple[str, ...] = parameter(
        ("robot / environment", "environment / environment"),
        "pairs that may touch: robot, environment, names of objects or links",
    )
    engine: str = parameter(
        "tamsi", "what simulates the scene: ours, or Drake's SAP", options=ENGINES
    )
    solver: SolverConfig = nested(SolverConfig)
    torque_sensor: TorqueSensorConfig = nested(TorqueSensorConfig)


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

    @staticmethod
    def load(name: str) -> Scene:
        """Read a scene.

        Args:
            name: File name in ``config/scenes`` without ``.yaml``, or a path to a file.

        Returns:
            The scene.

        Raises:
            ConfigError: If the file is missing, or a key or value is invalid.
            ModelError: If the robot's description is invalid.
        """
        path = Path(name) if name.endswith(".yaml") else share("config", "scenes", f"{name}.yaml")
        try:
            values = yaml.safe_load(path.read_text())
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror}") from error
        except yaml.YAMLError as error:
            raise ConfigError(f"{path} is not valid YAML: {error}") from error
        try:
            scene = Scene.from_mapping(values or {})
        except ConfigError as error:
            raise ConfigError(f"{path.name}: {error}") from error
        objects = {name: item.beside(path.parent) for name, item in scene.objects.items()}
        return dataclasses.replace(scene, objects=objects)

    @staticmethod
    def from_mapping(values: Mapping[str, Any]) -> Scene:
        """Build a scene from nested mappings, e.g. of a YAML file.

        Args:
            values: The keys of :class:`SceneConfig`, and ``objects`` and ``surfaces``, each a
                mapping from names to :class:`ObjectConfig` and :class:`SurfaceConfig`.

        Returns:
            The scene.

        Raises:
            ConfigError: If a key or value is invalid.
            ModelError: If the robot's description is invalid.
        """
        values = dict(values)
        objects = _named(ObjectConfig, values.pop("objects", {}), "objects")
        surfaces = _named(SurfaceConfig, values.pop("surfaces", {}), "surfaces")
        config = from_mapping(SceneConfig, values)
        robot = RobotDescription.load(config.robot.description)
        scene = Scene(config, robot, objects, surfaces)
        scene._check_names()
        return scene

    def _check_names(self) -> None:
        links = [frame.name for frame in self.robot.model().frames if _is_body(frame)]
        known = [ROBOT, ENVIRONMENT, *self.objects, *links]
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
                return Surface(surface.stiffness, surface.dissipation, surface.friction)
        default = SurfaceConfig()
        return Surface(default.stiffness, default.dissipation, default.friction)

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
        return data.oMf[model.getFrameId(link)]

    def instances(self) -> list[Instance]:
        """Return the robot and the objects as the model builder takes them."""
        x, y, z = self.config.gravity
        gravity = (x, y, z)
        own = (0.0, 0.0, 0.0) if self.config.gravity_compensated else gravity
        instances = [Instance(ROBOT, self.robot.urdf, gravity=own)]
        for name, item in self.objects.items():
            pose = self.object_placement(name)
            instances.append(Instance(name, read_urdf(item.urdf), pose, item.free, gravity))
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

    def engine(self) -> Physics:
        """Return an engine at the scene's start, without any controller.

        Raises:
            ModelError: If a body of the scene cannot be simulated, or starts deep inside
                another.
        """
        built = build_model(self.instances(), self.surface_of, self.may_touch)
        engine: Physics
        if self.config.engine == "drake":
            # Drake is big, and whoever uses our engine should not wait for it.
            from tamsi_sim.peers.drake_engine import DrakeEngine

            stiction = self.config.solver.stiction_velocity
            engine = DrakeEngine(built, self.config.time_step, self.surface_of, stiction)
        else:
            engine = Engine(built, self.config.time_step, self.config.solver)
        for joint, position in self._initial_joints().items():
            engine.q[built.arrays.dof_q[built.joints[joint]]] = position
        if isinstance(engine, Engine):
            engine.observer.check_start()
        return engine

    def _initial_joints(self) -> dict[str, float]:
        config = self.config.robot
        joints = dict(zip(self.robot.arm_joints, config.initial_positions, strict=True))
        if self.robot.gripper_joint:
            joints[self.robot.gripper_joint] = config.gripper.initial_position
        return joints


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
