"""Scenes, planar and in 3-D: description, YAML, and the arrays that kernels work on."""

from irs_planner.scenes.planar_scene import (
    Box,
    Circle,
    Fixture,
    HalfPlane,
    PlanarLink,
    PlanarObject,
    PlanarRobot,
    PlanarScene,
    Polygon,
    is_planar,
    load_scene,
    scene_from_mapping,
    scene_names,
)
from irs_planner.scenes.spatial_scene import (
    SpatialScene,
    SpatialSceneConfig,
    load_spatial_scene,
    spatial_scene_names,
)

__all__ = [
    "Box",
    "Circle",
    "Fixture",
    "HalfPlane",
    "PlanarLink",
    "PlanarObject",
    "PlanarRobot",
    "PlanarScene",
    "Polygon",
    "SpatialScene",
    "SpatialSceneConfig",
    "is_planar",
    "load_scene",
    "load_spatial_scene",
    "scene_from_mapping",
    "scene_names",
    "spatial_scene_names",
]
