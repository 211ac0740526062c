"""A single-legged hopper in the plane with a flat foot."""

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

HALF_FOOT = 0.167  # [m]
LINK = 1.0  # length of thigh and calf [m]


def hopper() -> ContactModel:
    """Describe the hopper of `chance_constraints`, Sec. 4.2.

    The base moves along x and z without turning. All angles are zero with the leg
    straight down and positive towards +x; the ankle is at pi/2 when the sole is normal
    to the calf.

    Returns:
        q = (x, z, hip, knee, ankle) [m, rad]; u = torques of hip, knee and ankle [Nm].
    """
    q = casadi.SX.sym("q", 5)
    base = q[:2]
    thigh, calf, foot = q[2], q[2] + q[3], q[2] + q[3] + q[4]
    knee = base + LINK * _along(thigh)
    ankle = knee + LINK * _along(calf)
    return build_model(
        name="hopper",
        q=q,
        bodies=[
            Body(base, 10.0),
            Body(base + 0.5 * LINK * _along(thigh), 1.0, thigh, 0.083),
            Body(knee + 0.5 * LINK * _along(calf), 1.0, calf, 0.083),
            Body(ankle, 0.333, foot, 0.0031),
        ],
        contacts=[
            BodyPoint("toe", ankle + HALF_FOOT * _along(foot)),
            BodyPoint("heel", ankle - HALF_FOOT * _along(foot)),
        ],
        actuation=np.eye(5)[:, 2:],
        position_names=("x", "z", "hip", "knee", "ankle"),
        control_names=("hip_torque", "knee_torque", "ankle_torque"),
        limits=CoordinateLimits(
            lower=(-np.inf, -np.inf, -1.57, -2.09, 0.5235),
            upper=(np.inf, np.inf, 1.57, 1.05, 2.618),
        ),
    )


def joint_positions(q: np.ndarray) -> np.ndarray:
    """Place base, knee, ankle, toe and heel.

    Args:
        q: Configurations (n, 5).

    Returns:
        Points (n, 5, 2) as (x, z) [m], world.
    """
    thigh, calf, foot = np.cumsum(q[:, 2:], axis=1).T

    def along(angle: np.ndarray) -> np.ndarray:
        return np.stack([np.sin(angle), -np.cos(angle)], axis=-1)

    knee = q[:, :2] + LINK * along(thigh)
    ankle = knee + LINK * along(calf)
    reach = HALF_FOOT * along(foot)
    return np.stack([q[:, :2], knee, ankle, ankle + reach, ankle - reach], axis=1)


def _along(angle: casadi.SX) -> casadi.SX:
    """Return the unit vector that hangs down, turned by an angle towards +x."""
    return casadi.vertcat(casadi.sin(angle), -casadi.cos(angle))
