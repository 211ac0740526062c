"""Planar scenes: description, YAML, and the arrays that kernels work on."""

from irs_planner.scenes.scene import (
    Box,
    Circle,
    Fixture,
    HalfPlane,
    Link,
    PlanarObject,
    PlanarRobot,
    PlanarScene,
)
from irs_planner.scenes.scene_file import load_scene, scene_from_mapping, scene_names

__all__ = [
    "Box",
    "Circle",
    "Fixture",
    "HalfPlane",
    "Link",
    "PlanarObject",
    "PlanarRobot",
    "PlanarScene",
    "load_scene",
    "scene_from_mapping",
    "scene_names",
]
