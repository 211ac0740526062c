"""The geoms of a MJCF: their sizes, their shapes for contact, and their inertia."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin
import scipy

from contact_core.base.errors import ModelError, choices
from contact_core.model.mesh_file import load_mesh
from contact_core.model.mjcf.document import (
    Document,
    boolean,
    from_z,
    number,
    numbers,
    unit,
    vector,
)
from contact_core.multibody.collision.convex_mesh import hull_to_coal
from contact_core.multibody.collision.shapes import (
    Friction,
    triangles_from_coal,
    triangles_to_coal,
)

# For each type how many numbers its size has.
SIZES = {"plane": 0, "sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3, "mesh": 0}
_BETWEEN = ("capsule", "cylinder", "ellipsoid", "box")  # what can be given by two points
_FITTED = ("sphere", *_BETWEEN)  # what may stand for a mesh
MSH = ".msh"
# How far the surface of the polyhedron that stands for an ellipsoid is from it, as share of its
# half axes: its corners outside, the middles of its faces inside.
FACETED = 0.0144
HIDDEN_GROUPS = 3  # from this one on
CONDIMS = (1, 3, 4, 6)
FRICTION = (1.0, 0.005, 0.0001)  # of a geom that says nothing: sliding, torsional and rolling [m]
PAIR_FRICTION = (1.0, 1.0, 0.005, 0.0001, 0.0001)  # of a pair that says nothing
_VOLUMES = ("legacy", "exact", "convex")


@dataclass(frozen=True)
class Geom:
    """A geom, and what it is fixed to.

    Attributes:
        name: Its name.
        body: Name of its body.
        kind: A key of SIZES.
        size: Its numbers: radius; radius and half length; half extents [m].
        placement: Its pose in its body.
        mass: [kg]; None where density and volume give it.
        density: [kg/m^3].
        group: Number of its group.
        contype: Bits of what it is.
        conaffinity: Bits of what it touches.
        condim: How many directions its contacts have.
        priority: Whose contact parameters hold: those of the greater one.
        friction: Sliding; torsional and rolling [m].
        mesh: Attributes of its mesh; empty for all others.
        partners: Names of geoms that it touches whatever the bits say, each with sliding friction,
            and torsional and rolling friction [m].
        color: (4) red, green, blue, opacity in 0..1.
    """

    name: str
    body: str
    kind: str
    size: np.ndarray
    placement: pin.SE3
    mass: float | None
    density: float
    group: int
    contype: int
    conaffinity: int
    condim: int
    priority: int
    friction: Friction
    mesh: Mapping[str, str]
    color: np.ndarray
    partners: tuple[tuple[str, Friction], ...] = ()

    @property
    def seen(self) -> bool:
        """Whether MuJoCo shows it unless it is asked not to."""
        return self.group < HIDDEN_GROUPS and self.color[3] > 0.0

    @property
    def touches(self) -> bool:
        """Whether it can touch anything."""
        return bool(self.contype or self.conaffinity or self.partners)

    def solid(self) -> coal.CollisionGeometry:
        """Return its shape for contact, in its own frame.

        An ellipsoid becomes a polyhedron of 180 triangles, see FACETED.

        Raises:
            ModelError: If its mesh cannot be read.
        """
        match self.kind:
            case "plane":
                return coal.Halfspace(0.0, 0.0, 1.0, 0.0)
            case "sphere":
                return coal.Sphere(self.size[0])
            case "capsule":
                return coal.Capsule(self.size[0], 2.0 * self.size[1])
            case "cylinder":
                return coal.Cylinder(self.size[0], 2.0 * self.size[1])
            case "box":
                return coal.Box(2.0 * self.size)
            case "mesh" if "file" in self.mesh and not self.mesh["file"].endswith(MSH):
                return self._load()
            case "mesh":
                corners, triangles = self._corners()
                if len(triangles):
                    return triangles_to_coal(corners, triangles)
            case _:
                corners = _ball() * self.size
        return hull_to_coal(corners)

    def inertia(self) -> pin.Inertia:
        """Return its inertia in the frame of its body.

        Raises:
            ModelError: If its mesh cannot be read or has no volume.
        """
        if self.kind == "plane" or self.mass == 0.0:
            return pin.Inertia.Zero()
        local, volume = self._of_density_one()
        mass = self.density * volume if self.mass is None else self.mass
        scaled = pin.Inertia(mass, local.lever, local.inertia * (mass / volume))
        return self.placement.act(scaled)

    def fitted(self, kind: str, scale: float) -> Geom:
        """Return a simple shape in place of a mesh, by the box that has the mesh's inertia.

        Args:
            kind: Which, one that is not a mesh.
            scale: Of its sizes.
        """
        inertia, volume = self._mesh_inertia()
        moments, axes = np.linalg.eigh(inertia.inertia)
        # The longest half of the box is about the axis of the least moment: z.
        moments, axes = moments[::-1], axes[:, ::-1] * np.sign(np.linalg.det(axes[:, ::-1]))
        a, b, c = np.sqrt(1.5 * np.maximum(moments.sum() - 2.0 * moments, 0.0) / volume)
        wide = 0.5 * (a + b)
        size = {
            "sphere": [(a + b + c) / 3.0], "capsule": [wide, max(c - 0.5 * wide, 0.0)],
            "cylinder": [wide, c],
        }.get(kind, [a, b, c])  # fmt: skip
        return replace(
            self, kind=kind, size=scale * np.array(size), mesh={},
            placement=self.placement * pin.SE3(axes, inertia.lever),
        )  # fmt: skip

    def _of_density_one(self) -> tuple[pin.Inertia, float]:
        """Inertia at 1 kg/m^3 in its own frame, and volume [m^3]."""
        if self.kind == "mesh":
            return self._mesh_inertia()
        a, b, c = np.resize(self.size, 3)
        match self.kind:
            case "sphere":
                volume = 4.0 / 3.0 * np.pi * a**3
                return pin.Inertia.FromSphere(volume, a), volume
            case "capsule":
                volume = np.pi * a**2 * (4.0 / 3.0 * a + 2.0 * b)
                return pin.Inertia.FromCapsule(volume, a, 2.0 * b), volume
            case "cylinder":
                volume = 2.0 * np.pi * a**2 * b
                return pin.Inertia.FromCylinder(volume, a, 2.0 * b), volume
            case "ellipsoid":
                volume = 4.0 / 3.0 * np.pi * a * b * c
                return pin.Inertia.FromEllipsoid(volume, a, b, c), volume
        volume = 8.0 * a * b * c
        return pin.Inertia.FromBox(volume, 2.0 * a, 2.0 * b, 2.0 * c), volume

    def _load(self) -> coal.BVHModelBase:
        try:
            return load_mesh(self.mesh["file"], self._scale)
        except (ValueError, RuntimeError) as error:
            raise ModelError(
                f"body '{self.body}': geom '{self.name}': cannot find or read its mesh "
                f"'{self.mesh['file']}' (valid: an STL, OBJ, DAE, glTF or MSH file)"
            ) from error

    @property
    def _scale(self) -> np.ndarray:
        return vector(self.mesh, "scale", 3, "1 1 1")

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """(n, 3) points of the mesh [m], and (m, 3) corners of its triangles; none if not given."""
        name = self.mesh.get("file", "")
        if not name:
            points, corners = numbers(self.mesh, "vertex"), numbers(self.mesh, "face")
            known = np.isin(corners, np.arange(len(points) // 3)).all()
            if len(points) % 3 or len(corners) % 3 or not known:
                raise ModelError(
                    f"mesh '{self.mesh.get('name')}': vertex and face must be triples, of numbers "
                    f"and of corners (valid: 0 to {len(points) // 3 - 1})"
                )
            return points.reshape(-1, 3) * self._scale, corners.astype(np.int64).reshape(-1, 3)
        if name.endswith(MSH) and Path(name).is_file():
            points, corners = _read_msh(Path(name).read_bytes())
            return points * self._scale, corners
        return triangles_from_coal(self._load())

    def _mesh_inertia(self) -> tuple[pin.Inertia, float]:
        """Sum of the tetrahedra between the triangles and the centre of mass."""
        how = self.mesh.get("inertia", "legacy")
        if how not in _VOLUMES:
            raise ModelError(f"geom '{self.name}': inertia='{how}' ({choices(_VOLUMES)})")
        points, corners = self._corners()
        triangles = points[corners] if how != "convex" and len(corners) else self._hull(points)
        normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        middles = triangles.mean(axis=1)

        def volumes(about: np.ndarray) -> np.ndarray:
            signed = np.einsum("ij,ij->i", middles - about, normals) / 6.0
            return np.abs(signed) if how == "legacy" else signed

        areas = np.linalg.norm(normals, axis=1)
        middle = areas @ middles / areas.sum()
        parts = volumes(middle)
        if not abs(parts.sum()) > 0.0:
            raise ModelError(f"geom '{self.name}' is a mesh without a volume, so it has no mass")
        center = parts @ (0.75 * middles + 0.25 * middle) / parts.sum()
        # What is not convex has another volume by the legacy rule if seen from there.
        parts = volumes(center)
        arms = triangles - center
        total = arms.sum(axis=1)
        second = np.einsum("n,nij,nik->jk", parts, arms, arms)
        second = (second + np.einsum("n,nj,nk->jk", parts, total, total)) / 20.0
        # A scale that mirrors turns the triangles inside out.
        second, volume = np.sign(parts.sum()) * second, abs(float(parts.sum()))
        return pin.Inertia(volume, center, np.trace(second) * np.eye(3) - second), volume

    def _hull(self, points: np.ndarray) -> np.ndarray:
        """(n, 3, 3) corners of the triangles of a convex hull, counter-clockwise."""
        try:
            hull = scipy.spatial.ConvexHull(points)
        except (scipy.spatial.QhullError, ValueError) as error:
            raise ModelError(f"geom '{self.name}' is a mesh without a volume") from error
        triangles = points[hull.simplices]
        normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        inward = np.einsum("ij,ij->i", normals, hull.equations[:, :3]) < 0.0
        triangles[inward] = triangles[inward][:, ::-1]
        return triangles


@cache
def _ball() -> np.ndarray:
    """(n, 3) corners about the unit ball: of an icosahedron, its edges divided in three."""
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    corners = np.array([np.roll((0.0, s, t * golden), k) for k in range(3) for s in (-1, 1)
                        for t in (-1, 1)])  # fmt: skip
    shares = np.array([(i, j, 3 - i - j) for i in range(4) for j in range(4 - i)]) / 3.0
    hull = scipy.spatial.ConvexHull(corners)
    points = np.vstack([shares @ corners[face] for face in hull.simplices])
    return (1.0 + FACETED) * points / np.linalg.norm(points, axis=1, keepdims=True)


def _read_msh(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Read MuJoCo's own format: four counts; points, normals, texture; corners of triangles."""
    try:
        points, normals, texture, faces = np.frombuffer(data, "<i4", 4)
        floats = np.frombuffer(data, "<f4", 3 * points, 16)
        skipped = 16 + 4 * int(3 * points + 3 * normals + 2 * texture)
        corners = np.frombuffer(data, "<i4", 3 * faces, skipped)
    except ValueError as error:
        raise ModelError(f"a MSH file of {len(data)} bytes is too short: {error}") from error
    return floats.reshape(-1, 3).astype(float), corners.reshape(-1, 3).astype(np.int64)


def read_geom(
    document: Document,
    attributes: Mapping[str, str],
    body: str,
    name: str,
    frame: pin.SE3,
    meshes: Mapping[str, Mapping[str, str]],
) -> Geom:
    """Read a geom.

    Args:
        document: The file.
        attributes: Of the geom, those of its class included.
        body: Name of its body.
        name: Its name.
        frame: Pose of what it is given in, in its body.
        meshes: Attributes of the meshes by name.

    Raises:
        ModelError: If it is of a type we do not know, or a number is wrong; the message names it.
    """
    kind = attributes.get("type", "sphere")
    where = f"body '{body}': geom '{name}'"
    if kind not in SIZES:
        raise ModelError(f"{where} is of type '{kind}' ({choices(SIZES)})")
    if boolean(attributes, "shellinertia"):
        raise ModelError(f"{where} has shellinertia (valid: false)")
    mesh = attributes.get("mesh")
    fitted = mesh is not None and kind != "mesh"
    if (kind == "mesh" and mesh is None) or (fitted and kind not in _FITTED):
        raise ModelError(f"{where} is of type '{kind}' and has {'a' if mesh else 'no'} mesh")
    if fitted and document.compiler.get("fitaabb") == "true":
        raise ModelError(f"{where} is fitted to a box about its mesh (valid: fitaabb='false')")
    if mesh is not None and mesh not in meshes:
        raise ModelError(f"{where}: no mesh '{mesh}' ({choices(meshes)})")
    try:
        between = "fromto" in attributes and kind in _BETWEEN and not fitted
        count = 0 if fitted else 1 if between else SIZES[kind]
        size = vector(attributes, "size", count, "")
        pose = document.pose(attributes)
        if between:
            ends = vector(attributes, "fromto", 6)
            middle, direction = 0.5 * (ends[:3] + ends[3:]), ends[:3] - ends[3:]
            pose = pin.SE3(from_z(direction), middle)
            half = 0.5 * float(np.linalg.norm(direction))
            size = np.array([*[size[0]] * (SIZES[kind] - 1), half])
        if not (size > 0.0).all():
            raise ModelError(f"size must be > 0 m, got {size}")
        if kind == "ellipsoid" and size.size and (size == size[0]).all():
            kind, size = "sphere", size[:1]
        mass = number(attributes, "mass") if "mass" in attributes else None
        geom = Geom(
            name=name,
            body=body,
            kind="mesh" if fitted else kind,
            size=size,
            placement=frame * pose * _reference(meshes[mesh] if mesh is not None else {}),
            mass=mass,
            density=number(attributes, "density", "1000"),
            group=int(number(attributes, "group", "0")),
            contype=int(number(attributes, "contype", "1")),
            conaffinity=int(number(attributes, "conaffinity", "1")),
            condim=_condim(attributes),
            priority=int(number(attributes, "priority", "0")),
            friction=_friction(attributes),
            mesh=_checked_mesh(meshes[mesh]) if mesh is not None else {},
            color=vector(attributes, "rgba", 4, "0.5 0.5 0.5 1"),
        )
        return geom.fitted(kind, number(attributes, "fitscale", "1")) if fitted else geom
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from error


def pair_friction(attributes: Mapping[str, str], notes: list[str]) -> Friction:
    """Return sliding, torsional and rolling friction of an explicit pair, whatever its geoms have.

    Args:
        attributes: Of the pair, with those of its class.
        notes: Gets what is simulated differently.

    Raises:
        ModelError: If its friction is negative, or there is no such condim.
    """
    condim, given = _condim(attributes), numbers(attributes, "friction")[:5]
    if (given < 0.0).any():
        raise ModelError(f"friction must be >= 0, got {attributes['friction']!r}")
    one, two, torsional, rolling, other = (*map(float, given), *PAIR_FRICTION[len(given) :])
    if (one != two and condim >= CONDIMS[1]) or (rolling != other and condim >= CONDIMS[3]):
        notes.append(f"pair friction='{attributes['friction']}' taken the same all around")
    return (
        one if condim >= CONDIMS[1] else 0.0,
        torsional if condim >= CONDIMS[2] else 0.0,
        rolling if condim >= CONDIMS[3] else 0.0,
    )


def _condim(attributes: Mapping[str, str]) -> int:
    """Return the number of directions of its contacts."""
    condim = int(number(attributes, "condim", "3"))
    if condim not in CONDIMS:
        raise ModelError(f"condim='{attributes['condim']}' ({choices(CONDIMS)})")
    return condim


def _friction(attributes: Mapping[str, str]) -> Friction:
    """Return its friction; what is not given is MuJoCo's default."""
    given = numbers(attributes, "friction")[:3]
    if (given < 0.0).any():
        raise ModelError(f"friction must be >= 0, got {attributes['friction']!r}")
    sliding, torsional, rolling = (*map(float, given), *FRICTION[len(given) :])
    return sliding, torsional, rolling


def _checked_mesh(mesh: Mapping[str, str]) -> Mapping[str, str]:
    """Check that a mesh is one we read."""
    if mesh.get("builtin", "none") != "none":
        raise ModelError(
            f"mesh '{mesh.get('name')}' is builtin='{mesh['builtin']}' (valid: a file or vertices)"
        )
    if "file" not in mesh and "vertex" not in mesh:
        raise ModelError(f"mesh '{mesh.get('name')}' has neither a file nor vertices")
    return mesh


def _reference(mesh: Mapping[str, str]) -> pin.SE3:
    """Pose of a mesh's corners, scaled as they are, in the frame that the geom has for it."""
    scale = vector(mesh, "scale", 3, "1 1 1")
    turn = pin.Quaternion(*unit(vector(mesh, "refquat", 4, "1 0 0 0"))).matrix().T
    if (scale != scale[0]).any() and not np.array_equal(turn, np.eye(3)):
        raise ModelError(f"mesh '{mesh.get('name')}' has a refquat and scales (valid: one scale)")
    return pin.SE3(turn, -turn @ (scale * vector(mesh, "refpos", 3, "0 0 0")))
