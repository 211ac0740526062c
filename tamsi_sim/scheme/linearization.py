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
import scipy

from contact_core.base.kernel import inlined_kernel, inner_kernel, kernel
from contact_core.multibody.collision.arrays import NORMAL
from contact_core.multibody.rigid_body.configuration import differentiate_move, move_configuration
from tamsi_sim.arrays.data import ISLANDS, LENGTH, POINTS, SUBSTEPS, Work
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.scheme.contact import update_contact_forces
from tamsi_sim.scheme.free_rotation import turn_freely
from tamsi_sim.scheme.joint_forces import update_joint_forces
from tamsi_sim.scheme.motion import update_motion
from tamsi_sim.scheme.shear import half_of_arc, recall_shear
from tamsi_sim.scheme.solver import assemble, solve
from tamsi_sim.scheme.stepper import (
    average_bias,
    evaluate,
    finish_substep,
    set_momentum,
    start_step,
    step_now,
)
from tamsi_sim.scheme.tendons import update_tendon_forces

# Blocks of columns, and how far their variables are shifted. The residual is linear in the forces
# and quadratic in the initial velocity, nearly so in that of a body that turns freely: there the
# differences are exact; the Stribeck curve bends, and there the shift is a share of its velocity.
POSITION, VELOCITY, EFFORT, TARGET, DEFLECTION, SHEAR = 0, 1, 2, 3, 4, 5
SHIFTS = (1e-6, 1e-3, 1e-3, 1e-6, 1e-9, 1e-9)
STRIBECK_SHIFT = 1e-3


@dataclass(frozen=True)
class Linearization:
    """First-order change of the state after some steps: dx+ = A dx + B du.

    A change of state is dx = (dq, dv), of 2 nv entries: dq has the coordinates of a velocity,
    so a free body has a translation and a rotation vector, both in world axes, in place of
    the change of its quaternion, and a ball joint a rotation vector in axes that its parent
    carries. Inputs are held over all the steps; joints whose friction is a spring start with
    the same deflection, and contacts with the same shear.

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


def linearize(simulation: Simulation, work: Work, steps: int, presliding: bool) -> Linearization:
    """Advance, and differentiate the state at the end.

    Args:
        simulation: The simulation; it moves by steps of its time step.
        work: Its workspace.
        steps: How many steps.
        presliding: Whether the friction of a joint is a spring, whose deflection carries
            changes from step to step.

    Returns:
        The derivatives. Where contact begins or ends, or an effort saturates, the step is
        not differentiable; they are then those of one side.
    """
    nv = len(work.state.v)
    if (work.shear.q != work.state.q).any():
        work.shear.number[:] = 0
    # Behind position and velocity a state has deflections and the shear of what touches.
    bent = nv if presliding else 0
    total = np.zeros((2 * nv + bent + _shears(work), 4 * nv))
    total[: 2 * nv, : 2 * nv] = np.eye(2 * nv)
    for step in range(steps):
        status, one = _linearize_step(simulation, work, bent, step > 0)
        if status == StepStatus.OK and not np.isfinite(one).all():
            status = StepStatus.NOT_FINITE
        if status != StepStatus.OK:
            total[:] = np.nan
            break
        total = one[:, : 2 * nv] @ total[: 2 * nv] + one[:, 4 * nv :] @ total[2 * nv :]
        total[:, 2 * nv :] += one[:, 2 * nv : 4 * nv]
    else:
        status = StepStatus.OK
    return Linearization(status, *np.split(total[: 2 * nv], [2 * nv, 3 * nv], axis=1))


def _shears(work: Work) -> int:
    """Return how many coordinates shear and twist of the contacts have, point by point."""
    return (6 if len(work.shear.twist) else 3) * int(work.shear.number[POINTS])


def _linearize_step(
    simulation: Simulation, work: Work, bent: int, remembered: bool
) -> tuple[StepStatus, np.ndarray]:
    """Advance by one step; return its derivative, see :func:`differentiate_step`."""
    state, drives, deflection = work.state, work.drives, work.joint_forces.deflection
    moving = (
        state.q, state.v, deflection, *work.shear, drives.applied, drives.target,
        work.contact_impulse, work.counters,
    )  # fmt: skip
    start = [array.copy() for array in moving]
    status = StepStatus(step_now(simulation))
    jacobian = np.zeros((0, 0))
    if status == StepStatus.OK:
        end = _shears(work)
        for array, value in zip(moving, start[:-4], strict=False):
            array[:] = value
        jacobian = differentiate_step(simulation, work, bent, end, remembered)
        # Step once more, to leave the workspace as a step leaves it.
        for array, value in zip(moving, start, strict=True):
            array[:] = value
        step_now(simulation)
    return status, jacobian


def differentiate_step(
    simulation: Simulation, work: Work, bent: int, end: int, remembered: bool
) -> np.ndarray:
    """Differentiate a step.

    Args:
        simulation: At the step's start, but with the joints' targets of the step; its state
            stays, its workspace is overwritten.
        work: Its workspace.
        bent: Number of deflections z of friction, nv or none.
        end: Number of coordinates of shear and twist s of the contacts at the end of the step.
        remembered: Whether a change of the initial velocity is one of the memory of shear, too.

    Returns:
        (2 nv + bent + end, 4 nv + bent + shear) derivative d(q+, v+, z+, s+)/d(q, v, applied,
        target, z, s), changes of configurations in the coordinates of a velocity.
    """
    nv, parts = len(work.state.v), int(work.counters[SUBSTEPS])
    columns = 4 * nv + bent + _shears(work)
    # Velocities at the end of each sub-step, and their derivatives; 0 is the initial one.
    velocities = np.empty((parts + 1, nv))
    changes = np.zeros((parts + 1, nv, columns))
    changes[0, :, nv : 2 * nv] = np.eye(nv)
    systems = np.zeros((parts, nv, nv))
    shear_rate, sheared = np.zeros((end, nv)), np.zeros((end, columns))
    # As it is shifted, shear has the energy that it has.
    work.shear.energy[:] = np.inf
    solve_again(simulation, velocities, systems, shear_rate)
    for part in range(parts):
        differentiate_residual(simulation, part, bent, remembered, velocities, changes, sheared)
        if nv > 0:
            _, _, solution, singular = scipy.linalg.lapack.dgesv(systems[part], changes[part + 1])
            changes[part + 1] = np.nan if singular else solution
    moved, ends, motions = np.eye(nv, columns), *np.empty((2, nv, columns))
    differentiate_motion(simulation, velocities[parts], changes[parts], ends, motions, moved)
    deflected = np.eye(bent, columns, 4 * nv)
    if bent:
        differentiate_deflection(simulation, velocities, changes, deflected)
    return np.vstack((moved, ends, deflected, sheared + shear_rate @ changes[parts]))


@kernel
def solve_again(
    simulation: Simulation,
    velocities: np.ndarray,
    systems: np.ndarray,
    shear_rate: np.ndarray,
) -> None:
    """Take a step's sub-steps once more.

    Args:
        simulation: At the step's start; its state stays.
        velocities: (n + 1, nv) receives the initial velocity and those at the sub-steps' ends.
        systems: (n, nv, nv) receives Newton's matrices there.
        shear_rate: (3 nc or 6 nc, nv) receives the derivative of the contacts' shear at the end by
            the velocity there.
    """
    _solve_again(simulation, velocities, systems, shear_rate)


@kernel
def differentiate_residual(
    simulation: Simulation,
    part: int,
    bent: int,
    remembered: bool,
    velocities: np.ndarray,
    changes: np.ndarray,
    sheared: np.ndarray,
) -> None:
    """Differentiate the residual of a sub-step, its end velocity held.

    Args:
        simulation: At the step's start; its state stays.
        part: Which sub-step.
        bent: How many deflections of joint friction there are.
        remembered: See :func:`differentiate_step`.
        velocities: (n + 1, nv) from :func:`solve_again`.
        changes: (n + 1, nv, columns) derivatives of these velocities up to the sub-step's start;
            receives -dr/dtheta as that of its end.
        sheared: (3 nc or 6 nc, columns) receives that of the contacts' shear at the sub-step's end.
    """
    _differentiate_residual(simulation, part, bent, remembered, velocities, changes, sheared)


@kernel
def differentiate_motion(
    simulation: Simulation,
    v: np.ndarray,
    change: np.ndarray,
    ends: np.ndarray,
    motions: np.ndarray,
    moved: np.ndarray,
) -> None:
    """Differentiate the velocity at the end of the whole step, and the motion.

    Args:
        simulation: At the step's start; its state stays.
        v: (nv) velocity that the forces of the step leave.
        change: (nv, columns) its derivative.
        ends: (nv, columns) receives that of the velocity at the end, after what turns freely.
        motions: (nv, columns) receives that of the mean velocity, with which it moves.
        moved: (nv, columns) see :func:`differentiate_move`.
    """
    _differentiate_motion(simulation, v, change, ends, motions, moved)


@kernel
def differentiate_deflection(
    simulation: Simulation, velocities: np.ndarray, changes: np.ndarray, deflected: np.ndarray
) -> None:
    """Differentiate how the springs of joint friction bend over the sub-steps of a step.

    Args:
        simulation: At the step's start.
        velocities: (n + 1, nv) the initial one and those at the sub-steps' ends.
        changes: (n + 1, nv, columns) their derivatives.
        deflected: (nv, columns) the derivative of the deflections; on entry that at the start.
    """
    _differentiate_deflection(simulation, velocities, changes, deflected)


@inner_kernel
def _differentiate_motion(
    simulation: Simulation,
    v: np.ndarray,
    change: np.ndarray,
    ends: np.ndarray,
    motions: np.ndarray,
    moved: np.ndarray,
) -> None:
    nv, h = v.shape[0], simulation.settings.time_step
    end, drift = simulation.newton.v, simulation.drift
    for column in range(change.shape[1] - 1, -1, -1):
        kind = column // nv
        size = SHIFTS[min(kind, SHEAR)]
        for sign in (1.0, -1.0):
            amount = sign * size
            if kind < EFFORT:
                _shift(simulation, kind, column % nv, amount, False)
            _turn_again(simulation, v, change[:, column], amount)
            for k in range(nv):
                if sign > 0.0:
                    ends[k, column], motions[k, column] = end[k], end[k] + drift[k]
                else:
                    ends[k, column] = (ends[k, column] - end[k]) / (2.0 * size)
                    motions[k, column] = (motions[k, column] - end[k] - drift[k]) / (2.0 * size)
            if kind < EFFORT:
                _shift(simulation, kind, column % nv, -amount, False)
    _turn_again(simulation, v, change[:, 0], 0.0)
    for k in range(nv):
        end[k] += drift[k]
    differentiate_move(simulation.bodies, simulation.joints.q, end, h, motions, moved)


@inlined_kernel
def _turn_again(simulation: Simulation, v: np.ndarray, change: np.ndarray, amount: float) -> None:
    """Let what turns freely do so from a velocity (nv) and some of its change (nv)."""
    update_motion(simulation)
    average_bias(simulation)
    for k in range(v.shape[0]):
        simulation.newton.v[k] = v[k] + amount * change[k]
    if simulation.settings.midpoint:
        turn_freely(simulation, simulation.pace[LENGTH])


@inner_kernel
def _solve_again(
    simulation: Simulation,
    velocities: np.ndarray,
    systems: np.ndarray,
    shear_rate: np.ndarray,
) -> None:
    parts, nv, _ = systems.shape
    h = simulation.settings.time_step / parts
    contacts = evaluate(simulation)
    recall_shear(simulation, contacts)
    average_bias(simulation)
    newton, islands = simulation.newton, simulation.islands
    start_step(simulation, contacts)
    for i in range(nv):
        velocities[0, i] = simulation.state.v[i]
    for part in range(parts):
        set_momentum(simulation, h)
        solve(simulation)
        _assemble_all(simulation, h)
        for i in range(nv):
            velocities[part + 1, i] = newton.v[i]
        for row in range(nv):
            # The envelope is symmetric.
            for column in range(row, islands.row_end[row] + 1):
                i, j = islands.order[row], islands.order[column]
                systems[part, i, j] = newton.system[islands.row_start[row] + column]
                systems[part, j, i] = newton.system[islands.row_start[column] + row]
        finish_substep(simulation, contacts, h)
    _write_shear_rate(simulation, shear_rate)


@inner_kernel
def _write_shear_rate(simulation: Simulation, shear_rate: np.ndarray) -> None:
    jacobian, contacts, forces = simulation.jacobian, simulation.contacts, simulation.contact_forces
    moments, angular, width = simulation.contact_moments, simulation.angular, _width(simulation)
    half = half_of_arc(simulation)
    for c in range(shear_rate.shape[0] // width):
        entries, frame, gradient = jacobian.entry[c], contacts.frame[c], forces.gradient[c]
        for k in range(jacobian.columns[c]):
            dof = jacobian.dof[c, k]
            for tangent in range(2):
                rate = 0.0
                for i in range(3):
                    rate += forces.compliance[c] * gradient[tangent, i] * entries[i, k]
                # What the next step adds to the shear is less by half of this one's slip.
                rate -= half * entries[tangent, k]
                for i in range(3):
                    shear_rate[width * c + i, dof] += rate * frame[tangent, i]
            for axis in range(width - 3):
                rate = moments.coupling[c, axis] * entries[NORMAL, k]
                for i in range(3):
                    rate += moments.gradient[c, axis, i] * angular.entry[c, i, k]
                rate *= moments.compliance[c]
                for i in range(3):
                    shear_rate[width * c + 3 + i, dof] += rate * frame[axis, i]


@inlined_kernel
def _width(simulation: Simulation) -> int:
    """How many coordinates shear and twist of one contact have."""
    return 6 if simulation.shear.twist.shape[0] > 0 else 3


@inner_kernel
def _differentiate_deflection(
    simulation: Simulation, velocities: np.ndarray, changes: np.ndarray, deflected: np.ndarray
) -> None:
    evaluate(simulation)
    joints, forces = simulation.joints, simulation.joint_forces
    nv, parts = velocities.shape[1], velocities.shape[0] - 1
    h = simulation.settings.time_step / parts
    for i in range(nv):
        stiffness = joints.presliding_stiffness[i]
        if stiffness > 0.0:
            reach, bent = forces.friction[i] / stiffness, forces.deflection[i]
            excess = forces.friction[i] - joints.friction[i]
            slope = -2.0 * excess * velocities[0, i] / joints.stribeck_velocity[i] ** 2 / stiffness
            for part in range(1, parts + 1):
                bent += h * velocities[part, i]
                slides = abs(bent) > reach
                for column in range(deflected.shape[1]):
                    deflected[i, column] += h * changes[part, i, column]
                    if slides:
                        deflected[i, column] = 0.0
                if slides:
                    sign = 1.0 if bent > 0.0 else -1.0
                    deflected[i, VELOCITY * nv + i] = sign * slope
                    bent = sign * reach


@inner_kernel
def _differentiate_residual(
    simulation: Simulation,
    part: int,
    bent: int,
    remembered: bool,
    velocities: np.ndarray,
    changes: np.ndarray,
    sheared: np.ndarray,
) -> None:
    nv = changes.shape[1]
    right_side, place = simulation.newton.right_side, simulation.islands.place
    half = half_of_arc(simulation)
    contacts = evaluate(simulation)
    average_bias(simulation)
    room = simulation.contacts.depth.shape[0]
    # Inputs first, then velocities, then positions: each leaves more of the workspace changed.
    for column in range(changes.shape[2] - 1, -1, -1):
        kind, i = column // nv, column % nv
        if column >= 4 * nv + bent:
            kind, i = SHEAR, column - 4 * nv - bent
        size = SHIFTS[kind]
        if kind == VELOCITY and simulation.joints.static_excess[i] > 0.0:
            size = STRIBECK_SHIFT * simulation.joints.stribeck_velocity[i]
        if kind == VELOCITY and remembered and half > 0.0:
            size = SHIFTS[SHEAR] / half
        for k in range(sheared.shape[0]):
            sheared[k, column] = 0.0
        for sign in (1.0, -1.0):
            amount = sign * size
            _shift(simulation, kind, i, amount, remembered)
            if kind == POSITION:
                contacts = min(evaluate(simulation), room)
            elif kind == VELOCITY:
                update_motion(simulation)
            if kind in (POSITION, VELOCITY):
                average_bias(simulation)
            recall_shear(simulation, contacts)
            _hold_velocity(simulation, contacts, part, velocities, changes, column, amount)
            for k in range(nv):
                changes[part + 1, k, column] = right_side[place[k]] - changes[part + 1, k, column]
            _add_shear(simulation, contacts, sheared, column)
            _shift(simulation, kind, i, -amount, remembered)
        # The second residual less the first one belongs to a step of -2 shifts.
        for k in range(nv):
            changes[part + 1, k, column] *= -0.5 / size
        for k in range(sheared.shape[0]):
            sheared[k, column] *= -0.5 / size


@inner_kernel
def _add_shear(simulation: Simulation, count: int, sheared: np.ndarray, column: int) -> None:
    """Write the contacts' shear less what is there: that at the end, which bears friction."""
    contacts, forces, width = simulation.contacts, simulation.contact_forces, _width(simulation)
    half = half_of_arc(simulation)
    for c in range(min(count, sheared.shape[0] // width)):
        frame, force, slip = contacts.frame[c], forces.force[c], forces.velocity[c]
        for i in range(3):
            row, pull = width * c + i, frame[0, i] * force[0] + frame[1, i] * force[1]
            back = half * (frame[0, i] * slip[0] + frame[1, i] * slip[1])
            sheared[row, column] = -forces.compliance[c] * pull - back - sheared[row, column]
        for i in range(width - 3):
            row, turn = width * c + 3 + i, 0.0
            for axis in range(3):
                moment = simulation.contact_moments.moment[c, axis]
                turn -= simulation.contact_moments.compliance[c] * moment * frame[axis, i]
            sheared[row, column] = turn - sheared[row, column]


@inner_kernel
def _shift(simulation: Simulation, kind: int, i: int, amount: float, remembered: bool) -> None:
    """Shift one entry of the state or the inputs."""
    state, drives = simulation.state, simulation.drives
    if kind == EFFORT:
        drives.applied[i] += amount
    elif kind == TARGET:
        drives.target[i] += amount
    elif kind == VELOCITY:
        state.v[i] += amount
        if remembered:
            simulation.shear.velocity[i] += amount
    elif kind == SHEAR:
        width = _width(simulation)
        c, axis = i // width, i % width
        if axis < 3:
            simulation.shear.shear[c, axis] += amount
        else:
            simulation.shear.twist[c, axis - 3] += amount
    elif kind == DEFLECTION:
        simulation.joint_forces.deflection[i] += amount
    else:
        direction = simulation.newton.update
        for k in range(direction.shape[0]):
            direction[k] = 0.0
        direction[i] = 1.0
        move_configuration(simulation.bodies, simulation.joints.q, state.q, direction, amount)


@inner_kernel
def _hold_velocity(
    simulation: Simulation,
    contacts: int,
    part: int,
    velocities: np.ndarray,
    changes: np.ndarray,
    column: int,
    amount: float,
) -> None:
    """Write minus the residual of a sub-step at its nominal end, after changed earlier ones."""
    h = simulation.settings.time_step / (velocities.shape[0] - 1)
    v = simulation.newton.v
    start_step(simulation, contacts)
    for earlier in range(part + 1):
        for i in range(v.shape[0]):
            v[i] = velocities[earlier, i] + amount * changes[earlier, i, column]
        if earlier > 0:
            update_contact_forces(simulation, contacts, h)
            finish_substep(simulation, contacts, h)
    set_momentum(simulation, h)
    for i in range(v.shape[0]):
        v[i] = velocities[part + 1, i]
    update_contact_forces(simulation, contacts, h)
    update_joint_forces(simulation, h)
    for island in range(simulation.counters[ISLANDS]):
        update_tendon_forces(simulation, island, h)
    _assemble_all(simulation, h)


@inner_kernel
def _assemble_all(simulation: Simulation, h: float) -> None:
    for island in range(simulation.counters[ISLANDS]):
        assemble(simulation, island, h)
