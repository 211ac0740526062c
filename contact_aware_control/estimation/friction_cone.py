"""The friction pyramid, and least squares over it in closed form.

The pyramid is spanned by the four rays n +- mu t1, n +- mu t2. Force components are
(t1, t2, n), so that f is inside when |f_t1| + |f_t2| <= mu f_n.
"""

from __future__ import annotations

import math

from contact_core.kernel import kernel

SINGULAR = 1e-12
"""A system whose determinant is this small, relative to the product of its diagonal, is
singular: its minimum is also reached on the boundary, by fewer rays. So is that of a ray
whose torque is this small, squared and relative. Links that fewer than three joints move
have such systems."""


@kernel
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


@kernel
def tangents(nx: float, ny: float, nz: float) -> tuple[float, float, float, float, float, float]:
    """Return unit vectors t1 and t2 that make (t1, t2, n) a right-handed frame."""
    if abs(nz) < 0.9:
        length = math.sqrt(nx * nx + ny * ny)
        ux, uy, uz = -ny / length, nx / length, 0.0
    else:
        length = math.sqrt(ny * ny + nz * nz)
        ux, uy, uz = 0.0, -nz / length, ny / length
    return ux, uy, uz, ny * uz - nz * uy, nz * ux - nx * uz, nx * uy - ny * ux
