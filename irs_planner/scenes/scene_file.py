"""Planar scenes from YAML."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from contact_core.config import from_mapping
from contact_core.description import share
from contact_core.errors import ConfigError, choices
from irs_planner.scenes.scene import (
    Box,
    Circle,
    Fixture,
    HalfPlane,
    Link,
    PlanarObject,
    PlanarRobot,
    PlanarScene,
    Shape,
)

Config = TypeVar("Config")
Reader = Callable[[Any, str], Any]

SHAPES: dict[str, type] = {"circle": Circle, "box": Box, "half_plane": HalfPlane}


def scene_names() -> tuple[str, ...]:
    """Return the names of the scenes that come with the planner."""
    return tuple(sorted(path.stem for path in share("config", "irs", "scenes").glob("*.yaml")))


def load_scene(name: str | Path) -> PlanarScene:
    """Read a scene.

    Args:
        name: One of :func:`scene_names`, or the path of a YAML file.

    Returns:
        The scene.

    Raises:
        ConfigError: If there is no such scene, or its description is invalid.
    """
    path = Path(name)
    if path.suffix != ".yaml":
        if str(name) not in scene_names():
            raise ConfigError(f"unknown scene '{name}' ({choices(scene_names())})")
        path = share("config", "irs", "scenes", f"{name}.yaml")
    try:
        values = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"cannot read scene {path}: {error}") from error
    try:
        return scene_from_mapping(values)
    except ConfigError as error:
        raise ConfigError(f"{path.name}: {error}") from error


def scene_from_mapping(values: Mapping[str, Any]) -> PlanarScene:
    """Build and check a scene.

    Args:
        values: Nested mappings and lists, named as the fields of :class:`PlanarScene`;
            a shape is a mapping with one key, e.g. ``{circle: {radius: 0.1}}``.

    Returns:
        The scene.

    Raises:
        ConfigError: On an unknown key, an invalid value, or a name used twice.
    """
    scene = _read(PlanarScene, values, "scene", objects=_object, robots=_robot, fixtures=_fixture)
    names = [item.name for item in scene.objects]
    names += [robot.name for robot in scene.robots]
    names += [fixture.name for fixture in scene.fixtures]
    names += [link.name for link in scene.links]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the name '{name}' is used twice")
    return scene


def _read(kind: type[Config], values: Any, where: str, **lists: Reader) -> Config:
    """Read a dataclass some of whose fields are lists of other things."""
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where} must be a mapping, got {values!r}")
    scalars = {key: value for key, value in values.items() if key not in lists}
    built = from_mapping(kind, scalars, where)
    items = {
        key: tuple(
            read(item, f"{where}.{key}[{i}]") for i, item in enumerate(values.get(key) or ())
        )
        for key, read in lists.items()
    }
    return dataclasses.replace(built, **items)  # type: ignore[type-var]


def _object(values: Any, where: str) -> PlanarObject:
    return _read(PlanarObject, values, where, shapes=_shape)


def _fixture(values: Any, where: str) -> Fixture:
    return _read(Fixture, values, where, shapes=_shape)


def _link(values: Any, where: str) -> Link:
    return _read(Link, values, where, shapes=_shape)


def _robot(values: Any, where: str) -> PlanarRobot:
    robot = _read(PlanarRobot, values, where, base_shapes=_shape, links=_link)
    known = [""]
    for link in robot.links:
        if link.parent not in known:
            raise ConfigError(
                f"{where}: link '{link.name}' has the unknown parent '{link.parent}' "
                f"({choices(repr(name) for name in known)}, the links before it)"
            )
        known.append(link.name)
    return robot


def _shape(values: Any, where: str) -> Shape:
    if not isinstance(values, Mapping) or len(values) != 1:
        raise ConfigError(f"{where} must be a mapping with one key ({choices(SHAPES)})")
    [(name, fields)] = values.items()
    if name not in SHAPES:
        raise ConfigError(f"{where} is a '{name}' ({choices(SHAPES)})")
    shape: Shape = from_mapping(SHAPES[name], fields, f"{where}.{name}")
    return shape
