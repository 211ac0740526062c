"""What the page shows besides numbers: a robot, and objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from contact_core.robot.description import RobotDescription, is_mjcf, read_urdf
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ObjectConfig

CAST = "contact_stack.cast"
"""Name of the metadata that say what a recording shows."""


@dataclass(frozen=True)
class SceneModel:
    """What a recording shows.

    Attributes:
        urdf: Text of the robot's URDF.
        arm_joints: Its joints in this URDF, base to flange.
        objects: Name of every object -> text of its URDF.
        movable: The objects that are not fixed.
        name: Of the scene, or of the robot alone; empty in recordings of older versions.
    """

    urdf: str
    arm_joints: tuple[str, ...]
    objects: Mapping[str, str] = field(default_factory=dict)
    movable: tuple[str, ...] = ()
    name: str = ""

    def as_metadata(self) -> dict[str, str]:
        """Return it as an MCAP file keeps it."""
        return {
            "urdf": self.urdf,
            "arm_joints": " ".join(self.arm_joints),
            "movable": " ".join(self.movable),
            "name": self.name,
            **{f"object {name}": urdf for name, urdf in self.objects.items()},
        }

    @staticmethod
    def from_metadata(values: Mapping[str, str]) -> SceneModel:
        """Return what an MCAP file has kept."""
        return SceneModel(
            values["urdf"],
            tuple(values["arm_joints"].split()),
            {k.removeprefix("object "): v for k, v in values.items() if k.startswith("object ")},
            tuple(values["movable"].split()),
            values.get("name", ""),
        )


def scene_model_of(scene: str, robot: str = "") -> SceneModel:
    """Return what a scene has, or a robot alone.

    Args:
        scene: A file of config/scenes or a path; empty for a robot alone.
        robot: A file of config/robots or a path; empty for that of the scene.

    Raises:
        ContactStackError: If there is no such file, or it is invalid.
    """
    if not scene:
        description = RobotDescription.load(robot)
        return SceneModel(description.urdf, description.arm_joints, name=description.name)
    loaded = Scene.load(scene, robot)
    return SceneModel(
        loaded.robot.urdf,
        loaded.robot.arm_joints,
        drawn := urdfs_of(loaded.objects),
        tuple(name for name in drawn if loaded.objects[name].free),
        loaded.config.name,
    )


def urdfs_of(objects: Mapping[str, ObjectConfig]) -> dict[str, str]:
    """Return the URDFs of what is drawn; a MJCF is not.

    Args:
        objects: Of a scene.

    Raises:
        ContactStackError: If there is no such file, or it is invalid.
    """
    texts = {name: read_urdf(item.urdf, free=item.floats) for name, item in objects.items()}
    return {name: text for name, text in texts.items() if not is_mjcf(text)}
