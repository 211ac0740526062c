"""A tool that an arm lowers onto a table, without tilting it."""

from __future__ import annotations

import casadi
import numpy as np

from robust_planner.model.contact_model import (
    Body,
    BodyPoint,
    ContactModel,
    CoordinateLimits,
    build_model,
)


def lowered_tool(
    mass: float, half_height: float, max_force: float = np.inf, max_speed: float = np.inf
) -> ContactModel:
    """Describe a tool that is moved vertically.

    Args:
        mass: [kg].
        half_height: Height of the centre over the ground in contact [m].
        max_force: Largest vertical force of the arm [N].
        max_speed: Largest speed along each axis [m/s].

    Returns:
        q = position (x, z) of the centre [m], world; u = vertical force [N].
    """
    q = casadi.SX.sym("q", 2)
    return build_model(
        name="lowered_tool",
        q=q,
        bodies=[Body(q, mass)],
        contacts=[BodyPoint("bottom", q - casadi.vertcat(0.0, half_height))],
        actuation=np.array([[0.0], [1.0]]),
        position_names=("x", "z"),
        control_names=("force_z",),
        limits=CoordinateLimits(speed=(max_speed,), control=(max_force,)),
    )
