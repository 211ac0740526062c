"""The force on the tool, as the joint torques tell it: no place has to be found for it.

What explains the torques best is a force at the tool's origin and a moment, which the unknown lever
arm of the force makes. It is there with the torques themselves, before any contact is located.
"""

from __future__ import annotations

import numpy as np

from contact_core.robot.robot import Robot

FORCE_TIME = 0.01
"""Time constant of the low-pass on what is measured so [s]."""

NOISE, LEVER = 0.1, 0.1
"""Of the torques, low-passed [Nm]; distance from the tool at which the hand may be touched [m]."""


def hand_links(robot: Robot) -> list[str]:
    """Return the links beyond the last joint: what a force on the tool may touch.

    Args:
        robot: The arm.
    """
    return [link for link in robot.link_names if robot.joints_moving(link) == robot.n]


def force_along(robot: Robot, axes: np.ndarray, torque: np.ndarray, strength: float) -> np.ndarray:
    """Return the force on the tool along some axes.

    Args:
        robot: The arm, updated.
        axes: (k, 3) unit vectors, world frame; along others there is taken to be no force.
        torque: (n) external torque [Nm].
        strength: Of the forces that are expected [N].

    Returns:
        (k) [N].
    """
    return wrench_along(robot, axes, torque, strength)[: len(axes)]


def wrench_along(robot: Robot, axes: np.ndarray, torque: np.ndarray, strength: float) -> np.ndarray:
    """Return the force on the tool along some axes, and the moment about the tool's origin.

    Args:
        robot: See :func:`force_along`.
        axes: The same.
        torque: The same.
        strength: The same.

    Returns:
        (k + 3) force [N], and moment about the axes of the tool's frame [Nm].
    """
    jacobian = robot.tool_jacobian()
    # Of the force at the tool's origin; both halves of the Jacobian are in the tool's frame.
    rows = axes @ robot.tool_pose().rotation @ jacobian[:3]
    map_ = np.vstack((rows, jacobian[3:]))
    normal = map_ @ map_.T
    moments = np.arange(len(axes), len(axes) + 3)
    normal[moments, moments] += (NOISE / (LEVER * strength)) ** 2
    wrench: np.ndarray = np.linalg.solve(normal, map_ @ torque)
    return wrench
