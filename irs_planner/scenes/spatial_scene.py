"""Scenes in 3-D: what of a simulator's scene planning cares about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin

from contact_core.base.config import YAML, config_file, load, parameter, read_mapping
from contact_core.base.errors import ConfigError, ModelError, choices
from contact_core.base.files import share
from contact_core.robot.description import is_mjcf, read_urdf
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ObjectConfig

POSE_AXES = ("x", "y", "z", "roll", "pitch", "yaw")
LEVEL = 0.05
"""Smallest cosine of the angle in the middle at which the other two can be told apart."""
STEEP = 0.5
"""What is pitched so far that the cosine is smaller pitches first, and then rolls."""
TOOL_AXES = ("x", "y", "z", "axis_x", "axis_y", "axis_z")


@dataclass(frozen=True, kw_only=True)
class SpatialSceneConfig:
    """The schema of ``config/irs/spatial_scenes/*.yaml``."""

    scene: str = parameter(
        description="the simulator's scene, a file of config/scenes without .yaml"
    )
    contact_links: tuple[str, ...] = parameter(
        (), "robot links that may touch something; empty: what moves with the last joint"
    )
    whole_arm: bool = parameter(True, "whether the other links are kept away from everything")
    fingers: bool = parameter(False, "whether the gripper's opening is an input as well")


@dataclass(frozen=True)
class SpatialScene:
    """A scene in 3-D: the robot's joints and the free objects move, everything else is fixed.

    The configuration is q = [q_u; q_a]: position x, y, z [m] and roll, pitch, yaw [rad] of the own
    frame of every free object (see :meth:`own_turn`), then the joints of the arm, or of several
    arms that make one robot, then the opening of the gripper where it is planned. Outputs are
    position [m] and z axis of the tool.

    Attributes:
        config: What planning looks at.
        scene: Robot, objects, surfaces, and who may touch whom.
        pitch_first: Objects that are pitched, then rolled, then yawed; others roll before they
            pitch.
    """

    config: SpatialSceneConfig
    scene: Scene
    pitch_first: frozenset[str] = frozenset()

    @cached_property
    def model(self) -> pin.Model:
        """The robot's joints and links, without fingers as joints where those are not planned."""
        robot = self.scene.robot
        if self.config.fingers:
            return pin.buildModelFromXML(robot.urdf)
        return robot.arm_model(self.scene.config.robot.gripper.initial_position)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints that are commanded: the arm's, and the finger that the other one follows."""
        robot = self.scene.robot
        return (*robot.arm_joints, robot.gripper_joint) if self.config.fingers else robot.arm_joints

    @cached_property
    def joint_columns(self) -> list[int]:
        """What commands every joint of the model: indices into :attr:`joint_names`."""
        # In the whole robot's model a finger that follows shares the number of the other one.
        robot = self.scene.robot.model()
        number = {name: robot.joints[robot.getJointId(name)].idx_v for name in robot.names}
        commanded = [number[name] for name in self.joint_names]
        return [commanded.index(number[name]) for name in list(self.model.names)[1:]]

    @cached_property
    def contact_links(self) -> tuple[str, ...]:
        """Links of the robot that may touch something."""
        if self.config.contact_links:
            return self.config.contact_links
        last = self.model.getJointId(self.scene.robot.arm_joints[-1])
        links = dict.fromkeys(shape.body for shape in self.scene.robot.shapes())
        return tuple(link for link in links if last in self.model.supports[self.body_of(link)])

    def body_of(self, link: str) -> int:
        """Return the joint of the model that moves a link, 0 for none."""
        return int(self.model.frames[self.model.getFrameId(link, pin.FrameType.BODY)].parentJoint)

    @property
    def object_names(self) -> tuple[str, ...]:
        """The free objects."""
        return tuple(name for name, item in self.scene.objects.items() if moves(item))

    def own_turn(self, name: str) -> np.ndarray:
        """Return R (3, 3): an object's own frame is turned by its angles, after R.

        Identity, but for what the scene has pitched by about +-90 degrees, where roll and yaw are
        one: its angles count from there.

        Args:
            name: A free object.
        """
        down = self.scene.object_placement(name).rotation[2, 0]  # -sin(pitch)
        pitched = np.hypot(*self.scene.object_placement(name).rotation[2, 1:]) < LEVEL
        return pin.rpy.rpyToMatrix(0.0, -np.sign(down) * 0.5 * np.pi if pitched else 0.0, 0.0)

    def rotation(self, name: str, angles: np.ndarray) -> np.ndarray:
        """Return the rotation (3, 3) of an object's own frame.

        Args:
            name: A free object.
            angles: (3) roll, pitch, yaw [rad].
        """
        roll, pitch, yaw = angles
        if name in self.pitch_first:
            turn = pin.rpy.rpyToMatrix(roll, 0.0, yaw) @ pin.rpy.rpyToMatrix(0.0, pitch, 0.0)
        else:
            turn = pin.rpy.rpyToMatrix(roll, pitch, yaw)
        return np.asarray(turn @ self.own_turn(name))

    def angles(self, name: str, rotation: np.ndarray) -> np.ndarray:
        """Return roll, pitch, yaw (3) of an object [rad], the inverse of :meth:`rotation`.

        Args:
            name: A free object.
            rotation: (3, 3) of its own frame.
        """
        turn = rotation @ self.own_turn(name).T
        if name not in self.pitch_first:
            return np.asarray(pin.rpy.matrixToRpy(turn))
        roll = np.arcsin(np.clip(turn[2, 1], -1.0, 1.0))
        pitch, yaw = np.arctan2(-turn[2, 0], turn[2, 2]), np.arctan2(-turn[0, 1], turn[1, 1])
        return np.array((roll, pitch, yaw)) + 0.0  # without minus zeros

    @property
    def state_names(self) -> tuple[str, ...]:
        """Name of every state, e.g. ``box/yaw`` or ``lbr_A1``."""
        poses = [f"{name}/{axis}" for name in self.object_names for axis in POSE_AXES]
        return (*poses, *self.joint_names, *(f"tool/{axis}" for axis in TOOL_AXES))


def moves(item: ObjectConfig) -> bool:
    """Return whether an object gives way: no force moves what is kinematic.

    Args:
        item: An object of a scene.
    """
    return item.free and not item.kinematic


def spatial_scene_names() -> tuple[str, ...]:
    """Return the names of the scenes in 3-D, the planner's own and the simulator's."""
    folders = share("config", "irs", "spatial_scenes"), share("config", "scenes")
    return tuple(sorted(path.stem for folder in folders for path in folder.glob("*.yaml")))


def load_spatial_scene(name: str) -> SpatialScene:
    """Read a scene in 3-D.

    Args:
        name: One of :func:`spatial_scene_names`, or the path of a file: such a one, or a scene of
            the simulator.

    Returns:
        The scene.

    Raises:
        ConfigError: If there is no such scene, or a value is invalid.
        ModelError: If the robot's description is invalid.
    """
    if not name.endswith(YAML) and name not in spatial_scene_names():
        raise ConfigError(f"unknown scene '{name}' ({choices(spatial_scene_names())})")
    own = share("config", "irs", "spatial_scenes") / f"{name}.yaml"
    path = own if own.is_file() else config_file("scenes", name)
    if "scene" in read_mapping(path):
        config = load(SpatialSceneConfig, path)
    else:
        config = SpatialSceneConfig(scene=path.name)
    scene = Scene.load(str(config_file("scenes", config.scene, path.parent)))
    links = {shape.body for shape in scene.robot.shapes()}
    for name in scene.objects.keys() & links:
        raise ConfigError(
            f"objects: '{name}' is the name of a link of the robot (valid: another one)"
        )
    for link in config.contact_links:
        if link not in links:
            raise ConfigError(f"{path.name}: contact_links: '{link}' ({choices(sorted(links))})")
    return SpatialScene(config, scene)


def object_inertias(scene: SpatialScene) -> list[pin.Inertia]:
    """Return the spatial inertia of every free object, in the frame of its coordinates.

    Args:
        scene: The scene.

    Raises:
        ModelError: If an object has joints or is a MJCF, or one that is free has no inertia.
    """
    inertias = []
    for name, item in scene.scene.objects.items():
        text = read_urdf(item.urdf, free=item.floats)
        if is_mjcf(text):
            raise ModelError(
                f"object '{name}' is a MJCF, and plans are of what a URDF or a SDF describes: "
                f"write one for {item.urdf}"
            )
        model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        if joints := list(model.names)[2:]:
            raise ModelError(
                f"object '{name}' moves in itself, and plans are of rigid things (joint "
                f"'{joints[0]}' in its URDF): make its joints fixed where it is to stay as it is"
            )
        if not moves(item):
            continue
        inertia = model.inertias[1]
        if not (inertia.mass > 0.0 and np.linalg.eigvalsh(inertia.inertia).min() > 0.0):
            raise ModelError(
                f"object '{name}' is free and has no inertia (mass {inertia.mass:g} kg): give its "
                "URDF an <inertial> with a positive mass and moments"
            )
        inertias.append(pin.SE3(scene.own_turn(name), np.zeros(3)).act(inertia))
    return inertias
