"""What a simulation looks like now: poses, energy, penetrations, warnings.

Questions are answered in a workspace of their own, so that the results of the last step
stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from contact_core.errors import ModelError, choices
from contact_core.shapes import PlacedShape, ShapeKind
from tamsi_sim.arrays.handle import make_handle, make_work
from tamsi_sim.scheme.contact import scheme_settings
from tamsi_sim.scheme.stepper import evaluate_now

if TYPE_CHECKING:
    from tamsi_sim.simulation.engine import Engine

# A pair of shapes that starts deeper than this share of the thinner one was placed by mistake.
DEEPEST_START = 0.25


@dataclass(frozen=True)
class Energy:
    """Mechanical energy [J]; dissipation takes from it, drives and applied forces change it.

    Attributes:
        kinetic: 1/2 v^T M v, effective rotor inertias included.
        potential: Of the bodies' weights, zero where their centres are at the world's origin.
        elastic: 1/2 k delta^2 over the contacts.
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
    CONTACTS_NEARLY_FULL = "raise max_contacts: a step fails when there are more"


@dataclass(frozen=True)
class Warning:
    """A finding about the current state.

    Attributes:
        kind: What, with its remedy.
        subject: The pair of shapes or the joint.
        value: Penetration [m], speed [rad/s or m/s], or number of contacts.
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
        subject: Their names, with their instances.
        depth: [m].
        thickness: Smallest extent of the thinner shape [m].
    """

    a: PlacedShape
    b: PlacedShape
    subject: str
    depth: float
    thickness: float


class Observer:
    """Answers questions about the current state of an engine."""

    def __init__(self, engine: Engine) -> None:
        """Allocate a workspace.

        Args:
            engine: The simulation.
        """
        self._engine = engine
        arrays, work = engine.built.arrays, engine.work
        self._work = make_work(arrays, len(work.q), len(work.contact_depth), 1)
        self._handle = make_handle(
            arrays, self._work, scheme_settings(engine.solver, engine.time_step)
        )

    def _evaluate(self) -> int:
        """Bring the workspace to the engine's state; return the number of contact points."""
        self._work.q[:], self._work.v[:] = self._engine.q, self._engine.v
        return min(int(evaluate_now(self._handle)), len(self._work.contact_depth))

    def pose(self, instance: str, link: str | None = None) -> pin.SE3:
        """Return the pose of a link in the world.

        Args:
            instance: The instance.
            link: Its link; the first one if None.

        Raises:
            ModelError: If there is no such instance or link.
        """
        links = self._engine.built.links
        if link is None:
            link = next((name for owner, name in links if owner == instance), "")
        if (instance, link) not in links:
            known = [f"{owner}/{name}" for owner, name in links]
            raise ModelError(f"no link '{instance}/{link}' ({choices(known)})")
        body, placement = links[instance, link]
        if body < 0:
            return placement.copy()
        self._evaluate()
        return pin.SE3(self._work.rotation[body], self._work.position[body]) * placement

    def energy(self) -> Energy:
        """Return the mechanical energy of the current state."""
        contacts = self._evaluate()
        work, arrays = self._work, self._engine.built.arrays
        centers = work.position + np.einsum("bij,bj->bi", work.rotation, arrays.center)
        depth, stiffness = work.contact_depth[:contacts], work.contact_stiffness[:contacts]
        return Energy(
            kinetic=0.5 * float(work.v @ work.mass_matrix @ work.v),
            potential=-float(np.sum(arrays.mass[:, None] * arrays.gravity * centers)),
            elastic=0.5 * float(np.sum(stiffness * depth**2)),
        )

    def penetrations(self) -> list[Penetration]:
        """Return the pairs of shapes that touch, each with its deepest contact."""
        count = self._evaluate()
        built, work = self._engine.built, self._work
        found = []
        pairs, depths = work.contact_pair[:count], work.contact_depth[:count]
        for pair in np.unique(pairs):
            a, b = built.arrays.pair_shapes[pair]
            names = [f"{built.instances[s]}/{built.shapes[s].body}" for s in (a, b)]
            found.append(
                Penetration(
                    a=built.shapes[a],
                    b=built.shapes[b],
                    subject=" and ".join(names),
                    depth=float(depths[pairs == pair].max()),
                    thickness=min(_thickness(built.shapes[s]) for s in (a, b)),
                )
            )
        return found

    def warnings(self) -> list[Warning]:
        """Return what may be wrong now; empty if nothing is."""
        engine = self._engine
        found = [
            Warning(WarningKind.DEEP_PENETRATION, p.subject, p.depth, DEEPEST_START * p.thickness)
            for p in self.penetrations()
            if p.depth > DEEPEST_START * p.thickness
        ]
        for name, dof in engine.built.joints.items():
            speed, limit = abs(float(engine.v[dof])), float(engine.built.velocities[dof])
            if speed > limit:
                found.append(Warning(WarningKind.TOO_FAST, name, speed, limit))
        room = len(self._work.contact_depth)
        count = self._evaluate()
        if 10 * count > 9 * room and room == engine.solver.max_contacts:
            found.append(Warning(WarningKind.CONTACTS_NEARLY_FULL, "contacts", count, float(room)))
        return found

    def check_start(self) -> None:
        """Check that the state is one to start from.

        Raises:
            ModelError: If a number is not finite, or bodies are deep inside each other; the
                message names them.
        """
        self.check_finite()
        for p in self.penetrations():
            limit = DEEPEST_START * p.thickness
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
        engine, built = self._engine, self._engine.built
        for name, dof in built.joints.items():
            q, v = engine.q[built.arrays.dof_q[dof]], engine.v[dof]
            if not np.isfinite([q, v]).all():
                raise ModelError(f"joint '{name}' has position {q:g} and velocity {v:g}")
        for name, (i, dof) in built.free_bodies.items():
            q, v = engine.q[i : i + 7], engine.v[dof : dof + 6]
            if not (np.isfinite(q).all() and np.isfinite(v).all()):
                raise ModelError(f"free body '{name}' has pose {q.tolist()}, velocity {v.tolist()}")
            if abs(np.linalg.norm(q[3:]) - 1.0) > 1e-6:
                raise ModelError(f"free body '{name}' has quaternion {q[3:]}, which must be unit")


def _thickness(placed: PlacedShape) -> float:
    """Smallest extent of a shape [m]; infinite for a half space."""
    a, b, _ = placed.shape.size
    match placed.shape.kind:
        case ShapeKind.SPHERE | ShapeKind.CAPSULE:
            return 2.0 * a
        case ShapeKind.CYLINDER:
            return 2.0 * min(a, b)
        case ShapeKind.BOX | ShapeKind.MESH:
            return 2.0 * min(placed.shape.size)
    return np.inf
