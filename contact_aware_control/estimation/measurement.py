"""One sample of the external torque, and what forces at a point do to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_stack.core.kernel import kernel


class Measurement(NamedTuple):
    """One sample of the external torque and the kinematics it belongs to.

    Attributes:
        torque: (n) tau_ext [Nm].
        precision: (n) reciprocal of the torque's standard deviation [1/Nm].
        joint_origins: (n, 3) world frame [m].
        joint_axes: (n, 3) unit vectors, world frame.
    """

    torque: np.ndarray
    precision: np.ndarray
    joint_origins: np.ndarray
    joint_axes: np.ndarray


@kernel
def jacobian_column(
    measurement: Measurement, joint: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Return the whitened torque at a joint of unit forces along x, y and z at a point.

    Args:
        measurement: Kinematics and precision.
        joint: The joint; it must move the point.
        x: First coordinate of the point, world frame [m].
        y: Second coordinate.
        z: Third coordinate.

    Returns:
        Column of J_C, the velocity axis x (point - origin), times the precision.
    """
    w = measurement.precision[joint]
    dx = x - measurement.joint_origins[joint, 0]
    dy = y - measurement.joint_origins[joint, 1]
    dz = z - measurement.joint_origins[joint, 2]
    ax = measurement.joint_axes[joint, 0]
    ay = measurement.joint_axes[joint, 1]
    az = measurement.joint_axes[joint, 2]
    return w * (ay * dz - az * dy), w * (az * dx - ax * dz), w * (ax * dy - ay * dx)


@kernel
def whitened_jacobian(measurement: Measurement, joints: int, point: np.ndarray) -> np.ndarray:
    """Return the whitened torques of unit forces along x, y and z at a point.

    Args:
        measurement: Kinematics and precision.
        joints: How many joints move the point.
        point: (3) world frame [m].

    Returns:
        (n, 3) J_C^T with every row times the joint's precision [1/N].
    """
    jacobian = np.zeros((measurement.torque.size, 3))
    for k in range(joints):
        x, y, z = jacobian_column(measurement, k, point[0], point[1], point[2])
        jacobian[k, 0], jacobian[k, 1], jacobian[k, 2] = x, y, z
    return jacobian
