"""What a simulation looks like now: poses, energy, penetrations, warnings.

Questions are answered in a workspace of their own, so that the results of the last step
stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import product

import coal
import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, choices
from contact_core.model.articulation import UNMOVED
from contact_core.multibody.collision.shapes import PlacedShape, ShapeKind, shape_to_coal
from contact_core.multibody.rigid_body.arrays import Joints
from contact_core.robot.scene import Link
from contact_core.robot.scene_config import SolverConfig
from tamsi_sim.arrays.data import PAIRS, Work
from tamsi_sim.arrays.settings import scheme_settings
from tamsi_sim.arrays.simulation import make_simulation
from tamsi_sim.arrays.workspace import (
    body_pose,
    copy_shear,
    dense_mass_matrix,
    enlarge,
    make_work,
    mass_blocks,
    more_room,
    room_of,
)
from tamsi_sim.scheme.stepper import evaluate_now
from tamsi_sim.simulation.model import BuiltModel
from tamsi_sim.simulation.tendons import tendon_length

# A pair of shapes that starts deeper than this share of the thinner one was placed by mistake.
MAX_START = 0.25


@dataclass(frozen=True)
class Energy:
    """Mechanical energy [J]; dissipation takes from it, drives and applied forces change it.

    Attributes:
        kinetic: 1/2 v^T M v, effective rotor inertias included, kinematic bodies left out.
        potential: Of the bodies' weights, zero where their centres are at the world's origin.
        elastic: 1/2 k delta^2 over the contacts, and over the springs of joints, tendons, end
            stops, joint friction and loop closures. While a ball presses at a fixed step h, it
            swings by up to h w / 4 of the energy of its impact, w^2 = k / m, which is kept from
            before that to after it.
    """

    kinetic: float
    potential: float
    elastic: float

    @property
    def total(self) -> float:
        """Their sum."""
        return self.kinetic + self.potential + self.elastic


class WarningKind(Enum):
    """What may be wrong with a simulation that runs; the value is the remedy."""

    DEEP_PENETRATION = "raise the stiffness, or lower the force or the speed of the impact"
    TOO_FAST = "the joint is beyond the velocity limit of its URDF: slow its command down"
    MAY_PASS = (
        "the body moves by more in a step than it is thick, and may pass what is thin: choose an "
        "accuracy, or a smaller time_step"
    )
    CONTACTS_NEARLY_FULL = "raise max_contacts: a step fails when there are more"


@dataclass(frozen=True)
class Warning:
    """A finding about the current state.

    Attributes:
        kind: What, with its remedy.
        subject: The pair of shapes, the joint or the body.
        value: Penetration [m], speed [rad/s or m/s], motion in a step [m], or number of contacts.
        limit: What it should stay below.
    """

    kind: WarningKind
    subject: str
    value: float
    limit: float


@dataclass(frozen=True)
class Penetration:
    """The deepest contact of two shapes.

    Attributes:
        a: Shape A.
        b: Shape B.
        shapes: Their numbers.
        subject: Their names, with their instances.
        depth: [m].
        thickness: Smallest extent of the thinner shape [m].
    """

    a: PlacedShape
    b: PlacedShape
    shapes: tuple[int, int]
    subject: str
    depth: float
    thickness: float


@dataclass(frozen=True)
class Distance:
    """Where two things are closest.

    Attributes:
        distance: Between their surfaces [m], negative where they are inside each other.
        shape_a: The collision shape of the first.
        shape_b: That of the second.
        point_a: (3) on the surface of the first, world [m].
        point_b: (3) on that of the second.
    """

    distance: float
    shape_a: str
    shape_b: str
    point_a: np.ndarray
    point_b: np.ndarray


class Observer:
    """Answers questions about the current state of a simulation."""

    def __init__(
        self, built: BuiltModel, observed: Work, solver: SolverConfig, time_step: float
    ) -> None:
        """Allocate a workspace.

        Args:
            built: The model.
            observed: Workspace of the simulation.
            solver: Settings of its scheme.
            time_step: h [s].
        """
        self._built, self._solver, self._state = built, solver, observed.state
        self._deflection, self._shear = observed.joint_forces.deflection, observed.shear
        self._settings = scheme_settings(solver, time_step)
        self._work = make_work(built.arrays, len(observed.state.q), room_of(observed), 1)
        self._simulation = make_simulation(built.arrays, self._work, self._settings)

    def _evaluate(self) -> int:
        """Bring the workspace to the engine's state; return the number of contact points."""
        state = self._work.state
        state.q[:], state.v[:] = self._state
        # Where bodies were put by hand, nothing is remembered.
        copy_shear(self._shear, self._work.shear)
        if (self._shear.q != state.q).any():
            self._work.shear.number[:] = 0
        count = int(evaluate_now(self._simulation))
        while count > len(self._work.contacts.depth):
            room = more_room(self._work, self._built.contact_limit(self._solver))
            if room is None:
                return len(self._work.contacts.depth)
            self._work = enlarge(self._work, self._built.arrays, room)
            self._simulation = make_simulation(self._built.arrays, self._work, self._settings)
            count = int(evaluate_now(self._simulation))
        return count

    def pose(self, instance: str, link: str | None = None) -> pin.SE3:
        """Return the pose of a link in the world.

        Args:
            instance: The instance.
            link: Its link; the first one if None.

        Raises:
            ModelError: If there is no such instance or link.
        """
        if link is None:
            link = next((name for owner, name in self._built.links if owner == instance), "")
        body, placement = self._built.link((instance, link))
        self._evaluate()
        return body_pose(self._work, body) * placement

    def poses(self) -> dict[Link, pin.SE3]:
        """Return the poses of all links in the world, by instance and link."""
        self._evaluate()
        return {
            link: body_pose(self._work, body) * placement
            for link, (body, placement) in self._built.links.items()
        }

    def distance(self, a: str, b: str) -> Distance:
        """Return where two instances or links are closest, by Coal; also if they may not touch.

        Args:
            a: ``INSTANCE`` or ``INSTANCE/LINK``.
            b: The other one.

        Raises:
            ModelError: If there is no such instance or link, or it has no collision shape.
        """
        self._evaluate()
        poses, best, request = self._work.poses, None, coal.DistanceRequest()
        for i, j in product(self._shapes_of(a), self._shapes_of(b)):
            first, second = (coal.Transform3s(poses.rotation[s], poses.position[s]) for s in (i, j))
            found = coal.DistanceResult()
            coal.distance(self._solids[i], first, self._solids[j], second, request, found)
            if best is None or found.min_distance < best.distance:
                best = Distance(
                    distance=found.min_distance,
                    shape_a=self._built.shapes[i].name,
                    shape_b=self._built.shapes[j].name,
                    point_a=np.array(found.getNearestPoint1()),
                    point_b=np.array(found.getNearestPoint2()),
                )
        if best is None:
            raise ModelError(f"'{a}' or '{b}' has no collision shape: no distance to measure")
        return best

    @cached_property
    def _solids(self) -> list[coal.CollisionGeometry]:
        return [shape_to_coal(placed.shape) for placed in self._built.shapes]

    def _shapes_of(self, name: str) -> list[int]:
        """Shapes of an instance or link, by their numbers."""
        built = self._built
        owners = [(i, f"{i}/{s.body}") for i, s in zip(built.instances, built.shapes, strict=True)]
        links = [f"{instance}/{link}" for instance, link in built.links]
        known = dict.fromkeys([*(instance for instance, _ in built.links), *links])
        if name not in known:
            raise ModelError(f"no instance or link '{name}' ({choices(known)})")
        return [number for number, owner in enumerate(owners) if name in owner]

    def energy(self) -> Energy:
        """Return the mechanical energy of the current state."""
        contacts = self._evaluate()
        inertias, bodies, found = (
            self._built.arrays.inertias,
            self._work.kinematics,
            self._work.contacts,
        )
        centers = bodies.position + np.einsum("bij,bj->bi", bodies.rotation, inertias.center)
        slack = self._work.contact_forces.slack[:contacts]
        depth, stiffness = found.depth[:contacts] - slack, found.stiffness[:contacts]
        joints, tendons = self._built.arrays.joints, self._built.arrays.tendons
        bent = joints.presliding_stiffness @ self._deflection**2
        single = joints.q >= 0
        bent += _stored(joints, self._state.q[joints.q])[single].sum()
        lengths = [
            tendon_length(tendons, joints, t, self._state.q) for t in range(len(tendons.tree))
        ]
        bent += _stored(self._built.arrays.tendon_laws, np.array(lengths)).sum()
        springs = np.repeat(self._built.arrays.closures.stiffness, 3, axis=1)
        blocks = mass_blocks(self._built.arrays, self._work)
        v = np.where(joints.armature < UNMOVED, self._state.v, 0.0)
        return Energy(
            kinetic=0.5 * sum(float(v[i:j] @ m @ v[i:j]) for i, j, m in blocks),
            potential=-float(np.sum(inertias.mass[:, None] * inertias.gravity * centers)),
            elastic=0.5 * (float(np.sum(stiffness * depth**2) + bent) + self._sheared())
            + 0.5 * float(np.sum(springs * self._work.closure_forces.gap**2)),
        )

    def _sheared(self) -> float:
        """Twice the energy of contacts that stick [J]; none where bodies were put by hand."""
        if (self._shear.q != self._state.q).any():
            return 0.0
        return float(np.sum(self._shear.energy[: self._shear.number[PAIRS]]))

    def mass_matrix(self) -> np.ndarray:
        """Return the mass matrix (nv, nv) of the current state [kg m^2, kg m or kg]."""
        self._evaluate()
        return dense_mass_matrix(self._built.arrays, self._work)

    def penetrations(self) -> list[Penetration]:
        """Return the pairs of shapes that touch, each with its deepest contact."""
        count = self._evaluate()
        built, contacts = self._built, self._work.contacts
        found = []
        pairs, depths = contacts.pair[:count], contacts.depth[:count]
        for pair in np.unique(pairs):
            a, b = self._work.pairs.shapes[pair]
            names = [f"{built.instances[s]}/{built.shapes[s].body}" for s in (a, b)]
            found.append(
                Penetration(
                    a=built.shapes[a],
                    b=built.shapes[b],
                    shapes=(int(a), int(b)),
                    subject=" and ".join(names),
                    depth=float(depths[pairs == pair].max()),
                    thickness=min(_thickness(built.shapes[s]) for s in (a, b)),
                )
            )
        return found

    def warnings(self) -> list[Warning]:
        """Return what may be wrong now; empty if nothing is."""
        built, most = self._built, self._solver.max_contacts
        found = [
            Warning(WarningKind.DEEP_PENETRATION, p.subject, p.depth, MAX_START * p.thickness)
            for p in self.penetrations()
            if p.depth > MAX_START * p.thickness
        ]
        for name, dof in built.joints.items():
            speed, limit = abs(float(self._state.v[dof])), float(built.velocities[dof])
            if speed > limit:
                found.append(Warning(WarningKind.TOO_FAST, name, speed, limit))
        found += self._passing() if self._settings.accuracy == 0.0 else []
        count = self._evaluate()
        if 0 < 9 * most < 10 * count and most < built.most_contacts:
            found.append(Warning(WarningKind.CONTACTS_NEARLY_FULL, "contacts", count, float(most)))
        return found

    def _passing(self) -> list[Warning]:
        """Return the bodies that move by more in a step than they are thick."""
        built, hulls, found = self._built, self._built.arrays.hulls, []
        moving = np.flatnonzero(hulls.body >= 0)
        velocity = self._work.kinematics.velocity[hulls.body[moving]]
        linear = velocity[:, 3:] + np.cross(velocity[:, :3], self._work.poses.hull[moving])
        way = self._settings.time_step * np.linalg.norm(linear, axis=1)
        for hull in moving[way > 2.0 * hulls.thickness[moving]].tolist():
            shape = hulls.shapes[hulls.first_shape[hull]]
            subject = f"{built.instances[shape]}/{built.shapes[shape].body}"
            thick = 2.0 * float(hulls.thickness[hull])
            found.append(Warning(WarningKind.MAY_PASS, subject, float(way[hull]), thick))
        return found

    def check_start(self) -> None:
        """Check that the state is one to start from.

        Raises:
            ModelError: If a number is not finite, or bodies are deep inside each other; the
                message names them.
        """
        self.check_finite()
        for p in self.penetrations():
            limit = MAX_START * p.thickness
            if p.depth > limit:
                raise ModelError(
                    f"{p.subject} start {1e3 * p.depth:.3g} mm inside each other "
                    f"(collisions '{p.a.name}' and '{p.b.name}'); at most {1e3 * limit:.3g} mm "
                    "can be a contact: move one of them, or leave the pair out"
                )

    def check_finite(self) -> None:
        """Check the numbers of the current state.

        Raises:
            ModelError: If one is not finite or a quaternion has no unit norm; the message
                names the joint or body.
        """
        built, state = self._built, self._state
        for name, dof in built.joints.items():
            q, v = state.q[built.arrays.joints.q[dof]], state.v[dof]
            if not np.isfinite([q, v]).all():
                raise ModelError(f"joint '{name}' has position {q:g} and velocity {v:g}")
        turning = [(f"free body '{n}'", 7, 6, place) for n, place in built.free_bodies.items()]
        turning += [(f"ball joint '{n}'", 4, 3, place) for n, place in built.ball_joints.items()]
        for where, positions, velocities, (i, dof) in turning:
            q, v = state.q[i : i + positions], state.v[dof : dof + velocities]
            if not (np.isfinite(q).all() and np.isfinite(v).all()):
                raise ModelError(f"{where} has pose {q.tolist()}, velocity {v.tolist()}")
            if abs(np.linalg.norm(q[-4:]) - 1.0) > 1e-6:
                raise ModelError(f"{where} has quaternion {q[-4:]}, which must be unit")


def _stored(laws: Joints, position: np.ndarray) -> np.ndarray:
    """Twice the energy (n) in springs and end stops of joints or tendons (n) [J]."""
    beyond = np.maximum(np.maximum(position - laws.upper, laws.lower - position), 0.0)
    bent = np.where(laws.stiffness > 0.0, position - laws.rest, 0.0)
    return np.asarray(laws.stiffness * bent**2 + laws.limit_stiffness * beyond**2)


def _thickness(placed: PlacedShape) -> float:
    """Smallest extent of a shape [m], of a mesh that of its box; infinite for a half space."""
    mesh = placed.shape.kind == ShapeKind.MESH
    return 2.0 * (min(placed.shape.size) if mesh else placed.shape.inner_radius)
