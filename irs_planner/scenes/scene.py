"""A planar scene: objects, robots and fixtures in the y-z plane, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from contact_core.config import parameter

ORIGIN = (0.0, 0.0)


@dataclass(frozen=True)
class Circle:
    """A disc; radius 0 makes a point."""

    radius: float = parameter(description="radius", unit="m", low=0.0)
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
class HalfPlane:
    """Everything behind a straight line: ground or a wall."""

    point: tuple[float, ...] = parameter(ORIGIN, "y, z of a point of the line", unit="m", size=2)
    normal: tuple[float, ...] = parameter((0.0, 1.0), "y, z, out of the solid", size=2)


Shape = Circle | Box | HalfPlane


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
    mass: float = parameter(description="mass", unit="kg", above=0.0)
    inertia: float = parameter(
        description="moment of inertia about the centre of mass", unit="kg m^2", above=0.0
    )
    friction: float = parameter(description="friction coefficient of its material", low=0.0)
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class Link:
    """A robot link and the joint that moves it, one state each.

    A prismatic joint slides along the y or z axis of the link's origin frame.

    Attributes:
        shapes: In the link frame.
    """

    name: str = parameter(description="unique name")
    joint: str = parameter(
        description="type of its joint", options=("revolute", "prismatic_y", "prismatic_z")
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
    links: tuple[Link, ...] = ()


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
    def links(self) -> tuple[Link, ...]:
        """All links of all robots, in the order of the robot joints."""
        return tuple(link for robot in self.robots for link in robot.links)

    @property
    def state_names(self) -> tuple[str, ...]:
        """Name of every state, e.g. ``ball/y`` or ``left_proximal``."""
        poses = [f"{o.name}/{axis}" for o in self.objects for axis in ("y", "z", "angle")]
        return (*poses, *(link.name for link in self.links))
