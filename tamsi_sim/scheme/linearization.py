"""Derivatives of a step by the implicit function theorem.

The velocity at the end of a step is the root of the residual (21), r(v, theta) = 0, where
theta are the state and inputs at its start. So dv/dtheta = -(dr/dv)^-1 dr/dtheta: Newton's
matrix (23) at the solution, and derivatives of the residual with its velocity held. The
latter are central differences. No step is solved again, so neither the tolerance of Newton's
method nor its path shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contact_core.kernel import kernel
from tamsi_sim.arrays.borrowing import inner_kernel
from tamsi_sim.arrays.data import ISLANDS, SUBSTEPS, Model, Settings, Work
from tamsi_sim.arrays.handle import Handle
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.body.configuration import differentiate_move, move_configuration
from tamsi_sim.body.dynamics import update_dynamics
from tamsi_sim.body.kinematics import update_kinematics
from tamsi_sim.scheme.contact import project, update_contact_forces
from tamsi_sim.scheme.joint_forces import update_joint_forces
from tamsi_sim.scheme.solver import assemble, solve
from tamsi_sim.scheme.stepper import (
    advance,
    evaluate,
    finish_substep,
    set_momentum,
    start_substeps,
)

# Blocks of columns, and how far their variables are shifted. The residual is quadratic in the
# initial velocity and linear in the forces, so there the differences are exact.
POSITION, VELOCITY, EFFORT, TARGET = 0, 1, 2, 3
SHIFTS = (1e-6, 1e-3, 1e-3, 1e-6)


@dataclass(frozen=True)
class Linearization:
    """First-order change of the state after some steps: dx+ = A dx + B du.

    A change of state is dx = (dq, dv), of 2 nv entries: dq has the coordinates of a velocity,
    so a free body has a translation and a rotation vector, both in world axes, in place of
    the change of its quaternion. Inputs are held over all the steps.

    Attributes:
        status: The status of the last step; the matrices are NaN unless it is OK.
        A: (2 nv, 2 nv) derivative by the state before the steps.
        B_effort: (2 nv, nv) by the efforts ``applied``.
        B_target: (2 nv, nv) by the position targets of the joints' controllers.
    """

    status: StepStatus
    A: np.ndarray
    B_effort: np.ndarray
    B_target: np.ndarray


def linearize(handle: Handle, work: Work, steps: int) -> Linearization:
    """Advance, and differentiate the state at the end.

    Args:
        handle: The simulation; it moves as by ``advance``.
        work: Its workspace.
        steps: How many steps.

    Returns:
        The derivatives. Where contact begins or ends, or an effort saturates, the step is
        not differentiable; they are then those of one side.
    """
    nv = len(work.v)
    total = np.eye(2 * nv, 4 * nv)
    one = np.empty((2 * nv, 4 * nv))
    for _ in range(steps):
        status = _linearize_step(handle, work, one)
        if status != StepStatus.OK:
            total[:] = np.nan
            break
        total = one[:, : 2 * nv] @ total
        total[:, 2 * nv :] += one[:, 2 * nv :]
    else:
        status = StepStatus.OK
    return Linearization(status, *np.split(total, [2 * nv, 3 * nv], axis=1))


def _linearize_step(handle: Handle, work: Work, jacobian: np.ndarray) -> StepStatus:
    """Advance by one step and write its (2 nv, 4 nv) derivative if it succeeds."""
    moving = (work.q, work.v, work.applied, work.target, work.contact_impulse, work.counters)
    start = [array.copy() for array in moving]
    status = StepStatus(advance(handle, 1))
    if status == StepStatus.OK:
        work.q[:], work.v[:] = start[:2]
        differentiate_step(handle, work.counters[SUBSTEPS], jacobian)
        # Step once more, to leave the workspace as a step leaves it.
        for array, value in zip(moving, start, strict=True):
            array[:] = value
        advance(handle, 1)
    return status


@kernel
def differentiate_step(handle: Handle, parts: int, jacobian: np.ndarray) -> None:
    """Differentiate a step.

    Args:
        handle: The simulation at the step's start, but with the joints' targets of the step;
            its state stays, its workspace is overwritten.
        parts: How many sub-steps the step needs.
        jacobian: (2 nv, 4 nv) receives d(q+, v+)/d(q, v, applied, target), changes of
            configurations in the coordinates of a velocity.
    """
    model, work, settings = handle.model, handle.work, handle.settings
    nv = work.v.shape[0]
    # Velocities at the end of each sub-step, and their derivatives; 0 is the initial one.
    velocities = np.empty((parts + 1, nv))
    changes = np.zeros((parts + 1, nv, 4 * nv))
    systems = np.zeros((parts, nv, nv))
    _solve_again(model, work, settings, velocities, systems)
    for i in range(nv):
        changes[0, i, nv + i] = 1.0
    for part in range(parts):
        _differentiate_residual(model, work, settings, part, velocities, changes)
        changes[part + 1] = np.linalg.solve(systems[part], changes[part + 1])
    moved = np.zeros((nv, 4 * nv))
    for i in range(nv):
        moved[i, i] = 1.0
    differentiate_move(model, velocities[parts], settings.time_step, changes[parts], moved)
    jacobian[:nv] = moved
    jacobian[nv:] = changes[parts]


@inner_kernel
def _solve_again(
    model: Model,
    work: Work,
    settings: Settings,
    velocities: np.ndarray,
    systems: np.ndarray,
) -> None:
    """Write the velocities at the sub-steps' ends, and Newton's matrices there."""
    nv, parts = work.v.shape[0], systems.shape[0]
    h = settings.time_step / parts
    contacts = evaluate(model, work)
    start_substeps(work, contacts)
    for i in range(nv):
        velocities[0, i] = work.v[i]
    for part in range(parts):
        set_momentum(model, work, h)
        solve(model, work, settings, contacts, h)
        _assemble_all(model, work, h)
        for i in range(nv):
            velocities[part + 1, i] = work.v_next[i]
        for row in range(nv):
            # The envelope is symmetric.
            for column in range(row, work.row_end[row] + 1):
                i, j = work.order[row], work.order[column]
                systems[part, i, j] = work.system[row, column]
                systems[part, j, i] = work.system[column, row]
        finish_substep(work, contacts, h)


@inner_kernel
def _differentiate_residual(
    model: Model,
    work: Work,
    settings: Settings,
    part: int,
    velocities: np.ndarray,
    changes: np.ndarray,
) -> None:
    """Write -dr/dtheta of a sub-step to its changes, those of earlier ones included."""
    nv = work.v.shape[0]
    contacts = evaluate(model, work)
    room = work.contact_depth.shape[0]
    # Inputs first, then velocities, then positions: each leaves more of the workspace changed.
    for column in range(4 * nv - 1, -1, -1):
        kind, i = column // nv, column % nv
        for sign in (1.0, -1.0):
            _shift(model, work, kind, i, sign * SHIFTS[kind])
            if kind == POSITION:
                contacts = min(evaluate(model, work), room)
            elif kind == VELOCITY:
                update_kinematics(model, work)
                update_dynamics(model, work)
            amount = sign * SHIFTS[kind]
            _hold_velocity(
                model, work, settings, contacts, part, velocities, changes, column, amount
            )
            for k in range(nv):
                changes[part + 1, k, column] = (
                    work.right_side[work.place[k]] - changes[part + 1, k, column]
                )
            _shift(model, work, kind, i, -amount)
        # The second residual less the first one belongs to a step of -2 shifts.
        for k in range(nv):
            changes[part + 1, k, column] *= -0.5 / SHIFTS[kind]


@inner_kernel
def _shift(model: Model, work: Work, kind: int, i: int, amount: float) -> None:
    """Shift one entry of the state or the inputs."""
    if kind == EFFORT:
        work.applied[i] += amount
    elif kind == TARGET:
        work.target[i] += amount
    elif kind == VELOCITY:
        work.v[i] += amount
    else:
        direction = work.update
        for k in range(direction.shape[0]):
            direction[k] = 0.0
        direction[i] = 1.0
        move_configuration(model, work.q, direction, amount)


@inner_kernel
def _hold_velocity(
    model: Model,
    work: Work,
    settings: Settings,
    contacts: int,
    part: int,
    velocities: np.ndarray,
    changes: np.ndarray,
    column: int,
    amount: float,
) -> None:
    """Write minus the residual of a sub-step at its nominal end, after changed earlier ones."""
    h = settings.time_step / (velocities.shape[0] - 1)
    start_substeps(work, contacts)
    for earlier in range(part + 1):
        for i in range(work.v_next.shape[0]):
            work.v_next[i] = velocities[earlier, i] + amount * changes[earlier, i, column]
        if earlier > 0:
            for c in range(contacts):
                project(work, c, work.v_next, work.contact_velocity)
            finish_substep(work, contacts, h)
    set_momentum(model, work, h)
    for i in range(work.v_next.shape[0]):
        work.v_next[i] = velocities[part + 1, i]
    update_contact_forces(model, work, settings, contacts, h)
    update_joint_forces(model, work, settings.stiction_velocity, h)
    _assemble_all(model, work, h)


@inner_kernel
def _assemble_all(model: Model, work: Work, h: float) -> None:
    for island in range(work.counters[ISLANDS]):
        assemble(model, work, island, h)
