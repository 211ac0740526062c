"""The patch in which two solids touch, as a few contact points that carry it.

Both solids show a face along the normal: a polygon, a disc, or the line on a curved side. One
of the faces is cut by the other one's border, exactly, as seen along the normal; the corners of
what is left are the contact points, each as deep as the two faces are inside each other there.
A disc's border is kept by points on its arcs, the deepest among them. Faces say nothing about a
normal that neither of them has, where an edge meets an edge or a rim; so the point that is
deepest of all, known from the way out, is added as far as the faces miss its depth. Two lines
share no more than that point where they cross, and a whole line where they are parallel.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel
from contact_core.multibody.collision.arrays import Encounter, Shapes
from contact_core.multibody.collision.clipping import (
    FULL,
    UNIT,
    Plane,
    Vector,
    add_arc,
    alignment,
    clip_to_sides,
    copy_corners,
    cut_disc_by_disc,
    cut_disc_by_polygon,
    cut_line_by_disc,
    cut_line_by_line,
    deepest_angle,
    marked_corner,
    set_mark,
)
from contact_core.multibody.collision.collide_points import add_contact
from contact_core.multibody.collision.support import (
    DISC,
    LINE,
    carrying_faces,
    furthest_point,
    supporting_face,
)

# Corners of a patch, at most; the deepest point may be one more.
POINTS = 8
# However many corners it has, a patch is as stiff as this many contact points, a line as two.
STIFFNESS = 4.0
LINE_STIFFNESS = 2.0
# A patch with a shorter border than this has part of it, down to one point's where it is one [m].
SMALL = 1e-2
# And with a shorter one it is a point: the deepest one [m].
POINT = 1e-6
# Contacts of a pair that are closer to each other are one [m].
SAME = 1e-9
# Corners whose losses differ by less than this share lose the same, but for rounding.
EQUAL = 1e-3
# A depth that the faces miss by less than this share is not missed.
MISSED = 1e-7
# A corner that is too deep by this share of the greatest depth is none.
FADE = 0.1
# Faces that are steeper than this against the normal, as cosine, are seen edge-on.
EDGE_ON = 1e-6


@inner_kernel
def add_patch(
    shapes: Shapes, contacts: Encounter, pair: int, depth: float, n: Vector, point: Vector
) -> None:
    """Add the contact points of two solids that are inside each other.

    Args:
        shapes: The shapes and their poses.
        contacts: Gets the points; its ``clip`` is overwritten.
        pair: The pair of shapes.
        depth: How deep they are inside each other along the normal [m].
        n: Unit normal from B into A, world.
        point: Midway between the points that are so deep, world [m].
    """
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    faces, parts = contacts.face, contacts.part
    first = carrying_faces(shapes, a, -n[0], -n[1], -n[2], depth, faces[0], parts[0])
    second = carrying_faces(shapes, b, n[0], n[1], n[2], depth, faces[1], parts[1])
    best = 0.0
    for i in range(first):
        for j in range(second):
            part = parts[0, i] * parts[1, j]
            if part > 0.0:
                best += _add_faces(shapes, contacts, pair, depth, n, faces[0, i], faces[1, j], part)
    _add_deepest(contacts, pair, depth, n, point, best)


@inner_kernel
def _add_faces(
    shapes: Shapes,
    contacts: Encounter,
    pair: int,
    depth: float,
    n: Vector,
    face_a: int,
    face_b: int,
    part: float,
) -> float:
    """Add the contact points of two faces; return the depth that they carry, a part of it all."""
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    clip = contacts.clip
    set_mark(clip, -1)
    sides, count = 0, 0
    x, y, z, u, v, w = n[0], n[1], n[2], n[0], n[1], n[2]
    for side in range(2):
        sides, x, y, z, count, u, v, w = count, u, v, w, sides, x, y, z
        own, face, sign = (a, face_a, -1.0) if side == 0 else (b, face_b, 1.0)
        sides, x, y, z = supporting_face(
            shapes, own, sign * n[0], sign * n[1], sign * n[2], clip[1 - side], face
        )
    sign = 1.0
    # A polygon cuts everything else, and everything cuts a line: so no arc is ever moved.
    if (sides == LINE and count != LINE) or (sides == DISC and count > LINE):
        sign = -1.0
        sides, x, y, z, count, u, v, w = count, u, v, w, sides, x, y, z
        most = max(3, max(sides, count))
        copy_corners(clip[0], clip[2], most)
        copy_corners(clip[1], clip[0], most)
        copy_corners(clip[2], clip[1], most)
    # Looking from the face that is cut at the one that cuts.
    m = (sign * n[0], sign * n[1], sign * n[2])
    p = clip[0, 0]
    plane = (x, y, z, x * p[0] + y * p[1] + z * p[2])
    own = (u, v, w, u * clip[1, 0, 0] + v * clip[1, 0, 1] + w * clip[1, 0, 2])
    stiffness = LINE_STIFFNESS if count == LINE else STIFFNESS
    if sides == LINE:
        radii = shapes.size[a, 0] + shapes.size[b, 0]
        part *= alignment(clip)
        count = cut_line_by_line(clip, m, radii)
    else:
        if x * m[0] + y * m[1] + z * m[2] < EDGE_ON:
            count = 0
        elif count > DISC and sides > LINE:
            count = clip_to_sides(clip, sides, count, m)
        elif count == LINE:
            count = cut_line_by_disc(clip, m, plane)
        elif u * m[0] + v * m[1] + w * m[2] > -EDGE_ON:
            count = 0
        elif sides > LINE:
            count = cut_disc_by_polygon(clip, sides, m, own, deepest_angle(clip[1], plane))
        else:
            count = cut_disc_by_disc(clip, m, own, deepest_angle(clip[1], plane))
        while count > POINTS:
            count = _drop_least(clip, count, m)
        _measure(clip, count, m, plane)
    return _add_corners(contacts, pair, sign, count, m, stiffness, depth, part)


@inner_kernel
def add_patch_on_plane(
    shapes: Shapes, contacts: Encounter, pair: int, n: Vector, bound: float
) -> None:
    """Add the contact points of a solid that is partly below a plane.

    Args:
        shapes: The shapes and their poses.
        contacts: Gets the points; its ``clip`` is overwritten.
        pair: The pair of shapes, the solid A and a half space B.
        n: Unit normal of the plane, out of the half space, world.
        bound: The plane's distance from the world's origin along it [m].
    """
    a = contacts.pair_shapes[pair, 0]
    x, y, z = furthest_point(shapes, a, -n[0], -n[1], -n[2])
    depth = bound - (n[0] * x + n[1] * y + n[2] * z)
    if depth < 0.0:
        return
    plane = (n[0], n[1], n[2], bound)
    faces, parts = contacts.face[0], contacts.part[0]
    carrying = carrying_faces(shapes, a, -n[0], -n[1], -n[2], depth, faces, parts)
    best = 0.0
    for k in range(carrying):
        if parts[k] > 0.0:
            best += _add_face_on_plane(shapes, contacts, pair, depth, n, plane, faces[k], parts[k])
    half = 0.5 * depth
    point = (x + half * n[0], y + half * n[1], z + half * n[2])
    _add_deepest(contacts, pair, depth, n, point, best)


@inner_kernel
def _add_face_on_plane(
    shapes: Shapes,
    contacts: Encounter,
    pair: int,
    depth: float,
    n: Vector,
    plane: Plane,
    face: int,
    part: float,
) -> float:
    """Add the contact points of a face below a plane; return the depth that they carry."""
    a, clip = contacts.pair_shapes[pair, 0], contacts.clip
    set_mark(clip, -1)
    count, _, _, _ = supporting_face(shapes, a, -n[0], -n[1], -n[2], clip[1], face)
    stiffness = LINE_STIFFNESS if count == LINE else STIFFNESS
    if count == DISC:
        lowest = deepest_angle(clip[1], plane)
        count = add_arc(clip, 0, UNIT, lowest, FULL, lowest)
        copy_corners(clip[2], clip[1], count)
    while count > POINTS:
        count = _drop_least(clip, count, n)
    _measure(clip, count, n, plane)
    return _add_corners(contacts, pair, 1.0, count, n, stiffness, depth, part)


@inner_kernel
def _measure(clip: np.ndarray, count: int, n: Vector, plane: Plane) -> None:
    """Write how far the corners of polygon 1 are below a plane, along a normal, to clip[2]."""
    slope = plane[0] * n[0] + plane[1] * n[1] + plane[2] * n[2]
    for k in range(count):
        p = clip[1, k]
        height = plane[0] * p[0] + plane[1] * p[1] + plane[2] * p[2]
        clip[2, k, 0] = (plane[3] - height) / slope


@inner_kernel
def _add_corners(
    contacts: Encounter,
    pair: int,
    sign: float,
    count: int,
    n: Vector,
    stiffness: float,
    deepest: float,
    part: float,
) -> float:
    """Add the corners of polygon 1 that are inside the other solid; return the depth they carry.

    Every corner carries the half of the border that is next to it. A patch of which little is
    inside the other solid is at least as stiff as one point where it is deepest. The deepest
    point of an arc takes its part of the border as the patch tilts; flat, there is none.
    Corners that are deeper than the solids can be, of discs seen at an angle, fade. They
    carry a part of the greatest depth, all of it but where lines cross.
    """
    polygon, depths, mark = contacts.clip[1], contacts.clip[2], marked_corner(contacts.clip)
    load, best, least = 0.0, 0.0, math.inf
    for k in range(count):
        depth = depths[k, 0]
        depths[k, 1] = max(0.0, 1.0 - max(0.0, depth - deepest) / (FADE * deepest))
        depths[k, 0] = min(depth, deepest)
        best, least = max(best, depth), min(least, depth)
    tilt = min(1.0, (best - least) / best) if best > 0.0 else 0.0
    border, shorter = 0.0, 0.0
    for k in range(count):
        side, chord = _sides(polygon, k, count, mark)
        border += side
        shorter += chord
    if not shorter > POINT or best <= 0.0:
        return 0.0
    before, before_chord = _sides(polygon, count - 1, count, mark)
    if mark == count - 1:
        _, before_chord = _sides(polygon, count - 2, count, mark)
    best = 0.0
    for k in range(count):
        after, chord = _sides(polygon, k, count, mark)
        share = tilt * 0.5 * (before + after) / border
        if k != mark:
            share += (1.0 - tilt) * 0.5 * (before_chord + chord) / shorter
            before_chord = chord
        before = after
        depths[k, 1] *= share
        if depths[k, 1] > 0.0:
            load += depths[k, 1] * max(0.0, depths[k, 0])
            best = max(best, depths[k, 0])
    if not load > 0.0:
        return 0.0
    stiffness = 1.0 + (stiffness - 1.0) * min(1.0, border / SMALL)
    stiffness = max(stiffness, best / load)
    normal = (sign * n[0], sign * n[1], sign * n[2])
    for k in range(count):
        depth, weight = depths[k, 0], part * stiffness * depths[k, 1]
        if depth > 0.0 and weight > 0.0:
            half = 0.5 * depth
            p = polygon[k]
            point = (p[0] + half * n[0], p[1] + half * n[1], p[2] + half * n[2])
            if part == 1.0 or not _strengthen(contacts, pair, point, weight):
                add_contact(contacts, pair, depth, normal, point, weight)
    return part * best


@inner_kernel
def _strengthen(contacts: Encounter, pair: int, point: Vector, weight: float) -> bool:
    """Add the weight of a corner that two faces share to the pair's contact that is there."""
    c = min(contacts.number[0], contacts.depth.shape[0]) - 1
    while c >= 0 and contacts.pair[c] == pair:
        p = contacts.point[c]
        if max(abs(p[0] - point[0]), abs(p[1] - point[1]), abs(p[2] - point[2])) < SAME:
            contacts.stiffness[c] += weight * contacts.pair_stiffness[pair]
            return True
        c -= 1
    return False


@inner_kernel
def _sides(polygon: np.ndarray, k: int, count: int, mark: int) -> tuple[float, float]:
    """Return the length behind corner k, and the one to the next corner that is not marked [m]."""
    after = (k + 1) % count
    side = _distance(polygon, k, after)
    if k == mark:
        return side, 0.0
    if after == mark:
        return side, _distance(polygon, k, (k + 2) % count)
    return side, side


@inner_kernel
def _add_deepest(
    contacts: Encounter, pair: int, depth: float, n: Vector, point: Vector, best: float
) -> None:
    """Add the deepest point as far as the corners miss it, alone as stiff as one."""
    missed = depth - best
    if missed > MISSED * depth:
        add_contact(contacts, pair, depth, n, point, missed / depth)


@inner_kernel
def _distance(polygon: np.ndarray, i: int, j: int) -> float:
    """Distance of two corners [m]."""
    p, q = polygon[i], polygon[j]
    x, y, z = q[0] - p[0], q[1] - p[1], q[2] - p[2]
    return math.sqrt(x * x + y * y + z * z)


@inner_kernel
def _drop_least(clip: np.ndarray, count: int, n: Vector) -> int:
    """Remove the corner of polygon 1 that takes the least area with it, seen along a normal.

    Of equals the first goes, so that a thing at rest keeps the points it rests on. A marked
    corner stays.
    """
    polygon, mark = clip[1], marked_corner(clip)
    least, dropped = math.inf, 0
    for k in range(count):
        p = polygon[k - 1] if k > 0 else polygon[count - 1]
        q = polygon[k]
        r = polygon[k + 1] if k + 1 < count else polygon[0]
        a, b, c = q[0] - p[0], q[1] - p[1], q[2] - p[2]
        d, e, f = r[0] - q[0], r[1] - q[1], r[2] - q[2]
        area = (b * f - c * e) * n[0] + (c * d - a * f) * n[1] + (a * e - b * d) * n[2]
        if k != mark and abs(area) < (1.0 - EQUAL) * least:
            least, dropped = abs(area), k
    for k in range(dropped, count - 1):
        for i in range(3):
            polygon[k, i] = polygon[k + 1, i]
    if dropped < mark:
        set_mark(clip, mark - 1)
    return count - 1
