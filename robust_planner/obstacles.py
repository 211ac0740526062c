"""What may be touched beside the ground: convex polygons in the plane, and how far they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi
import numpy as np

from contact_core.base.errors import ConfigError

MIN_DISTANCE = 1e-9
"""To a corner [m]; keeps the derivatives of a distance finite there."""


TAKEN = ("ground", "start")
"""Names that uncertain quantities and contacts have for something else."""


@dataclass(frozen=True)
class Obstacle:
    """Convex parts that stand still, and move together where it is uncertain where they are.

    Attributes:
        name: For instance ``"hole"``.
        parts: Name -> corners (m, 2) as (x, z) [m], world, counter-clockwise with z up.
    """

    name: str
    parts: Mapping[str, Sequence[Sequence[float]]]

    def __post_init__(self) -> None:
        """Refuse what is not convex, and turn what is given clockwise.

        Raises:
            ConfigError: If the name means something else, there are no parts, or one is no convex
                polygon.
        """
        if self.name in TAKEN:
            raise ConfigError(f"obstacle '{self.name}' (valid: any name but {', '.join(TAKEN)})")
        if not self.parts:
            raise ConfigError(f"obstacle '{self.name}' has no parts (valid: one or more)")
        parts = {
            part: _convex(f"obstacle '{self.name}', part '{part}'", corners)
            for part, corners in self.parts.items()
        }
        object.__setattr__(self, "parts", parts)


def _convex(where: str, corners: Sequence[Sequence[float]]) -> tuple[tuple[float, float], ...]:
    try:
        points = np.array(corners, dtype=float)
    except (TypeError, ValueError):  # not a table of numbers
        points = np.empty(0)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3 or not np.isfinite(points).all():
        raise ConfigError(f"{where} is {corners} (valid: three or more corners [x, z])")
    before, after = points - np.roll(points, 1, axis=0), np.roll(points, -1, axis=0) - points
    turns = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    if not (np.all(turns > 0.0) or np.all(turns < 0.0)):
        raise ConfigError(f"{where} is {corners} (valid: corners of a convex polygon)")
    ordered = points if turns[0] > 0.0 else points[::-1]
    return tuple((float(x), float(z)) for x, z in ordered)


def signed_distance(
    point: casadi.SX, corners: Sequence[Sequence[float]]
) -> tuple[casadi.SX, casadi.SX]:
    """Return how far a point is from a convex polygon, and the direction in which that grows.

    Args:
        point: (x, z) [m].
        corners: Of the polygon (m, 2), counter-clockwise [m].

    Returns:
        Distance, negative inside [m]; unit normal (2).
    """
    starts = np.array(corners, dtype=float)
    along = np.roll(starts, -1, axis=0) - starts
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    distance, normal = casadi.SX(-np.inf), casadi.SX.zeros(2)
    for start, (x, z) in zip(starts, along, strict=True):
        outwards = casadi.DM([z, -x])
        beyond = casadi.dot(outwards, point - casadi.DM(start))
        nearer = beyond > distance
        distance = casadi.if_else(nearer, beyond, distance)
        normal = casadi.if_else(nearer, outwards, normal)
    for corner, before, after in zip(starts, np.roll(along, 1, axis=0), along, strict=True):
        way = point - casadi.DM(corner)
        nearest = casadi.logic_and(
            casadi.dot(casadi.DM(before), way) > 0.0, casadi.dot(casadi.DM(after), way) < 0.0
        )
        length = casadi.sqrt(casadi.dot(way, way) + MIN_DISTANCE**2)
        distance = casadi.if_else(nearest, length, distance)
        normal = casadi.if_else(nearest, way / length, normal)
    return distance, normal
