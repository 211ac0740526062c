"""One face cut by the border of another, as seen along a normal: polygons, discs and lines.

The face that is cut is in ``clip[1]``, the one that cuts in ``clip[0]``, ``clip[2]`` is scratch. A
polygon is given by its corners, a disc by its middle and a point of its rim along each of two
axes, a line by its ends.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel
from contact_core.multibody.collision.arrays import MAX_CORNERS

# Corners that are beside a face by less than this [m] are on it, whatever rounding says.
BESIDE = 1e-9
# A circle as middle and radius, and how far it goes.
UNIT = (0.0, 0.0, 1.0)
FULL = 2.0 * math.pi
# Angle between two points on an arc, at most [rad].
ARC = 0.5 * math.pi * (1.0 + 1e-12)
Vector = tuple[float, float, float]
Plane = tuple[float, float, float, float]


@inner_kernel
def clip_to_sides(clip: np.ndarray, sides: int, count: int, n: Vector) -> int:
    """Cut off what of polygon 1 is beside polygon 0, as seen along a normal.

    Args:
        clip: (3, m, 3) polygons, world [m]; 0 is counter-clockwise about the normal, or
            clockwise about its opposite, 1 may be a line; 2 is scratch.
        sides: Corners of polygon 0.
        count: Corners of polygon 1.
        n: The normal, world.

    Returns:
        Corners that are left of polygon 1.
    """
    face, source = clip[0], 1
    for k in range(sides):
        p = face[k]
        q = face[k + 1] if k + 1 < sides else face[0]
        a, b, c = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        out = (b * n[2] - c * n[1], c * n[0] - a * n[2], a * n[1] - b * n[0])
        slack = BESIDE * math.sqrt(a * a + b * b + c * c)
        bound = out[0] * p[0] + out[1] * p[1] + out[2] * p[2] + slack
        count = cut_polygon(clip[source], clip[3 - source], count, out, bound)
        source = 3 - source
    if source == 2:
        copy_corners(clip[2], clip[1], count)
    return count


@inner_kernel
def cut_polygon(
    polygon: np.ndarray, kept: np.ndarray, count: int, out: Vector, bound: float
) -> int:
    """Keep the part of a polygon where out . x <= bound (Sutherland and Hodgman).

    Args:
        polygon: (m, 3) its corners, or the two ends of a line [m].
        kept: (m, 3) gets the corners of what is kept; there may be one more.
        count: Number of corners.
        out: Normal of the plane, of any length.
        bound: Where the plane is along it.

    Returns:
        The number of corners kept.
    """
    number = 0
    for k in range(count):
        p = polygon[k]
        here = bound - (out[0] * p[0] + out[1] * p[1] + out[2] * p[2])
        if here >= 0.0:
            for i in range(3):
                kept[number, i] = p[i]
            number += 1
        if k + 1 == count and count == 2:
            break
        q = polygon[k + 1] if k + 1 < count else polygon[0]
        there = bound - (out[0] * q[0] + out[1] * q[1] + out[2] * q[2])
        if (here > 0.0 and there < 0.0) or (here < 0.0 and there > 0.0):
            share = here / (here - there)
            for i in range(3):
                kept[number, i] = p[i] + share * (q[i] - p[i])
            number += 1
    return number


@inner_kernel
def cut_disc_by_polygon(
    clip: np.ndarray, sides: int, n: Vector, plane: Plane, deepest: float
) -> int:
    """Replace disc 1 by the corners of its part inside polygon 0.

    Args:
        clip: (3, m, 3) faces, world [m].
        sides: Corners of polygon 0.
        n: The normal along which the faces are seen, world.
        plane: Plane of the disc.
        deepest: Angle of the disc's deepest point [rad].

    Returns:
        The number of corners.
    """
    number, left, first = 0, math.inf, math.inf
    covered = True
    q = _on_disc(clip[1], clip[0, 0], n, plane)
    for k in range(sides):
        # The polygon looks the other way: backwards it is counter-clockwise on the disc.
        p = q
        q = _on_disc(clip[1], clip[0, sides - 1 - k], n, plane)
        d = (q[0] - p[0], q[1] - p[1])
        covered = covered and d[1] * p[0] - d[0] * p[1] >= 0.0
        inside, ends_inside = p[0] * p[0] + p[1] * p[1] <= 1.0, q[0] * q[0] + q[1] * q[1] <= 1.0
        if inside:
            number = _keep(clip, number, p[0], p[1])
        if inside and ends_inside:
            continue
        crosses, enters, leaves = _crossings(p, d)
        if inside:
            leaves = min(max(leaves, 0.0), 1.0) if crosses else 0.0
            left = math.atan2(p[1] + leaves * d[1], p[0] + leaves * d[0])
        elif ends_inside or (crosses and enters > 0.0 and leaves < 1.0):
            enters = min(max(enters, 0.0), 1.0) if crosses else 1.0
            u, v = p[0] + enters * d[0], p[1] + enters * d[1]
            angle = math.atan2(v, u)
            if left < math.inf:
                number = add_arc(clip, number, UNIT, left, (angle - left) % FULL, deepest)
                left = math.inf
            elif first == math.inf:
                first = angle
            number = _keep(clip, number, u, v)
            if not ends_inside:
                left = math.atan2(p[1] + leaves * d[1], p[0] + leaves * d[0])
    if left < math.inf:
        number = add_arc(clip, number, UNIT, left, (first - left) % FULL, deepest)
    if number == 0 and covered:
        number = add_arc(clip, 0, UNIT, deepest, FULL, deepest)
    copy_corners(clip[2], clip[1], number)
    return number


@inner_kernel
def cut_disc_by_disc(clip: np.ndarray, n: Vector, plane: Plane, deepest: float) -> int:
    """Replace disc 1 by the corners of its part inside disc 0.

    Disc 0 is taken as round where it is seen at an angle: where discs carry more than one point
    they are parallel but for a thousandth, which shifts their border by a millionth.

    Args:
        clip: (3, m, 3) faces, world [m].
        n: The normal along which the faces are seen, world.
        plane: Plane of disc 1.
        deepest: Angle of the deepest point of disc 1 [rad].

    Returns:
        The number of corners.
    """
    u, v = _on_disc(clip[1], clip[0, 0], n, plane)
    radius, own = 0.0, 0.0
    for i in range(3):
        radius += (clip[0, 1, i] - clip[0, 0, i]) ** 2
        own += (clip[1, 1, i] - clip[1, 0, i]) ** 2
    radius = math.sqrt(radius / own)
    distance = math.sqrt(u * u + v * v)
    number = 0
    if distance + radius <= 1.0:
        number = add_arc(clip, 0, (u, v, radius), deepest, FULL, deepest)
    elif distance + 1.0 <= radius:
        number = add_arc(clip, 0, UNIT, deepest, FULL, deepest)
    elif distance < 1.0 + radius:
        square = distance * distance
        half = math.acos(min(1.0, max(-1.0, (square + 1.0 - radius * radius) / (2.0 * distance))))
        other = (square + radius * radius - 1.0) / (2.0 * distance * radius)
        other = math.acos(min(1.0, max(-1.0, other)))
        angle = math.atan2(v, u)
        number = add_arc(clip, 0, UNIT, angle - half, 2.0 * half, deepest)
        number = add_arc(
            clip, number, (u, v, radius), angle + math.pi - other, 2.0 * other, deepest
        )
    copy_corners(clip[2], clip[1], number)
    return number


@inner_kernel
def cut_line_by_disc(clip: np.ndarray, n: Vector, plane: Plane) -> int:
    """Keep the part of line 1 that is above disc 0.

    Args:
        clip: (3, m, 3) faces, world [m].
        n: The normal along which the faces are seen, world.
        plane: Plane of the disc.

    Returns:
        2, or 0 if there is none.
    """
    p = _on_disc(clip[0], clip[1, 0], n, plane)
    q = _on_disc(clip[0], clip[1, 1], n, plane)
    crosses, enters, leaves = _crossings(p, (q[0] - p[0], q[1] - p[1]))
    enters, leaves = max(enters, 0.0), min(leaves, 1.0)
    if not crosses or enters >= leaves:
        return 0
    _shorten(clip[1], enters, leaves)
    return 2


@inner_kernel
def alignment(clip: np.ndarray) -> float:
    """Return the squared cosine of the angle between lines 0 and 1."""
    a, b, along = 0.0, 0.0, 0.0
    for i in range(3):
        d, e = clip[0, 1, i] - clip[0, 0, i], clip[1, 1, i] - clip[1, 0, i]
        a, b, along = a + d * d, b + e * e, along + d * e
    return along * along / (a * b)


@inner_kernel
def cut_line_by_line(clip: np.ndarray, n: Vector, radii: float) -> int:
    """Keep the part of line 1, on a round side, that is beside line 0, on another one.

    Args:
        clip: (3, m, 3) faces, world [m].
        n: Unit normal along which the faces are seen, world.
        radii: Sum of the radii of the two sides [m].

    Returns:
        2, or 0 if there is none; the depths at its ends are in clip[2, :, 0].
    """
    a, b = clip[1], clip[0]
    low, high = math.inf, -math.inf
    for end in range(2):
        share = _nearest_share(a, b[end], n, -radii)
        low, high = min(low, share), max(high, share)
    low, high = max(low, 0.0), min(high, 1.0)
    if not low < high:
        return 0
    _shorten(a, low, high)
    for end in range(2):
        p = a[end]
        t = min(max(_nearest_share(b, p, n, radii), 0.0), 1.0)
        d = (
            b[0, 0] + t * (b[1, 0] - b[0, 0]) - p[0],
            b[0, 1] + t * (b[1, 1] - b[0, 1]) - p[1],
            b[0, 2] + t * (b[1, 2] - b[0, 2]) - p[2],
        )
        along = d[0] * n[0] + d[1] * n[1] + d[2] * n[2]
        aside = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] - along * along
        # The axes, from one of which the other is closest there, are apart by the radii less the
        # depth, and aside of each other.
        clip[2, end, 0] = radii - math.sqrt((radii - along) ** 2 + max(0.0, aside))
    return 2


@inner_kernel
def deepest_angle(disc: np.ndarray, plane: Plane) -> float:
    """Return in which direction of a disc, as an angle, it is deepest below a plane [rad].

    Args:
        disc: (3, 3) the disc, world [m].
        plane: The plane.
    """
    u, v = 0.0, 0.0
    for i in range(3):
        u -= plane[i] * (disc[1, i] - disc[0, i])
        v -= plane[i] * (disc[2, i] - disc[0, i])
    return math.atan2(v, u)


@inner_kernel
def add_arc(
    clip: np.ndarray,
    number: int,
    circle: tuple[float, float, float],
    start: float,
    span: float,
    deepest: float,
) -> int:
    """Add the start of an arc to polygon 2 and points inside it, but not its end.

    Args:
        clip: Polygons; the arc is on the plane of disc 1.
        number: Corners of polygon 2.
        circle: Its middle and radius, in units of the disc's radius.
        start: First angle of the arc [rad].
        span: How far it goes, counter-clockwise [rad].
        deepest: Angle of its deepest point, which is marked if it is on the arc [rad].

    Returns:
        The number of corners.
    """
    pieces = max(1, math.ceil(span / ARC))
    on_arc = (deepest - start) % FULL
    for k in range(pieces):
        angle = span * k / pieces
        number = _keep_angle(clip, number, circle, start + angle)
        if angle < on_arc < span * (k + 1) / pieces:
            set_mark(clip, number)
            number = _keep_angle(clip, number, circle, deepest)
    return number


@inner_kernel
def _keep_angle(
    clip: np.ndarray, number: int, circle: tuple[float, float, float], angle: float
) -> int:
    """Add the point at an angle of a circle to polygon 2."""
    u, v, radius = circle
    return _keep(clip, number, u + radius * math.cos(angle), v + radius * math.sin(angle))


@inner_kernel
def _keep(clip: np.ndarray, number: int, u: float, v: float) -> int:
    """Write a point on disc 1, in units of its radius, as a corner of polygon 2."""
    disc = clip[1]
    for i in range(3):
        c = disc[0, i]
        clip[2, number, i] = c + u * (disc[1, i] - c) + v * (disc[2, i] - c)
    return number + 1


@inner_kernel
def _on_disc(disc: np.ndarray, p: np.ndarray, n: Vector, plane: Plane) -> tuple[float, float]:
    """Return where a point is on a disc as seen along a normal, in units of its radius."""
    height = plane[0] * p[0] + plane[1] * p[1] + plane[2] * p[2] - plane[3]
    way = height / (plane[0] * n[0] + plane[1] * n[1] + plane[2] * n[2])
    u, v, square = 0.0, 0.0, 0.0
    for i in range(3):
        d = p[i] - way * n[i] - disc[0, i]
        e, f = disc[1, i] - disc[0, i], disc[2, i] - disc[0, i]
        u += d * e
        v += d * f
        square += e * e
    return u / square, v / square


@inner_kernel
def _crossings(p: tuple[float, float], d: tuple[float, float]) -> tuple[bool, float, float]:
    """Return where the line p + t d enters and leaves the unit circle, if it does."""
    a = d[0] * d[0] + d[1] * d[1]
    b = p[0] * d[0] + p[1] * d[1]
    c = p[0] * p[0] + p[1] * p[1] - 1.0
    square = b * b - a * c
    if a == 0.0 or square <= 0.0:
        return False, 0.0, 0.0
    root = math.sqrt(square)
    return True, (-b - root) / a, (-b + root) / a


@inner_kernel
def _nearest_share(line: np.ndarray, p: np.ndarray, n: Vector, shift: float) -> float:
    """Return where a line is closest to a point that is shifted along a normal."""
    square, way = 0.0, 0.0
    for i in range(3):
        d = line[1, i] - line[0, i]
        square += d * d
        way += d * (p[i] + shift * n[i] - line[0, i])
    return way / square


@inner_kernel
def _shorten(line: np.ndarray, start: float, end: float) -> None:
    """Keep the part of a line between two shares of its length."""
    for i in range(3):
        p, q = line[0, i], line[1, i]
        line[0, i], line[1, i] = p + start * (q - p), p + end * (q - p)


@inner_kernel
def marked_corner(clip: np.ndarray) -> int:
    """Return which corner is the deepest one of an arc, -1 if none is.

    Args:
        clip: (3, m, 3) polygons.
    """
    return int(clip[2, MAX_CORNERS - 1, 0])


@inner_kernel
def set_mark(clip: np.ndarray, corner: int) -> None:
    """Mark a corner as the deepest one of an arc.

    Args:
        clip: (3, m, 3) polygons; the last row of scratch holds the mark.
        corner: The corner, -1 for none.
    """
    clip[2, MAX_CORNERS - 1, 0] = corner


@inner_kernel
def copy_corners(source: np.ndarray, target: np.ndarray, count: int) -> None:
    """Copy a polygon.

    Args:
        source: (m, 3) its corners [m].
        target: (m, 3) gets them.
        count: How many there are.
    """
    for k in range(count):
        for i in range(3):
            target[k, i] = source[k, i]
