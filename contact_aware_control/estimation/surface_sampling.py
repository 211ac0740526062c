"""Uniform samples of the robot's collision surface."""

from __future__ import annotations

import math

import numpy as np

from contact_aware_control.estimation.surface import Placement, Surface, hidden, to_world
from contact_core.collision.shapes import ShapeKind
from contact_core.collision.signed_distance import signed_distance
from contact_core.kernel import kernel

SPHERE = int(ShapeKind.SPHERE)
BOX = int(ShapeKind.BOX)
CAPSULE = int(ShapeKind.CAPSULE)

ATTEMPTS = 50
"""Draws of a point that is not hidden in another shape, before the last one is taken."""


@kernel
def sample(
    surface: Surface, placement: Placement, rng: np.random.Generator
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
