"""Loop closures as a user sees them: from names of links to arrays, and from arrays to forces."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin

from contact_core.base.errors import ModelError, ModelWarning
from contact_core.robot.scene import Closure, Link
from contact_core.robot.scene_config import SolverConfig
from tamsi_sim.arrays.data import Closures, Work
from tamsi_sim.arrays.settings import scheme_settings
from tamsi_sim.arrays.simulation import make_simulation
from tamsi_sim.arrays.workspace import body_pose, dense_mass_matrix, make_work, usual_room
from tamsi_sim.scheme.stepper import evaluate_now
from tamsi_sim.simulation.model import BuiltModel

MAX_START = (1e-3, 1e-2)
"""How far what is held together may be apart at the start [m, rad]."""
RIGID = 1e3
"""h^2 k / m of a closure without a stiffness of its own: it gives by 1e-8 m under its own weight at
h = 1 ms, and the numbers keep twelve digits."""


@dataclass(frozen=True)
class ClosureForce:
    """What a loop closure did in the last step.

    Attributes:
        name: Its name.
        a: Instance and link A.
        b: Instance and link B.
        point: (3) where it acts on A, world [m].
        force: (3) mean force on A over the step, world [N].
        moment: (3) mean moment on A about the point, world [Nm]; zero where only points are held.
        gap: (3) from the point of B to that of A at the start of the step, world [m].
        turn: (3) rotation vector from B to A there, world [rad].
    """

    name: str
    a: Link
    b: Link
    point: np.ndarray
    force: np.ndarray
    moment: np.ndarray
    gap: np.ndarray
    turn: np.ndarray


def closure_forces(built: BuiltModel, work: Work) -> list[ClosureForce]:
    """Return what the loop closures did in the last step.

    Args:
        built: The model.
        work: Its simulation.
    """
    found = work.closure_forces
    return [
        ClosureForce(
            name=name,
            a=closure.a,
            b=closure.b,
            point=found.position[c, 0].copy(),
            force=found.mean_force[c, :3].copy(),
            moment=found.mean_force[c, 3:].copy(),
            gap=found.gap[c, :3].copy(),
            turn=found.gap[c, 3:].copy(),
        )
        for c, (name, closure) in enumerate(built.closures.items())
    ]


def close_loops(
    built: BuiltModel,
    closures: Mapping[str, Closure],
    time_step: float,
    repaired: Collection[str] = (),
) -> BuiltModel:
    """Return a model with loop closures, none of which may have been added before.

    A closure without a stiffness gets k = RIGID m / h^2, with the effective mass m = 3 / tr(J M^-1
    J^T) of its point at the start, and the effective inertia for its orientation.

    Args:
        built: The model.
        closures: The closures by name.
        time_step: h [s].
        repaired: Names of those that hold links as they start if these are too far apart then; a
            warning says so.

    Returns:
        The model.

    Raises:
        ModelError: If there is no such link, two links do not move relative to each other, or what
            is to be held together is too far apart at the start; the message names the closure.
    """
    work = _at_start(built)
    rows = [_row(built, work, name, c, name in repaired) for name, c in closures.items()]
    # Tree by tree; the world has none.
    order = sorted(range(len(rows)), key=lambda c: rows[c].owner)
    trees = len(built.arrays.trees.first_dof) - 1
    listed = list(closures.items())
    count = len(rows)
    closed = replace(
        built,
        closures=dict(listed[c] for c in order),
        arrays=built.arrays._replace(
            closures=Closures(
                body=np.array([rows[c].bodies for c in order]).reshape(count, 2),
                tree=np.array([rows[c].trees for c in order]).reshape(count, 2),
                first=np.searchsorted([rows[c].owner for c in order], np.arange(trees + 1)),
                position=np.array([[f.translation for f in rows[c].frames] for c in order]),
                rotation=np.array([[f.rotation for f in rows[c].frames] for c in order]),
                stiffness=np.zeros((count, 2)),
                dissipation=np.array([listed[c][1].dissipation for c in order]),
            )
        ),
    )
    closed.arrays.closures.stiffness[:] = _stiffness(closed, time_step)
    return closed


@dataclass(frozen=True)
class _Row:
    """What the arrays say about a closure: bodies, their trees, and the frames in them."""

    bodies: tuple[int, int]
    trees: tuple[int, int]
    frames: tuple[pin.SE3, pin.SE3]

    @property
    def owner(self) -> int:
        """The tree in whose list it is."""
        return min(tree for tree in self.trees if tree >= 0)


def _at_start(built: BuiltModel) -> Work:
    """Kinematics, mass matrix and closures at the model's initial positions."""
    work = make_work(built.arrays, len(built.q), usual_room(built.arrays, 1), 1)
    work.state.q[:] = built.q
    evaluate_now(make_simulation(built.arrays, work, scheme_settings(SolverConfig(), 1.0)))
    return work


def _row(built: BuiltModel, work: Work, name: str, closure: Closure, repair: bool) -> _Row:
    try:
        placed = [built.link(link) for link in (closure.a, closure.b)]
    except ModelError as error:
        raise ModelError(f"closure '{name}': {error}") from error
    (a, in_a), (b, in_b) = placed
    if a == b:
        names = " and ".join(f"'{owner}/{part}'" for owner, part in (closure.a, closure.b))
        raise ModelError(f"closure '{name}': {names} do not move relative to each other")
    in_world = [body_pose(work, a) * in_a, body_pose(work, b) * in_b]
    frames = [closure.frame_a, closure.frame_b]
    for side in range(2):
        if frames[side] is None:
            frames[side] = in_world[side].actInv(in_world[1 - side] * frames[1 - side])
    wrong = _gap(name, closure, in_world[0] * frames[0], in_world[1] * frames[1])
    if wrong and not repair:
        raise ModelError(wrong)
    if wrong:
        warnings.warn(f"{wrong}: held like this", ModelWarning, stacklevel=5)
        frames[1] = in_world[1].actInv(in_world[0] * frames[0])
    return _Row((a, b), (_tree(built, a), _tree(built, b)), (in_a * frames[0], in_b * frames[1]))


def _tree(built: BuiltModel, body: int) -> int:
    """Tree of a body, -1 for the world."""
    bodies, trees = built.arrays.bodies, built.arrays.trees
    return int(trees.of_dof[bodies.column_dof[bodies.last_column[body]]]) if body >= 0 else -1


def _gap(name: str, closure: Closure, a: pin.SE3, b: pin.SE3) -> str:
    """How far apart is what a closure holds, if it is too far; else empty."""
    distance = float(np.linalg.norm(a.translation - b.translation))
    angle = float(np.linalg.norm(pin.log3(a.rotation @ b.rotation.T)))
    most, widest = MAX_START
    if distance > most or (closure.weld and angle > widest):
        turned = f" and turned by {angle:.3g} rad" if closure.weld else ""
        limit = f" and {widest:g} rad" if closure.weld else ""
        return (
            f"closure '{name}': '{'/'.join(closure.a)}' and '{'/'.join(closure.b)}' start "
            f"{1e3 * distance:.3g} mm apart{turned} (valid: at most {1e3 * most:g} mm{limit})"
        )
    return ""


def hold_tendons(built: BuiltModel, time_step: float) -> BuiltModel:
    """Return a model of which the tendons that are held are as stiff as closures, for this step.

    Args:
        built: The model.
        time_step: h [s].
    """
    tendons, stiffness = built.arrays.tendons, built.arrays.tendon_laws.stiffness.copy()
    held = np.flatnonzero(np.isinf(stiffness))
    if len(held) == 0:
        return built
    mass_matrix = dense_mass_matrix(built.arrays, _at_start(built))
    for t in held:
        pull = np.zeros(len(mass_matrix))
        pull[tendons.dof[t, : tendons.columns[t]]] = tendons.entry[t, : tendons.columns[t]]
        inverse_mass = float(pull @ np.linalg.solve(mass_matrix, pull))
        stiffness[t] = RIGID / (inverse_mass * time_step**2) if inverse_mass > 0.0 else 0.0
    laws = built.arrays.tendon_laws._replace(stiffness=stiffness)
    return replace(built, arrays=built.arrays._replace(tendon_laws=laws))


def _stiffness(built: BuiltModel, time_step: float) -> np.ndarray:
    """(nl, 2) stiffness of each closure, its own or the default one."""
    found, nv = _at_start(built), len(built.efforts)
    jacobians, mass_matrix = found.closure_forces, dense_mass_matrix(built.arrays, found)
    stiffness = np.zeros((len(built.closures), 2))
    for c, closure in enumerate(built.closures.values()):
        columns = jacobians.columns[c]
        jacobian = np.zeros((6, nv))
        jacobian[:, jacobians.dof[c, :columns]] = jacobians.entry[c, :, :columns]
        mobility = jacobian @ np.linalg.solve(mass_matrix, jacobian.T)
        given = (closure.stiffness, closure.rotational_stiffness)
        for kind in range(2 if closure.weld else 1):
            rows = slice(3 * kind, 3 * kind + 3)
            inverse_mass = float(np.trace(mobility[rows, rows])) / 3.0
            own = given[kind]
            if own is not None:
                stiffness[c, kind] = own
            # What cannot move needs no spring.
            elif inverse_mass > 0.0:
                stiffness[c, kind] = RIGID / (inverse_mass * time_step**2)
    return stiffness
