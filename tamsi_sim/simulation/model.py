"""From URDFs and MJCFs to the engine's flat arrays."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, ModelWarning, choices
from contact_core.model.actuator import Actuator
from contact_core.model.articulation import read_articulation
from contact_core.model.moving_body import JointLaw, Mimic, MovingBody, Tendon
from contact_core.multibody.collision.arrays import MAX_CARRYING, Rules
from contact_core.multibody.collision.manifold import POINTS
from contact_core.multibody.collision.seams import find_neighbours
from contact_core.multibody.collision.shapes import PlacedShape, ShapeKind
from contact_core.multibody.rigid_body.joints import BALL, FREE, PRISMATIC, REVOLUTE, columns_of
from contact_core.robot.description import collision_shapes
from contact_core.robot.scene import Closure, Instance, Link
from contact_core.robot.scene_config import SolverConfig
from contact_core.robot.surface import Material, Surface
from tamsi_sim.arrays.data import Model
from tamsi_sim.simulation.contact_rules import (
    PASS,
    allowed_pairs,
    bearable,
    bearing_stiffness,
    contact_of_shapes,
    find_rules,
    points_of,
    shape_table,
)
from tamsi_sim.simulation.rows import ModelRows

# Files have no stiffness of end stops. They are at least so stiff [Nm/rad and N/m], and give way by
# this much [rad and m] under the effort of their drive, and whatever is in the world, at an arm of
# a metre. They dissipate [s/rad and s/m].
END_STOP_STIFFNESS = {REVOLUTE: 2e4, PRISMATIC: 2e5}
END_STOP_SAG = 2.5e-4
END_STOP_DISSIPATION = 1.0
# How far beyond its range the joint may start that a tendon moves with most [rad or m].
MAX_START = 1e-3
# Contact points that a shape has among many others, for most pairs do not touch at once, and what
# a scene has room for at least.
POINTS_PER_SHAPE, MIN_POINTS = 8, 512
EARTH = (0.0, 0.0, -9.81)
ROUNDED = 1e-3
"""Share of an inertia that rounding may change."""
POINT = 1e-9
"""Share of the greatest moment of inertia below which the least is that of a line, or a point."""
Item = TypeVar("Item")
_APART = "valid: names that differ also where they are INSTANCE/NAME"


@dataclass(frozen=True)
class BuiltModel:
    """The flat arrays with the names that make sense of them.

    Attributes:
        arrays: What the kernels read.
        gravity: (3) of the world, also where a body's weight is compensated [m/s^2].
        q: (nq) initial positions: those of the instances, and the placement of free ones.
        v: (nv) initial velocities.
        efforts: (nv) effort limits of the joints' drives [Nm or N]; infinite if there is none.
        velocities: (nv) velocity limits of the joints [rad/s or m/s]; infinite if there is none.
        joints: Joint name -> degree of freedom; mimic joints have none of their own. Where
            several instances have a joint of one name, they are ``INSTANCE/JOINT``.
        joint_dofs: (instance, joint) -> degree of freedom.
        ball_joints: Name of a ball joint, as above -> (first entry of q, first entry of v).
        actuators: Those of the files, named like the joints -> degree of freedom, or nv and the
            number of the tendon, and actuator.
        tendons: Fixed tendons, named like the joints -> their number in the arrays.
        tendon_efforts: (nd) effort limits of their drives; infinite if there is none.
        free_bodies: Instance name -> (first entry of q, first entry of v); a link on a
            floating joint is ``INSTANCE/JOINT``.
        links: (instance, link) -> its body, -1 for the world, and its pose in that body.
        shapes: The shapes, in the order of the arrays; ``body`` is the link's name.
        instances: For each shape, the name of the instance it belongs to.
        texts: Instance -> its URDF or MJCF.
        closures: The loop closures by name, in the order of the arrays.
    """

    arrays: Model
    gravity: np.ndarray
    q: np.ndarray
    v: np.ndarray
    efforts: np.ndarray
    velocities: np.ndarray
    joints: dict[str, int]
    joint_dofs: dict[tuple[str, str], int]
    ball_joints: dict[str, tuple[int, int]]
    actuators: dict[str, tuple[int, Actuator]]
    tendons: dict[str, int]
    tendon_efforts: np.ndarray
    free_bodies: dict[str, tuple[int, int]]
    links: dict[Link, tuple[int, pin.SE3]]
    shapes: tuple[PlacedShape, ...]
    instances: tuple[str, ...]
    texts: dict[str, str]
    closures: dict[str, Closure]

    def link(self, link: Link) -> tuple[int, pin.SE3]:
        """Return the body of a link, -1 for the world, and the link's pose in it.

        Args:
            link: Instance and link.

        Raises:
            ModelError: If there is no such link.
        """
        if link not in self.links:
            known = ["/".join(names) for names in self.links]
            raise ModelError(f"no link '{'/'.join(link)}' ({choices(known)})")
        return self.links[link]

    @property
    def pairs(self) -> np.ndarray:
        """(np, 2) all pairs of shapes that may touch, each as its routine takes them."""
        geometry = self.arrays.geometry
        kinds = [shape.shape.kind for shape in self.shapes]
        return allowed_pairs(self.arrays.rules, geometry.group, geometry.body, kinds)

    @property
    def quaternions(self) -> list[int]:
        """First entries of q of all quaternions (x, y, z, w)."""
        free = (q + 3 for q, _ in self.free_bodies.values())
        return [*free, *(q for q, _ in self.ball_joints.values())]

    @cached_property
    def most_contacts(self) -> int:
        """How many contact points all pairs together can have: patches and deepest points."""
        meshes = (self.arrays.geometry.kind == ShapeKind.MESH)[self.pairs].sum(axis=1)
        return int(np.sum(POINTS * MAX_CARRYING**meshes + 1))

    def contact_limit(self, solver: SolverConfig) -> int:
        """Return how many contact points a simulation may have.

        Args:
            solver: Settings of the scheme.
        """
        return min(solver.max_contacts or self.most_contacts, self.most_contacts)

    @property
    def usual_contacts(self) -> int:
        """How many contact points to have room for; it grows with the number of shapes."""
        moving = int(np.count_nonzero(self.arrays.geometry.body >= 0))
        return max(MIN_POINTS, POINTS_PER_SHAPE * moving)


def build_model(
    instances: Sequence[Instance],
    surface_of: Callable[[str, str], Surface],
    may_touch: Callable[[Link, Link], bool],
    material_of: Callable[[Link, Link], Material | None] = lambda a, b: None,
    gravity: Sequence[float] = EARTH,
    own: Callable[[str], bool] = lambda instance: True,
) -> BuiltModel:
    """Build the engine's model.

    Args:
        instances: The URDFs and MJCFs.
        surface_of: (instance, link) -> its surface.
        may_touch: Whether two (instance, link) may touch; links that do not move relative
            to each other never do.
        material_of: Contact parameters of two (instance, link), in any order, where those
            that follow from the two surfaces are not meant; None elsewhere.
        gravity: That of the world [m/s^2]; each instance has its own, which may be compensated.
        own: Whether an instance was given its surface. Where two were not, they touch as stiffly as
            the heaviest thing that floats needs, see :func:`bearing_stiffness`.

    Returns:
        The model.

    Raises:
        ModelError: If a body cannot be simulated; the message names it.
    """
    builder = _Builder()
    for instance in instances:
        builder.add(instance)
    return builder.finish(surface_of, may_touch, material_of, gravity, own)


class _Builder:
    """Collects the rows of the arrays, instance by instance."""

    def __init__(self) -> None:
        self.rows = ModelRows()
        self.body_tree: list[int] = []
        self.q: list[float] = []
        self.v: list[float] = []
        self.efforts: list[float] = []
        self.velocities: list[float] = []
        self.actuators: dict[tuple[str, str], Actuator] = {}
        self.tendons: dict[tuple[str, str], int] = {}
        self.tendon_efforts: list[float] = []
        self.links: dict[Link, tuple[int, pin.SE3]] = {}
        self.joint_dofs: dict[tuple[str, str], int] = {}
        self.ball_joints: dict[tuple[str, str], tuple[int, int]] = {}
        # (instance, joint) -> first entry of q, and of v; of those that follow no other.
        self.places: dict[tuple[str, str], tuple[int, int]] = {}
        self.free_bodies: dict[str, tuple[int, int]] = {}
        self.shapes: list[PlacedShape] = []
        self.instances: list[str] = []
        self.texts: dict[str, str] = {}
        # Weights of the instances that float [kg].
        self.floating: dict[str, float] = {}

    def add(self, instance: Instance) -> None:
        """Add one instance: its bodies, joints and shapes."""
        self.texts[instance.name] = instance.urdf
        try:
            articulation = read_articulation(
                instance.urdf, instance.free, instance.repair, instance.kinematic
            )
            if isinstance(instance.positions, str):
                articulation = articulation.at(instance.positions, instance.placement.rotation)
                starts = articulation.start({})
            else:
                starts = articulation.start(instance.positions)
            root = {articulation.bodies[0].joint: instance.twist} if instance.free else {}
            velocities = articulation.velocity({**root, **instance.velocities})
        except ModelError as error:
            raise ModelError(f"{instance.name}: {error}") from error
        first_body = len(self.rows.bodies["parent"])
        first_dof = len(self.rows.joints["q"])
        # A joint may follow one that comes later, so the degrees of freedom come first.
        for body in articulation.bodies:
            if body.kind == FREE:
                own = pin.SE3.Identity() if instance.free else body.placement
                starts[body.joint] = tuple(pin.SE3ToXYZQUAT(instance.placement * own))
            if body.mimic is None:
                self._add_dofs(instance, body, starts[body.joint], velocities[body.joint])
        _warn_if_far(instance, articulation.bodies, starts)
        for body in articulation.bodies:
            self._add_body(instance, body, first_body)
        tied = [
            [self.joint_dofs[instance.name, joint] for joint in tendon.coefficients]
            for tendon in articulation.tendons.values()
        ]
        self._add_trees(articulation.bodies, first_body, first_dof, tied)
        for (name, tendon), dofs in zip(articulation.tendons.items(), tied, strict=True):
            self._add_tendon(instance, name, tendon, dofs)
        if any(body.kind == FREE for body in articulation.bodies) and not instance.kinematic:
            masses = [body.inertia.mass for body in articulation.bodies]
            self.floating[instance.name] = sum(masses)
        for name, actuator in articulation.actuators.items():
            self.actuators[instance.name, name] = actuator
        for link, (number, pose) in articulation.links.items():
            fixed = number < 0
            place = instance.placement * pose if fixed else pose
            self.links[instance.name, link] = -1 if fixed else first_body + number, place
        self._add_shapes(instance)

    def _add_trees(
        self,
        bodies: Sequence[MovingBody],
        first_body: int,
        first_dof: int,
        tied: Sequence[Sequence[int]],
    ) -> None:
        """Add the tree of an instance, and another one from each further floating body on.

        Degrees of freedom that a tendon ties belong to one tree.
        """
        rows = self.rows
        starts = [(first_body, first_dof)]
        # Joints that follow one of another tree would couple both.
        if not any(body.mimic for body in bodies):
            for number, body in enumerate(bodies[1:], first_body + 1):
                if body.kind == FREE:
                    column = rows.bodies["first_column"][number]
                    starts.append((number, rows.bodies["column_dof"][column]))
        firsts = [dof for _, dof in starts]
        if any(len(set(np.searchsorted(firsts, dofs, "right"))) > 1 for dofs in tied):
            starts = starts[:1]
        ends = [*starts[1:], (len(rows.bodies["parent"]), len(rows.joints["q"]))]
        for (start, dof), (end, last_dof) in zip(starts, ends, strict=True):
            if last_dof > dof:
                tree = len(rows.trees["first_dof"])
                rows.trees["first_dof"].append(dof)
                rows.trees["of_dof"] += [tree] * (last_dof - dof)
                rows.trees["elimination"] += self._elimination(start, end, dof, last_dof)
                self.body_tree += [tree] * (end - start)

    def _elimination(self, first: int, last: int, dof: int, last_dof: int) -> list[int]:
        """Order the degrees of freedom of a tree: its bodies from first, to before last."""
        bodies = self.rows.bodies
        # Two fingers that one degree of freedom moves are one branch.
        children = {(bodies["parent"][b], bodies["q_index"][b]) for b in range(first, last)}
        branches = Counter(parent for parent, _ in children if parent >= first)
        dofs = list(range(dof, last_dof))
        return dofs[::-1] if max(branches.values(), default=0) > 1 else dofs

    def _add_dofs(
        self,
        instance: Instance,
        body: MovingBody,
        start: Sequence[float],
        velocity: Sequence[float],
    ) -> None:
        """Add the degrees of freedom of a joint that follows no other."""
        rows, law, key = self.rows, body.law, (instance.name, body.joint)
        q, dof = self.places[key] = len(self.q), len(rows.joints["q"])
        if body.kind == FREE:
            name = instance.name if instance.free else f"{instance.name}/{body.joint}"
            if name in self.free_bodies:
                raise ModelError(f"two bodies that float are '{name}' ({_APART})")
            self.free_bodies[name] = q, dof
        elif body.kind == BALL:
            self.ball_joints[key] = q, dof
        else:
            self.joint_dofs[key] = dof
        count = columns_of(body.kind)
        stop = END_STOP_STIFFNESS.get(body.kind, 0.0), END_STOP_DISSIPATION
        _add_laws(rows.joints, law, q if key in self.joint_dofs else -1, *stop, count)
        self.efforts += [law.effort] * count
        self.velocities += [law.velocity] * count
        self.q += start
        self.v += velocity

    def _add_body(self, instance: Instance, body: MovingBody, first_body: int) -> None:
        rows = self.rows
        parent = body.parent + first_body if body.parent >= 0 else -1
        placement, mimic = body.placement, body.mimic
        if parent < 0 and not instance.free:
            placement = instance.placement * placement
        q_index, dof = self.places[instance.name, mimic.master if mimic else body.joint]
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
        rows.inertias["gravity"].append(body.weight * np.array(instance.gravity))
        rows.bodies["first_column"].append(len(rows.bodies["column_dof"]))
        column_parent = rows.bodies["last_column"][parent] if parent >= 0 else -1
        for k in range(columns_of(body.kind)):
            rows.bodies["column_dof"].append(dof + k)
            rows.bodies["column_parent"].append(column_parent)
            column_parent = len(rows.bodies["column_dof"]) - 1
        rows.bodies["last_column"].append(column_parent)

    def _add_tendon(
        self, instance: Instance, name: str, tendon: Tendon, dofs: Sequence[int]
    ) -> None:
        """Add a tendon of some degrees of freedom; its spring is another one where it has slack."""
        rows, law, held = self.rows, tendon.law, np.isinf(tendon.law.stiffness)
        entry = np.array(list(tendon.coefficients.values()))
        scale = float(np.abs(entry).max())
        place = np.array(rows.joints["q"])[dofs]
        start = tendon.offset + float(entry @ np.array(self.q)[place])
        lower, upper = (law.rest, law.rest) if held else (law.lower, law.upper)
        if max(lower - start, start - upper) > MAX_START * scale:
            wrong = f"{instance.name}: tendon '{name}' starts at {start:g}"
            wrong += f" (valid: {lower:g})" if held else f" (valid: {lower:g} to {upper:g})"
            if not instance.repair:
                raise ModelError(wrong)
            warnings.warn(f"{wrong}: taken as valid", ModelWarning, stacklevel=4)
            law = replace(
                law, rest=start if held else law.rest, lower=min(start, law.lower),
                upper=max(start, law.upper),
            )  # fmt: skip
        self.tendons[instance.name, name] = len(rows.tendon_laws["q"])
        parts = [(law, 0.0, END_STOP_DISSIPATION / scale)]
        if tendon.slack > 0.0 and law.stiffness > 0.0:
            spring = JointLaw(lower=law.rest, upper=law.rest + tendon.slack)
            parts = [(replace(law, stiffness=0.0), *parts[0][1:]), (spring, law.stiffness, 0.0)]
        for part, stiffness, dissipation in parts:
            _add_laws(rows.tendon_laws, part, -1, stiffness, dissipation)
            self.tendon_efforts.append(part.effort)
            rows.tendons["tree"].append(rows.trees["of_dof"][dofs[0]])
            rows.tendons["dof"].append(dofs)
            rows.tendons["entry"].append(entry)
            rows.tendons["columns"].append(len(dofs))
            rows.tendons["offset"].append(tendon.offset)
            rows.tendons["scale"].append(scale)

    def _add_spring(self, dof: int, mimic: Mimic, law: JointLaw) -> None:
        """Add the spring of a joint that follows another one to that one's."""
        stiffness, springs = mimic.ratio**2 * law.stiffness, self.rows.joints["stiffness"]
        if stiffness > 0.0:
            rests, total = self.rows.joints["rest"], springs[dof] + stiffness
            rest = (law.rest - mimic.offset) / mimic.ratio
            rests[dof] = (springs[dof] * rests[dof] + stiffness * rest) / total
            springs[dof] = total

    def _add_shapes(self, instance: Instance) -> None:
        try:
            shapes = collision_shapes(
                instance.urdf, True, instance.repair, instance.decompose, instance.simplify
            )
        except ModelError as error:
            raise ModelError(f"{instance.name}: {error}") from error
        for placed in shapes:
            if not instance.own_surfaces:
                placed = replace(placed, stiffness=None, dissipation=None, friction=None)
            body, pose = self.links[instance.name, placed.body]
            placement = pose * placed.placement
            if body >= 0 and placed.shape.kind == ShapeKind.HALF_SPACE:
                raise ModelError(
                    f"{instance.name}: link '{placed.body}': '{placed.name}' is a plane (valid: on "
                    "what is fixed)"
                )
            self.rows.geometry["kind"].append(int(placed.shape.kind))
            mesh = placed.shape.mesh
            self.rows.geometry["size"].append(
                placed.shape.size if mesh is None else (len(self.rows.meshes), 0.0, 0.0)
            )
            if mesh is not None:
                self.rows.meshes.append(mesh)
            self.rows.geometry["body"].append(body)
            self.rows.geometry["tree"].append(self.body_tree[body] if body >= 0 else -1)
            self.rows.geometry["rotation"].append(placement.rotation)
            self.rows.geometry["position"].append(placement.translation)
            self.rows.geometry["radius"].append(placed.shape.bounding_radius)
            self.shapes.append(placed)
            self.instances.append(instance.name)

    def finish(
        self,
        surface_of: Callable[[str, str], Surface],
        may_touch: Callable[[Link, Link], bool],
        material_of: Callable[[Link, Link], Material | None],
        gravity: Sequence[float],
        own: Callable[[str], bool],
    ) -> BuiltModel:
        """Add the pairs of shapes and turn the rows into arrays."""
        self.rows.trees["first_dof"].append(len(self.rows.joints["q"]))
        self.rows.closures["first"] = [0] * len(self.rows.trees["first_dof"])
        self._stiffen_end_stops(float(np.linalg.norm(gravity)))
        table, materials = self._pair_shapes(surface_of, may_touch, material_of, gravity, own)
        rules = self._add_rules(table, materials)
        joints = [*self.joint_dofs, *self.ball_joints]
        places = self.joint_dofs | {key: len(self.v) + t for key, t in self.tendons.items()}
        actuators = {
            (instance, name): (places[instance, actuator.joint], actuator)
            for (instance, name), actuator in self.actuators.items()
        }
        return BuiltModel(
            arrays=self.rows.arrays(rules),
            gravity=np.array(gravity, dtype=float),
            q=np.array(self.q),
            v=np.array(self.v),
            efforts=np.array(self.efforts),
            velocities=np.array(self.velocities),
            joints=_unique_names(self.joint_dofs, joints),
            joint_dofs=self.joint_dofs,
            ball_joints=_unique_names(self.ball_joints, joints),
            actuators=_unique_names(actuators, actuators),
            tendons=_unique_names(self.tendons, self.tendons),
            tendon_efforts=np.array(self.tendon_efforts),
            free_bodies=self.free_bodies,
            links=self.links,
            shapes=tuple(self.shapes),
            instances=tuple(self.instances),
            texts=self.texts,
            closures={},
        )

    def _pair_shapes(
        self,
        surface_of: Callable[[str, str], Surface],
        may_touch: Callable[[Link, Link], bool],
        material_of: Callable[[Link, Link], Material | None],
        gravity: Sequence[float],
        own: Callable[[str], bool],
    ) -> tuple[np.ndarray, list[Material]]:
        """Return which material each pair of shapes has, and warn of what sinks through another."""
        links = [(i, s.body) for i, s in zip(self.instances, self.shapes, strict=True)]
        earth = float(np.linalg.norm(gravity))
        heaviest = earth * max(self.floating.values(), default=0.0)
        needed = [
            None
            if own(link[0]) or s.stiffness is not None
            else bearing_stiffness(heaviest, s.shape)
            for link, s in zip(links, self.shapes, strict=True)
        ]
        sinking: set[tuple[str, str]] = set()

        def contact_of(a: int, b: int) -> Material | None:
            pair = links[a], links[b]
            if not may_touch(*pair):
                return None
            surfaces, given = (surface_of(*pair[0]), surface_of(*pair[1])), material_of(*pair)
            shapes, (one, other) = (self.shapes[a], self.shapes[b]), (needed[a], needed[b])
            material = contact_of_shapes(given, surfaces, *shapes, pair[0][0] == pair[1][0])
            if given is None and one is not None and other is not None:
                enough = max(one, other) / points_of(shapes)
                return material._replace(stiffness=max(material.stiffness, enough))
            weight = earth * max(self.floating.get(link[0], 0.0) for link in pair)
            if weight > bearable(material.stiffness, shapes):
                sinking.add((pair[0][0], pair[1][0]))
            return material

        bodies = np.array(self.rows.geometry["body"], dtype=np.int64)
        table, materials = shape_table(self.shapes, links, bodies, contact_of, needed)
        if sinking:
            pairs = ", ".join(f"'{a}' and '{b}'" for a, b in sorted(sinking))
            warnings.warn(
                f"too heavy for their stiffness, one of them sinks through the other: {pairs}",
                ModelWarning,
                stacklevel=3,
            )
        return table, materials

    def _add_rules(self, table: np.ndarray, materials: list[Material]) -> Rules:
        """Add which groups of shapes and hulls touch, and which faces have neighbours."""
        geometry = self.rows.geometry
        bodies = np.array(geometry["body"], dtype=np.int64)
        group, hull_group, rules = find_rules(table, materials, bodies, self._add_hulls())
        poses = list(zip(geometry["rotation"], geometry["position"], strict=True))
        shapes = [s.shape for s in self.shapes]
        first, neighbours = find_neighbours(shapes, bodies, poses, table != PASS)
        geometry["group"] = group.tolist()
        geometry["first_neighbour"] = first.tolist()
        geometry["neighbour"] = neighbours.tolist()
        self.rows.hulls["group"] = hull_group.tolist()
        return rules

    def _stiffen_end_stops(self, gravity: float) -> None:
        """Let the joints' end stops bear what drives and weights can load them with."""
        stiffness = self.rows.joints["limit_stiffness"]
        weight = gravity * sum(self.rows.inertias["mass"])
        for dof, effort in enumerate(self.efforts):
            if stiffness[dof] > 0.0:
                load = weight + (effort if np.isfinite(effort) else 0.0)
                stiffness[dof] = max(stiffness[dof], load / END_STOP_SAG)
        laws, tendons = self.rows.tendon_laws["limit_stiffness"], self.rows.tendons
        for t, (dofs, scale) in enumerate(zip(tendons["dof"], tendons["scale"], strict=True)):
            # As stiff as those of its joints; that of a spring with slack is the spring.
            if laws[t] == 0.0:
                effort = self.tendon_efforts[t]
                load = scale * effort if np.isfinite(effort) else 0.0
                stiffest = max(stiffness[dof] for dof in dofs)
                laws[t] = (stiffest + load / END_STOP_SAG) / scale**2

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
            thickness = min(self.shapes[s].shape.inner_radius for s in hull)
            rows.hulls["thickness"].append(thickness)
            rows.hulls["shape"].append(hull[0] if len(hull) == 1 else -1)
            rows.hulls["first_shape"].append(len(rows.hulls["shapes"]))
            rows.hulls["shapes"] += hull
        rows.hulls["first_shape"].append(len(rows.hulls["shapes"]))
        return hulls


def _warn_if_far(
    instance: Instance, bodies: Sequence[MovingBody], starts: Mapping[str, Sequence[float]]
) -> None:
    """Warn where rounding takes part of an inertia: it counts about the origin of the world."""
    places = [np.array(starts[body.joint][:3]) for body in bodies if body.kind == FREE]
    away = max(float(np.linalg.norm(x)) for x in (instance.placement.translation, *places))
    lost = 0.0
    for body in bodies:
        least, _, greatest = np.linalg.eigvalsh(body.inertia.inertia)
        if least > POINT * greatest:
            share = np.finfo(float).eps * body.inertia.mass * away**2 / least
            lost = max(lost, float(share))
    if lost > ROUNDED:
        warnings.warn(
            f"{instance.name}: {away:.3g} m from the world's origin rounding changes its inertia "
            f"by up to {lost:.1%} (valid: nearer, with the origin where things move)",
            ModelWarning,
            stacklevel=5,
        )


def _add_laws(
    rows: Mapping[str, list[float]],
    law: JointLaw,
    q: int,
    limit_stiffness: float,
    limit_dissipation: float,
    count: int = 1,
) -> None:
    """Add the same law to the rows a number of times; q is the entry of its coordinate."""
    row = {
        "q": q,
        "armature": law.armature,
        "damping": law.damping,
        "friction": law.friction,
        "static_excess": 0.0,
        "stribeck_velocity": 1.0,
        "presliding_stiffness": 0.0,
        "stiffness": law.stiffness,
        "rest": law.rest,
        "lower": law.lower,
        "upper": law.upper,
        "limit_stiffness": limit_stiffness,
        "limit_dissipation": limit_dissipation,
    }
    for field, entries in rows.items():
        entries += [row[field]] * count


def _unique_names(
    owned: Mapping[tuple[str, str], Item], among: Collection[tuple[str, str]]
) -> dict[str, Item]:
    """Name things of several instances, those of the same name by their instances, too.

    Raises:
        ModelError: If two are called the same then.
    """
    count = Counter(name for _, name in among)
    names = {key: key[1] if count[key[1]] == 1 else "/".join(key) for key in among}
    for name, owners in Counter(names.values()).items():
        if owners > 1:
            raise ModelError(f"{owners} joints, actuators or tendons are '{name}' ({_APART})")
    return {names[key]: item for key, item in owned.items()}
