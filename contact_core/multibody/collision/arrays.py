"""What kernels read of collision shapes, and what they compute.

Sizes: nb moving bodies, ns shapes, np pairs of shapes in contact, nh hulls, nk pairs of hulls that
may be close, nc contact points.

A hull is what the broad phase sees: a sphere about all shapes of a moving body, or about one
fixed shape.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from contact_core.base.kernel import kernel
from contact_core.multibody.collision.convex_mesh import MAX_FACES, Meshes

# Sizes of the narrow phase's scratch: faces of a mesh that carry together; corners of a polygon,
# two faces of meshes clipped against each other at most; corners, triangles and edges of a
# Polytope.
MAX_CORNERS = 2 * MAX_FACES
MAX_CARRYING = 8
MAX_POINTS = 96
MAX_TRIANGLES = 2 * MAX_POINTS
MAX_EDGES = 3 * MAX_POINTS

# Row of Contacts.frame that holds the normal; the others are the tangents.
NORMAL = 2


class Geometry(NamedTuple):
    """Collision shapes as they are attached to bodies.

    Attributes:
        kind: (ns) ShapeKind.
        size: (ns, 3), see Shape.size; the first number of a mesh is its index.
        body: (ns) body, -1 for the world.
        tree: (ns) tree, -1 for the world.
        rotation: (ns, 3, 3) in the body's frame.
        position: (ns, 3) [m].
        radius: (ns) bounding radius [m].
        group: (ns) of shapes that touch the same others, see Rules.
        first_neighbour: (ns + 1) first entry of neighbour that is a shape's.
        neighbour: (n) shapes that touch a shape and do not move against it.
    """

    kind: Annotated[np.ndarray, int, "ns"]
    size: Annotated[np.ndarray, float, "ns", 3]
    body: Annotated[np.ndarray, int, "ns"]
    tree: Annotated[np.ndarray, int, "ns"]
    rotation: Annotated[np.ndarray, float, "ns", 3, 3]
    position: Annotated[np.ndarray, float, "ns", 3]
    radius: Annotated[np.ndarray, float, "ns"]
    group: Annotated[np.ndarray, int, "ns"]
    first_neighbour: Annotated[np.ndarray, int, "ns + 1"]
    neighbour: Annotated[np.ndarray, int, "n"]


class Hulls(NamedTuple):
    """Spheres about shapes, those of moving bodies first.

    Attributes:
        body: (nh) body, -1 for the world.
        center: (nh, 3) in the body's frame [m].
        radius: (nh) [m].
        thickness: (nh) radius of the ball inside its thinnest shape [m].
        shape: (nh) its shape, -1 if it has several.
        group: (nh) of hulls that touch the same others, see Rules.
        first_shape: (nh + 1) first entry of shapes that is a hull's.
        shapes: (ns) the shapes, hull by hull.
    """

    body: Annotated[np.ndarray, int, "nh"]
    center: Annotated[np.ndarray, float, "nh", 3]
    radius: Annotated[np.ndarray, float, "nh"]
    thickness: Annotated[np.ndarray, float, "nh"]
    shape: Annotated[np.ndarray, int, "nh"]
    group: Annotated[np.ndarray, int, "nh"]
    first_shape: Annotated[np.ndarray, int, "nh + 1"]
    shapes: Annotated[np.ndarray, int, "ns"]


class Rules(NamedTuple):
    """What may touch, by groups; shapes of one body never do.

    Attributes:
        shapes: (ng, ng) which parameters the contact of two groups of shapes has, -1 if they
            pass through each other.
        hulls: (n, n) whether any shapes of two groups of hulls may touch.
        stiffness: (nm) k [N/m].
        dissipation: (nm) d [s/m].
        friction: (nm) mu.
        torsional: (nm) moment about the normal per normal force [m].
        rolling: (nm) moment about the tangents per normal force [m].
        restitution: (nm) share of an impact's speed that comes back.
    """

    shapes: np.ndarray
    hulls: np.ndarray
    stiffness: np.ndarray
    dissipation: np.ndarray
    friction: np.ndarray
    torsional: np.ndarray
    rolling: np.ndarray
    restitution: np.ndarray


class SweptHulls(NamedTuple):
    """The broad phase: hulls in the order in which a plane sweeps over them.

    Attributes:
        number: (1) how many pairs of hulls are close; more than nk if they did not fit.
        order: (nh) hulls by their lower ends.
        ends: (nh, 2) lower and upper end of each hull along the plane's normal [m].
        close: (nk, 2) hulls whose spheres overlap, in no order.
        first: (nh + 1) first entry of partner that is a hull's.
        partner: (nk) hulls close to a hull that come behind it, in their order.
    """

    number: Annotated[np.ndarray, int, 1]
    order: Annotated[np.ndarray, int, "nh"]
    ends: Annotated[np.ndarray, float, "nh", 2]
    close: Annotated[np.ndarray, int, "nk", 2]
    first: Annotated[np.ndarray, int, "nh + 1"]
    partner: Annotated[np.ndarray, int, "nk"]


class Pairs(NamedTuple):
    """Pairs of shapes in contact.

    Attributes:
        number: (1) how many there are.
        shapes: (np, 2) shapes A and B.
        rule: (np) their entry of the rules' parameters.
        stiffness: (np) k [N/m].
        dissipation: (np) d [s/m].
        friction: (np) mu.
        torsional: (np) moment about the normal per normal force [m].
        rolling: (np) moment about the tangents per normal force [m].
        speed: (np) at which they met, where that matters [m/s].
    """

    number: Annotated[np.ndarray, int, 1]
    shapes: Annotated[np.ndarray, int, "np", 2]
    rule: Annotated[np.ndarray, int, "np"]
    stiffness: Annotated[np.ndarray, float, "np"]
    dissipation: Annotated[np.ndarray, float, "np"]
    friction: Annotated[np.ndarray, float, "np"]
    torsional: Annotated[np.ndarray, float, "np"]
    rolling: Annotated[np.ndarray, float, "np"]
    speed: Annotated[np.ndarray, float, "np"]


class ShapePoses(NamedTuple):
    """Where shapes and hulls are in the world.

    Attributes:
        rotation: (ns, 3, 3) of the shapes.
        position: (ns, 3) [m].
        hull: (nh, 3) centres of the hulls [m].
    """

    rotation: Annotated[np.ndarray, float, "ns", 3, 3]
    position: Annotated[np.ndarray, float, "ns", 3]
    hull: Annotated[np.ndarray, float, "nh", 3]


class Contacts(NamedTuple):
    """Contact points.

    Attributes:
        number: (1) how many there are; more than nc if they did not fit.
        pair: (nc) pair of shapes.
        depth: (nc) penetration delta [m].
        point: (nc, 3) midway between the witness points [m].
        frame: (nc, 3, 3) rows: two tangents, normal from B into A.
        stiffness: (nc) k [N/m].
    """

    number: Annotated[np.ndarray, int, 1]
    pair: Annotated[np.ndarray, int, "nc"]
    depth: Annotated[np.ndarray, float, "nc"]
    point: Annotated[np.ndarray, float, "nc", 3]
    frame: Annotated[np.ndarray, float, "nc", 3, 3]
    stiffness: Annotated[np.ndarray, float, "nc"]


class Polytope(NamedTuple):
    """A polytope inside the Minkowski difference of two shapes, B - A.

    Attributes:
        point: (n, 6) its corners, and the points of A they come from [m].
        corner: (m, 3) corners of its triangles, counter-clockwise as seen from outside.
        plane: (m, 4) their outward unit normals and distances from the origin [m].
        edge: (l, 2) border of the triangles that a new corner replaces.
    """

    point: Annotated[np.ndarray, float, MAX_POINTS, 6]
    corner: Annotated[np.ndarray, int, MAX_TRIANGLES, 3]
    plane: Annotated[np.ndarray, float, MAX_TRIANGLES, 4]
    edge: Annotated[np.ndarray, int, MAX_EDGES, 2]


@kernel
def allocate_polytope() -> Polytope:
    """Return room for a polytope; also for kernels that own their scratch."""
    return Polytope(
        np.zeros((MAX_POINTS, 6)),
        np.zeros((MAX_TRIANGLES, 3), dtype=np.int64),
        np.zeros((MAX_TRIANGLES, 4)),
        np.zeros((MAX_EDGES, 2), dtype=np.int64),
    )


class Scratch(NamedTuple):
    """Room in which a pair of shapes is collided.

    Attributes:
        face: (2, n) faces of A's and B's mesh that may carry.
        part: (2, n) of what both carry.
        clip: (3, n, 3) polygons.
        polytope: For general convex shapes.
        start: (nh + 1) first pair of each hull with those behind it.
        first: (np + 1) first contact of each pair.
        gone: (nc) 1 for contacts of seams.
        share: (np) of its stiffness that a pair at a seam has.
    """

    face: Annotated[np.ndarray, int, 2, MAX_CARRYING]
    part: Annotated[np.ndarray, float, 2, MAX_CARRYING]
    clip: Annotated[np.ndarray, float, 3, MAX_CORNERS, 3]
    polytope: Polytope
    start: Annotated[np.ndarray, int, "nh + 1"]
    first: Annotated[np.ndarray, int, "np + 1"]
    gone: Annotated[np.ndarray, int, "nc"]
    share: Annotated[np.ndarray, float, "np"]


class Shapes(NamedTuple):
    """Collision shapes and their poses in the world: what a pair routine reads.

    Attributes:
        kind: (ns) ShapeKind.
        size: (ns, 3), see Geometry.size.
        rotation: (ns, 3, 3)
        position: (ns, 3) [m].
        meshes: The convex meshes.
    """

    kind: np.ndarray
    size: np.ndarray
    rotation: np.ndarray
    position: np.ndarray
    meshes: Meshes


class Encounter(NamedTuple):
    """Pairs of shapes and where their contacts go: what a pair routine writes.

    Attributes:
        pair_shapes: (np, 2) see Pairs.shapes.
        pair_stiffness: (np) see Pairs.stiffness.
        number: (1) see Contacts, as all that follow.
        pair: (nc)
        depth: (nc) [m].
        stiffness: (nc) [N/m].
        point: (nc, 3) [m].
        frame: (nc, 3, 3), of which the normal.
        face: (2, n) see Scratch, as all that follow.
        part: (2, n)
        clip: (3, n, 3)
        polytope:
    """

    pair_shapes: np.ndarray
    pair_stiffness: np.ndarray
    number: np.ndarray
    pair: np.ndarray
    depth: np.ndarray
    stiffness: np.ndarray
    point: np.ndarray
    frame: np.ndarray
    face: np.ndarray
    part: np.ndarray
    clip: np.ndarray
    polytope: Polytope
