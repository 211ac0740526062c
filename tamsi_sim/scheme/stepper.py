"""Time stepping: one TAMSI step with sub-stepping retries, and many steps in one call."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel, inner_kernel, kernel, leaf_kernel
from contact_core.multibody.collision.arrays import NORMAL
from contact_core.multibody.collision.narrow_phase import update_contacts
from contact_core.multibody.rigid_body.arrays import Jacobian
from contact_core.multibody.rigid_body.configuration import move_configuration
from contact_core.multibody.rigid_body.dynamics import update_dynamics
from contact_core.multibody.rigid_body.jacobian import update_jacobians
from contact_core.multibody.rigid_body.kinematics import update_kinematics
from tamsi_sim.arrays.data import (
    CONTACTS,
    ISLANDS,
    RETRIES,
    STEPS,
    SUBSTEPS,
    WORST_SUBSTEPS,
    ShearMemory,
)
from tamsi_sim.arrays.simulation import COLLIDE, EVALUATE, STEP, Simulation, phase
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.scheme.closures import finish_closures, start_closures, update_closures
from tamsi_sim.scheme.contact_moments import add_moments, find_moments, has_moment, start_moments
from tamsi_sim.scheme.energy import enter_work, runs_away
from tamsi_sim.scheme.free_rotation import average_rotations, look_ahead
from tamsi_sim.scheme.islands import number_rows, update_islands
from tamsi_sim.scheme.joint_forces import bend, update_friction
from tamsi_sim.scheme.shear import copy_shear, forget_shear, keep_shear, move_shear, recall_shear
from tamsi_sim.scheme.solver import solve

OK = int(StepStatus.OK)
MAX_MAGNITUDE = 1e100
"""Of a state: its square still is a number."""
EFFORT, TARGET, FEEDFORWARD = 0, 1, 2
"""What the inputs of a rollout are."""
NOT_CONVERGED = int(StepStatus.NOT_CONVERGED)
NOT_FINITE = int(StepStatus.NOT_FINITE)
TOO_MANY_CONTACTS = int(StepStatus.TOO_MANY_CONTACTS)
DIVERGED = int(StepStatus.DIVERGED)


@kernel
def advance(simulation: Simulation, steps: int) -> int:
    """Advance by a number of steps, or up to the first that fails.

    Args:
        simulation: Its q and v move, contact_impulse accumulates, the joints' targets move by
            target_rate every step.
        steps: How many steps.

    Returns:
        The status of the last step, a StepStatus.
    """
    return _advance(simulation, steps)


@kernel
def evaluate_now(simulation: Simulation) -> int:
    """Compute all that depends on the current q and v, see :func:`evaluate`."""
    return evaluate(simulation)


@kernel
def roll(
    simulation: Simulation,
    q: np.ndarray,
    v: np.ndarray,
    inputs: np.ndarray,
    command: int,
    positions: np.ndarray,
    velocities: np.ndarray,
    contact_force: np.ndarray,
    joint_force: np.ndarray,
    statuses: np.ndarray,
) -> None:
    """Advance from several states under inputs of their own, one after the other.

    Args:
        simulation: Every sample starts with its targets and the deflections of its joints'
            friction, those where it is with the shear of its contacts; what the inputs are is
            overwritten.
        q: (n, nq) initial positions.
        v: (n, nv) initial velocities.
        inputs: (n, T, nv) input of each step.
        command: EFFORT, TARGET or FEEDFORWARD, what the inputs are.
        positions: (n, T + 1, nq) row 0 is the initial state, row k the one after k steps;
            rows behind a failed step are not written.
        velocities: (n, T + 1, nv)
        contact_force: (n, T, nv) zeros, get J^T f of each step; (n, 0, nv) not to record forces.
        joint_force: Of the same size, of drives, friction and end stops.
        statuses: (n) the StepStatus of each sample's last step.
    """
    target = simulation.drives.target.copy()
    deflection = simulation.joint_forces.deflection.copy()
    memory = simulation.shear
    shear = ShearMemory(
        memory.number.copy(), memory.shapes.copy(), memory.first.copy(), memory.energy.copy(),
        memory.point.copy(), memory.shear.copy(), memory.twist.copy(), memory.table, memory.slot,
        memory.q.copy(),
    )  # fmt: skip
    for sample in range(q.shape[0]):
        statuses[sample] = _roll(
            simulation, q[sample], v[sample], target, deflection, shear, inputs[sample], command,
            positions[sample], velocities[sample], contact_force[sample], joint_force[sample],
        )  # fmt: skip


@inner_kernel
def _roll(
    simulation: Simulation,
    q: np.ndarray,
    v: np.ndarray,
    target: np.ndarray,
    deflection: np.ndarray,
    shear: ShearMemory,
    inputs: np.ndarray,
    command: int,
    positions: np.ndarray,
    velocities: np.ndarray,
    contact_force: np.ndarray,
    joint_force: np.ndarray,
) -> int:
    state, drives = simulation.state, simulation.drives
    _copy(q, state.q)
    _copy(v, state.v)
    _copy(target, drives.target)
    _copy(deflection, simulation.joint_forces.deflection)
    copy_shear(shear, simulation.shear)
    driven = drives.target if command == TARGET else drives.applied
    if command == FEEDFORWARD:
        driven = drives.feedforward
    for k in range(inputs.shape[0] + 1):
        _copy(state.q, positions[k])
        _copy(state.v, velocities[k])
        if k < inputs.shape[0]:
            _copy(inputs[k], driven)
            status = step(simulation)
            if status != OK:
                return status
            if k < contact_force.shape[0]:
                found = simulation.contacts.number[0]
                _add_impulses(simulation, contact_force[k], 1.0, found)
                _copy(simulation.joint_forces.force, joint_force[k])
    return OK


@inner_kernel
def _advance(simulation: Simulation, steps: int) -> int:
    for _ in range(steps):
        status = step(simulation)
        if status != OK:
            return status
    return OK


@leaf_kernel
def move_targets(target: np.ndarray, rate: np.ndarray) -> None:
    """Let the joints' targets (nv) change by their rate per step (nv)."""
    for i in range(target.shape[0]):
        target[i] += rate[i]


@leaf_kernel
def _copy(source: np.ndarray, target: np.ndarray) -> None:
    for i in range(target.shape[0]):
        target[i] = source[i]


@phase(STEP)
def step(simulation: Simulation) -> int:
    """Advance by one step of tamsi (10), (21), everything but the velocity frozen at q0.

    A step that Newton's method cannot solve is repeated with 2, 3, ... sub-steps, in which
    the kinematics stay frozen.

    Args:
        simulation: Its q and v move if the step succeeds; nothing does if there is no room for
            the contacts.

    Returns:
        A StepStatus.
    """
    counters, settings = simulation.counters, simulation.settings
    forget_shear(simulation)
    contacts = evaluate(simulation)
    if (
        contacts > simulation.contacts.depth.shape[0]
        or simulation.islands.entries[0] > simulation.newton.system.shape[0]
    ):
        return TOO_MANY_CONTACTS
    counters[STEPS] += 1
    counters[CONTACTS] += contacts
    if runs_away(simulation, contacts):
        return DIVERGED
    move_targets(simulation.drives.target, simulation.drives.target_rate)
    average_bias(simulation)
    for substeps in range(1, settings.max_substeps + 1):
        if _try_substeps(simulation, contacts, substeps):
            if substeps > 1:
                counters[RETRIES] += 1
                counters[WORST_SUBSTEPS] = max(counters[WORST_SUBSTEPS], substeps)
            if not _finite(simulation.state.q, simulation.newton.v):
                return NOT_FINITE
            _accept(simulation, settings.time_step, contacts)
            # A quaternion of length zero was no orientation to start from.
            return OK if _finite(simulation.state.q, simulation.state.v) else NOT_FINITE
    return NOT_CONVERGED if _finite(simulation.state.q, simulation.newton.v) else NOT_FINITE


@phase(COLLIDE)
def collide(simulation: Simulation) -> int:
    """Find the contact points where the bodies are now.

    Args:
        simulation: Reads the bodies' poses; writes those of the shapes, and the contacts.

    Returns:
        The number of contact points, possibly more than the workspace holds.
    """
    return update_contacts(
        simulation.geometry,
        simulation.hulls,
        simulation.meshes,
        simulation.rules,
        simulation.kinematics,
        simulation.poses,
        simulation.sweep,
        simulation.pairs,
        simulation.contacts,
        simulation.scratch,
    )


@phase(EVALUATE)
def evaluate(simulation: Simulation) -> int:
    """Compute all that depends on q and v at the start of a step.

    Args:
        simulation: Reads q and v; writes kinematics, dynamics, contacts, islands, Jacobians
            and the damping of the joints' controllers.

    Returns:
        The number of contact points, possibly more than the workspace holds.
    """
    update_motion(simulation)
    geometry, pairs, trees = simulation.geometry, simulation.pairs, simulation.trees
    contacts, kinematics, jacobian = (
        simulation.contacts, simulation.kinematics, simulation.jacobian,
    )  # fmt: skip
    count = collide(simulation)
    held = min(contacts.number[0], contacts.depth.shape[0])
    simulation.counters[ISLANDS] = update_islands(simulation, held)
    update_jacobians(
        simulation.bodies, kinematics.motion, geometry.body, pairs.shapes, contacts, jacobian, held
    )
    number_rows(simulation, held)
    find_moments(simulation, held)
    recall_shear(simulation, held)
    update_closures(simulation)
    drives, damping = simulation.drives, simulation.joint_forces.damping
    mass_matrix = simulation.dynamics.mass_matrix
    for i in range(damping.shape[0]):
        inertia = mass_matrix[i, i - trees.first_dof[trees.of_dof[i]]]
        critical = 2.0 * math.sqrt(drives.stiffness[i] * inertia)
        damping[i] = drives.damping[i] + drives.damping_ratio[i] * critical
    return count


@inlined_kernel
def update_motion(simulation: Simulation) -> None:
    """Compute kinematics, dynamics and the reach of joint friction of the current q and v."""
    bodies, kinematics = simulation.bodies, simulation.kinematics
    update_kinematics(bodies, simulation.state, kinematics)
    update_dynamics(
        bodies, simulation.inertias, simulation.trees, simulation.joints.armature, kinematics,
        simulation.dynamics,
    )  # fmt: skip
    update_friction(simulation.joints, simulation.state.v, simulation.joint_forces.friction)


@inlined_kernel
def average_bias(simulation: Simulation) -> None:
    """Go from the bias at the start of a step to its mean, and compute the drift."""
    if simulation.settings.midpoint:
        average_rotations(simulation)


@inlined_kernel
def _try_substeps(simulation: Simulation, contacts: int, substeps: int) -> bool:
    """Solve a step in equal parts; leave the mean contact forces in mean_force."""
    h = simulation.settings.time_step / substeps
    simulation.counters[SUBSTEPS] = substeps
    forces = simulation.contact_forces
    start_step(simulation, contacts)
    for _ in range(substeps):
        set_momentum(simulation, h)
        if not solve(simulation):
            return False
        finish_substep(simulation, contacts, h)
        for c in range(contacts):
            for i in range(3):
                forces.mean_force[c, i] += forces.force[c, i] / substeps
    return True


@inlined_kernel
def start_step(simulation: Simulation, contacts: int) -> None:
    """Begin the sub-steps of a step: at its initial velocity, and penetrations after the drift."""
    start_substeps(simulation, contacts)
    if simulation.settings.midpoint:
        look_ahead(simulation, contacts)
    start_moments(simulation.contact_moments)
    start_closures(simulation)


@inlined_kernel
def start_substeps(simulation: Simulation, count: int) -> None:
    """Begin a step's sub-steps at its initial velocity and penetrations.

    Args:
        simulation: Gets the velocity, elastic forces, deflections at the start, and no shift.
        count: Number of contact points.
    """
    v, v_next, contacts = simulation.state.v, simulation.newton.v, simulation.contacts
    forces, joint_forces = simulation.contact_forces, simulation.joint_forces
    for i in range(v.shape[0]):
        v_next[i] = v[i]
        joint_forces.shift[i] = 0.0
        joint_forces.bent[i] = joint_forces.deflection[i]
    for c in range(count):
        forces.elastic[c] = contacts.stiffness[c] * contacts.depth[c]
        forces.shear[c, 0], forces.shear[c, 1] = forces.initial_shear[c]
        for i in range(3):
            forces.mean_force[c, i] = 0.0


@inlined_kernel
def set_momentum(simulation: Simulation, h: float) -> None:
    """Begin a (sub-)step: p* = M v + h tau, without forces that depend on the end velocity.

    Args:
        simulation: Reads the velocity to begin with; its momentum and duration are written.
        h: Length of the (sub-)step [s].
    """
    trees, dynamics, newton = simulation.trees, simulation.dynamics, simulation.newton
    applied = simulation.drives.applied
    newton.duration[0] = h
    for i in range(newton.v.shape[0]):
        value = h * (applied[i] - dynamics.bias[i])
        tree = trees.of_dof[i]
        first = trees.first_dof[tree]
        for j in range(trees.first_dof[tree + 1] - first):
            value += dynamics.mass_matrix[i, j] * newton.v[first + j]
        newton.momentum[i] = value


@inlined_kernel
def finish_substep(simulation: Simulation, contacts: int, h: float) -> None:
    """Move joints, penetrations, (19), and closures to where the next sub-step starts.

    Args:
        simulation: Reads Newton's v and the contacts' velocities.
        contacts: Number of contact points.
        h: Length of the sub-step [s].
    """
    stiffness, forces = simulation.contacts.stiffness, simulation.contact_forces
    joint_forces, v = simulation.joint_forces, simulation.newton.v
    for i in range(v.shape[0]):
        joint_forces.shift[i] += h * v[i]
    bend(simulation.joints, v, joint_forces, h)
    move_shear(simulation, contacts)
    for c in range(contacts):
        change = h * stiffness[c] * forces.velocity[c, NORMAL]
        forces.elastic[c] = max(0.0, forces.elastic[c] - change)
    share = h / simulation.settings.time_step
    add_moments(simulation, contacts, share)
    finish_closures(simulation, h, share)


@inlined_kernel
def _finite(q: np.ndarray, v: np.ndarray) -> bool:
    """Whether a state is finite, and stays so when it moves on."""
    total = 0.0
    for i in range(v.shape[0]):
        total += abs(v[i])
    for i in range(q.shape[0]):
        total += abs(q[i])
    return total < MAX_MAGNITUDE


@inlined_kernel
def _accept(simulation: Simulation, h: float, contacts: int) -> None:
    """Take the new velocity, move the positions with it, and sum up contact impulses."""
    state, newton, joint_forces = simulation.state, simulation.newton, simulation.joint_forces
    _add_impulses(simulation, simulation.contact_impulse, h, contacts)
    keep_shear(simulation, contacts)
    for i in range(state.v.shape[0]):
        state.v[i] = newton.v[i]
        joint_forces.deflection[i] = joint_forces.bent[i]
        newton.v[i] += simulation.drift[i]
    move_configuration(simulation.bodies, simulation.joints.q, state.q, newton.v, h)
    _copy(state.q, simulation.shear.q)
    enter_work(simulation, h)


@inlined_kernel
def _add_impulses(simulation: Simulation, impulse: np.ndarray, h: float, contacts: int) -> None:
    """Add the mean generalised force of all contacts, times h."""
    moments = simulation.contact_moments
    for c in range(contacts):
        _add_impulse(simulation.jacobian, simulation.contact_forces.mean_force, impulse, h, c)
    for c in range(min(contacts, moments.mean_moment.shape[0])):
        if has_moment(moments.coefficient, c):
            _add_impulse(simulation.angular, moments.mean_moment, impulse, h, c)


@inlined_kernel
def _add_impulse(
    jacobian: Jacobian, mean_force: np.ndarray, impulse: np.ndarray, h: float, c: int
) -> None:
    force, entries, dofs = mean_force[c], jacobian.entry[c], jacobian.dof[c]
    for k in range(jacobian.columns[c]):
        impulse[dofs[k]] += h * (
            entries[0, k] * force[0] + entries[1, k] * force[1] + entries[2, k] * force[2]
        )
