"""Configurations: q moves along a velocity, a difference of two is as long as a velocity."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel
from contact_core.multibody.rigid_body.arrays import Bodies
from contact_core.multibody.rigid_body.joints import BALL, FREE


@inner_kernel
def move_configuration(
    bodies: Bodies, joint_q: np.ndarray, q: np.ndarray, v: np.ndarray, h: float
) -> None:
    """Move along a constant velocity: tamsi (10), q0 + h N0 v, with quaternions renormalised.

    Args:
        bodies: The bodies.
        joint_q: (nv) entry of q of a joint, see ``Joints.q``.
        q: (nq) configuration, moved in place.
        v: (nv) velocity.
        h: For how long [s].
    """
    for i in range(v.shape[0]):
        if joint_q[i] >= 0:
            q[joint_q[i]] += h * v[i]
    for body in range(bodies.parent.shape[0]):
        kind = bodies.joint_type[body]
        if kind in (FREE, BALL):
            i = bodies.q_index[body]
            dof = bodies.column_dof[bodies.first_column[body]]
            if kind == FREE:
                for k in range(3):
                    q[i + k] += h * v[dof + k]
                i += 3
                dof += 3
            _turn_quaternion(q[i : i + 4], v[dof : dof + 3], h)


@inner_kernel
def _turn_quaternion(quaternion: np.ndarray, omega: np.ndarray, h: float) -> None:
    """First-order step of a quaternion (x, y, z, w) by a rate in its outer axes, renormalised."""
    x, y, z, w = quaternion
    a, b, c = 0.5 * h * omega[0], 0.5 * h * omega[1], 0.5 * h * omega[2]
    new_x = x + a * w + b * z - c * y
    new_y = y + b * w + c * x - a * z
    new_z = z + c * w + a * y - b * x
    new_w = w - a * x - b * y - c * z
    norm = math.sqrt(new_x * new_x + new_y * new_y + new_z * new_z + new_w * new_w)
    quaternion[0], quaternion[1] = new_x / norm, new_y / norm
    quaternion[2], quaternion[3] = new_z / norm, new_w / norm


@inner_kernel
def configuration_change(
    bodies: Bodies, joint_q: np.ndarray, start: np.ndarray, end: np.ndarray, change: np.ndarray
) -> None:
    """Write the velocity that moves one configuration to another in one second.

    Args:
        bodies: The bodies.
        joint_q: (nv) entry of q of a joint, see ``Joints.q``.
        start: (nq) one configuration.
        end: (nq) the other.
        change: (nv) written, see :func:`move_configuration`.
    """
    for i in range(change.shape[0]):
        if joint_q[i] >= 0:
            change[i] = end[joint_q[i]] - start[joint_q[i]]
    for body in range(bodies.parent.shape[0]):
        kind = bodies.joint_type[body]
        if kind in (FREE, BALL):
            i = bodies.q_index[body]
            dof = bodies.column_dof[bodies.first_column[body]]
            if kind == FREE:
                for k in range(3):
                    change[dof + k] = end[i + k] - start[i + k]
                i += 3
                dof += 3
            _quaternion_change(start[i : i + 4], end[i : i + 4], change[dof : dof + 3])


@inner_kernel
def _quaternion_change(start: np.ndarray, end: np.ndarray, omega: np.ndarray) -> None:
    """Write the rate in outer axes by which :func:`_turn_quaternion` turns one to the other."""
    x, y, z, w = start
    a, b, c, d = end
    scale = 2.0 / (d * w + a * x + b * y + c * z)
    omega[0] = scale * (a * w - d * x - b * z + c * y)
    omega[1] = scale * (b * w - d * y - c * x + a * z)
    omega[2] = scale * (c * w - d * z - a * y + b * x)


@inner_kernel
def differentiate_move(
    bodies: Bodies,
    joint_q: np.ndarray,
    v: np.ndarray,
    h: float,
    change: np.ndarray,
    moved: np.ndarray,
) -> None:
    """Write the change of the moved configuration for changes of configuration and velocity.

    Args:
        bodies: The bodies.
        joint_q: (nv) entry of q of a joint, see ``Joints.q``.
        v: (nv) the velocity of :func:`move_configuration`.
        h: Its duration [s].
        change: (nv, n) changes of the velocity.
        moved: (nv, n) changes of the configuration before the move on entry, after it on
            exit, in the coordinates of a velocity: free bodies have a translation and a
            rotation vector, both in world axes, ball joints a rotation vector in the axes of
            the joint's frame.
    """
    columns = moved.shape[1]
    for body in range(bodies.parent.shape[0]):
        kind = bodies.joint_type[body]
        if kind in (FREE, BALL):
            dof = bodies.column_dof[bodies.first_column[body]]
            if kind == FREE:
                for k in range(3):
                    for j in range(columns):
                        moved[dof + k, j] += h * change[dof + k, j]
                dof += 3
            for j in range(columns):
                _differentiate_turn(v, h, dof, j, change, moved)
    for i in range(v.shape[0]):
        if joint_q[i] >= 0:
            for j in range(columns):
                moved[i, j] += h * change[i, j]


@inner_kernel
def _differentiate_turn(
    v: np.ndarray, h: float, dof: int, j: int, change: np.ndarray, moved: np.ndarray
) -> None:
    """One column of the derivative of a turn by the quaternion (a, 1) / |(a, 1)|, a = h omega / 2.

    The turn is R = I + 2 ([a] + [a]^2) / (1 + a^2), and a change of omega turns its result by
    h (I + [a]) d_omega / (1 + a^2).
    """
    a, b, c = 0.5 * h * v[dof], 0.5 * h * v[dof + 1], 0.5 * h * v[dof + 2]
    scale = 1.0 / (1.0 + a * a + b * b + c * c)
    x, y, z = moved[dof, j], moved[dof + 1, j], moved[dof + 2, j]
    u, w, s = b * z - c * y, c * x - a * z, a * y - b * x
    x += 2.0 * scale * (u + b * s - c * w)
    y += 2.0 * scale * (w + c * u - a * s)
    z += 2.0 * scale * (s + a * w - b * u)
    d, e, f = change[dof, j], change[dof + 1, j], change[dof + 2, j]
    moved[dof, j] = x + scale * h * (d + b * f - c * e)
    moved[dof + 1, j] = y + scale * h * (e + c * d - a * f)
    moved[dof + 2, j] = z + scale * h * (f + a * e - b * d)
