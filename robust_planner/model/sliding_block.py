"""A block that slides on the ground, pushed horizontally at its centre."""

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


def sliding_block(
    mass: float = 1.0,
    half_height: float = 0.5,
    dimension: int = 2,
    max_force: float = np.inf,
    max_speed: float = np.inf,
    carried_mass: float = 0.0,
) -> ContactModel:
    """Describe a block that does not turn (`chance_constraints`, Sec. 4.1).

    Args:
        mass: [kg].
        half_height: Height of the centre over the ground in contact [m].
        dimension: 2 for (x, z), 3 for (x, y, z).
        max_force: Largest pushing force along each axis [N].
        max_speed: Largest horizontal speed along each axis [m/s].
        carried_mass: Mass that moves along horizontally, but is held up by something else [kg].

    Returns:
        q = position of the centre [m], world; u = horizontal force [N].
    """
    axes = ("x", "z") if dimension == 2 else ("x", "y", "z")
    q = casadi.SX.sym("q", dimension)
    bodies = [Body(q, mass)]
    if carried_mass > 0.0:
        bodies.append(Body(casadi.vertcat(q[:-1], 0.0), carried_mass))
    bottom = q - casadi.vertcat(*[0.0] * (dimension - 1), half_height)
    horizontal = axes[:-1]
    return build_model(
        name="sliding_block",
        q=q,
        bodies=bodies,
        contacts=[BodyPoint("bottom", bottom)],
        actuation=np.eye(dimension)[:, :-1],
        position_names=axes,
        control_names=tuple(f"force_{axis}" for axis in horizontal),
        limits=CoordinateLimits(
            speed=(max_speed,) * len(horizontal) + (np.inf,),
            control=(max_force,),
        ),
    )
