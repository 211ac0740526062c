"""Descent on the surface: the best explanation of the torque within a region."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.likelihood import Friction, fit_at
from contact_aware_control.estimation.measurement import Measurement
from contact_aware_control.estimation.surface import (
    Placement,
    Surface,
    outward_normal,
    project,
    to_world,
)
from contact_core.kernel import kernel


class Region(NamedTuple):
    """A spherical shell in space.

    Attributes:
        center: (3) world frame [m].
        inner: Its inner radius [m].
        outer: Its outer radius [m]; may be infinite.
    """

    center: np.ndarray
    inner: float
    outer: float


@kernel
def contains(region: Region, x: float, y: float, z: float) -> bool:
    """Tell whether a point of the world [m] is in a region."""
    dx, dy, dz = x - region.center[0], y - region.center[1], z - region.center[2]
    return region.inner <= math.sqrt(dx * dx + dy * dy + dz * dz) <= region.outer


@kernel
def cost_at(
    surface: Surface,
    placement: Placement,
    measurement: Measurement,
    friction: Friction,
    shape: int,
    point: np.ndarray,
) -> float:
    """Return L of a place, given by its shape and its point in the shape's frame."""
    normal = outward_normal(surface, shape, point)
    joints = surface.joints
    return fit_at(measurement, placement, joints, friction, shape, point, normal)[0]


@kernel
def descend(
    surface: Surface,
    placement: Placement,
    measurement: Measurement,
    friction: Friction,
    shape: int,
    point: np.ndarray,
    region: Region,
    step: float,
    trials: int,
    rng: np.random.Generator,
) -> tuple[int, np.ndarray, float]:
    """Descend on L from a place by random steps that stay in a region.

    Args:
        surface: The shapes.
        placement: Where they are.
        measurement: The torque.
        friction: The friction pyramids.
        shape: The shape the place is on.
        point: (3) the place, in the region, frame of the shape [m].
        region: Where the result has to be.
        step: Standard deviation of the coarsest steps, per axis [m].
        trials: Number of steps tried.
        rng: Random numbers.

    Returns:
        (shape of the best place; (3) its point, frame of that shape [m]; its L).
    """
    lowest = cost_at(surface, placement, measurement, friction, shape, point)
    for i in range(trials):
        # From coarse to fine, again and again.
        size = step * 0.5 ** (i % 4)
        x, y, z = to_world(placement, shape, point[0], point[1], point[2])
        x += size * rng.standard_normal()
        y += size * rng.standard_normal()
        z += size * rng.standard_normal()
        s, px, py, pz, _, _, _ = project(surface, placement, shape, x, y, z)
        x, y, z = to_world(placement, s, px, py, pz)
        if not contains(region, x, y, z):
            continue
        at = np.array([px, py, pz])
        cost = cost_at(surface, placement, measurement, friction, s, at)
        if cost < lowest:
            shape, point, lowest = s, at, cost
    return shape, point, lowest
