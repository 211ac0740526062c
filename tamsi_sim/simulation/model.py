"""From URDFs and MJCFs to the engine's flat arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pinocchio as pin

from contact_core.articulation import JointLaw, Mimic, MovingBody, read_articulation
from contact_core.collision.arrays import Geometry, Hulls, Pairs
from contact_core.collision.convex_mesh import ConvexMesh, Meshes
from contact_core.collision.manifold import POINTS
from contact_core.collision.narrow_phase import routine_of
from contact_core.collision.shapes import PlacedShape, ShapeKind
from contact_core.description import collision_shapes
from contact_core.errors import ModelError
from contact_core.rigid_body.arrays import Bodies, Inertias, Joints, Trees
from contact_core.rigid_body.joints import FREE, PRISMATIC, REVOLUTE
from contact_core.scene import Closure, Instance, Link
from contact_core.surface import Material, Surface, check_contact, combine
from tamsi_sim.arrays.data import Closures, Model

# URDF has no stiffness of end stops: these give way by some degrees or millimetres at the
# greatest effort of an arm's joints [Nm/rad and N/m], and dissipate [s/rad and s/m].
END_STOP_STIFFNESS = {REVOLUTE: 2e3, PRISMATIC: 1e4}
END_STOP_DISSIPATION = 1.0
# Contact points of one pair of shapes, at most: a patch, and its deepest point. Most pairs do
# not touch at once; these are what a shape has among many others, counted once, and what a
# scene has room for at least.
POINTS_PER_PAIR, POINTS_PER_SHAPE, LEAST_POINTS = POINTS + 1, 32, 512
_FREE_DOF = {"q": -1, "lower": -np.inf, "upper": np.inf}


@dataclass(frozen=True)
class BuiltModel:
    """The flat arrays with the names that make sense of them.

    Attributes:
        arrays: What the kernels read.
        q: (nq) initial positions: those of the instances, and the placement of free ones.
        efforts: (nv) effort limits of the joints' drives [Nm or N]; infinite if there is none.
        velocities: (nv) velocity limits of the joints [rad/s or m/s]; infinite if there is none.
        springs: (nv) stiffness of the joints' springs [Nm/rad or N/m].
        rests: (nv) positions at which the springs exert nothing [rad or m].
        joints: Joint name -> degree of freedom; mimic joints have none of their own. Where
            several instances have a joint of one name, they are ``INSTANCE/JOINT``.
        joint_dofs: (instance, joint) -> degree of freedom.
        free_bodies: Instance name -> (first entry of q, first entry of v); a link on a
            floating joint is ``INSTANCE/JOINT``.
        links: (instance, link) -> its body, -1 for the world, and its pose in that body.
        shapes: The shapes, in the order of the arrays; ``body`` is the link's name.
        instances: For each shape, the name of the instance it belongs to.
        closures: The loop closures by name, in the order of the arrays.
    """

    arrays: Model
    q: np.ndarray
    efforts: np.ndarray
    velocities: np.ndarray
    springs: np.ndarray
    rests: np.ndarray
    joints: dict[str, int]
    joint_dofs: dict[tuple[str, str], int]
    free_bodies: dict[str, tuple[int, int]]
    links: dict[Link, tuple[int, pin.SE3]]
    shapes: tuple[PlacedShape, ...]
    instances: tuple[str, ...]
    closures: dict[str, Closure]

    @property
    def most_contacts(self) -> int:
        """How many contact points all pairs together can have."""
        return POINTS_PER_PAIR * len(self.arrays.pairs.routine)

    @property
    def usual_contacts(self) -> int:
        """How many contact points to have room for; it grows with the number of shapes."""
        moving = int(np.count_nonzero(self.arrays.geometry.body >= 0))
        return max(LEAST_POINTS, POINTS_PER_SHAPE * moving)


def build_model(
    instances: Sequence[Instance],
    surface_of: Callable[[str, str], Surface],
    may_touch: Callable[[Link, Link], bool],
    material_of: Callable[[Link, Link], Material | None] = lambda a, b: None,
) -> BuiltModel:
    """Build the engine's model.

    Args:
        instances: The URDFs and MJCFs.
        surface_of: (instance, link) -> its surface.
        may_touch: Whether two (instance, link) may touch; links that do not move relative
            to each other never do.
        material_of: Contact parameters of two (instance, link), in any order, where those
            that follow from the two surfaces are not meant; None elsewhere.

    Returns:
        The model.

    Raises:
        ModelError: If a body cannot be simulated; the message names it.
    """
    builder = _Builder()
    for instance in instances:
        builder.add(instance)
    return builder.finish(surface_of, may_touch, material_of)


def leave_out(built: BuiltModel, apart: Callable[[int, int], bool]) -> BuiltModel:
    """Return a model with fewer pairs of shapes.

    Args:
        built: The model.
        apart: Whether two shapes, by their numbers, are not to touch.
    """
    arrays = built.arrays
    kept = np.array([not apart(int(a), int(b)) for a, b in arrays.pairs.shapes], dtype=bool)
    ends = np.concatenate([[0], np.cumsum(kept)])[arrays.hulls.pair_end]
    some = np.diff(ends, prepend=0) > 0
    pairs = Pairs(*(field[kept] for field in arrays.pairs))
    hulls = arrays.hulls._replace(pair=arrays.hulls.pair[some], pair_end=ends[some])
    return replace(built, arrays=arrays._replace(pairs=pairs, hulls=hulls))


class _Builder:
    """Collects the rows of the arrays, instance by instance."""

    def __init__(self) -> None:
        self.rows = _Rows()
        self.body_tree: list[int] = []
        self.q: list[float] = []
        self.efforts: list[float] = []
        self.velocities: list[float] = []
        self.springs: list[float] = []
        self.rests: list[float] = []
        self.links: dict[Link, tuple[int, pin.SE3]] = {}
        self.joint_dofs: dict[tuple[str, str], int] = {}
        self.free_joints: dict[tuple[str, str], tuple[int, int]] = {}
        self.free_bodies: dict[str, tuple[int, int]] = {}
        self.shapes: list[PlacedShape] = []
        self.instances: list[str] = []

    def add(self, instance: Instance) -> None:
        """Add one instance: its bodies, joints and shapes."""
        try:
            articulation = read_articulation(
                instance.urdf, instance.free, instance.repair, instance.kinematic
            )
            if isinstance(instance.positions, str):
                articulation = articulation.at(instance.positions)
                positions = articulation.start({})
            else:
                positions = articulation.start(instance.positions)
        except ModelError as error:
            raise ModelError(f"{instance.name}: {error}") from error
        first_body = len(self.rows.bodies["parent"])
        first_dof = len(self.rows.joints["q"])
        # A joint may follow one that comes later, so the degrees of freedom come first.
        for body in articulation.bodies:
            if body.kind == FREE:
                self._add_free_dofs(instance, body)
            elif body.mimic is None:
                self._add_dof(instance, body, positions[body.joint])
        for body in articulation.bodies:
            self._add_body(instance, body, first_body)
        self._add_trees(articulation.bodies, first_body, first_dof)
        for link, (number, pose) in articulation.links.items():
            fixed = number < 0
            place = instance.placement * pose if fixed else pose
            self.links[instance.name, link] = -1 if fixed else first_body + number, place
        self._add_shapes(instance)

    def _add_trees(self, bodies: Sequence[MovingBody], first_body: int, first_dof: int) -> None:
        """Add the tree of an instance, and another one from each further floating body on."""
        rows = self.rows
        starts = [(first_body, first_dof)]
        # Joints that follow one of another tree would couple both.
        if not any(body.mimic for body in bodies):
            for number, body in enumerate(bodies[1:], first_body + 1):
                if body.kind == FREE:
                    column = rows.bodies["first_column"][number]
                    starts.append((number, rows.bodies["column_dof"][column]))
        ends = [*starts[1:], (len(rows.bodies["parent"]), len(rows.joints["q"]))]
        for (start, dof), (end, last_dof) in zip(starts, ends, strict=True):
            if last_dof > dof:
                tree = len(rows.trees["first_dof"])
                rows.trees["first_dof"].append(dof)
                rows.trees["of_dof"] += [tree] * (last_dof - dof)
                self.body_tree += [tree] * (end - start)

    def _add_free_dofs(self, instance: Instance, body: MovingBody) -> None:
        rows = self.rows
        name = instance.name if instance.free else f"{instance.name}/{body.joint}"
        pose = instance.placement if instance.free else instance.placement * body.placement
        self.free_bodies[name] = (len(self.q), len(rows.joints["q"]))
        self.free_joints[instance.name, body.joint] = self.free_bodies[name]
        self.q += list(pin.SE3ToXYZQUAT(pose))
        row = {**_FREE_DOF, "armature": body.law.armature}
        for field, entries in rows.joints.items():
            entries += [row.get(field, 0.0)] * 6
        self.efforts += [np.inf] * 6
        self.velocities += [np.inf] * 6
        self.springs += [0.0] * 6
        self.rests += [0.0] * 6

    def _add_dof(self, instance: Instance, body: MovingBody, position: float) -> None:
        rows, law = self.rows, body.law
        self.joint_dofs[instance.name, body.joint] = len(rows.joints["q"])
        rows.joints["q"].append(len(self.q))
        rows.joints["armature"].append(law.armature)
        rows.joints["damping"].append(law.damping)
        rows.joints["friction"].append(law.friction)
        rows.joints["lower"].append(law.lower)
        rows.joints["upper"].append(law.upper)
        rows.joints["limit_stiffness"].append(END_STOP_STIFFNESS[body.kind])
        rows.joints["limit_dissipation"].append(END_STOP_DISSIPATION)
        self.efforts.append(law.effort)
        self.velocities.append(law.velocity)
        self.springs.append(law.stiffness)
        self.rests.append(law.rest)
        self.q.append(position)

    def _add_body(self, instance: Instance, body: MovingBody, first_body: int) -> None:
        rows, key = self.rows, (instance.name, body.joint)
        parent = body.parent + first_body if body.parent >= 0 else -1
        placement, mimic = body.placement, body.mimic
        if parent < 0 and not instance.free:
            placement = instance.placement * placement
        if body.kind == FREE:
            q_index, dof = self.free_joints[key]
        else:
            dof = self.joint_dofs[instance.name, mimic.master if mimic else body.joint]
            q_index = rows.joints["q"][dof]
        if mimic:
            # Its own coordinate moves ratio times as fast, and so do losses and rotor.
            rows.joints["armature"][dof] += mimic.ratio**2 * body.law.armature
            rows.joints["damping"][dof] += mimic.ratio**2 * body.law.damping
            rows.joints["friction"][dof] += abs(mimic.ratio) * body.law.friction
            self._add_spring(dof, mimic, body.law)
        rows.bodies["parent"].append(parent)
        rows.bodies["joint_type"].append(body.kind)
        rows.bodies["joint_axis"].append(body.axis)
        rows.bodies["joint_rotation"].append(placement.rotation)
        rows.bodies["joint_position"].append(placement.translation)
        rows.bodies["joint_ratio"].append(mimic.ratio if mimic else 1.0)
        rows.bodies["joint_offset"].append(mimic.offset if mimic else 0.0)
        rows.bodies["q_index"].append(q_index)
        rows.inertias["mass"].append(body.inertia.mass)
        rows.inertias["center"].append(body.inertia.lever)
        rows.inertias["inertia"].append(body.inertia.inertia)
        rows.inertias["gravity"].append(instance.gravity)
        rows.bodies["first_column"].append(len(rows.bodies["column_dof"]))
        column_parent = rows.bodies["last_column"][parent] if parent >= 0 else -1
        for k in range(6 if body.kind == FREE else 1):
            rows.bodies["column_dof"].append(dof + k)
            rows.bodies["column_parent"].append(column_parent)
            column_parent = len(rows.bodies["column_dof"]) - 1
        rows.bodies["last_column"].append(column_parent)

    def _add_spring(self, dof: int, mimic: Mimic, law: JointLaw) -> None:
        """Add the spring of a joint that follows another one to that one's."""
        stiffness = mimic.ratio**2 * law.stiffness
        if stiffness > 0.0:
            rest, total = (law.rest - mimic.offset) / mimic.ratio, self.springs[dof] + stiffness
            moment = self.springs[dof] * self.rests[dof] + stiffness * rest
            self.springs[dof], self.rests[dof] = total, moment / total

    def _add_shapes(self, instance: Instance) -> None:
        try:
            shapes = collision_shapes(instance.urdf, True, instance.repair)
        except ModelError as error:
            raise ModelError(f"{instance.name}: {error}") from error
        for placed in shapes:
            body, pose = self.links[instance.name, placed.body]
            placement = pose * placed.placement
            self.rows.geometry["kind"].append(int(placed.shape.kind))
            mesh = placed.shape.mesh
            self.rows.geometry["size"].append(
                placed.shape.size if mesh is None else (self._add_mesh(mesh), 0.0, 0.0)
            )
            self.rows.geometry["body"].append(body)
            self.rows.geometry["tree"].append(self.body_tree[body] if body >= 0 else -1)
            self.rows.geometry["rotation"].append(placement.rotation)
            self.rows.geometry["position"].append(placement.translation)
            self.rows.geometry["radius"].append(placed.shape.bounding_radius)
            self.shapes.append(placed)
            self.instances.append(instance.name)

    def _add_mesh(self, mesh: ConvexMesh) -> int:
        """Add a mesh; return its index."""
        rows = self.rows
        first = len(rows.meshes["vertex"])
        rows.meshes["first_vertex"].append(first)
        rows.meshes["first_face"].append(len(rows.meshes["plane"]))
        rows.meshes["vertex"] += list(mesh.vertices)
        rows.meshes["plane"] += list(mesh.planes)
        for face in mesh.faces:
            rows.meshes["first_corner"].append(len(rows.meshes["corner"]))
            rows.meshes["corner"] += list(face + first)
        return len(rows.meshes["first_vertex"]) - 1

    def finish(
        self,
        surface_of: Callable[[str, str], Surface],
        may_touch: Callable[[Link, Link], bool],
        material_of: Callable[[Link, Link], Material | None],
    ) -> BuiltModel:
        """Add the pairs of shapes and turn the rows into arrays."""
        self.rows.trees["first_dof"].append(len(self.rows.joints["q"]))
        self.rows.closures["first"] = [0] * len(self.rows.trees["first_dof"])
        self.rows.meshes["first_vertex"].append(len(self.rows.meshes["vertex"]))
        self.rows.meshes["first_face"].append(len(self.rows.meshes["plane"]))
        self.rows.meshes["first_corner"].append(len(self.rows.meshes["corner"]))
        links = [(i, s.body) for i, s in zip(self.instances, self.shapes, strict=True)]
        hulls = self._add_hulls()
        for i, hull_a in enumerate(hulls):
            for j in range(i + 1, len(hulls)):
                before = len(self.rows.pairs["shapes"])
                for a in hull_a:
                    for b in hulls[j]:
                        if self._may_meet(a, b) and may_touch(links[a], links[b]):
                            material = material_of(links[a], links[b]) or self._material(
                                a, b, combine(surface_of(*links[a]), surface_of(*links[b]))
                            )
                            self._add_pair(a, b, material)
                end = len(self.rows.pairs["shapes"])
                if end > before:
                    self.rows.hulls["pair"].append((i, j))
                    self.rows.hulls["pair_end"].append(end)
        return BuiltModel(
            arrays=self.rows.arrays(),
            q=np.array(self.q),
            efforts=np.array(self.efforts),
            velocities=np.array(self.velocities),
            springs=np.array(self.springs),
            rests=np.array(self.rests),
            joints=self._joint_names(),
            joint_dofs=self.joint_dofs,
            free_bodies=self.free_bodies,
            links=self.links,
            shapes=tuple(self.shapes),
            instances=tuple(self.instances),
            closures={},
        )

    def _joint_names(self) -> dict[str, int]:
        """Name the joints, those of the same name by their instances, too."""
        count = Counter(joint for _, joint in self.joint_dofs)
        return {
            joint if count[joint] == 1 else f"{instance}/{joint}": dof
            for (instance, joint), dof in self.joint_dofs.items()
        }

    def _may_meet(self, a: int, b: int) -> bool:
        """Whether two shapes move relative to each other, and may touch by their own bits."""
        moves = self.rows.geometry["body"][a] != self.rows.geometry["body"][b]
        return bool(moves) and self.shapes[a].may_touch(self.shapes[b])

    def _material(self, a: int, b: int, surfaces: Material) -> Material:
        """Parameters of the contact of two shapes: of their surfaces, and of their own."""
        torsional, rolling = self.shapes[a].moments(self.shapes[b])
        return surfaces._replace(
            torsional=max(surfaces.torsional, torsional), rolling=max(surfaces.rolling, rolling)
        )

    def _add_hulls(self) -> list[list[int]]:
        """Add the hulls, moving ones first; return their shapes."""
        rows = self.rows
        bodies = rows.geometry["body"]
        moving = [body for body in range(len(rows.bodies["parent"])) if body in bodies]
        hulls = [[s for s, b in enumerate(bodies) if b == body] for body in moving]
        hulls += [[s] for s, b in enumerate(bodies) if b < 0]
        for hull in hulls:
            positions = np.array([rows.geometry["position"][s] for s in hull])
            center = 0.5 * (positions.min(axis=0) + positions.max(axis=0))
            reach = np.linalg.norm(positions - center, axis=1)
            radius = np.max(reach + [rows.geometry["radius"][s] for s in hull])
            rows.hulls["body"].append(bodies[hull[0]])
            rows.hulls["center"].append(center)
            rows.hulls["radius"].append(radius)
            rows.hulls["shape"].append(hull[0] if len(hull) == 1 else -1)
        return hulls

    def _add_pair(self, a: int, b: int, material: Material) -> None:
        kinds = (ShapeKind(self.rows.geometry["kind"][shape]) for shape in (a, b))
        try:
            routine, swapped = routine_of(*kinds)
        except ModelError as error:
            names = f"'{self.shapes[a].name}' and '{self.shapes[b].name}'"
            raise ModelError(f"{names}: {error}") from error
        links = (f"{self.instances[i]}/{self.shapes[i].body}" for i in (a, b))
        check_contact(material, " and ".join(links))
        self.rows.pairs["shapes"].append((b, a) if swapped else (a, b))
        self.rows.pairs["routine"].append(routine)
        self.rows.pairs["stiffness"].append(material.stiffness)
        self.rows.pairs["dissipation"].append(material.dissipation)
        self.rows.pairs["friction"].append(material.friction)
        self.rows.pairs["torsional"].append(material.torsional)
        self.rows.pairs["rolling"].append(material.rolling)


# Arrays that hold indices; all others hold numbers.
_INDICES: dict[type, set[str]] = {
    Bodies: {
        "parent", "joint_type", "q_index", "first_column", "last_column", "column_dof",
        "column_parent",
    },
    Joints: {"q"},
    Trees: {"first_dof", "of_dof"},
    Geometry: {"kind", "body", "tree"},
    Hulls: {"body", "shape", "pair", "pair_end"},
    Meshes: {"corner", "first_vertex", "first_face", "first_corner"},
    Pairs: {"shapes", "routine"},
    Closures: {"body", "tree", "first"},
}  # fmt: skip
# Shape of one row, so that an empty array has the right number of dimensions too.
_ROWS: dict[type, dict[str, tuple[int, ...]]] = {
    Bodies: {"joint_axis": (3,), "joint_rotation": (3, 3), "joint_position": (3,)},
    Inertias: {"center": (3,), "inertia": (3, 3), "gravity": (3,)},
    Geometry: {"size": (3,), "rotation": (3, 3), "position": (3,)},
    Hulls: {"center": (3,), "pair": (2,)},
    Meshes: {"vertex": (3,), "plane": (4,)},
    Pairs: {"shapes": (2,)},
    Closures: {
        "body": (2,), "tree": (2,), "position": (2, 3), "rotation": (2, 3, 3), "stiffness": (2,),
    },
}  # fmt: skip


class _Rows:
    """The rows of the arrays, by selection and field."""

    def __init__(self) -> None:
        self.bodies = _fields(Bodies)
        self.inertias = _fields(Inertias)
        self.joints = _fields(Joints)
        self.trees = _fields(Trees)
        self.geometry = _fields(Geometry)
        self.hulls = _fields(Hulls)
        self.meshes = _fields(Meshes)
        self.pairs = _fields(Pairs)
        # Closures need poses at the start, so they are added to the model: none yet.
        self.closures = _fields(Closures)

    def arrays(self) -> Model:
        """Turn the rows into arrays."""
        return Model(
            Bodies(**_arrays(Bodies, self.bodies)),
            Inertias(**_arrays(Inertias, self.inertias)),
            Joints(**_arrays(Joints, self.joints)),
            Trees(**_arrays(Trees, self.trees)),
            Geometry(**_arrays(Geometry, self.geometry)),
            Hulls(**_arrays(Hulls, self.hulls)),
            Meshes(**_arrays(Meshes, self.meshes)),
            Pairs(**_arrays(Pairs, self.pairs)),
            Closures(**_arrays(Closures, self.closures)),
        )


def _fields(selection: Any) -> dict[str, list[Any]]:
    return {name: [] for name in selection._fields}


def _arrays(selection: type, fields: dict[str, list[Any]]) -> dict[str, np.ndarray]:
    arrays = {}
    for name, rows in fields.items():
        kind = np.int64 if name in _INDICES.get(selection, set()) else np.float64
        shape = _ROWS.get(selection, {}).get(name, ())
        arrays[name] = np.array(rows, dtype=kind).reshape(len(rows), *shape)
    return arrays
