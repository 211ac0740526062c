"""Poses, motion columns, velocities and velocity-dependent accelerations of all bodies."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel, inner_kernel
from contact_core.multibody.rigid_body.arrays import Bodies, Kinematics, State
from contact_core.multibody.rigid_body.joints import BALL, FREE, PRISMATIC, columns_of

Vector = np.ndarray | tuple[float, float, float]


@inner_kernel
def cross(a: Vector, b: Vector) -> tuple[float, float, float]:
    """Return the cross product of two 3-vectors without allocating."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@inlined_kernel
def update_kinematics(bodies: Bodies, state: State, kinematics: Kinematics) -> None:
    """Compute rotation, position, motion, velocity and acceleration of every body.

    Args:
        bodies: The bodies.
        state: Positions and velocities.
        kinematics: Written.
    """
    for body in range(bodies.parent.shape[0]):
        if bodies.joint_type[body] == FREE:
            _free_body(bodies, state, kinematics, body)
        else:
            _place(bodies, state.q, kinematics, body)
            _move(bodies, state.v, kinematics, body)


@inlined_kernel
def _free_body(bodies: Bodies, state: State, kinematics: Kinematics, body: int) -> None:
    q, v = state.q, state.v
    rotation, position = kinematics.rotation[body], kinematics.position[body]
    i = bodies.q_index[body]
    rotation_from_quaternion(q[i + 3], q[i + 4], q[i + 5], q[i + 6], rotation)
    for k in range(3):
        position[k] = q[i + k]
    first = bodies.first_column[body]
    dof = bodies.column_dof[first]
    linear, angular = v[dof : dof + 3], v[dof + 3 : dof + 6]
    motion = kinematics.motion
    for k in range(3):
        for j in range(6):
            motion[first + k, j] = 0.0
            motion[first + 3 + k, j] = 0.0
        motion[first + k, 3 + k] = 1.0
        motion[first + 3 + k, k] = 1.0
    # A rotation about the body's origin moves the world origin's image by p x e_k.
    motion[first + 3, 4], motion[first + 3, 5] = position[2], -position[1]
    motion[first + 4, 3], motion[first + 4, 5] = -position[2], position[0]
    motion[first + 5, 3], motion[first + 5, 4] = position[1], -position[0]
    shift = cross(position, angular)
    drift = cross(linear, angular)
    for k in range(3):
        kinematics.velocity[body, k] = angular[k]
        kinematics.velocity[body, 3 + k] = linear[k] + shift[k]
        kinematics.acceleration[body, k] = 0.0
        kinematics.acceleration[body, 3 + k] = drift[k]


@inner_kernel
def rotation_from_quaternion(x: float, y: float, z: float, w: float, rotation: np.ndarray) -> None:
    """Write the rotation matrix (3, 3) of a unit quaternion."""
    rotation[0, 0] = 1.0 - 2.0 * (y * y + z * z)
    rotation[0, 1] = 2.0 * (x * y - w * z)
    rotation[0, 2] = 2.0 * (x * z + w * y)
    rotation[1, 0] = 2.0 * (x * y + w * z)
    rotation[1, 1] = 1.0 - 2.0 * (x * x + z * z)
    rotation[1, 2] = 2.0 * (y * z - w * x)
    rotation[2, 0] = 2.0 * (x * z - w * y)
    rotation[2, 1] = 2.0 * (y * z + w * x)
    rotation[2, 2] = 1.0 - 2.0 * (x * x + y * y)


@inlined_kernel
def _place(bodies: Bodies, q: np.ndarray, kinematics: Kinematics, body: int) -> None:
    """Pose and motion columns of a body on a revolute, prismatic or ball joint."""
    rotation, position = kinematics.rotation[body], kinematics.position[body]
    parent = bodies.parent[body]
    for i in range(3):
        for j in range(3):
            rotation[i, j] = bodies.joint_rotation[body, i, j]
        position[i] = bodies.joint_position[body, i]
    if parent >= 0:
        _compose(kinematics.rotation[parent], kinematics.position[parent], rotation, position)
    if bodies.joint_type[body] == BALL:
        _turn_ball(bodies, q, kinematics, body)
        return
    axis = bodies.joint_axis[body]
    ratio = bodies.joint_ratio[body]
    coordinate = ratio * q[bodies.q_index[body]] + bodies.joint_offset[body]
    a0 = rotation[0, 0] * axis[0] + rotation[0, 1] * axis[1] + rotation[0, 2] * axis[2]
    a1 = rotation[1, 0] * axis[0] + rotation[1, 1] * axis[1] + rotation[1, 2] * axis[2]
    a2 = rotation[2, 0] * axis[0] + rotation[2, 1] * axis[1] + rotation[2, 2] * axis[2]
    motion = kinematics.motion[bodies.first_column[body]]
    if bodies.joint_type[body] == PRISMATIC:
        position[0] += a0 * coordinate
        position[1] += a1 * coordinate
        position[2] += a2 * coordinate
        motion[0] = motion[1] = motion[2] = 0.0
        motion[3], motion[4], motion[5] = ratio * a0, ratio * a1, ratio * a2
    else:
        _turn(rotation, axis, coordinate)
        motion[0], motion[1], motion[2] = ratio * a0, ratio * a1, ratio * a2
        motion[3] = ratio * (position[1] * a2 - position[2] * a1)
        motion[4] = ratio * (position[2] * a0 - position[0] * a2)
        motion[5] = ratio * (position[0] * a1 - position[1] * a0)


@inlined_kernel
def _turn_ball(bodies: Bodies, q: np.ndarray, kinematics: Kinematics, body: int) -> None:
    """Turn a body from its joint's frame by its quaternion, and write its motion columns.

    They are turns about the axes of the joint's frame, which the parent carries.
    """
    rotation, position = kinematics.rotation[body], kinematics.position[body]
    for k in range(3):
        axis = (rotation[0, k], rotation[1, k], rotation[2, k])
        lever = cross(position, axis)
        motion = kinematics.motion[bodies.first_column[body] + k]
        for j in range(3):
            motion[j], motion[3 + j] = axis[j], lever[j]
    i = bodies.q_index[body]
    vector, w = (q[i], q[i + 1], q[i + 2]), q[i + 3]
    for k in range(3):
        # A row times the rotation is the row turned back.
        row = (rotation[k, 0], rotation[k, 1], rotation[k, 2])
        first = cross(row, vector)
        second = cross(first, vector)
        for j in range(3):
            rotation[k, j] = row[j] + 2.0 * (w * first[j] + second[j])


@inner_kernel
def _compose(
    outer_rotation: np.ndarray,
    outer_position: np.ndarray,
    rotation: np.ndarray,
    position: np.ndarray,
) -> None:
    """Replace a pose in an outer frame by the same pose in the world, in place."""
    for j in range(3):
        x, y, z = rotation[0, j], rotation[1, j], rotation[2, j]
        for i in range(3):
            rotation[i, j] = (
                outer_rotation[i, 0] * x + outer_rotation[i, 1] * y + outer_rotation[i, 2] * z
            )
    x, y, z = position[0], position[1], position[2]
    for i in range(3):
        position[i] = (
            outer_position[i]
            + outer_rotation[i, 0] * x
            + outer_rotation[i, 1] * y
            + outer_rotation[i, 2] * z
        )


@inner_kernel
def _turn(rotation: np.ndarray, axis: np.ndarray, angle: float) -> None:
    """Multiply a rotation by the rotation about an axis (Rodrigues), in place."""
    c, s = math.cos(angle), math.sin(angle)
    o = 1.0 - c
    x, y, z = axis[0], axis[1], axis[2]
    r00, r01, r02 = c + x * x * o, x * y * o - z * s, x * z * o + y * s
    r10, r11, r12 = y * x * o + z * s, c + y * y * o, y * z * o - x * s
    r20, r21, r22 = z * x * o - y * s, z * y * o + x * s, c + z * z * o
    for i in range(3):
        x0, x1, x2 = rotation[i, 0], rotation[i, 1], rotation[i, 2]
        rotation[i, 0] = x0 * r00 + x1 * r10 + x2 * r20
        rotation[i, 1] = x0 * r01 + x1 * r11 + x2 * r21
        rotation[i, 2] = x0 * r02 + x1 * r12 + x2 * r22


@inlined_kernel
def _move(bodies: Bodies, v: np.ndarray, kinematics: Kinematics, body: int) -> None:
    """Velocity, and acceleration at zero generalised acceleration: V x S v."""
    first = bodies.first_column[body]
    columns = columns_of(bodies.joint_type[body])
    velocity, acceleration = kinematics.velocity[body], kinematics.acceleration[body]
    parent = bodies.parent[body]
    for k in range(6):
        velocity[k] = acceleration[k] = 0.0
    for column in range(first, first + columns):
        rate = v[bodies.column_dof[column]]
        for k in range(6):
            velocity[k] += kinematics.motion[column, k] * rate
    if parent >= 0:
        for k in range(6):
            velocity[k] += kinematics.velocity[parent, k]
            acceleration[k] += kinematics.acceleration[parent, k]
    for column in range(first, first + columns):
        motion, rate = kinematics.motion[column], v[bodies.column_dof[column]]
        angular = cross(velocity[:3], motion[:3])
        turned = cross(velocity[:3], motion[3:])
        moved = cross(velocity[3:], motion[:3])
        for k in range(3):
            acceleration[k] += angular[k] * rate
            acceleration[3 + k] += (turned[k] + moved[k]) * rate
