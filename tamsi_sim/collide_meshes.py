"""Convex meshes against capsules and half spaces; spheres are with the other points."""

from __future__ import annotations

import math

from tamsi_sim.borrowing import inner_kernel
from tamsi_sim.collide_points import collide_ball, collide_ends, local_point, probe
from tamsi_sim.collide_segments import collide_deepest
from tamsi_sim.data import CONTACT_COUNT, Contacts, Shapes

# Corners of a mesh that carry its contact with another shape, at most: it stands on them as
# on all of its corners that touch.
CORNERS = 4


@inner_kernel
def collide_mesh_half_space(shapes: Shapes, contacts: Contacts, pair: int) -> None:
    """Mesh A against half space B."""
    _collide_corners(shapes, contacts, pair)


@inner_kernel
def collide_mesh_capsule(shapes: Shapes, contacts: Contacts, pair: int) -> None:
    """Mesh A against capsule B: ends on faces, corners on the side, or else the deepest point."""
    before = contacts.counters[CONTACT_COUNT]
    _collide_corners(shapes, contacts, pair)
    collide_ends(shapes, contacts, pair, 1)
    if contacts.counters[CONTACT_COUNT] == before:
        collide_deepest(shapes, contacts, pair)


@inner_kernel
def _collide_corners(shapes: Shapes, contacts: Contacts, pair: int) -> None:
    """Up to four corners of mesh A inside B: the deepest, then those furthest apart."""
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    meshes, mesh = shapes.meshes, int(shapes.size[a, 0])
    chosen = contacts.clip[0]
    for count in range(CORNERS):
        best, most = -1, 0.0
        for vertex in range(meshes.first_vertex[mesh], meshes.first_vertex[mesh + 1]):
            v = meshes.vertex[vertex]
            x, y, z = local_point(shapes, a, v[0], v[1], v[2])
            distance, _, _, _ = probe(shapes, b, x, y, z)
            if distance > 0.0:
                continue
            # Zero for a corner that is chosen already.
            merit = -distance if count == 0 else math.inf
            for k in range(count):
                dx, dy, dz = x - chosen[k, 0], y - chosen[k, 1], z - chosen[k, 2]
                merit = min(merit, dx * dx + dy * dy + dz * dz)
            if merit > most:
                best, most = vertex, merit
        if best < 0:
            return
        v = meshes.vertex[best]
        x, y, z = local_point(shapes, a, v[0], v[1], v[2])
        chosen[count, 0], chosen[count, 1], chosen[count, 2] = x, y, z
        collide_ball(shapes, contacts, pair, 0, 0.0, x, y, z)
