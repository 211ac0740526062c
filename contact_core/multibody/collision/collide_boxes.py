"""Box against box: separating axes, then the clipped face or the patch about two edges."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel
from contact_core.multibody.collision.arrays import Encounter, Shapes
from contact_core.multibody.collision.clipping import cut_polygon
from contact_core.multibody.collision.collide_points import add_contact
from contact_core.multibody.collision.manifold import add_patch

# An edge-edge axis has to beat the best face by this much [m]: faces carry more points.
EDGE_MARGIN = 1e-8


@inner_kernel
def _dot(a: np.ndarray, i: int, b: np.ndarray, j: int) -> float:
    """Product of column i of one rotation with column j of another."""
    return a[0, i] * b[0, j] + a[1, i] * b[1, j] + a[2, i] * b[2, j]


@inner_kernel
def _along(r: np.ndarray, i: int, d: tuple[float, float, float]) -> float:
    """Component of a vector along column i of a rotation."""
    return r[0, i] * d[0] + r[1, i] * d[1] + r[2, i] * d[2]


@inner_kernel
def collide_box_box(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Box A against box B."""
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    ra, rb = shapes.rotation[a], shapes.rotation[b]
    pa, pb = shapes.position[a], shapes.position[b]
    sa, sb = shapes.size[a], shapes.size[b]
    d = (pa[0] - pb[0], pa[1] - pb[1], pa[2] - pb[2])
    depth, axis = math.inf, -1
    for i in range(6):
        # Faces of A (0..2) and of B (3..5).
        own, own_size, other, other_size = (ra, sa, rb, sb) if i < 3 else (rb, sb, ra, sa)
        k = i % 3
        reach = own_size[k]
        for j in range(3):
            reach += other_size[j] * abs(_dot(own, k, other, j))
        overlap = reach - abs(_along(own, k, d))
        if overlap < 0.0:
            return
        if overlap < depth:
            depth, axis = overlap, i
    normal = (0.0, 0.0, 0.0)
    for i in range(3):
        for j in range(3):
            x = ra[1, i] * rb[2, j] - ra[2, i] * rb[1, j]
            y = ra[2, i] * rb[0, j] - ra[0, i] * rb[2, j]
            z = ra[0, i] * rb[1, j] - ra[1, i] * rb[0, j]
            length = math.sqrt(x * x + y * y + z * z)
            if length < 1e-6:
                continue
            n = (x / length, y / length, z / length)
            reach = 0.0
            for k in range(3):
                reach += sa[k] * abs(_along(ra, k, n)) + sb[k] * abs(_along(rb, k, n))
            along = n[0] * d[0] + n[1] * d[1] + n[2] * d[2]
            overlap = reach - abs(along)
            if overlap < 0.0:
                return
            if overlap < depth - EDGE_MARGIN:
                depth, axis = overlap, 6 + 3 * i + j
                sign = 1.0 if along >= 0.0 else -1.0
                normal = (sign * n[0], sign * n[1], sign * n[2])
    if axis >= 6:
        _edges(shapes, contacts, pair, (axis - 6) // 3, (axis - 6) % 3, depth, normal)
    elif axis < 3:
        _face(shapes, contacts, pair, 0, axis)
    else:
        _face(shapes, contacts, pair, 1, axis - 3)


@inner_kernel
def _edges(
    shapes: Shapes,
    contacts: Encounter,
    pair: int,
    i: int,
    j: int,
    depth: float,
    n: tuple[float, float, float],
) -> None:
    """The patch about the point midway between the supporting edges, axis i of A and j of B."""
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    ra, rb = shapes.rotation[a], shapes.rotation[b]
    sa, sb = shapes.size[a], shapes.size[b]
    x, y, z = shapes.position[a]
    u, v, w = shapes.position[b]
    for k in range(3):
        # A's edge faces against the normal, B's along it.
        if k != i:
            s = -sa[k] if _along(ra, k, n) > 0.0 else sa[k]
            x, y, z = x + s * ra[0, k], y + s * ra[1, k], z + s * ra[2, k]
        if k != j:
            s = sb[k] if _along(rb, k, n) > 0.0 else -sb[k]
            u, v, w = u + s * rb[0, k], v + s * rb[1, k], w + s * rb[2, k]
    # Closest points of the lines (x, y, z) + s e_i and (u, v, w) + t e_j.
    gap = (u - x, v - y, w - z)
    c = _dot(ra, i, rb, j)
    p, q = _along(ra, i, gap), _along(rb, j, gap)
    s = (p - c * q) / (1.0 - c * c)
    t = (c * p - q) / (1.0 - c * c)
    point = (
        0.5 * (x + s * ra[0, i] + u + t * rb[0, j]),
        0.5 * (y + s * ra[1, i] + v + t * rb[1, j]),
        0.5 * (z + s * ra[2, i] + w + t * rb[2, j]),
    )
    add_patch(shapes, contacts, pair, depth, n, point)


@inner_kernel
def _face(shapes: Shapes, contacts: Encounter, pair: int, side: int, k: int) -> None:
    """Clip the other box's facing face against the sides of this box's face k."""
    own = contacts.pair_shapes[pair, side]
    other = contacts.pair_shapes[pair, 1 - side]
    r, p, size = shapes.rotation[own], shapes.position[own], shapes.size[own]
    ro, po, so = shapes.rotation[other], shapes.position[other], shapes.size[other]
    d = (po[0] - p[0], po[1] - p[1], po[2] - p[2])
    sign = 1.0 if _along(r, k, d) >= 0.0 else -1.0
    # The other box's face that looks most against ours.
    facing, most = 0, -1.0
    for j in range(3):
        alignment = abs(_dot(r, k, ro, j))
        if alignment > most:
            facing, most = j, alignment
    out = -1.0 if sign * _dot(r, k, ro, facing) > 0.0 else 1.0
    e, f = (facing + 1) % 3, (facing + 2) % 3
    polygon, spare = contacts.clip[0], contacts.clip[1]
    count = 4
    for corner in range(4):
        x = so[e] if corner in (0, 3) else -so[e]
        y = so[f] if corner < 2 else -so[f]
        for i in range(3):
            polygon[corner, i] = 0.0
        for i in range(3):
            # Corner in the frame of our box, relative to its centre.
            world = d[i] + out * so[facing] * ro[i, facing] + x * ro[i, e] + y * ro[i, f]
            for j in range(3):
                polygon[corner, j] += r[i, j] * world
    for j in range(3):
        if j != k:
            x = 1.0 if j == 0 else 0.0
            y = 1.0 if j == 1 else 0.0
            z = 1.0 if j == 2 else 0.0
            count = cut_polygon(polygon, spare, count, (x, y, z), size[j])
            polygon, spare = spare, polygon
            count = cut_polygon(polygon, spare, count, (-x, -y, -z), size[j])
            polygon, spare = spare, polygon
    # The normal points from B into A: out of our face if it is B's, into it if it is A's.
    flip = sign * (2.0 * side - 1.0)
    n = (flip * r[0, k], flip * r[1, k], flip * r[2, k])
    # However many corners the overlap has, it is as stiff as four.
    weight = min(1.0, 4.0 / count) if count > 0 else 0.0
    for c in range(count):
        depth = size[k] - sign * polygon[c, k]
        if depth >= 0.0:
            polygon[c, k] += 0.5 * sign * depth
            x, y, z = polygon[c]
            point = (
                p[0] + r[0, 0] * x + r[0, 1] * y + r[0, 2] * z,
                p[1] + r[1, 0] * x + r[1, 1] * y + r[1, 2] * z,
                p[2] + r[2, 0] * x + r[2, 1] * y + r[2, 2] * z,
            )
            add_contact(contacts, pair, depth, n, point, weight)
