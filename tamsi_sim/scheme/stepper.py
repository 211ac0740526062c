"""Time stepping: one TAMSI step with sub-stepping retries."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel, kernel, leaf_kernel
from contact_core.multibody.collision.arrays import NORMAL
from contact_core.multibody.collision.narrow_phase import update_contacts
from contact_core.multibody.collision.seams import drop_seams
from contact_core.multibody.rigid_body.arrays import Jacobian
from contact_core.multibody.rigid_body.configuration import move_configuration
from contact_core.multibody.rigid_body.jacobian import update_jacobians
from tamsi_sim.arrays.data import (
    CONTACTS,
    ISLANDS,
    LENGTH,
    RETRIES,
    STEPS,
    SUBSTEPS,
    WORST_SUBSTEPS,
)
from tamsi_sim.arrays.simulation import COLLIDE, EVALUATE, PROCEED, SEAMS, STEP, Simulation, phase
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.scheme.closures import finish_closures, start_closures, update_closures
from tamsi_sim.scheme.contact_moments import add_moments, find_moments, has_moment, start_moments
from tamsi_sim.scheme.energy import enter_work, runs_away
from tamsi_sim.scheme.free_rotation import average_rotations, look_ahead, turn_freely
from tamsi_sim.scheme.islands import number_rows, update_islands
from tamsi_sim.scheme.joint_forces import bend
from tamsi_sim.scheme.motion import update_motion
from tamsi_sim.scheme.shear import (
    copy_array,
    find_before,
    forget_shear,
    keep_shear,
    move_shear,
    recall_shear,
)
from tamsi_sim.scheme.solver import solve
from tamsi_sim.scheme.spinning_trees import average_spins

OK = int(StepStatus.OK)
MAX_MAGNITUDE = 1e100
"""Of a state: its square still is a number."""
NOT_CONVERGED = int(StepStatus.NOT_CONVERGED)
NOT_FINITE = int(StepStatus.NOT_FINITE)
TOO_MANY_CONTACTS = int(StepStatus.TOO_MANY_CONTACTS)
DIVERGED = int(StepStatus.DIVERGED)


@kernel
def step_now(simulation: Simulation) -> int:
    """Advance by one step, see :func:`step`."""
    simulation.pace[LENGTH] = simulation.settings.time_step
    return step(simulation)


@kernel
def evaluate_now(simulation: Simulation) -> int:
    """Compute all that depends on the current q and v, and on the memory of the last step.

    See :func:`evaluate`.
    """
    simulation.pace[LENGTH] = simulation.settings.time_step
    contacts = evaluate(simulation)
    if fits(simulation, contacts):
        recall_shear(simulation, contacts)
    return contacts


@leaf_kernel
def move_targets(target: np.ndarray, rate: np.ndarray, share: float) -> None:
    """Let the joints' targets (nv) change by a share of their rate per step (nv)."""
    for i in range(target.shape[0]):
        target[i] += share * rate[i]


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
    forget_shear(simulation)
    contacts = evaluate(simulation)
    return proceed(simulation) if fits(simulation, contacts) else TOO_MANY_CONTACTS


@inlined_kernel
def fits(simulation: Simulation, contacts: int) -> bool:
    """Whether there is room for the contact points, and what they couple, of an evaluation."""
    points = contacts <= simulation.contacts.depth.shape[0]
    return points and simulation.islands.entries[0] <= simulation.newton.system.shape[0]


@phase(PROCEED)
def proceed(simulation: Simulation) -> int:
    """Advance from where all is evaluated, see :func:`step`.

    Args:
        simulation: After :func:`evaluate`; the step is as long as its pace says.

    Returns:
        A StepStatus.
    """
    counters, settings, h = simulation.counters, simulation.settings, simulation.pace[LENGTH]
    contacts = simulation.contacts.number[0]
    counters[STEPS] += 1
    counters[CONTACTS] += contacts
    recall_shear(simulation, contacts)
    if runs_away(simulation, contacts):
        return DIVERGED
    drives = simulation.drives
    move_targets(drives.target, drives.target_rate, h / settings.time_step)
    average_bias(simulation)
    for substeps in range(1, settings.max_substeps + 1):
        if _try_substeps(simulation, contacts, substeps):
            if substeps > 1:
                counters[RETRIES] += 1
                counters[WORST_SUBSTEPS] = max(counters[WORST_SUBSTEPS], substeps)
            if not _finite(simulation.state.q, simulation.newton.v):
                return NOT_FINITE
            _accept(simulation, h, contacts)
            # A quaternion of length zero was no orientation to start from.
            return OK if _finite(simulation.state.q, simulation.state.v) else NOT_FINITE
    return NOT_CONVERGED if _finite(simulation.state.q, simulation.newton.v) else NOT_FINITE


@phase(SEAMS)
def merge_seams(simulation: Simulation) -> int:
    """Drop the contact points that only the seams between shapes have; return how many are left."""
    drop_seams(
        simulation.geometry,
        simulation.meshes,
        simulation.poses,
        simulation.pairs,
        simulation.contacts,
        simulation.scratch,
    )
    return simulation.contacts.number[0]


@phase(COLLIDE)
def collide(simulation: Simulation) -> int:
    """Find the contact points where the bodies are now.

    Args:
        simulation: Reads the bodies' poses; writes those of the shapes, and the contacts.

    Returns:
        The number of contact points, possibly more than the workspace holds.
    """
    count = update_contacts(
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
    seams, room = simulation.geometry.neighbour.shape[0] > 0, simulation.contacts.depth.shape[0]
    return merge_seams(simulation) if seams and count <= room else count


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
    find_before(simulation, held)
    update_closures(simulation)
    drives, damping = simulation.drives, simulation.joint_forces.damping
    mass_matrix = simulation.dynamics.mass_matrix
    for i in range(damping.shape[0]):
        inertia = mass_matrix[i, i - trees.first_dof[trees.of_dof[i]]]
        critical = 2.0 * math.sqrt(drives.stiffness[i] * inertia)
        damping[i] = drives.damping[i] + drives.damping_ratio[i] * critical
    return count


@inlined_kernel
def average_bias(simulation: Simulation) -> None:
    """Go from the bias at the start of a step to its mean, and compute the drift."""
    if simulation.settings.midpoint:
        for i in range(simulation.drift.shape[0]):
            simulation.drift[i] = 0.0
        # Halves of a step may not go by another rule than the whole, or they tell no error.
        if simulation.settings.accuracy == 0.0:
            average_spins(simulation)
        average_rotations(simulation)


@inlined_kernel
def _try_substeps(simulation: Simulation, contacts: int, substeps: int) -> bool:
    """Solve a step in equal parts; leave the mean contact forces in mean_force."""
    h = simulation.pace[LENGTH] / substeps
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
        forces.elastic[c] = contacts.stiffness[c] * (contacts.depth[c] - forces.slack[c])
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
    share = h / simulation.pace[LENGTH]
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
    add_impulses(simulation, simulation.contact_impulse, h, contacts)
    if simulation.settings.midpoint:
        turn_freely(simulation, h)
    keep_shear(simulation, contacts)
    for i in range(state.v.shape[0]):
        state.v[i] = newton.v[i]
        joint_forces.deflection[i] = joint_forces.bent[i]
        newton.v[i] += simulation.drift[i]
    move_configuration(simulation.bodies, simulation.joints.q, state.q, newton.v, h)
    copy_array(state.q, simulation.shear.q)
    enter_work(simulation, h)


@inlined_kernel
def add_impulses(simulation: Simulation, impulse: np.ndarray, h: float, contacts: int) -> None:
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
