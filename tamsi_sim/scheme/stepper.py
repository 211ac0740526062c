"""Time stepping: one TAMSI step with sub-stepping retries, and many steps in one call."""

from __future__ import annotations

import math

import numpy as np

from contact_core.kernel import kernel
from tamsi_sim.arrays.borrowing import borrowed, inlined_kernel, inner_kernel, leaf_kernel
from tamsi_sim.arrays.data import (
    CONTACTS,
    NORMAL,
    RETRIES,
    STEPS,
    SUBSTEPS,
    WORST_SUBSTEPS,
    Model,
    Settings,
    Work,
)
from tamsi_sim.arrays.handle import Handle
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.body.configuration import move_configuration
from tamsi_sim.body.dynamics import update_dynamics
from tamsi_sim.body.jacobian import update_jacobians
from tamsi_sim.body.kinematics import update_kinematics
from tamsi_sim.collision.narrow_phase import update_contacts
from tamsi_sim.scheme.islands import update_islands
from tamsi_sim.scheme.solver import solve

OK = int(StepStatus.OK)
EFFORT, TARGET = 0, 1
"""What the inputs of a rollout are."""
NOT_CONVERGED = int(StepStatus.NOT_CONVERGED)
NOT_FINITE = int(StepStatus.NOT_FINITE)
TOO_MANY_CONTACTS = int(StepStatus.TOO_MANY_CONTACTS)


@kernel
def advance(handle: Handle, steps: int) -> int:
    """Advance by a number of steps, or up to the first that fails.

    Args:
        handle: The simulation; its work's q and v move, contact_impulse accumulates, the
            joints' targets move by target_rate every step.
        steps: How many steps.

    Returns:
        The status of the last step, a StepStatus.
    """
    return _advance(handle, steps)


@kernel
def evaluate_now(handle: Handle) -> int:
    """Compute all that depends on the current q and v, see :func:`evaluate`."""
    return evaluate(handle.model, handle.work)


@kernel
def roll(handle: Handle, forces: np.ndarray, positions: np.ndarray, velocities: np.ndarray) -> int:
    """Advance under a force that changes every step, and record the states.

    Args:
        handle: The simulation; its work's ``applied`` is overwritten.
        forces: (n, nv) generalised force of each step [Nm or N].
        positions: (n + 1, nq) row 0 is the state now, row k the one after k steps; rows
            behind a failed step are not written.
        velocities: (n + 1, nv)

    Returns:
        The status of the last step, a StepStatus.
    """
    return _roll(handle, forces, EFFORT, positions, velocities)


@kernel
def roll_batch(
    handle: Handle,
    q: np.ndarray,
    v: np.ndarray,
    inputs: np.ndarray,
    command: int,
    positions: np.ndarray,
    velocities: np.ndarray,
    statuses: np.ndarray,
) -> None:
    """Advance from several states under inputs of their own, one after the other.

    Args:
        handle: The simulation; every sample starts with its targets.
        q: (n, nq) initial positions.
        v: (n, nv) initial velocities.
        inputs: (n, T, nv) input of each step.
        command: EFFORT or TARGET, what the inputs are.
        positions: (n, T + 1, nq) as of :func:`roll`.
        velocities: (n, T + 1, nv)
        statuses: (n) the StepStatus of each sample's last step.
    """
    work = handle.work
    target = work.target.copy()
    for sample in range(q.shape[0]):
        work.q[:], work.v[:], work.target[:] = q[sample], v[sample], target
        statuses[sample] = _roll(
            handle, inputs[sample], command, positions[sample], velocities[sample]
        )


@inner_kernel
def _roll(
    handle: Handle,
    inputs: np.ndarray,
    command: int,
    positions: np.ndarray,
    velocities: np.ndarray,
) -> int:
    fields: tuple[Model, Work, Settings] = borrowed(handle)
    model, work, settings = fields
    driven = work.target if command == TARGET else work.applied
    for k in range(inputs.shape[0] + 1):
        for i in range(work.q.shape[0]):
            positions[k, i] = work.q[i]
        for i in range(work.v.shape[0]):
            velocities[k, i] = work.v[i]
        if k < inputs.shape[0]:
            for i in range(work.v.shape[0]):
                driven[i] = inputs[k, i]
            _move_targets(work.target, work.target_rate)
            status = step(model, work, settings)
            if status != OK:
                return status
    return OK


@inner_kernel
def _advance(handle: Handle, steps: int) -> int:
    fields: tuple[Model, Work, Settings] = borrowed(handle)
    model, work, settings = fields
    for _ in range(steps):
        _move_targets(work.target, work.target_rate)
        status = step(model, work, settings)
        if status != OK:
            return status
    return OK


@leaf_kernel
def _move_targets(target: np.ndarray, rate: np.ndarray) -> None:
    """Let the joints' targets (nv) change by their rate per step (nv)."""
    for i in range(target.shape[0]):
        target[i] += rate[i]


@inner_kernel
def step(model: Model, work: Work, settings: Settings) -> int:
    """Advance by one step of tamsi (10), (21), everything but the velocity frozen at q0.

    A step that Newton's method cannot solve is repeated with 2, 3, ... sub-steps, in which
    the kinematics stay frozen.

    Args:
        model: The model.
        work: Its q and v move if the step succeeds.
        settings: The settings.

    Returns:
        A StepStatus.
    """
    work.counters[STEPS] += 1
    contacts = evaluate(model, work)
    if contacts > work.contact_depth.shape[0]:
        return TOO_MANY_CONTACTS
    work.counters[CONTACTS] += contacts
    for substeps in range(1, settings.max_substeps + 1):
        if _try_substeps(model, work, settings, contacts, substeps):
            if substeps > 1:
                work.counters[RETRIES] += 1
                work.counters[WORST_SUBSTEPS] = max(work.counters[WORST_SUBSTEPS], substeps)
            if not _finite(work):
                return NOT_FINITE
            _accept(model, work, settings.time_step, contacts)
            return OK
    return NOT_CONVERGED if _finite(work) else NOT_FINITE


@inner_kernel
def evaluate(model: Model, work: Work) -> int:
    """Compute all that depends on q and v at the start of a step.

    Args:
        model: The model.
        work: Reads q and v; writes kinematics, dynamics, contacts, islands, Jacobians.

    Returns:
        The number of contact points, possibly more than the workspace holds.
    """
    update_kinematics(model, work)
    update_dynamics(model, work)
    contacts = update_contacts(model, work)
    held = min(contacts, work.contact_depth.shape[0])
    update_islands(model, work, held)
    update_jacobians(model, work, held)
    for i in range(work.stiffness.shape[0]):
        critical = 2.0 * math.sqrt(work.stiffness[i] * work.mass_matrix[i, i])
        work.drive_damping_now[i] = work.drive_damping[i] + work.damping_ratio[i] * critical
    return contacts


@inlined_kernel
def _try_substeps(
    model: Model, work: Work, settings: Settings, contacts: int, substeps: int
) -> bool:
    """Solve a step in equal parts; leave the mean contact forces in contact_mean_force."""
    h = settings.time_step / substeps
    work.counters[SUBSTEPS] = substeps
    start_substeps(work, contacts)
    for _ in range(substeps):
        set_momentum(model, work, h)
        if not solve(model, work, settings, contacts, h):
            return False
        finish_substep(work, contacts, h)
        for c in range(contacts):
            for i in range(3):
                work.contact_mean_force[c, i] += work.contact_force[c, i] / substeps
    return True


@inlined_kernel
def start_substeps(work: Work, contacts: int) -> None:
    """Begin a step's sub-steps at its initial velocity and penetrations."""
    for i in range(work.v.shape[0]):
        work.v_next[i] = work.v[i]
        work.joint_shift[i] = 0.0
    for c in range(contacts):
        work.contact_elastic[c] = work.contact_stiffness[c] * work.contact_depth[c]
        for i in range(3):
            work.contact_mean_force[c, i] = 0.0


@inlined_kernel
def set_momentum(model: Model, work: Work, h: float) -> None:
    """p* = M v + h tau, without the forces that depend on the velocity's end value."""
    for i in range(work.v_next.shape[0]):
        value = h * (work.applied[i] - work.bias[i])
        tree = model.dof_tree[i]
        for j in range(model.tree_dof[tree], model.tree_dof[tree + 1]):
            value += work.mass_matrix[i, j] * work.v_next[j]
        work.momentum[i] = value


@inlined_kernel
def finish_substep(work: Work, contacts: int, h: float) -> None:
    """Move joints and penetrations, (19), to where the next sub-step starts."""
    for i in range(work.v_next.shape[0]):
        work.joint_shift[i] += h * work.v_next[i]
    for c in range(contacts):
        change = h * work.contact_stiffness[c] * work.contact_velocity[c, NORMAL]
        work.contact_elastic[c] = max(0.0, work.contact_elastic[c] - change)


@inlined_kernel
def _finite(work: Work) -> bool:
    total = 0.0
    for i in range(work.v_next.shape[0]):
        total += work.v_next[i]
    for i in range(work.q.shape[0]):
        total += work.q[i]
    return math.isfinite(total)


@inlined_kernel
def _accept(model: Model, work: Work, h: float, contacts: int) -> None:
    """Take the new velocity, move the positions with it, and sum up contact impulses."""
    for c in range(contacts):
        force, jacobian, dofs = work.contact_mean_force[c], work.jacobian[c], work.jacobian_dof[c]
        for k in range(work.jacobian_columns[c]):
            work.contact_impulse[dofs[k]] += h * (
                jacobian[0, k] * force[0] + jacobian[1, k] * force[1] + jacobian[2, k] * force[2]
            )
    for i in range(work.v.shape[0]):
        work.v[i] = work.v_next[i]
    move_configuration(model, work.q, work.v, h)
