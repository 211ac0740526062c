"""The models of the examples: sliding block, lowered tool, hopper."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import casadi
import numpy as np

from robust_planner.contact_model import (
    Body,
    BodyPoint,
    ContactModel,
    CoordinateLimits,
    DriveConfig,
    build_model,
)
from robust_planner.drives import driven
from robust_planner.obstacles import Obstacle
from robust_planner.urdf_model import parse_urdf


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


def guided_tool(
    mass: float,
    stiffness: float,
    damping: float,
    half_height: float,
    max_acceleration: float = np.inf,
    max_speed: float = np.inf,
) -> ContactModel:
    """Describe a tool that a position-controlled arm moves vertically.

    The arm carries all weight and holds the tool by a spring to its reference; it is damped
    against the world, as an impedance controller that is told no speed does.

    Args:
        mass: Of tool and arm, as felt at the tool [kg].
        stiffness: Of the spring [N/m].
        damping: Of the spring [N s/m].
        half_height: Height of the tool over the ground in contact [m].
        max_acceleration: Of the reference [m/s^2].
        max_speed: Of the reference [m/s].

    Returns:
        q = heights of reference and tool [m], world; u = acceleration of the reference [m/s^2].
    """
    q, v = casadi.SX.sym("q", 2), casadi.SX.sym("v", 2)
    model = build_model(
        name="guided_tool",
        q=q,
        # What the reference weighs does not matter: nothing acts on it but the control.
        bodies=[Body(casadi.vertcat(q[0], 0.0), 1.0), Body(casadi.vertcat(0.0, q[1]), mass)],
        contacts=[BodyPoint("tip", casadi.vertcat(0.0, q[1] - half_height))],
        actuation=np.array([[1.0], [0.0]]),
        position_names=("reference", "z"),
        control_names=("acceleration",),
        limits=CoordinateLimits(speed=(max_speed, np.inf), control=(max_acceleration,)),
    )
    pull = stiffness * (q[1] - q[0]) + damping * v[1]
    spring = casadi.Function("bias_force", [q, v], [casadi.vertcat(0.0, pull)])
    return dataclasses.replace(model, bias_force=spring)


PIN = """<robot name="guided_pin">
  <link name="base"/>
  <link name="slide"><inertial><mass value="{carried}"/>{inertia}</inertial></link>
  <link name="pin"><inertial><mass value="{lighter}"/>{inertia}</inertial></link>
  <joint name="{first}" type="prismatic"><parent link="base"/><child link="slide"/>
    <axis xyz="{first_axis}"/><limit lower="-1000" upper="1000" velocity="{speed}" effort="1000"/>
  </joint>
  <joint name="{second}" type="prismatic"><parent link="slide"/><child link="pin"/>
    <axis xyz="{second_axis}"/><limit lower="-1000" upper="1000" velocity="{speed}" effort="1000"/>
  </joint>
</robot>"""
INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
AXES = {"x": "1 0 0", "z": "0 0 1"}


def guided_pin(
    mass: Mapping[str, float],
    drives: Mapping[str, DriveConfig],
    radius: float,
    obstacles: Sequence[Obstacle],
    max_speed: float,
) -> ContactModel:
    """Describe a pin with a round nose that a position-controlled arm moves without turning it.

    Args:
        mass: Of pin and arm, as felt at the nose along ``x`` and ``z`` [kg].
        drives: The arm's springs along ``x`` and ``z``.
        radius: Of the nose [m].
        obstacles: What it may touch beside the ground.
        max_speed: Along each axis [m/s].

    Returns:
        q = position of the nose's centre along the axis with more mass and along the other, then
        of its reference [m], world; u = where the reference is told to be [m].
    """
    second, first = sorted(mass, key=lambda axis: mass[axis])
    urdf = PIN.format(
        first=first, second=second, first_axis=AXES[first], second_axis=AXES[second],
        carried=mass[first] - mass[second], lighter=mass[second], inertia=INERTIA, speed=max_speed,
    )  # fmt: skip
    nose = {"nose": ("pin", (0.0, 0.0, 0.0), radius)}
    model = parse_urdf(urdf, "guided_pin", nose, (first, second), obstacles=obstacles)
    return driven(model, {axis: drives[axis] for axis in (first, second)})


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
