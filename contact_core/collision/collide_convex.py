"""Any two convex solids: the direction of least overlap, then the faces that touch there."""

from __future__ import annotations

from contact_core.collision.arrays import Encounter, Shapes
from contact_core.collision.collide_points import add_contact, turn_to_world
from contact_core.collision.manifold import add_manifold, clip_to_sides
from contact_core.collision.penetration import overlap, penetration
from contact_core.collision.support import supporting_face
from contact_core.kernel import inner_kernel

# The way out may be longer by this along the normal of a face [m]: faces carry more points.
FACE_MARGIN = 1e-6


@inner_kernel
def collide_convex(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Box, capsule, cylinder or mesh A against another one B."""
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    depth, n, point = penetration(shapes, contacts.polytope, a, b)
    if depth >= 0.0 and not _collide_faces(shapes, contacts, pair, depth, n):
        add_contact(contacts, pair, depth, n, point, 1.0)


@inner_kernel
def collide_mesh_half_space(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Mesh A against half space B: the face it stands on."""
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    n = turn_to_world(shapes, b, 0.0, 0.0, 1.0)
    p = shapes.position[b]
    count, _, _, _ = supporting_face(shapes, a, -n[0], -n[1], -n[2], contacts.clip[1])
    add_manifold(contacts, pair, 1, count, n, n[0] * p[0] + n[1] * p[1] + n[2] * p[2])


@inner_kernel
def _collide_faces(
    shapes: Shapes, contacts: Encounter, pair: int, depth: float, n: tuple[float, float, float]
) -> bool:
    """Clip the face that touches against the one it touches, if one of them has the normal."""
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    clip = contacts.clip
    side, shortest = -1, depth + FACE_MARGIN
    for candidate in (1, 0):
        # The face of B that looks along the normal, or A's that looks against it.
        own, sign = (b, 1.0) if candidate == 1 else (a, -1.0)
        sides, x, y, z = supporting_face(
            shapes, own, sign * n[0], sign * n[1], sign * n[2], clip[0]
        )
        if sides > 2:
            way = overlap(shapes, a, b, sign * x, sign * y, sign * z)
            if way < shortest:
                side, shortest = candidate, way
    if side < 0:
        return False
    own, other, sign = (b, a, 1.0) if side == 1 else (a, b, -1.0)
    u, v, w = sign * n[0], sign * n[1], sign * n[2]
    sides, x, y, z = supporting_face(shapes, own, u, v, w, clip[0])
    count, _, _, _ = supporting_face(shapes, other, -u, -v, -w, clip[1])
    corner = clip[0, 0]
    bound = x * corner[0] + y * corner[1] + z * corner[2]
    count = clip_to_sides(clip, sides, count, (x, y, z))
    return add_manifold(contacts, pair, side, count, (x, y, z), bound)
