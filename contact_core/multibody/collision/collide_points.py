"""Spheres against a shape, and how a contact point is written down."""

from __future__ import annotations

from contact_core.base.kernel import inlined_kernel, inner_kernel
from contact_core.multibody.collision.arrays import NORMAL, Encounter, Shapes
from contact_core.multibody.collision.convex_mesh import mesh_distance
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.multibody.collision.signed_distance import signed_distance

MESH = int(ShapeKind.MESH)


@inlined_kernel
def add_contact(
    contacts: Encounter,
    pair: int,
    depth: float,
    n: tuple[float, float, float],
    p: tuple[float, float, float],
    weight: float,
) -> None:
    """Append a contact point if there is room for it.

    Args:
        contacts: Gets the point; the count grows beyond the arrays' length if they are full,
            which the stepper reports.
        pair: The pair of shapes.
        depth: Penetration [m], positive.
        n: Unit normal from B into A, world.
        p: Point midway between the witness points, world [m].
        weight: Share of the pair's stiffness this point has.
    """
    c = contacts.number[0]
    contacts.number[0] = c + 1
    if c >= contacts.depth.shape[0]:
        return
    contacts.pair[c] = pair
    contacts.depth[c] = depth
    contacts.stiffness[c] = weight * contacts.pair_stiffness[pair]
    for i in range(3):
        contacts.point[c, i] = p[i]
        contacts.frame[c, NORMAL, i] = n[i]


@inlined_kernel
def turn_to_shape(
    shapes: Shapes, shape: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Return a direction of the world in a shape's frame."""
    r = shapes.rotation[shape]
    return (
        r[0, 0] * x + r[1, 0] * y + r[2, 0] * z,
        r[0, 1] * x + r[1, 1] * y + r[2, 1] * z,
        r[0, 2] * x + r[1, 2] * y + r[2, 2] * z,
    )


@inlined_kernel
def to_shape(
    shapes: Shapes, shape: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Return the coordinates of a world point in a shape's frame."""
    p = shapes.position[shape]
    return turn_to_shape(shapes, shape, x - p[0], y - p[1], z - p[2])


@inlined_kernel
def turn_to_world(
    shapes: Shapes, shape: int, x: float, y: float, z: float
) -> tuple[float, float, float]:
    """Return a direction of a shape's frame in the world."""
    r = shapes.rotation[shape]
    return (
        r[0, 0] * x + r[0, 1] * y + r[0, 2] * z,
        r[1, 0] * x + r[1, 1] * y + r[1, 2] * z,
        r[2, 0] * x + r[2, 1] * y + r[2, 2] * z,
    )


@inlined_kernel
def probe(
    shapes: Shapes, shape: int, x: float, y: float, z: float
) -> tuple[float, float, float, float]:
    """Return the signed distance of a world point to a shape, and the normal in the world.

    Args:
        shapes: The shapes and their poses.
        shape: The shape.
        x: First coordinate of the point [m].
        y: Second coordinate.
        z: Third coordinate.

    Returns:
        (distance [m], unit outward normal).
    """
    a, b, c = to_shape(shapes, shape, x, y, z)
    kind, size = shapes.kind[shape], shapes.size[shape]
    if kind == MESH:
        distance, nx, ny, nz = mesh_distance(shapes.meshes, int(size[0]), a, b, c)
    else:
        distance, nx, ny, nz = signed_distance(kind, size, a, b, c)
    wx, wy, wz = turn_to_world(shapes, shape, nx, ny, nz)
    return distance, wx, wy, wz


@inlined_kernel
def collide_ball(
    shapes: Shapes,
    contacts: Encounter,
    pair: int,
    side: int,
    radius: float,
    x: float,
    y: float,
    z: float,
) -> float:
    """Add the contact of a ball of one shape with the pair's other shape.

    Args:
        shapes: The shapes and their poses.
        contacts: Gets the contact, if there is one.
        pair: The pair of shapes.
        side: 0 if the ball belongs to shape A, 1 if to B.
        radius: Its radius [m].
        x: First coordinate of its centre in the world [m].
        y: Second coordinate.
        z: Third coordinate.

    Returns:
        The penetration [m], negative if they are apart.
    """
    other = contacts.pair_shapes[pair, 1 - side]
    distance, nx, ny, nz = probe(shapes, other, x, y, z)
    depth = radius - distance
    if depth < 0.0:
        return depth
    # Midway between the ball's deepest point and its image on the other surface.
    back = radius - 0.5 * depth
    point = (x - back * nx, y - back * ny, z - back * nz)
    sign = 1.0 - 2.0 * side
    add_contact(contacts, pair, depth, (sign * nx, sign * ny, sign * nz), point, 1.0)
    return depth


@inlined_kernel
def collide_sphere(shapes: Shapes, contacts: Encounter, pair: int) -> None:
    """Sphere A against any shape B."""
    a = contacts.pair_shapes[pair, 0]
    p = shapes.position[a]
    collide_ball(shapes, contacts, pair, 0, shapes.size[a, 0], p[0], p[1], p[2])


@inner_kernel
def local_point(
    shapes: Shapes, shape: int, u: float, v: float, w: float
) -> tuple[float, float, float]:
    """Return the world coordinates of a point of a shape's frame."""
    p, r = shapes.position[shape], shapes.rotation[shape]
    return (
        p[0] + r[0, 0] * u + r[0, 1] * v + r[0, 2] * w,
        p[1] + r[1, 0] * u + r[1, 1] * v + r[1, 2] * w,
        p[2] + r[2, 0] * u + r[2, 1] * v + r[2, 2] * w,
    )
