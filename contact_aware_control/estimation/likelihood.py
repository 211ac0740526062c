"""How well a contact at a particle explains the external torque."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.friction_cone import cone_least_squares, tangents
from contact_aware_control.estimation.measurement import Measurement, jacobian_column
from contact_aware_control.estimation.surface import Placement, to_world
from contact_core.kernel import kernel


class Friction(NamedTuple):
    """Two friction pyramids: most contacts are inside the narrow one, all in the wide one.

    A wide pyramid alone would make more places explain a torque; a narrow one alone would
    put contacts with much friction in wrong places, and confidently so. With both, contacts
    of little friction are found as well as with the narrow one, and those of much friction
    almost as well as these.

    Attributes:
        usual: Half the width of the narrow pyramid, at unit normal force.
        largest: Half the width of the wide pyramid; at least sqrt(2) mu.
        surprise: What a force outside the narrow pyramid adds to L, at every sample.
    """

    usual: float
    largest: float
    surprise: float


@kernel
def best_force(
    measurement: Measurement,
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

    L = min over the friction pyramids of (tau - J^T f)^T P (tau - J^T f), plus the surprise
    if the narrow pyramid does not contain f.

    Args:
        measurement: The torque.
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
    columns = np.empty((joints, 3))
    for k in range(joints):
        jx, jy, jz = jacobian_column(measurement, k, x, y, z)
        columns[k, 0] = jx * ux + jy * uy + jz * uz
        columns[k, 1] = jx * vx + jy * vy + jz * vz
        columns[k, 2] = jx * nx + jy * ny + jz * nz
    a00 = a01 = a02 = a11 = a12 = a22 = b0 = b1 = b2 = 0.0
    for k in range(joints):
        c0, c1, c2 = columns[k, 0], columns[k, 1], columns[k, 2]
        b0 += c0 * measurement.weighted[k]
        b1 += c1 * measurement.weighted[k]
        b2 += c2 * measurement.weighted[k]
        w0 = w1 = w2 = 0.0
        for i in range(joints):
            precision = measurement.precision[k, i]
            w0 += precision * columns[i, 0]
            w1 += precision * columns[i, 1]
            w2 += precision * columns[i, 2]
        a00 += c0 * w0
        a01 += c0 * w1
        a02 += c0 * w2
        a11 += c1 * w1
        a12 += c1 * w2
        a22 += c2 * w2
    value, f0, f1, f2 = cone_least_squares(a00, a01, a02, a11, a12, a22, b0, b1, b2, friction.usual)
    cost = measurement.square + 2.0 * value
    if cost > friction.surprise:
        value, g0, g1, g2 = cone_least_squares(
            a00, a01, a02, a11, a12, a22, b0, b1, b2, friction.largest
        )
        surprising = measurement.square + 2.0 * value + friction.surprise
        if surprising < cost:
            cost, f0, f1, f2 = surprising, g0, g1, g2
    return (
        cost,
        f0 * ux + f1 * vx + f2 * nx,
        f0 * uy + f1 * vy + f2 * ny,
        f0 * uz + f1 * vz + f2 * nz,
    )


@kernel
def fit_at(
    measurement: Measurement,
    placement: Placement,
    shape_joints: np.ndarray,
    friction: Friction,
    shape: int,
    point: np.ndarray,
    normal: np.ndarray,
) -> tuple[float, float, float, float, float, float, float]:
    """Fit the force at one place of the surface.

    Args:
        measurement: The torque.
        placement: Where the shapes are.
        shape_joints: (S) how many joints move each shape.
        friction: The pyramids.
        shape: The shape the place is on.
        point: (3) the place, frame of the shape [m].
        normal: (3) outward normal, frame of the shape.

    Returns:
        (L; then the place [m] and the force on the robot [N], both in the world frame).
    """
    x, y, z = to_world(placement, shape, point[0], point[1], point[2])
    r = placement.rotation[shape]
    nx = -(r[0, 0] * normal[0] + r[0, 1] * normal[1] + r[0, 2] * normal[2])
    ny = -(r[1, 0] * normal[0] + r[1, 1] * normal[1] + r[1, 2] * normal[2])
    nz = -(r[2, 0] * normal[0] + r[2, 1] * normal[1] + r[2, 2] * normal[2])
    cost, fx, fy, fz = best_force(measurement, shape_joints[shape], x, y, z, nx, ny, nz, friction)
    return cost, x, y, z, fx, fy, fz


@kernel
def evaluate(
    measurement: Measurement,
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
        (
            cost[i],
            point_world[i, 0],
            point_world[i, 1],
            point_world[i, 2],
            force[i, 0],
            force[i, 1],
            force[i, 2],
        ) = fit_at(
            measurement,
            placement,
            shape_joints,
            friction,
            shape[i],
            point[i],
            normal[i],
        )
