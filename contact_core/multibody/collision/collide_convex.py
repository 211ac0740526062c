"""Any two convex solids: the direction of least overlap, then the patch in which they touch."""

from __future__ import annotations

from contact_core.base.kernel import inner_kernel
from contact_core.multibody.collision.arrays import Encounter, Shapes
from contact_core.multibody.collision.collide_points import turn_to_world
from contact_core.multibody.collision.manifold import add_patch, add_patch_on_plane
from contact_core.multibody.collision.penetration import penetration
from contact_core.multibody.collision.refinement import refine


@inner_kernel
def collide_convex(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Box, capsule, cylinder or mesh A against another one B."""
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    depth, n, point, face = penetration(shapes, contacts.polytope, a, b)
    if depth >= 0.0:
        depth, n, point = refine(shapes, contacts, pair, face, depth, n, point)
        add_patch(shapes, contacts, pair, depth, n, point)


@inner_kernel
def collide_half_space(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Box, capsule, cylinder or mesh A against half space B."""
    b = contacts.pair_shapes[pair, 1]
    n = turn_to_world(shapes, b, 0.0, 0.0, 1.0)
    p = shapes.position[b]
    add_patch_on_plane(shapes, contacts, pair, n, n[0] * p[0] + n[1] * p[1] + n[2] * p[2])
