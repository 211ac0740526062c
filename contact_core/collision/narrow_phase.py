"""Where shapes touch: pairs of shapes whose hulls are close, and the table of pair routines.

A new pair of shapes needs one routine, one name, one entry of ROUTINES, and one branch.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from contact_core.collision.arrays import (
    Contacts,
    Encounter,
    Geometry,
    Hulls,
    Pairs,
    Scratch,
    ShapePoses,
    Shapes,
)
from contact_core.collision.broad_phase import hulls_close, place_hulls, place_shapes, shapes_close
from contact_core.collision.collide_boxes import collide_box_box
from contact_core.collision.collide_convex import collide_convex, collide_half_space
from contact_core.collision.collide_points import collide_sphere
from contact_core.collision.convex_mesh import Meshes
from contact_core.collision.shapes import ShapeKind
from contact_core.errors import ModelError, choices
from contact_core.kernel import pasted_kernel
from contact_core.rigid_body.arrays import Kinematics

SPHERE_ANY = 0
BOX_BOX = 1
CONVEX_HALF_SPACE = 2
CONVEX_CONVEX = 3

# (kind of A, kind of B) -> routine; the builder swaps a pair that is listed the other way.
_CONVEX = (ShapeKind.MESH, ShapeKind.CAPSULE, ShapeKind.CYLINDER, ShapeKind.BOX)
ROUTINES = {(ShapeKind.SPHERE, kind): SPHERE_ANY for kind in ShapeKind}
ROUTINES |= {(kind, ShapeKind.HALF_SPACE): CONVEX_HALF_SPACE for kind in _CONVEX}
ROUTINES |= {pair: CONVEX_CONVEX for pair in combinations_with_replacement(_CONVEX, 2)}
ROUTINES[ShapeKind.BOX, ShapeKind.BOX] = BOX_BOX


def routine_of(a: ShapeKind, b: ShapeKind) -> tuple[int, bool]:
    """Look up the routine for two shapes.

    Args:
        a: Kind of the first shape.
        b: Kind of the second.

    Returns:
        The routine, and whether the shapes have to be swapped for it.

    Raises:
        ModelError: If no routine handles the two kinds.
    """
    if (a, b) in ROUTINES:
        return ROUTINES[a, b], False
    if (b, a) in ROUTINES:
        return ROUTINES[b, a], True
    known = [f"{x.name.lower()}-{y.name.lower()}" for x, y in ROUTINES]
    raise ModelError(f"no contact between {a.name.lower()} and {b.name.lower()} ({choices(known)})")


@pasted_kernel
def update_contacts(
    geometry: Geometry,
    hulls: Hulls,
    meshes: Meshes,
    pairs: Pairs,
    kinematics: Kinematics,
    poses: ShapePoses,
    contacts: Contacts,
    scratch: Scratch,
) -> int:
    """Find all contact points.

    Args:
        geometry: The shapes on their bodies.
        hulls: The hulls.
        meshes: The convex meshes.
        pairs: The pairs that may touch.
        kinematics: Reads the bodies' poses.
        poses: Gets the poses of shapes and hulls.
        contacts: Gets the contact points, of their frames only the normals.
        scratch: Overwritten.

    Returns:
        The number of contact points; more than there is room for if they do not fit.
    """
    place_shapes(geometry, kinematics, poses)
    place_hulls(hulls, kinematics, poses)
    contacts.number[0] = 0
    shapes = Shapes(geometry.kind, geometry.size, poses.rotation, poses.position, meshes)
    encounter = Encounter(
        pairs.shapes,
        pairs.stiffness,
        contacts.number,
        contacts.pair,
        contacts.depth,
        contacts.stiffness,
        contacts.point,
        contacts.frame,
        scratch.clip,
        scratch.polytope,
    )
    first = 0
    for close in range(hulls.pair.shape[0]):
        last = hulls.pair_end[close]
        if hulls_close(hulls, poses.hull, shapes, close):
            for pair in range(first, last):
                _collide(shapes, encounter, geometry.radius, pair, pairs.routine[pair])
        first = last
    return contacts.number[0]


@pasted_kernel
def _collide(
    shapes: Shapes, contacts: Encounter, radius: np.ndarray, pair: int, routine: int
) -> None:
    """Add the contact points of one pair of shapes."""
    a, b = contacts.pair_shapes[pair, 0], contacts.pair_shapes[pair, 1]
    if shapes_close(shapes, a, b, radius[a], radius[b]):
        if routine == SPHERE_ANY:
            collide_sphere(shapes, contacts, pair)
        elif routine == BOX_BOX:
            collide_box_box(shapes, contacts, pair)
        elif routine == CONVEX_HALF_SPACE:
            collide_half_space(shapes, contacts, pair)
        else:
            collide_convex(shapes, contacts, pair)
