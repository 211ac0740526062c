"""How well a contact at a particle explains the external torque."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.friction_cone import cone_least_squares
from contact_aware_control.estimation.joint_fit import RAYS, Companions, fit_beside
from contact_aware_control.estimation.surface import Placement, Surface, to_world
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


class Friction(NamedTuple):
    """Two friction pyramids: most contacts are inside the narrow one, all in the wide one.

    A wide pyramid alone would make more places explain a torque; a narrow one alone would
    put contacts with much friction in wrong places, and confidently so.

    Attributes:
        usual: Half the width of the narrow pyramid, at unit normal force.
        largest: Half the width of the wide pyramid; at least sqrt(2) mu.
        surprise: What a force outside the narrow pyramid adds to L, at every sample.
    """

    usual: float
    largest: float
    surprise: float


@kernel
def tangents(nx: float, ny: float, nz: float) -> tuple[float, float, float, float, float, float]:
    """Return two unit vectors that make a right-handed frame (t1, t2, n)."""
    if abs(nz) < 0.9:
        length = math.sqrt(nx * nx + ny * ny)
        ux, uy, uz = -ny / length, nx / length, 0.0
    else:
        length = math.sqrt(ny * ny + nz * nz)
        ux, uy, uz = 0.0, -nz / length, ny / length
    return ux, uy, uz, ny * uz - nz * uy, nz * ux - nx * uz, nx * uy - ny * ux


@kernel
def best_force(
    measurement: Measurement,
    companions: Companions,
    joints: int,
    x: float,
    y: float,
    z: float,
    nx: float,
    ny: float,
    nz: float,
    friction: Friction,
) -> tuple[float, float, float, float]:
    """Fit the force at a point to the torque, and tell how much remains.

    L = min over the friction pyramids of |S^-1/2 (tau - J^T f - sum J_i^T f_i)|^2, S diagonal,
    plus the surprise if the narrow pyramid does not contain f.

    Args:
        measurement: The torque.
        companions: Other contacts, whose forces are fitted as well.
        joints: How many joints move the point.
        x: First coordinate of the point, world frame [m].
        y: Second coordinate.
        z: Third coordinate.
        nx: First coordinate of the normal INTO the robot, world frame.
        ny: Second coordinate.
        nz: Third coordinate.
        friction: The pyramids.

    Returns:
        (L; then the force on the robot, world frame [N]).
    """
    ux, uy, uz, vx, vy, vz = tangents(nx, ny, nz)
    if companions.rays.shape[0] == 0:
        cost, f0, f1, f2 = _alone(
            measurement, joints, x, y, z, ux, uy, uz, vx, vy, vz, nx, ny, nz, friction
        )
    else:
        cost, f0, f1, f2 = _beside(
            measurement, companions, joints, x, y, z, ux, uy, uz, vx, vy, vz, nx, ny, nz, friction
        )
    return (
        cost,
        f0 * ux + f1 * vx + f2 * nx,
        f0 * uy + f1 * vy + f2 * ny,
        f0 * uz + f1 * vz + f2 * nz,
    )


@kernel
def _alone(
    measurement: Measurement,
    joints: int,
    x: float,
    y: float,
    z: float,
    ux: float,
    uy: float,
    uz: float,
    vx: float,
    vy: float,
    vz: float,
    nx: float,
    ny: float,
    nz: float,
    friction: Friction,
) -> tuple[float, float, float, float]:
    """Fit one force along the frame (t1, t2, n) = (u, v, n)."""
    a00 = a01 = a02 = a11 = a12 = a22 = b0 = b1 = b2 = 0.0
    total = 0.0
    for k in range(measurement.torque.size):
        torque = measurement.precision[k] * measurement.torque[k]
        total += torque * torque
        if k >= joints:
            continue
        jx, jy, jz = jacobian_column(measurement, k, x, y, z)
        h0 = jx * ux + jy * uy + jz * uz
        h1 = jx * vx + jy * vy + jz * vz
        h2 = jx * nx + jy * ny + jz * nz
        a00 += h0 * h0
        a01 += h0 * h1
        a02 += h0 * h2
        a11 += h1 * h1
        a12 += h1 * h2
        a22 += h2 * h2
        b0 += h0 * torque
        b1 += h1 * torque
        b2 += h2 * torque
    value, f0, f1, f2 = cone_least_squares(a00, a01, a02, a11, a12, a22, b0, b1, b2, friction.usual)
    cost = total + 2.0 * value
    if cost > friction.surprise:
        value, g0, g1, g2 = cone_least_squares(
            a00, a01, a02, a11, a12, a22, b0, b1, b2, friction.largest
        )
        surprising = total + 2.0 * value + friction.surprise
        if surprising < cost:
            cost, f0, f1, f2 = surprising, g0, g1, g2
    return cost, f0, f1, f2


@kernel
def _beside(
    measurement: Measurement,
    companions: Companions,
    joints: int,
    x: float,
    y: float,
    z: float,
    ux: float,
    uy: float,
    uz: float,
    vx: float,
    vy: float,
    vz: float,
    nx: float,
    ny: float,
    nz: float,
    friction: Friction,
) -> tuple[float, float, float, float]:
    """Fit one force along the frame (u, v, n), and those of its companions."""
    n = measurement.torque.size
    columns, torque = np.zeros((3, n)), np.empty(n)
    for k in range(n):
        torque[k] = measurement.precision[k] * measurement.torque[k]
        if k >= joints:
            continue
        jx, jy, jz = jacobian_column(measurement, k, x, y, z)
        columns[0, k] = jx * ux + jy * uy + jz * uz
        columns[1, k] = jx * vx + jy * vy + jz * vz
        columns[2, k] = jx * nx + jy * ny + jz * nz
    cost, f0, f1, f2 = fit_beside(columns, torque, companions, friction.usual)
    if cost > friction.surprise:
        value, g0, g1, g2 = fit_beside(columns, torque, companions, friction.largest)
        if value + friction.surprise < cost:
            cost, f0, f1, f2 = value + friction.surprise, g0, g1, g2
    return cost, f0, f1, f2


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


@kernel
def write_companion(
    measurement: Measurement,
    joints: int,
    point: np.ndarray,
    inward: np.ndarray,
    friction: float,
    companions: Companions,
    index: int,
) -> None:
    """Write what a contact that is known contributes to the fit of another one.

    Args:
        measurement: Kinematics and precision.
        joints: How many joints move the contact.
        point: (3) its place, world frame [m].
        inward: (3) its normal INTO the robot, world frame.
        friction: Half the width of its pyramid.
        companions: Its rays and edges are written.
        index: Its index among them.
    """
    ux, uy, uz, vx, vy, vz = tangents(inward[0], inward[1], inward[2])
    for i in range(RAYS):
        along_u = friction * (1.0 - 2.0 * i) if i < 2 else 0.0
        along_v = friction * (5.0 - 2.0 * i) if i >= 2 else 0.0
        edge = companions.edges[RAYS * index + i]
        edge[0] = inward[0] + along_u * ux + along_v * vx
        edge[1] = inward[1] + along_u * uy + along_v * vy
        edge[2] = inward[2] + along_u * uz + along_v * vz
        ray = companions.rays[RAYS * index + i]
        ray[:] = 0.0
        for k in range(joints):
            jx, jy, jz = jacobian_column(measurement, k, point[0], point[1], point[2])
            ray[k] = jx * edge[0] + jy * edge[1] + jz * edge[2]


@kernel
def place_cost(
    surface: Surface,
    placement: Placement,
    measurement: Measurement,
    companions: Companions,
    friction: Friction,
    shape: int,
    point: np.ndarray,
    normal: np.ndarray,
) -> float:
    """Return L of one place, given by its shape and point and outward normal in its frame."""
    x, y, z = to_world(placement, shape, point[0], point[1], point[2])
    r = placement.rotation[shape]
    nx = -(r[0, 0] * normal[0] + r[0, 1] * normal[1] + r[0, 2] * normal[2])
    ny = -(r[1, 0] * normal[0] + r[1, 1] * normal[1] + r[1, 2] * normal[2])
    nz = -(r[2, 0] * normal[0] + r[2, 1] * normal[1] + r[2, 2] * normal[2])
    joints = surface.joints[shape]
    return best_force(measurement, companions, joints, x, y, z, nx, ny, nz, friction)[0]


@kernel
def evaluate(
    measurement: Measurement,
    companions: Companions,
    placement: Placement,
    shape_joints: np.ndarray,
    friction: Friction,
    shape: np.ndarray,
    point: np.ndarray,
    normal: np.ndarray,
    point_world: np.ndarray,
    force: np.ndarray,
    cost: np.ndarray,
) -> None:
    """Fit the force at each of N particles.

    Args:
        measurement: The torque.
        companions: Other contacts, whose forces are fitted as well.
        placement: Where the shapes are.
        shape_joints: (S) how many joints move each shape.
        friction: The pyramids.
        shape: (N) the shape each particle is on.
        point: (N, 3) particles, frames of their shapes [m].
        normal: (N, 3) outward normals, frames of their shapes.
        point_world: (N, 3) written: particles, world frame [m].
        force: (N, 3) written: best force, world frame [N].
        cost: (N) written: L.
    """
    for i in range(shape.size):
        s = shape[i]
        r = placement.rotation[s]
        x, y, z = to_world(placement, s, point[i, 0], point[i, 1], point[i, 2])
        nx = -(r[0, 0] * normal[i, 0] + r[0, 1] * normal[i, 1] + r[0, 2] * normal[i, 2])
        ny = -(r[1, 0] * normal[i, 0] + r[1, 1] * normal[i, 1] + r[1, 2] * normal[i, 2])
        nz = -(r[2, 0] * normal[i, 0] + r[2, 1] * normal[i, 1] + r[2, 2] * normal[i, 2])
        point_world[i, 0], point_world[i, 1], point_world[i, 2] = x, y, z
        cost[i], force[i, 0], force[i, 1], force[i, 2] = best_force(
            measurement, companions, shape_joints[s], x, y, z, nx, ny, nz, friction
        )
