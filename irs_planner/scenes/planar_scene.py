"""Planar scenes: objects, robots and fixtures in the y-z plane, as plain data and from YAML."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from contact_core.base.config import YAML, from_mapping, parameter, read_mapping
from contact_core.base.errors import ConfigError, choices
from contact_core.base.files import share

ORIGIN = (0.0, 0.0)


@dataclass(frozen=True)
class Circle:
    """A disc; radius 0 makes a point."""

    radius: float = parameter(description="radius of the circle", unit="m", low=0.0)
    center: tuple[float, ...] = parameter(ORIGIN, "y, z in the body frame", unit="m", size=2)


@dataclass(frozen=True)
class Box:
    """A rectangle."""

    size: tuple[float, ...] = parameter(
        description="full width along y and height along z", unit="m", low=0.0, size=2
    )
    center: tuple[float, ...] = parameter(ORIGIN, "y, z in the body frame", unit="m", size=2)
    angle: float = parameter(0.0, "rotation from y towards z", unit="rad")


@dataclass(frozen=True)
class Polygon:
    """A convex polygon."""

    vertices: tuple[float, ...] = parameter(
        description="y, z of one corner after the other, counterclockwise, in the body frame",
        unit="m",
    )

    def __post_init__(self) -> None:
        """Check that it is convex.

        Raises:
            ConfigError: If there are fewer than three corners, or one that does not turn left.
        """
        points = self.points
        if len(self.vertices) % 2 or len(points) < 3:
            raise ConfigError(f"a polygon needs y, z of three corners, got {self.vertices}")
        for i, (y, z) in enumerate(points):
            (before_y, before_z), (after_y, after_z) = points[i - 1], points[(i + 1) % len(points)]
            turn = (y - before_y) * (after_z - z) - (z - before_z) * (after_y - y)
            if turn <= 0.0:
                raise ConfigError(f"the polygon is not convex and counterclockwise at ({y}, {z})")

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """Its corners, y and z [m]."""
        return tuple(zip(self.vertices[::2], self.vertices[1::2], strict=False))


@dataclass(frozen=True)
class HalfPlane:
    """Everything behind a straight line: ground or a wall."""

    point: tuple[float, ...] = parameter(ORIGIN, "y, z of a point of the line", unit="m", size=2)
    normal: tuple[float, ...] = parameter((0.0, 1.0), "y, z, out of the solid", size=2)


Shape = Circle | Box | Polygon | HalfPlane


@dataclass(frozen=True)
class Fixture:
    """Something that never moves, such as the ground.

    Attributes:
        shapes: In world coordinates.
    """

    name: str = parameter(description="unique name")
    friction: float = parameter(description="friction coefficient of its material", low=0.0)
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class PlanarObject:
    """A free rigid body, three states: y [m], z [m] and angle [rad] of its body frame.

    Attributes:
        shapes: In the body frame, whose origin is the centre of mass.
    """

    name: str = parameter(description="unique name")
    mass: float = parameter(description="mass of the object", unit="kg", above=0.0)
    inertia: float = parameter(
        description="moment of inertia about the centre of mass", unit="kg m^2", above=0.0
    )
    friction: float = parameter(description="friction coefficient of its material", low=0.0)
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class PlanarLink:
    """A robot link and the joint that moves it, one state each.

    A prismatic joint slides along the y or z axis of the link's origin frame.

    Attributes:
        shapes: In the link frame.
    """

    name: str = parameter(description="unique name")
    joint: str = parameter(
        description="type of the link's joint", options=("revolute", "prismatic_y", "prismatic_z")
    )
    stiffness: float = parameter(
        description="proportional gain of the joint's position controller K",
        unit="Nm/rad or N/m",
        above=0.0,
    )
    parent: str = parameter("", "link that carries the joint; empty: the robot's base")
    origin: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), "y, z [m], angle [rad] of the joint in the parent frame", size=3
    )
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class PlanarRobot:
    """A tree of links whose joints follow commanded positions like springs.

    Attributes:
        base_shapes: What does not move, in the base frame.
        links: Parents before children.
    """

    name: str = parameter(description="unique name")
    friction: float = parameter(description="friction coefficient of its material", low=0.0)
    base: tuple[float, ...] = parameter(
        (0.0, 0.0, 0.0), "y, z [m], angle [rad] of the base in the world", size=3
    )
    base_shapes: tuple[Shape, ...] = ()
    links: tuple[PlanarLink, ...] = ()


@dataclass(frozen=True)
class PlanarScene:
    """Everything a contact model needs to know; gravity acts on objects only.

    The configuration is q = [q_u; q_a]: the objects' poses, then the robots' joints, in
    the order in which they are listed.
    """

    gravity: tuple[float, ...] = parameter(
        (0.0, -9.81), "y, z of the gravitational acceleration", unit="m/s^2", size=2
    )
    objects: tuple[PlanarObject, ...] = ()
    robots: tuple[PlanarRobot, ...] = ()
    fixtures: tuple[Fixture, ...] = ()

    @property
    def links(self) -> tuple[PlanarLink, ...]:
        """All links of all robots, in the order of the robot joints."""
        return tuple(link for robot in self.robots for link in robot.links)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Name of every state, e.g. ``ball/y`` or ``left_proximal``."""
        poses = [f"{o.name}/{axis}" for o in self.objects for axis in ("y", "z", "angle")]
        return (*poses, *(link.name for link in self.links))


Config = TypeVar("Config")
Reader = Callable[[Any, str], Any]

SHAPES: dict[str, type] = {
    "circle": Circle,
    "box": Box,
    "polygon": Polygon,
    "half_plane": HalfPlane,
}


def scene_names() -> tuple[str, ...]:
    """Return the names of the scenes that come with the planner."""
    return tuple(sorted(path.stem for path in share("config", "irs", "scenes").glob("*.yaml")))


def is_planar(name: str | Path) -> bool:
    """Return whether a scene is planar.

    Args:
        name: Name of a scene, or the path of a YAML file.

    Raises:
        ConfigError: If the file cannot be read.
    """
    return str(name) in scene_names() or (
        str(name).endswith(YAML) and "robots" in read_mapping(Path(name))
    )


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
    if path.suffix not in YAML:
        if str(name) not in scene_names():
            raise ConfigError(f"unknown scene '{name}' ({choices(scene_names())})")
        path = share("config", "irs", "scenes", f"{name}.yaml")
    try:
        return scene_from_mapping(read_mapping(path))
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


def _link(values: Any, where: str) -> PlanarLink:
    return _read(PlanarLink, values, where, shapes=_shape)


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
