"""Things to push: planar shapes for the planner, and the same as prisms for a simulator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from irs_planner.scenes.planar_scene import Box, Circle, PlanarObject, Polygon

Part = Box | Circle | Polygon

HEIGHT = 0.1
"""Of every prism [m]."""
GRID, EXTENT = 400, 0.2
"""Points along an axis by which mass is distributed, and how far they reach [m]."""
MASS = 1.0
"""[kg]."""
FRICTION = 0.5
"""Of their sides, as the planner takes it."""


def _hexagon(radius: float) -> tuple[float, ...]:
    angles = np.arange(6) * math.pi / 3.0
    return tuple((radius * np.column_stack((np.cos(angles), np.sin(angles)))).ravel().tolist())


SHAPES: Mapping[str, tuple[Part, ...]] = {
    "square": (Box((0.14, 0.14)),),
    "bar": (Box((0.22, 0.06)),),
    "tee": (Box((0.18, 0.05), (0.0, 0.05)), Box((0.05, 0.13), (0.0, -0.04))),
    "ell": (Box((0.05, 0.18), (-0.05, 0.0)), Box((0.09, 0.05), (0.02, -0.065))),
    "plus": (Box((0.18, 0.05)), Box((0.05, 0.18))),
    "channel": (
        Box((0.17, 0.05), (0.0, -0.045)),
        Box((0.045, 0.09), (-0.0625, 0.025)),
        Box((0.045, 0.09), (0.0625, 0.025)),
    ),
    "disc": (Circle(0.08),),
    "capsule": (Box((0.1, 0.08)), Circle(0.04, (-0.05, 0.0)), Circle(0.04, (0.05, 0.0))),
    "wedge": (Polygon((-0.08, -0.06, 0.1, -0.06, -0.02, 0.1)),),
    "hexagon": (Polygon(_hexagon(0.09)),),
}
"""Name -> parts, in a frame of their own."""
ROUND = ("disc",)
"""Shapes that look the same from everywhere: their angle does not matter."""


@dataclass(frozen=True)
class PushedObject:
    """A shape with mass, its origin at the centre of mass.

    Attributes:
        name: One of SHAPES.
        mass: [kg].
        parts: In its frame.
        inertia: About the centre of mass [kg m^2].
        radius: How far it reaches from there [m].
    """

    name: str
    mass: float
    parts: tuple[Part, ...]
    inertia: float
    radius: float

    @classmethod
    def make(cls, name: str, mass: float = MASS) -> PushedObject:
        """Distribute mass evenly over a shape.

        Args:
            name: One of SHAPES.
            mass: [kg].
        """
        parts = SHAPES[name]
        ticks = EXTENT * (2.0 * (np.arange(GRID) + 0.5) / GRID - 1.0)
        points = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
        inside = points[np.any([_contains(part, points) for part in parts], axis=0)]
        center = inside.mean(axis=0)
        squares = ((inside - center) ** 2).sum(axis=1)
        return cls(
            name, mass, tuple(_moved(part, -center) for part in parts),
            mass * float(squares.mean()), float(np.sqrt(squares.max())),
        )  # fmt: skip

    @property
    def height(self) -> float:
        """Of its origin over what it lies on [m]."""
        return HEIGHT / 2.0

    def weighing(self, mass: float) -> PushedObject:
        """Return it with another mass [kg]."""
        return replace(self, mass=mass, inertia=self.inertia * mass / self.mass)

    @property
    def is_round(self) -> bool:
        """Whether its angle does not matter."""
        return self.name in ROUND

    def planar(self) -> PlanarObject:
        """Return it as the planner sees it."""
        return PlanarObject("thing", self.mass, self.inertia, FRICTION, self.parts)

    def urdf(self, folder: Path) -> Path:
        """Write it as a prism.

        Args:
            folder: Where the description and its meshes are written.

        Returns:
            The URDF, origin at the centre of mass.
        """
        robot = ElementTree.Element("robot", name=self.name)
        link = ElementTree.SubElement(robot, "link", name="thing")
        inertial = ElementTree.SubElement(link, "inertial")
        ElementTree.SubElement(inertial, "mass", value=repr(self.mass))
        across = 0.5 * self.inertia + self.mass * HEIGHT**2 / 12.0
        moments = {"ixx": across, "iyy": across, "izz": self.inertia}
        zeros = dict.fromkeys(("ixy", "ixz", "iyz"), "0")
        ElementTree.SubElement(
            inertial, "inertia", {**{k: repr(float(v)) for k, v in moments.items()}, **zeros}
        )
        for number, part in enumerate(self.parts):
            for tag in ("visual", "collision"):
                element = ElementTree.SubElement(link, tag, name=f"{self.name}_{number}")
                _add_prism(element, part, folder / f"{self.name}_{number}.obj")
        path = folder / f"{self.name}.urdf"
        ElementTree.ElementTree(robot).write(path)
        return path


def _contains(part: Part, points: np.ndarray) -> np.ndarray:
    """Return which points (N, 2) are inside a part."""
    if isinstance(part, Circle):
        return np.asarray(np.linalg.norm(points - part.center, axis=1) <= part.radius)
    if isinstance(part, Box):
        return np.asarray((np.abs(points - part.center) <= 0.5 * np.array(part.size)).all(axis=1))
    corners = np.array(part.points)
    edges = np.roll(corners, -1, axis=0) - corners
    offsets = points[:, np.newaxis] - corners
    return np.asarray((edges[:, 0] * offsets[..., 1] >= edges[:, 1] * offsets[..., 0]).all(axis=1))


def _moved(part: Part, shift: np.ndarray) -> Part:
    if isinstance(part, Circle):
        return Circle(part.radius, tuple((part.center + shift).tolist()))
    if isinstance(part, Box):
        return Box(part.size, tuple((part.center + shift).tolist()), part.angle)
    return Polygon(tuple((np.array(part.points) + shift).ravel().tolist()))


def _add_prism(element: ElementTree.Element, part: Part, mesh: Path) -> None:
    """Add origin and geometry of a part; a polygon becomes a mesh."""
    center: Sequence[float] = (0.0, 0.0) if isinstance(part, Polygon) else part.center
    ElementTree.SubElement(element, "origin", xyz=f"{center[0]!r} {center[1]!r} 0")
    geometry = ElementTree.SubElement(element, "geometry")
    if isinstance(part, Box):
        size = f"{part.size[0]!r} {part.size[1]!r} {HEIGHT!r}"
        ElementTree.SubElement(geometry, "box", size=size)
    elif isinstance(part, Circle):
        ElementTree.SubElement(geometry, "cylinder", radius=repr(part.radius), length=repr(HEIGHT))
    else:
        mesh.write_text(_prism(part))
        ElementTree.SubElement(geometry, "mesh", filename=str(mesh))


def _prism(polygon: Polygon) -> str:
    """Return a prism as text of an OBJ file."""
    points, count = polygon.points, len(polygon.points)
    lines = [f"v {x!r} {y!r} {z!r}" for z in (-HEIGHT / 2, HEIGHT / 2) for x, y in points]
    bottom, top = np.arange(1, count + 1), np.arange(count + 1, 2 * count + 1)
    for i in range(1, count - 1):
        lines.append(f"f {bottom[0]} {bottom[i + 1]} {bottom[i]}")
        lines.append(f"f {top[0]} {top[i]} {top[i + 1]}")
    for i in range(count):
        j = (i + 1) % count
        lines.append(f"f {bottom[i]} {bottom[j]} {top[j]}")
        lines.append(f"f {bottom[i]} {top[j]} {top[i]}")
    return "\n".join((*lines, ""))
