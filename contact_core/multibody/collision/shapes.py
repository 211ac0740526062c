"""Collision shapes: primitives and convex meshes, and how a URDF's geometry becomes one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import product

import coal
import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, choices
from contact_core.multibody.collision.convex_mesh import ConvexMesh, hull_to_coal


class ShapeKind(IntEnum):
    """The kinds of shape; the numbers are what kernels branch on."""

    SPHERE = 0
    BOX = 1
    CAPSULE = 2
    CYLINDER = 3
    HALF_SPACE = 4
    MESH = 5


@dataclass(frozen=True)
class Shape:
    """A shape in its own frame; capsules and cylinders lie along z.

    Attributes:
        kind: Which primitive.
        size: Three numbers [m]. Sphere: (radius, 0, 0). Box: half extents. Capsule and
            cylinder: (radius, half length, 0), the capsule's without its caps. Half
            space: unused, the solid is below the plane z = 0. Mesh: half extents of the
            box around it, along its axes.
        mesh: The polyhedron of a mesh; None for all others.
    """

    kind: ShapeKind
    size: tuple[float, float, float] = (0.0, 0.0, 0.0)
    mesh: ConvexMesh | None = None

    @property
    def hull(self) -> ConvexMesh:
        """The polyhedron of a mesh."""
        assert self.mesh is not None
        return self.mesh

    @property
    def bounding_radius(self) -> float:
        """Radius [m] of the sphere about the shape's origin that holds the shape."""
        a, b, _ = self.size
        match self.kind:
            case ShapeKind.SPHERE:
                return a
            case ShapeKind.BOX:
                return float(np.linalg.norm(self.size))
            case ShapeKind.CAPSULE:
                return a + b
            case ShapeKind.CYLINDER:
                return float(np.hypot(a, b))
            case ShapeKind.MESH:
                return float(np.linalg.norm(self.hull.vertices, axis=1).max())
            case ShapeKind.HALF_SPACE:
                return np.inf

    @property
    def balls(self) -> np.ndarray:
        """(n, 4) balls whose convex hull holds the shape: centre and radius [m].

        A half space has none.
        """
        a, b, _ = self.size
        match self.kind:
            case ShapeKind.SPHERE:
                return np.array([[0.0, 0.0, 0.0, a]])
            case ShapeKind.BOX:
                corners = np.array(list(product((-1.0, 1.0), repeat=3))) * self.size
                return np.column_stack([corners, np.zeros(8)])
            case ShapeKind.CAPSULE | ShapeKind.CYLINDER:
                return np.array([[0.0, 0.0, -b, a], [0.0, 0.0, b, a]])
            case ShapeKind.MESH:
                corners = self.hull.vertices
                return np.column_stack([corners, np.zeros(len(corners))])
            case ShapeKind.HALF_SPACE:
                return np.empty((0, 4))

    @property
    def inner_radius(self) -> float:
        """Radius [m] of a ball that is inside the shape; infinite for a half space."""
        a, b, _ = self.size
        match self.kind:
            case ShapeKind.SPHERE | ShapeKind.CAPSULE:
                return a
            case ShapeKind.BOX:
                return float(min(self.size))
            case ShapeKind.CYLINDER:
                return min(a, b)
            case ShapeKind.MESH:
                middle, planes = self.hull.vertices.mean(axis=0), self.hull.planes
                return float((planes[:, 3] - planes[:, :3] @ middle).min())
            case ShapeKind.HALF_SPACE:
                return np.inf

    @property
    def area(self) -> float:
        """Area [m^2] of the surface; infinite for a half space."""
        a, b, c = self.size
        match self.kind:
            case ShapeKind.SPHERE:
                return 4 * np.pi * a**2
            case ShapeKind.BOX:
                return 8 * (a * b + b * c + c * a)
            case ShapeKind.CAPSULE:
                return 4 * np.pi * a * (a + b)
            case ShapeKind.CYLINDER:
                return 2 * np.pi * a * (a + 2 * b)
            case ShapeKind.MESH:
                return self.hull.area
            case ShapeKind.HALF_SPACE:
                return np.inf


Friction = tuple[float, float, float]
"""Sliding friction; torsional and rolling friction [m]."""


@dataclass(frozen=True)
class PlacedShape:
    """A shape rigidly attached to a body.

    Attributes:
        name: Name of the collision element.
        body: Name of the link it belongs to.
        shape: The shape.
        placement: Pose of the shape's frame in the frame of the body it is attached to.
        contype: Bits of what it is.
        conaffinity: Bits of what it touches; two shapes touch if one is what the other touches.
        condim: MuJoCo's number of a contact's directions, see :meth:`friction_with`.
        priority: MuJoCo's, likewise; None where the file is no MJCF.
        stiffness: What its file says of its surface [N/m]; None where it says nothing.
        dissipation: Likewise, Hunt-Crossley d [s/m].
        friction: Likewise, the coefficient.
        torsional: Its own torsional friction [m].
        rolling: Its own rolling friction [m].
        source: What it is called in a MJCF, also if it is a part of that.
        partners: Sources of the same file that it touches whatever the bits say, each with sliding,
            torsional and rolling friction, whatever those of the shapes are.
    """

    name: str
    body: str
    shape: Shape
    placement: pin.SE3
    contype: int = 1
    conaffinity: int = 1
    condim: int = 3
    priority: int | None = None
    stiffness: float | None = None
    dissipation: float | None = None
    friction: float | None = None
    torsional: float = 0.0
    rolling: float = 0.0
    source: str = ""
    partners: tuple[tuple[str, Friction], ...] = ()

    @property
    def own_contact(self) -> tuple[object, ...]:
        """What it says itself of how it touches."""
        return (
            self.condim, self.priority, self.stiffness, self.dissipation, self.friction,
            self.torsional, self.rolling, self.source if self.partners else "", self.partners,
        )  # fmt: skip

    def friction_with(self, other: PlacedShape) -> tuple[float | None, float, float]:
        """Return sliding, torsional and rolling friction with another shape, by MuJoCo's rule.

        They are those of the shape with the greater priority, or else the greater ones, as far as
        condim has them: 1 none, 3 the sliding, 4 the torsional, 6 the rolling. The sliding one is
        None unless both are of a MJCF.
        """
        one, two = self, other
        if self.priority is not None and other.priority is not None:
            one = self if self.priority >= other.priority else other
            two = other if other.priority >= self.priority else self
        condim = max(one.condim, two.condim)
        torsional = max(one.torsional, two.torsional) if condim >= 4 else 0.0
        rolling = max(one.rolling, two.rolling) if condim >= 6 else 0.0
        if None in (one.priority, two.priority) or one.friction is None or two.friction is None:
            return None, torsional, rolling
        return (max(one.friction, two.friction) if condim >= 3 else 0.0), torsional, rolling


def shape_from_coal(geometry: coal.CollisionGeometry, name: str) -> Shape:
    """Convert a Coal geometry, as it is made from a URDF or MJCF.

    Args:
        geometry: The geometry.
        name: Name of the collision element, for the error.

    Returns:
        The shape.

    Raises:
        ModelError: If the geometry is no primitive we know.
    """
    match geometry:
        case coal.Sphere():
            return Shape(ShapeKind.SPHERE, (geometry.radius, 0.0, 0.0))
        case coal.Box():
            x, y, z = geometry.halfSide
            return Shape(ShapeKind.BOX, (x, y, z))
        case coal.Capsule():
            return Shape(ShapeKind.CAPSULE, (geometry.radius, geometry.halfLength, 0.0))
        case coal.Cylinder():
            return Shape(ShapeKind.CYLINDER, (geometry.radius, geometry.halfLength, 0.0))
        case coal.Halfspace() if geometry.d == 0.0 and geometry.n[2] == 1.0:
            return Shape(ShapeKind.HALF_SPACE)
    kinds = [kind.name.lower() for kind in ShapeKind if kind is not ShapeKind.MESH]
    mesh = isinstance(geometry, coal.BVHModelBase | coal.ConvexBase)
    kind = "mesh" if mesh else type(geometry).__name__
    raise ModelError(f"collision '{name}' is a {kind} ({choices(kinds)})")


def triangles_from_coal(
    geometry: coal.BVHModelBase | coal.ConvexBase,
) -> tuple[np.ndarray, np.ndarray]:
    """Return (n, 3) corners of a mesh [m] and (m, 3) those of its triangles.

    Args:
        geometry: The mesh; of one that is convex anyway no triangles are given.
    """
    if isinstance(geometry, coal.ConvexBase):
        return np.array(geometry.points()), np.zeros((0, 3), dtype=np.int64)
    triangles = (geometry.tri_indices(k) for k in range(geometry.num_tris))
    corners = np.array([(t[0], t[1], t[2]) for t in triangles], dtype=np.int64)
    return np.array(geometry.vertices()), corners.reshape(-1, 3)


def triangles_to_coal(points: np.ndarray, triangles: np.ndarray) -> coal.BVHModelBase:
    """Return Coal's mesh.

    Args:
        points: (n, 3) corners [m].
        triangles: (m, 3) corners of its triangles.
    """
    mesh = coal.BVHModelOBBRSS()
    mesh.beginModel(len(triangles), len(points))
    mesh.addVertices(np.asarray(points, dtype=float))
    mesh.addTriangles(np.asarray(triangles, dtype=np.int64))
    mesh.endModel()
    return mesh


def mesh_shape(hull: ConvexMesh) -> Shape:
    """Return the shape of a convex polyhedron."""
    x, y, z = (float(extent) for extent in np.abs(hull.vertices).max(axis=0))
    return Shape(ShapeKind.MESH, (x, y, z), hull)


def shape_to_coal(shape: Shape) -> coal.CollisionGeometry:
    """Convert a shape to Coal's, the oracle of our narrow phase.

    Args:
        shape: The shape.

    Returns:
        Coal's geometry of the same extent.
    """
    a, b, c = shape.size
    match shape.kind:
        case ShapeKind.SPHERE:
            return coal.Sphere(a)
        case ShapeKind.BOX:
            return coal.Box(2 * a, 2 * b, 2 * c)
        case ShapeKind.CAPSULE:
            return coal.Capsule(a, 2 * b)
        case ShapeKind.CYLINDER:
            return coal.Cylinder(a, 2 * b)
        case ShapeKind.MESH:
            return hull_to_coal(shape.hull.vertices)
        case ShapeKind.HALF_SPACE:
            return coal.Halfspace(0.0, 0.0, 1.0, 0.0)
