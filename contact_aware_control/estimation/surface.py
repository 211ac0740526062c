"""The robot's collision surface: where it is, projecting points onto it, drawing points from it.

The surface is that of the union of all shapes: points inside another shape are not on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from contact_core.base.errors import ModelError, choices
from contact_core.base.kernel import kernel, leaf_kernel
from contact_core.multibody.collision.shapes import PlacedShape, ShapeKind
from contact_core.multibody.collision.signed_distance import (
    BOX,
    CAPSULE,
    CYLINDER,
    SPHERE,
    signed_distance,
)
from contact_core.robot.robot import Robot

HIDDEN_DEPTH = 1e-3
"""A point this deep [m] in another shape is not on the surface of the union."""

ROUNDING = 0.005
"""How near an edge the direction of a force may be that of a round one [m]."""

ATTEMPTS = 50
"""Draws of a point that is not hidden in another shape, before the last one is taken."""


class RobotSurface(NamedTuple):
    """The shapes of a robot with S shapes, as arrays for kernels.

    Attributes:
        kind: (S) ShapeKind.
        size: (S, 3) see ``Shape.size`` [m].
        joints: (S) how many joints, counted from the base, move the shape.
        rotation: (S, 3, 3) orientation in the frame of the last of these joints.
        translation: (S, 3) position in that frame [m].
        bounding_radius: (S) [m] about the shape's origin.
        cumulative_area: (S) running sum of the areas of the shapes that may be touched,
            divided by the total; others add nothing.
        candidate: (S) True for the shapes that may be touched.
    """

    kind: np.ndarray
    size: np.ndarray
    joints: np.ndarray
    rotation: np.ndarray
    translation: np.ndarray
    bounding_radius: np.ndarray
    cumulative_area: np.ndarray
    candidate: np.ndarray


class Placement(NamedTuple):
    """Where the shapes are in the world.

    Attributes:
        rotation: (S, 3, 3) orientations.
        translation: (S, 3) origins [m].
    """

    rotation: np.ndarray
    translation: np.ndarray


def surface_of_robot(
    robot: Robot, links: Sequence[str] = (), more: Sequence[PlacedShape] = ()
) -> tuple[RobotSurface, tuple[str, ...]]:
    """Collect the shapes that the arm moves.

    Args:
        robot: The robot.
        links: The links that may be touched; empty for all that the arm moves.
        more: Further shapes, in the frames of their links.

    Returns:
        (the surface; the name of the link of each of its shapes).

    Raises:
        ModelError: If a link is unknown or has no shape, or a shape is a half space.
    """
    shapes = [shape for shape in robot.collision_shapes if robot.joints_moving(shape.body) > 0]
    for link in links:
        known = [shape.body for shape in shapes]
        if link not in known:
            valid = choices(dict.fromkeys(known))
            raise ModelError(f"no collision shape on link '{link}' ({valid})")
    shapes.extend(more)
    bodies = tuple(shape.body for shape in shapes)
    joints = [robot.joints_moving(body) for body in bodies]
    candidate = np.array([not links or body in links for body in bodies])
    in_joint = [robot.in_joint(shape.body) * shape.placement for shape in shapes]
    placements = [(pose.rotation, pose.translation) for pose in in_joint]
    return surface_of_shapes(shapes, placements, joints, candidate), bodies


def surface_of_shapes(
    shapes: Sequence[PlacedShape],
    placements: Sequence[tuple[np.ndarray, np.ndarray]],
    joints: Sequence[int],
    candidate: np.ndarray,
) -> RobotSurface:
    """Pack shapes into arrays.

    Args:
        shapes: The S shapes.
        placements: Rotation and translation of each in the frame of its joint.
        joints: How many joints move each, at least 1.
        candidate: (S) True for those that may be touched.

    Returns:
        The surface.

    Raises:
        ModelError: If a shape is a half space.
    """
    for shape in shapes:
        if shape.shape.kind is ShapeKind.HALF_SPACE:
            raise ModelError(f"collision '{shape.name}' is a half space: a robot has no such part")
    area = np.cumsum([shape.shape.area for shape in shapes] * candidate)
    return RobotSurface(
        kind=np.array([int(shape.shape.kind) for shape in shapes]),
        size=np.array([shape.shape.size for shape in shapes], dtype=float),
        joints=np.array(joints),
        rotation=np.array([rotation for rotation, _ in placements]),
        translation=np.array([translation for _, translation in placements]),
        bounding_radius=np.array([shape.shape.bounding_radius for shape in shapes]),
        cumulative_area=area / area[-1],
        candidate=candidate,
    )


def new_placement(surface: RobotSurface) -> Placement:
    """Return room for the world poses of a surface's shapes."""
    return Placement(np.zeros_like(surface.rotation), np.zeros_like(surface.translation))


@kernel
def place(
    surface: RobotSurface,
    joint_rotations: np.ndarray,
    joint_origins: np.ndarray,
    placement: Placement,
) -> None:
    """Compute where the shapes are.

    Args:
        surface: The shapes.
        joint_rotations: (n, 3, 3) orientations of the joint frames, world frame.
        joint_origins: (n, 3) their origins [m].
        placement: Written.
    """
    for s in range(surface.kind.size):
        joint = surface.joints[s] - 1
        for i in range(3):
            position = joint_origins[joint, i]
            for k in range(3):
                position += joint_rotations[joint, i, k] * surface.translation[s, k]
                entry = 0.0
                for m in range(3):
                    entry += joint_rotations[joint, i, m] * surface.rotation[s, m, k]
                placement.rotation[s, i, k] = entry
            placement.translation[s, i] = position


@leaf_kernel
def to_world(
    placement: Placement, shape: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Transform a point from a shape's frame to the world frame."""
    r = placement.rotation[shape]
    t = placement.translation[shape]
    return (
        r[0, 0] * x + r[0, 1] * y + r[0, 2] * z + t[0],
        r[1, 0] * x + r[1, 1] * y + r[1, 2] * z + t[1],
        r[2, 0] * x + r[2, 1] * y + r[2, 2] * z + t[2],
    )


@leaf_kernel
def to_shape(
    placement: Placement, shape: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Transform a point from the world frame to a shape's frame."""
    r = placement.rotation[shape]
    dx = x - placement.translation[shape, 0]
    dy = y - placement.translation[shape, 1]
    dz = z - placement.translation[shape, 2]
    return (
        r[0, 0] * dx + r[1, 0] * dy + r[2, 0] * dz,
        r[0, 1] * dx + r[1, 1] * dy + r[2, 1] * dz,
        r[0, 2] * dx + r[1, 2] * dy + r[2, 2] * dz,
    )


@leaf_kernel
def is_beyond(placement: Placement, shape: int, x: float, y: float, z: float, reach: float) -> bool:
    """Tell whether a point of the world is farther than a reach [m] from a shape's origin."""
    dx = x - placement.translation[shape, 0]
    dy = y - placement.translation[shape, 1]
    dz = z - placement.translation[shape, 2]
    return dx * dx + dy * dy + dz * dz > reach * reach


@leaf_kernel
def hidden(
    surface: RobotSurface, placement: Placement, shape: int, x: float, y: float, z: float
) -> bool:
    """Tell whether a point on one shape lies inside another one.

    Args:
        surface: The shapes.
        placement: Where they are.
        shape: The shape that the point is on.
        x: First coordinate of the point, world frame [m].
        y: Second coordinate.
        z: Third coordinate.

    Returns:
        True if the point is not on the surface of the union.
    """
    for s in range(surface.kind.size):
        if s == shape:
            continue
        if is_beyond(placement, s, x, y, z, surface.bounding_radius[s]):
            continue
        px, py, pz = to_shape(placement, s, x, y, z)
        if signed_distance(surface.kind[s], surface.size[s], px, py, pz)[0] < -HIDDEN_DEPTH:
            return True
    return False


@leaf_kernel
def project(
    surface: RobotSurface, placement: Placement, shape: int, x: float, y: float, z: float
) -> tuple[int, float, float, float, float, float, float]:
    """Find the point of the surface that is closest to a point near it.

    For a point outside every shape this is the closest point of the union. A point inside
    leaves the shape it is deepest in; where that ends inside another shape, this repeats.

    Args:
        surface: The shapes.
        placement: Where they are.
        shape: The shape the point came from; the result if no other is closer.
        x: First coordinate of the point, world frame [m].
        y: Second coordinate.
        z: Third coordinate.

    Returns:
        (shape; then the point and the outward normal, both in that shape's frame).
    """
    for _ in range(3):
        px, py, pz = to_shape(placement, shape, x, y, z)
        distance, nx, ny, nz = signed_distance(surface.kind[shape], surface.size[shape], px, py, pz)
        for s in range(surface.kind.size):
            if s == shape or not surface.candidate[s]:
                continue
            if is_beyond(placement, s, x, y, z, surface.bounding_radius[s] + max(distance, 0.0)):
                continue
            ox, oy, oz = to_shape(placement, s, x, y, z)
            other, mx, my, mz = signed_distance(surface.kind[s], surface.size[s], ox, oy, oz)
            if other < distance:
                shape, distance = s, other
                px, py, pz, nx, ny, nz = ox, oy, oz, mx, my, mz
        px -= distance * nx
        py -= distance * ny
        pz -= distance * nz
        if distance >= 0.0:
            break
        x, y, z = to_world(placement, shape, px, py, pz)
    return shape, px, py, pz, nx, ny, nz


@kernel
def closest_on_shape(
    surface: RobotSurface, placement: Placement, shape: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Return the point of one shape closest to a point of the world, frame of the shape [m]."""
    px, py, pz = to_shape(placement, shape, x, y, z)
    kind, size = surface.kind[shape], surface.size[shape]
    distance, nx, ny, nz = signed_distance(kind, size, px, py, pz)
    return px - distance * nx, py - distance * ny, pz - distance * nz


@kernel
def outward_normal(surface: RobotSurface, shape: int, point: np.ndarray) -> np.ndarray:
    """Return the outward unit normal at a point of a shape, both in its frame."""
    kind, size = surface.kind[shape], surface.size[shape]
    _, nx, ny, nz = signed_distance(kind, size, point[0], point[1], point[2])
    return np.array([nx, ny, nz])


@leaf_kernel
def edge_normal(
    surface: RobotSurface, shape: int, x: float, y: float, z: float
) -> tuple[bool, float, float, float]:
    """Return the normal that an edge would have at a point near it, if it were round.

    On an edge whatever lies between the normals of both faces may be the direction of a force:
    with the normal of either alone it would be outside every friction cone there.

    Args:
        surface: The shapes.
        shape: Which of them.
        x: First coordinate of the point, on the shape, in its frame [m].
        y: Second coordinate.
        z: Third coordinate.

    Returns:
        (whether the point is that near an edge; the outward unit normal, frame of the shape).
    """
    kind, size = surface.kind[shape], surface.size[shape]
    nx, ny, nz = 0.0, 0.0, 0.0
    if kind == BOX:
        nx, ny, nz = _beyond(x, size[0]), _beyond(y, size[1]), _beyond(z, size[2])
    elif kind == CYLINDER:
        radius = math.sqrt(x * x + y * y)
        share = _beyond(radius, size[0]) / max(radius, 1e-9)
        nx, ny, nz = share * x, share * y, _beyond(z, size[1])
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    # On the faces themselves it is one of them.
    if length == max(abs(nx), abs(ny), abs(nz)):
        return False, 0.0, 0.0, 0.0
    return True, nx / length, ny / length, nz / length


@leaf_kernel
def _beyond(x: float, half: float) -> float:
    """Return how far a coordinate is in the rounded part of a shape, with its sign [m]."""
    return math.copysign(max(abs(x) - max(half - ROUNDING, 0.0), 0.0), x)


@kernel
def sample(
    surface: RobotSurface, placement: Placement, rng: np.random.Generator
) -> tuple[int, float, float, float, float, float, float]:
    """Draw a point uniformly on the surface of the union that may be touched.

    Args:
        surface: The shapes.
        placement: Where they are.
        rng: Random numbers.

    Returns:
        (shape; then the point and the outward normal, both in that shape's frame).
    """
    shape, px, py, pz = 0, 0.0, 0.0, 0.0
    for _ in range(ATTEMPTS):
        share = rng.random()
        shape = 0
        while surface.cumulative_area[shape] <= share:
            shape += 1
        px, py, pz = _sample_shape(surface.kind[shape], surface.size[shape], rng)
        x, y, z = to_world(placement, shape, px, py, pz)
        if not hidden(surface, placement, shape, x, y, z):
            break
    _, nx, ny, nz = signed_distance(surface.kind[shape], surface.size[shape], px, py, pz)
    return shape, px, py, pz, nx, ny, nz


@kernel
def _sample_shape(
    kind: int, size: np.ndarray, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Draw a point uniformly on the surface of one shape, in its frame."""
    if kind == BOX:
        return _sample_box(size, rng)
    radius, half_length = size[0], size[1]
    angle = 2.0 * math.pi * rng.random()
    c, s = math.cos(angle), math.sin(angle)
    height = 2.0 * rng.random() - 1.0
    if kind in (SPHERE, CAPSULE):
        if kind == SPHERE or rng.random() * (radius + half_length) < radius:
            # Archimedes: the height on a sphere is uniform.
            rho = radius * math.sqrt(1.0 - height * height)
            offset = 0.0 if kind == SPHERE else math.copysign(half_length, height)
            return rho * c, rho * s, radius * height + offset
        return radius * c, radius * s, half_length * height
    if rng.random() * (radius + 2.0 * half_length) < radius:
        rho = radius * math.sqrt(rng.random())
        return rho * c, rho * s, math.copysign(half_length, height)
    return radius * c, radius * s, half_length * height


@kernel
def _sample_box(size: np.ndarray, rng: np.random.Generator) -> tuple[float, float, float]:
    a, b, c = size[0], size[1], size[2]
    x = a * (2.0 * rng.random() - 1.0)
    y = b * (2.0 * rng.random() - 1.0)
    z = c * (2.0 * rng.random() - 1.0)
    face = rng.random() * (a * b + b * c + c * a)
    if face < a * b:
        z = math.copysign(c, z)
    elif face < a * b + b * c:
        x = math.copysign(a, x)
    else:
        y = math.copysign(b, y)
    return x, y, z
