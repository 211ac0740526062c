"""Where shapes touch: shapes whose hulls are close, and the table of pair routines.

A new convex kind needs an entry of _CONVEX; a pair with a routine of its own needs the routine, a
name, an entry of ROUTINES and a branch.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from contact_core.base.errors import ModelError, choices
from contact_core.base.kernel import pasted_kernel
from contact_core.multibody.collision.arrays import (
    Contacts,
    Encounter,
    Geometry,
    Hulls,
    Pairs,
    Rules,
    Scratch,
    ShapePoses,
    Shapes,
    SweptHulls,
)
from contact_core.multibody.collision.broad_phase import (
    find_close_hulls,
    hulls_close,
    place_hulls,
    place_shapes,
    shapes_close,
)
from contact_core.multibody.collision.collide_boxes import collide_box_box
from contact_core.multibody.collision.collide_convex import collide_convex, collide_half_space
from contact_core.multibody.collision.collide_points import collide_sphere
from contact_core.multibody.collision.convex_mesh import Meshes
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.multibody.rigid_body.arrays import Kinematics

NO_ROOM = 1 << 62
"""More contact points than any workspace holds: hulls that are close do not fit."""
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


# The same as tables by kind, for kernels; 1 where shapes are swapped.
_TABLE, _SWAPPED = np.full((2, len(ShapeKind), len(ShapeKind)), -1)
for (_a, _b), _routine in reversed(ROUTINES.items()):
    _TABLE[_b, _a], _SWAPPED[_b, _a] = _routine, 1
    _TABLE[_a, _b], _SWAPPED[_a, _b] = _routine, 0


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
    rules: Rules,
    kinematics: Kinematics,
    poses: ShapePoses,
    sweep: SweptHulls,
    pairs: Pairs,
    contacts: Contacts,
    scratch: Scratch,
) -> int:
    """Find all contact points.

    Args:
        geometry: The shapes on their bodies.
        hulls: The hulls.
        meshes: The convex meshes.
        rules: What may touch.
        kinematics: Reads the bodies' poses.
        poses: Gets the poses of shapes and hulls.
        sweep: Gets the hulls that are close.
        pairs: Gets the pairs of shapes in contact.
        contacts: Gets the contact points, of their frames only the normals.
        scratch: Overwritten.

    Returns:
        The number of contact points; more than there is room for if they do not fit.
    """
    place_shapes(geometry, kinematics, poses)
    place_hulls(hulls, kinematics, poses)
    contacts.number[0] = pairs.number[0] = 0
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
        scratch.face,
        scratch.part,
        scratch.clip,
        scratch.polytope,
    )
    if not find_close_hulls(hulls, rules.hulls, poses.hull, hulls.radius, sweep):
        return NO_ROOM
    for a in range(hulls.body.shape[0]):
        scratch.start[a] = pairs.number[0]
        for k in range(sweep.first[a], sweep.first[a + 1]):
            b = sweep.partner[k]
            if hulls_close(hulls, poses.hull, shapes, a, b):
                for i in range(hulls.first_shape[a], hulls.first_shape[a + 1]):
                    for j in range(hulls.first_shape[b], hulls.first_shape[b + 1]):
                        _meet(
                            shapes, geometry, rules, pairs, encounter, hulls.shapes[i],
                            hulls.shapes[j],
                        )  # fmt: skip
    scratch.start[hulls.body.shape[0]] = pairs.number[0]
    return contacts.number[0]


@pasted_kernel
def _meet(
    shapes: Shapes,
    geometry: Geometry,
    rules: Rules,
    pairs: Pairs,
    contacts: Encounter,
    one: int,
    other: int,
) -> None:
    """Add the contact points of two shapes, if they may touch, and list the pair if they do."""
    rule = rules.shapes[geometry.group[one], geometry.group[other]]
    kind, other_kind = shapes.kind[one], shapes.kind[other]
    swapped = _SWAPPED[kind, other_kind] == 1
    a, b = (other, one) if swapped else (one, other)
    if rule >= 0 and shapes_close(shapes, a, b, geometry.radius[a], geometry.radius[b]):
        pair, before = pairs.number[0], contacts.number[0]
        pairs.shapes[pair, 0], pairs.shapes[pair, 1] = a, b
        pairs.rule[pair] = rule
        pairs.stiffness[pair] = rules.stiffness[rule]
        pairs.dissipation[pair] = rules.dissipation[rule]
        pairs.friction[pair] = rules.friction[rule]
        pairs.torsional[pair] = rules.torsional[rule]
        pairs.rolling[pair] = rules.rolling[rule]
        routine = _TABLE[kind, other_kind]
        if routine == SPHERE_ANY:
            collide_sphere(shapes, contacts, pair)
        elif routine == BOX_BOX:
            collide_box_box(shapes, contacts, pair)
        elif routine == CONVEX_HALF_SPACE:
            collide_half_space(shapes, contacts, pair)
        else:
            collide_convex(shapes, contacts, pair)
        # There is room for one more pair than for contact points.
        if contacts.number[0] > before and pair + 1 < pairs.rule.shape[0]:
            pairs.number[0] = pair + 1
