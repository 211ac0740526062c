"""How well a contact at a particle explains the external torque, and the friction cone there.

The friction cone is a pyramid, spanned by the four rays n +- mu t1, n +- mu t2. Force
components are (t1, t2, n), so that f is inside when |f_t1| + |f_t2| <= mu f_n. Least squares
over it have a closed form.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.measurement import (
    Measurement,
    Sample,
    inverse,
    jacobian_column,
    point_jacobian,
)
from contact_aware_control.estimation.modes import Modes, mode_covariances
from contact_aware_control.estimation.particles import Particles
from contact_aware_control.estimation.surface import (
    Placement,
    RobotSurface,
    edge_normal,
    outward_normal,
    to_world,
)
from contact_core.base.kernel import kernel, leaf_kernel

SINGULAR = 1e-12
"""A system whose determinant is this small, relative to the product of its diagonal, is
singular: its minimum is also reached on the boundary, by fewer rays. So is that of a ray
whose torque is this small, squared and relative. Links that fewer than three joints move
have such systems."""

FORCE_PRIOR = 100.0
"""Standard deviation [N] of a force about which the torques say nothing."""

EDGE_SURPRISE = 0.1
"""What a force about the normal of a round edge adds to L, at every sample: where a face explains
the torque as well, its normal counts."""


class FrictionPyramids(NamedTuple):
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


@leaf_kernel
def best_force(
    measurement: Measurement,
    joints: int,
    x: float,
    y: float,
    z: float,
    nx: float,
    ny: float,
    nz: float,
    friction: FrictionPyramids,
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
    columns = measurement.columns
    ux, uy, uz, vx, vy, vz = tangents(nx, ny, nz)
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


@leaf_kernel
def fit_at(
    measurement: Measurement,
    surface: RobotSurface,
    placement: Placement,
    friction: FrictionPyramids,
    shape: int,
    point: np.ndarray,
    normal: np.ndarray,
) -> tuple[float, float, float, float, float, float, float, float, float, float]:
    """Fit the force at one place of the surface; near an edge also as if that were round.

    Args:
        measurement: The torque.
        surface: S shapes.
        placement: Where they are.
        friction: The pyramids.
        shape: The shape the place is on.
        point: (3) the place, frame of the shape [m].
        normal: (3) outward normal there, frame of the shape.

    Returns:
        (L; then the place [m], the force on the robot [N], and the normal INTO the robot about
        which it was sought, in the world frame).
    """
    joints = surface.joints[shape]
    x, y, z = to_world(placement, shape, point[0], point[1], point[2])
    nx, ny, nz = _into(placement, shape, normal[0], normal[1], normal[2])
    cost, fx, fy, fz = best_force(measurement, joints, x, y, z, nx, ny, nz, friction)
    is_edge, ex, ey, ez = edge_normal(surface, shape, point[0], point[1], point[2])
    if is_edge:
        ex, ey, ez = _into(placement, shape, ex, ey, ez)
        other, gx, gy, gz = best_force(measurement, joints, x, y, z, ex, ey, ez, friction)
        other += EDGE_SURPRISE
        if other < cost:
            return other, x, y, z, gx, gy, gz, ex, ey, ez
    return cost, x, y, z, fx, fy, fz, nx, ny, nz


@leaf_kernel
def _into(
    placement: Placement, shape: int, nx: float, ny: float, nz: float
) -> tuple[float, float, float]:
    """Return the opposite of a vector of a shape's frame, in that of the world."""
    r = placement.rotation[shape]
    return (
        -(r[0, 0] * nx + r[0, 1] * ny + r[0, 2] * nz),
        -(r[1, 0] * nx + r[1, 1] * ny + r[1, 2] * nz),
        -(r[2, 0] * nx + r[2, 1] * ny + r[2, 2] * nz),
    )


@kernel
def evaluate(
    measurement: Measurement,
    surface: RobotSurface,
    placement: Placement,
    friction: FrictionPyramids,
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
        surface: S shapes.
        placement: Where they are.
        friction: The pyramids.
        shape: (N) the shape each particle is on.
        point: (N, 3) particles, frames of their shapes [m].
        normal: (N, 3) outward normals, frames of their shapes.
        point_world: (N, 3) written: particles, world frame [m].
        force: (N, 3) written: best force, world frame [N].
        cost: (N) written: L.
    """
    for i in range(shape.size):
        cost[i], x, y, z, fx, fy, fz, _, _, _ = fit_at(
            measurement, surface, placement, friction, shape[i], point[i], normal[i]
        )
        point_world[i], force[i] = (x, y, z), (fx, fy, fz)


@kernel
def evaluate_at(
    surface: RobotSurface,
    placement: Placement,
    p: Particles,
    modes: Modes,
    friction: FrictionPyramids,
    sample: Sample,
    main: int,
    shape: int,
    at: np.ndarray,
    found: np.ndarray,
) -> tuple[float, float, float, float]:
    """Evaluate an estimate.

    Args:
        surface: The shapes.
        placement: Where they are.
        p: The evaluated particles.
        modes: Their modes.
        friction: The friction pyramids.
        sample: The torque.
        main: The main mode.
        shape: The shape that the estimate is on.
        at: (3) the estimate, frame of that shape [m].
        found: (9, 3) written, world frame: point [m]; normal into the robot; force [N]; covariance
            of the point [m^2]; of the force, bounded by a prior where the torques say nothing
            [N^2].

    Returns:
        (L of the low-passed torque, of the torque as measured, of its mean; root mean square
        distance of all particles to the estimate [m]).
    """
    smooth, normal = sample.smooth, outward_normal(surface, shape, at)
    cost, x, y, z, fx, fy, fz, nx, ny, nz = fit_at(
        smooth, surface, placement, friction, shape, at, normal
    )
    residual = fit_at(sample.measured, surface, placement, friction, shape, at, normal)[0]
    left = fit_at(sample.mean, surface, placement, friction, shape, at, normal)[0]
    point, force = found[0], found[2]
    point[:], found[1], force[:] = (x, y, z), (nx, ny, nz), (fx, fy, fz)
    spread = mode_covariances(p, modes.members, main, point, force, found[3:6], found[6:9])
    found[6:9] += _force_covariance(smooth, surface.joints[shape], point)
    return cost, residual, left, spread


@kernel
def _force_covariance(measurement: Measurement, joints: int, point: np.ndarray) -> np.ndarray:
    """Return the covariance (3, 3) of a fitted force that the torque's noise causes [N^2]."""
    jacobian = point_jacobian(measurement.joint_origins, measurement.joint_axes, joints, point)
    information, precision = np.eye(3) / FORCE_PRIOR**2, measurement.precision
    for a in range(3):
        for b in range(3):
            for i in range(joints):
                for k in range(joints):
                    information[a, b] += jacobian[a, i] * precision[i, k] * jacobian[b, k]
    return inverse(information)


@leaf_kernel
def cone_least_squares(
    a00: float,
    a01: float,
    a02: float,
    a11: float,
    a12: float,
    a22: float,
    b0: float,
    b1: float,
    b2: float,
    friction: float,
) -> tuple[float, float, float, float]:
    """Minimise 1/2 f^T A f - b^T f over the pyramid.

    The minimiser is the unconstrained one if that is inside, else it lies on one of four
    faces, on one of four edges, or is zero: all are tried.

    Args:
        a00: Entry of A, symmetric positive semidefinite, in (t1, t2, n) components.
        a01: Entry of A.
        a02: Entry of A.
        a11: Entry of A.
        a12: Entry of A.
        a22: Entry of A.
        b0: Entry of b.
        b1: Entry of b.
        b2: Entry of b.
        friction: Half the width of the pyramid at unit normal force, mu.

    Returns:
        (the minimum, not positive; then f's components t1, t2, n).
    """
    negligible = SINGULAR * (a00 + a11 + a22)
    c00 = a11 * a22 - a12 * a12
    c01 = a02 * a12 - a01 * a22
    c02 = a01 * a12 - a02 * a11
    determinant = a00 * c00 + a01 * c01 + a02 * c02
    if determinant > SINGULAR * a00 * a11 * a22:
        f0 = (c00 * b0 + c01 * b1 + c02 * b2) / determinant
        f1 = (c01 * b0 + (a00 * a22 - a02 * a02) * b1 + (a01 * a02 - a00 * a12) * b2) / determinant
        f2 = (c02 * b0 + (a01 * a02 - a00 * a12) * b1 + (a00 * a11 - a01 * a01) * b2) / determinant
        if f2 >= 0.0 and abs(f0) + abs(f1) <= friction * f2:
            return -0.5 * (b0 * f0 + b1 * f1 + b2 * f2), f0, f1, f2
    best, f0, f1, f2 = 0.0, 0.0, 0.0, 0.0
    for i in range(4):
        x = friction if i % 2 == 0 else -friction
        y = friction if i < 2 else -friction
        # Normal equations of the weights (u, v) of the rays (x, 0, 1) and (0, y, 1).
        s00 = x * x * a00 + 2.0 * x * a02 + a22
        s11 = y * y * a11 + 2.0 * y * a12 + a22
        s01 = x * y * a01 + x * a02 + y * a12 + a22
        c0 = x * b0 + b2
        c1 = y * b1 + b2
        determinant = s00 * s11 - s01 * s01
        if determinant > SINGULAR * s00 * s11 and min(s00, s11) > negligible:
            u = (c0 * s11 - c1 * s01) / determinant
            v = (c1 * s00 - c0 * s01) / determinant
            value = -0.5 * (u * c0 + v * c1)
            if u >= 0.0 and v >= 0.0 and value < best:
                best, f0, f1, f2 = value, u * x, v * y, u + v
        # Each edge belongs to two faces and is tried with one of them.
        if i < 2 and c0 > 0.0 and s00 > negligible and -0.5 * c0 * c0 / s00 < best:
            u = c0 / s00
            best, f0, f1, f2 = -0.5 * u * c0, u * x, 0.0, u
        if i % 2 == 0 and c1 > 0.0 and s11 > negligible and -0.5 * c1 * c1 / s11 < best:
            v = c1 / s11
            best, f0, f1, f2 = -0.5 * v * c1, 0.0, v * y, v
    return best, f0, f1, f2


@leaf_kernel
def tangents(nx: float, ny: float, nz: float) -> tuple[float, float, float, float, float, float]:
    """Return unit vectors t1 and t2 that make (t1, t2, n) a right-handed frame."""
    if abs(nz) < 0.9:
        length = math.sqrt(nx * nx + ny * ny)
        ux, uy, uz = -ny / length, nx / length, 0.0
    else:
        length = math.sqrt(ny * ny + nz * nz)
        ux, uy, uz = 0.0, -nz / length, ny / length
    return ux, uy, uz, ny * uz - nz * uy, nz * ux - nx * uz, nx * uy - ny * ux
