"""The best place near a contact: where it may have slid."""

from __future__ import annotations

import numpy as np

from contact_aware_control.estimation.joint_fit import Companions
from contact_aware_control.estimation.likelihood import Friction, Measurement, place_cost
from contact_aware_control.estimation.surface import (
    Placement,
    Surface,
    outward_normal,
    project,
    to_world,
)
from contact_stack.core.kernel import kernel

TRIALS = 48
"""Places tried."""


@kernel
def best_nearby(
    surface: Surface,
    placement: Placement,
    measurement: Measurement,
    companions: Companions,
    friction: Friction,
    shape: int,
    point: np.ndarray,
    distance: float,
    rng: np.random.Generator,
) -> tuple[int, np.ndarray, float]:
    """Descend from a place by random steps, not further than a distance.

    Args:
        surface: The shapes.
        placement: Where they are.
        measurement: The torque.
        companions: Other contacts.
        friction: The friction pyramids.
        shape: The shape the place is on.
        point: (3) the place, frame of the shape [m].
        distance: How far the result may be from it [m].
        rng: Random numbers.

    Returns:
        (its shape; (3) its point, frame of that shape [m]; its L).
    """
    x0, y0, z0 = to_world(placement, shape, point[0], point[1], point[2])
    best_shape, best_point = shape, point.copy()
    normal = outward_normal(surface, shape, point)
    lowest = place_cost(surface, placement, measurement, companions, friction, shape, point, normal)
    for i in range(TRIALS):
        # From coarse to fine.
        step = 0.5 * distance * 0.5 ** (i % 4)
        x, y, z = to_world(placement, best_shape, best_point[0], best_point[1], best_point[2])
        x += step * rng.standard_normal()
        y += step * rng.standard_normal()
        z += step * rng.standard_normal()
        s, px, py, pz, nx, ny, nz = project(surface, placement, best_shape, x, y, z)
        at, outward = np.array([px, py, pz]), np.array([nx, ny, nz])
        x, y, z = to_world(placement, s, at[0], at[1], at[2])
        if (x - x0) ** 2 + (y - y0) ** 2 + (z - z0) ** 2 > distance * distance:
            continue
        cost = place_cost(surface, placement, measurement, companions, friction, s, at, outward)
        if cost < lowest:
            best_shape, best_point, lowest = s, at, cost
    return best_shape, best_point, lowest
