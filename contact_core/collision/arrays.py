"""What kernels read of collision shapes, and what they compute.

Sizes: nb moving bodies, ns shapes, np pairs of shapes, nh hulls, nc contact points.

A hull is what the broad phase sees: a sphere about all shapes of a moving body, or about one
fixed shape.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_core.collision.convex_mesh import MAX_FACES, Meshes

# Sizes of the narrow phase's scratch: corners of a polygon, two faces of meshes clipped
# against each other at most; corners, triangles and edges of a Polytope.
MAX_CORNERS = 2 * MAX_FACES
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
    """

    kind: np.ndarray
    size: np.ndarray
    body: np.ndarray
    tree: np.ndarray
    rotation: np.ndarray
    position: np.ndarray
    radius: np.ndarray


class Hulls(NamedTuple):
    """Spheres about shapes, and which of them may meet.

    Attributes:
        body: (nh) body, -1 for the world.
        center: (nh, 3) in the body's frame [m].
        radius: (nh) [m].
        shape: (nh) its shape, -1 if it has several.
        pair: (nhp, 2) hulls A and B; a fixed one is B.
        pair_end: (nhp) the pair of shapes behind the last one of these two hulls.
    """

    body: np.ndarray
    center: np.ndarray
    radius: np.ndarray
    shape: np.ndarray
    pair: np.ndarray
    pair_end: np.ndarray


class Pairs(NamedTuple):
    """Pairs of shapes that may touch.

    Attributes:
        shapes: (np, 2) shapes A and B, sorted by their hulls.
        routine: (np) entry of the narrow phase's table.
        stiffness: (np) k [N/m].
        dissipation: (np) d [s/m].
        friction: (np) mu.
        torsional: (np) moment about the normal per normal force [m].
        rolling: (np) moment about the tangents per normal force [m].
    """

    shapes: np.ndarray
    routine: np.ndarray
    stiffness: np.ndarray
    dissipation: np.ndarray
    friction: np.ndarray
    torsional: np.ndarray
    rolling: np.ndarray


class ShapePoses(NamedTuple):
    """Where shapes and hulls are in the world.

    Attributes:
        rotation: (ns, 3, 3) of the shapes.
        position: (ns, 3) [m].
        hull: (nh, 3) centres of the hulls [m].
    """

    rotation: np.ndarray
    position: np.ndarray
    hull: np.ndarray


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

    number: np.ndarray
    pair: np.ndarray
    depth: np.ndarray
    point: np.ndarray
    frame: np.ndarray
    stiffness: np.ndarray


class Polytope(NamedTuple):
    """A polytope inside the Minkowski difference of two shapes, B - A.

    Attributes:
        point: (n, 6) its corners, and the points of A they come from [m].
        corner: (m, 3) corners of its triangles, counter-clockwise as seen from outside.
        plane: (m, 4) their outward unit normals and distances from the origin [m].
        edge: (l, 2) border of the triangles that a new corner replaces.
    """

    point: np.ndarray
    corner: np.ndarray
    plane: np.ndarray
    edge: np.ndarray


class Scratch(NamedTuple):
    """Room in which a pair of shapes is collided.

    Attributes:
        clip: (3, n, 3) polygons.
        polytope: For general convex shapes.
    """

    clip: np.ndarray
    polytope: Polytope


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
        clip: (3, n, 3) see Scratch.
        polytope: See Scratch.
    """

    pair_shapes: np.ndarray
    pair_stiffness: np.ndarray
    number: np.ndarray
    pair: np.ndarray
    depth: np.ndarray
    stiffness: np.ndarray
    point: np.ndarray
    frame: np.ndarray
    clip: np.ndarray
    polytope: Polytope
