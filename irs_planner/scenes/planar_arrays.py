"""A planar scene as arrays: what its kinematics and contact kernels read."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from contact_core.base.errors import ModelError
from irs_planner.scenes.planar_scene import (
    Box,
    Circle,
    HalfPlane,
    PlanarScene,
    Polygon,
    Shape,
)

CIRCLE, BOX, HALF_PLANE, POLYGON = 0, 1, 2, 3
REVOLUTE, PRISMATIC_Y, PRISMATIC_Z = 0, 1, 2
JOINTS = {"revolute": REVOLUTE, "prismatic_y": PRISMATIC_Y, "prismatic_z": PRISMATIC_Z}
WORLD = 0


class SceneArrays(NamedTuple):
    """Bodies are numbered: 0 = everything fixed, 1..O = objects, then the links.

    Attributes:
        objects: Number O of objects; joint j is state 3 O + j.
        parent: (L) parent link of every link, -1 for the base.
        joint: (L) REVOLUTE, PRISMATIC_Y or PRISMATIC_Z.
        origin: (L, 3) joint frame in the parent link, or in the world for a root.
        moves: (L, L) True if joint [column] moves link [row].
        shape_kind: (S) CIRCLE, BOX, HALF_PLANE or POLYGON.
        shape_body: (S) body of every shape.
        shape_pose: (S, 3) y, z, angle in the body frame; a half plane's normal is its z axis.
        shape_size: (S, 2) radius and 0, half width and half height, or the number of the first
            vertex of a polygon and how many it has.
        vertex: (V, 2) y, z of the vertices of all polygons, in the frames of the shapes [m].
        pair: (P, 2) shapes that can touch; the first one is a circle.
        friction: (P) friction coefficient of every pair.
    """

    objects: int
    parent: np.ndarray
    joint: np.ndarray
    origin: np.ndarray
    moves: np.ndarray
    shape_kind: np.ndarray
    shape_body: np.ndarray
    shape_pose: np.ndarray
    shape_size: np.ndarray
    vertex: np.ndarray
    pair: np.ndarray
    friction: np.ndarray


@dataclass(frozen=True)
class _PlacedShape:
    """A shape on a numbered body; ``neighbours`` are part names it may overlap.

    A box or polygon touches half planes and its like with its corners, circles with its sides.
    """

    kind: int
    body: int
    pose: tuple[float, float, float]
    size: tuple[float, float]
    friction: float
    part: str
    neighbours: tuple[str, ...]
    corner: bool = False
    vertices: tuple[tuple[float, float], ...] = ()

    @property
    def takes_corners(self) -> bool:
        """Whether corners touch this shape."""
        return self.kind != CIRCLE


def build_scene_arrays(scene: PlanarScene) -> SceneArrays:
    """Number the bodies of a scene and list the pairs of shapes that can touch.

    Shapes of the same body, of a link and its parent, and of two fixed bodies never
    touch. Friction coefficients of two materials combine as 2 a b / (a + b).

    Args:
        scene: The scene.

    Returns:
        Its arrays.

    Raises:
        ModelError: If the scene has no robot joint.
    """
    links = scene.links
    if not links:
        raise ModelError("the scene has no robot joint: nothing can be commanded")
    number = {link.name: i for i, link in enumerate(links)}
    parent = np.full(len(links), -1)
    origin = np.zeros((len(links), 3))
    moves = np.eye(len(links), dtype=np.bool_)
    for robot in scene.robots:
        for link in robot.links:
            i = number[link.name]
            origin[i] = link.origin if link.parent else compose(robot.base, link.origin)
            if link.parent:
                parent[i] = number[link.parent]
                moves[i] |= moves[parent[i]]
    shapes = _place_shapes(scene, number)
    pairs, friction = _pair_shapes(shapes)
    sizes: list[tuple[float, float]] = []
    vertices: list[tuple[float, float]] = []
    for shape in shapes:
        sizes.append((len(vertices), len(shape.vertices)) if shape.kind == POLYGON else shape.size)
        vertices += shape.vertices
    return SceneArrays(
        len(scene.objects),
        parent,
        np.array([JOINTS[link.joint] for link in links]),
        origin,
        moves,
        np.array([s.kind for s in shapes], dtype=np.int64),
        np.array([s.body for s in shapes], dtype=np.int64),
        np.array([s.pose for s in shapes], dtype=float).reshape(-1, 3),
        np.array(sizes, dtype=float).reshape(-1, 2),
        np.array(vertices, dtype=float).reshape(-1, 2),
        pairs,
        friction,
    )


def part_names(scene: PlanarScene) -> tuple[str, ...]:
    """Return the name of every body, by number; "" for everything fixed.

    Args:
        scene: The scene.
    """
    return ("", *(item.name for item in scene.objects), *(link.name for link in scene.links))


def object_radii(arrays: SceneArrays) -> np.ndarray:
    """Return how far every object reaches from its origin.

    Args:
        arrays: The scene; the corners of boxes are circles of radius 0 in it.

    Returns:
        (O) [m].
    """
    round_ = arrays.shape_kind == CIRCLE
    reach = np.hypot(arrays.shape_pose[:, 0], arrays.shape_pose[:, 1]) + arrays.shape_size[:, 0]
    bodies = range(1, 1 + arrays.objects)
    return np.array(
        [reach[round_ & (arrays.shape_body == body)].max(initial=0.0) for body in bodies]
    )


def compose(frame: tuple[float, ...], local: tuple[float, ...]) -> tuple[float, float, float]:
    """Express a pose given in a frame in the frame's own reference.

    Args:
        frame: y, z [m], angle [rad] of the frame.
        local: y, z [m], angle [rad] in that frame.

    Returns:
        y, z [m], angle [rad].
    """
    cosine, sine = math.cos(frame[2]), math.sin(frame[2])
    return (
        frame[0] + cosine * local[0] - sine * local[1],
        frame[1] + sine * local[0] + cosine * local[1],
        frame[2] + local[2],
    )


def _place_shapes(scene: PlanarScene, number: dict[str, int]) -> list[_PlacedShape]:
    placed: list[_PlacedShape] = []
    identity = (0.0, 0.0, 0.0)
    for fixture in scene.fixtures:
        placed += _place(fixture.shapes, WORLD, identity, fixture.friction, fixture.name, ())
    for i, item in enumerate(scene.objects):
        placed += _place(item.shapes, 1 + i, identity, item.friction, item.name, ())
    for robot in scene.robots:
        placed += _place(robot.base_shapes, WORLD, robot.base, robot.friction, robot.name, ())
        for link in robot.links:
            body = 1 + len(scene.objects) + number[link.name]
            carrier = (link.parent or robot.name,)
            placed += _place(link.shapes, body, identity, robot.friction, link.name, carrier)
    return placed


def _place(
    shapes: tuple[Shape, ...],
    body: int,
    frame: tuple[float, ...],
    friction: float,
    part: str,
    neighbours: tuple[str, ...],
) -> list[_PlacedShape]:
    placed = []
    for shape in shapes:
        corners: tuple[tuple[float, float], ...] = ()
        vertices: tuple[tuple[float, float], ...] = ()
        match shape:
            case Circle():
                kind, local, size = CIRCLE, (*shape.center, 0.0), (shape.radius, 0.0)
            case Box():
                half = (0.5 * shape.size[0], 0.5 * shape.size[1])
                kind, local, size = BOX, (*shape.center, shape.angle), half
                corners = tuple(itertools.product((-half[0], half[0]), (-half[1], half[1])))
            case Polygon():
                kind, local, size = POLYGON, (0.0, 0.0, 0.0), (0.0, 0.0)
                corners = vertices = shape.points
            case HalfPlane():
                angle = math.atan2(-shape.normal[0], shape.normal[1])
                kind, local, size = HALF_PLANE, (*shape.point, angle), (0.0, 0.0)
        pose = compose(frame, local)
        placed.append(
            _PlacedShape(kind, body, pose, size, friction, part, neighbours, vertices=vertices)
        )
        for corner in corners:
            place = compose(pose, (*corner, 0.0))
            placed.append(
                _PlacedShape(
                    CIRCLE, body, place, (0.0, 0.0), friction, part, neighbours, corner=True
                )
            )
    return placed


def _pair_shapes(shapes: list[_PlacedShape]) -> tuple[np.ndarray, np.ndarray]:
    pairs: list[tuple[int, int]] = []
    friction: list[float] = []
    for (i, a), (j, b) in itertools.combinations(enumerate(shapes), 2):
        adjacent = a.part in b.neighbours or b.part in a.neighbours
        if a.body == b.body or adjacent:
            continue
        if (a.corner and not b.takes_corners) or (b.corner and not a.takes_corners):
            continue
        if a.kind == CIRCLE or b.kind == CIRCLE:
            # Between two circles the order only decides which body the normal points into.
            pairs.append((i, j) if a.kind == CIRCLE else (j, i))
            total = a.friction + b.friction
            friction.append(2.0 * a.friction * b.friction / total if total > 0.0 else 0.0)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(friction, dtype=float)
