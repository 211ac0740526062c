"""Where shapes touch: poses of shapes, culling, and the table of pair routines.

A new pair of shapes needs one routine, one name, one entry of ROUTINES, and one branch.
"""

from __future__ import annotations

from contact_stack.core.errors import ModelError, choices
from contact_stack.core.shapes import ShapeKind
from contact_stack.core.signed_distance import signed_distance
from tamsi_sim.borrowing import inner_kernel
from tamsi_sim.collide_boxes import collide_box_box, collide_box_half_space
from tamsi_sim.collide_points import collide_sphere, to_shape
from tamsi_sim.collide_segments import (
    collide_capsule_box,
    collide_capsule_capsule,
    collide_capsule_cylinder,
    collide_capsule_half_space,
    collide_cylinder_box,
    collide_cylinder_cylinder,
    collide_cylinder_half_space,
)
from tamsi_sim.data import CONTACT_COUNT, Contacts, Model, Shapes, Work

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

_BOX = int(ShapeKind.BOX)
_HALF_SPACE = int(ShapeKind.HALF_SPACE)

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


@inner_kernel
def update_contacts(model: Model, work: Work) -> int:
    """Find all contact points.

    Args:
        model: The model.
        work: Reads the bodies' poses; writes the shapes' poses and the contacts' pair,
            depth, point, normal and stiffness.

    Returns:
        The number of contact points; more than the workspace holds if it overflowed.
    """
    place_shapes(model, work)
    work.counters[CONTACT_COUNT] = 0
    shapes = Shapes(model.shape_kind, model.shape_size, work.shape_rotation, work.shape_position)
    contacts = Contacts(
        model.pair_shapes,
        model.pair_stiffness,
        work.counters,
        work.contact_pair,
        work.contact_depth,
        work.contact_stiffness,
        work.contact_point,
        work.contact_frame,
        work.clip,
    )
    for pair in range(model.pair_routine.shape[0]):
        a, b = model.pair_shapes[pair, 0], model.pair_shapes[pair, 1]
        if not _close(shapes, a, b, model.shape_radius[a], model.shape_radius[b]):
            continue
        routine = model.pair_routine[pair]
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
        else:
            collide_cylinder_cylinder(shapes, contacts, pair)
    return work.counters[CONTACT_COUNT]


@inner_kernel
def place_shapes(model: Model, work: Work) -> None:
    """Compute the pose of every shape in the world."""
    for shape in range(model.shape_kind.shape[0]):
        body = model.shape_body[shape]
        rotation, position = work.shape_rotation[shape], work.shape_position[shape]
        local, offset = model.shape_rotation[shape], model.shape_position[shape]
        if body < 0:
            for i in range(3):
                position[i] = offset[i]
                for j in range(3):
                    rotation[i, j] = local[i, j]
            continue
        r, p = work.rotation[body], work.position[body]
        for i in range(3):
            position[i] = p[i] + r[i, 0] * offset[0] + r[i, 1] * offset[1] + r[i, 2] * offset[2]
            for j in range(3):
                rotation[i, j] = (
                    r[i, 0] * local[0, j] + r[i, 1] * local[1, j] + r[i, 2] * local[2, j]
                )


@inner_kernel
def _close(shapes: Shapes, a: int, b: int, radius_a: float, radius_b: float) -> bool:
    """Whether the bounding spheres touch, or A's bounding sphere touches the solid B."""
    pa, pb = shapes.position[a], shapes.position[b]
    kind = shapes.kind[b]
    if kind != _HALF_SPACE:
        x, y, z = pa[0] - pb[0], pa[1] - pb[1], pa[2] - pb[2]
        reach = radius_a + radius_b
        if x * x + y * y + z * z > reach * reach:
            return False
        if kind != _BOX:
            return True
    # A table top is much smaller than its bounding sphere.
    x, y, z = to_shape(shapes, b, pa[0], pa[1], pa[2])
    distance, _, _, _ = signed_distance(kind, shapes.size[b], x, y, z)
    return distance <= radius_a
