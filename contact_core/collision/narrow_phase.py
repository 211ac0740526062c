"""Where shapes touch: pairs of shapes whose hulls are close, and the table of pair routines.

A new pair of shapes needs one routine, one name, one entry of ROUTINES, and one branch.
"""

from __future__ import annotations

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
from contact_core.collision.collide_boxes import collide_box_box, collide_box_half_space
from contact_core.collision.collide_convex import collide_convex, collide_mesh_half_space
from contact_core.collision.collide_points import collide_sphere
from contact_core.collision.collide_segments import (
    collide_capsule_box,
    collide_capsule_capsule,
    collide_capsule_cylinder,
    collide_capsule_half_space,
    collide_cylinder_box,
    collide_cylinder_cylinder,
    collide_cylinder_half_space,
)
from contact_core.collision.convex_mesh import Meshes
from contact_core.collision.shapes import ShapeKind
from contact_core.errors import ModelError, choices
from contact_core.kernel import pasted_kernel
from contact_core.rigid_body.arrays import Kinematics

SPHERE_ANY = 0
CAPSULE_HALF_SPACE = 1
CAPSULE_BOX = 2
CAPSULE_CAPSULE = 3
CAPSULE_CYLINDER = 4
CYLINDER_HALF_SPACE = 5
CYLINDER_BOX = 6
CYLINDER_CYLINDER = 7
BOX_HALF_SPACE = 8
BOX_BOX = 9
MESH_HALF_SPACE = 10
CONVEX_CONVEX = 11

# (kind of A, kind of B) -> routine; the builder swaps a pair that is listed the other way.
ROUTINES = {(ShapeKind.SPHERE, kind): SPHERE_ANY for kind in ShapeKind} | {
    (ShapeKind.CAPSULE, ShapeKind.HALF_SPACE): CAPSULE_HALF_SPACE,
    (ShapeKind.CAPSULE, ShapeKind.BOX): CAPSULE_BOX,
    (ShapeKind.CAPSULE, ShapeKind.CAPSULE): CAPSULE_CAPSULE,
    (ShapeKind.CAPSULE, ShapeKind.CYLINDER): CAPSULE_CYLINDER,
    (ShapeKind.CYLINDER, ShapeKind.HALF_SPACE): CYLINDER_HALF_SPACE,
    (ShapeKind.CYLINDER, ShapeKind.BOX): CYLINDER_BOX,
    (ShapeKind.CYLINDER, ShapeKind.CYLINDER): CYLINDER_CYLINDER,
    (ShapeKind.BOX, ShapeKind.HALF_SPACE): BOX_HALF_SPACE,
    (ShapeKind.BOX, ShapeKind.BOX): BOX_BOX,
}
ROUTINES |= {(ShapeKind.MESH, ShapeKind.HALF_SPACE): MESH_HALF_SPACE} | {
    (ShapeKind.MESH, kind): CONVEX_CONVEX
    for kind in (ShapeKind.CAPSULE, ShapeKind.BOX, ShapeKind.CYLINDER, ShapeKind.MESH)
}


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
        elif routine == CAPSULE_BOX:
            collide_capsule_box(shapes, contacts, pair)
        elif routine == CYLINDER_BOX:
            collide_cylinder_box(shapes, contacts, pair)
        elif routine == BOX_BOX:
            collide_box_box(shapes, contacts, pair)
        elif routine == CAPSULE_HALF_SPACE:
            collide_capsule_half_space(shapes, contacts, pair)
        elif routine == CYLINDER_HALF_SPACE:
            collide_cylinder_half_space(shapes, contacts, pair)
        elif routine == BOX_HALF_SPACE:
            collide_box_half_space(shapes, contacts, pair)
        elif routine == CAPSULE_CAPSULE:
            collide_capsule_capsule(shapes, contacts, pair)
        elif routine == CAPSULE_CYLINDER:
            collide_capsule_cylinder(shapes, contacts, pair)
        elif routine == CYLINDER_CYLINDER:
            collide_cylinder_cylinder(shapes, contacts, pair)
        elif routine == MESH_HALF_SPACE:
            collide_mesh_half_space(shapes, contacts, pair)
        else:
            collide_convex(shapes, contacts, pair)
