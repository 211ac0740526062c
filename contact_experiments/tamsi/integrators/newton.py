"""Newton's method of implicit Euler, tamsi (9), with TALS and Hairer's test of convergence.

Each iteration evaluates the dynamics f(t, x) of tamsi (3) at the iterate, and for a new Jacobian
around it; TALS (Sec. III-A) limits the update.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inner_kernel
from contact_core.multibody.rigid_body.arrays import Trees
from contact_core.multibody.rigid_body.configuration import move_configuration
from contact_core.multibody.rigid_body.dynamics import mass
from contact_experiments.tamsi.integrators import data
from contact_experiments.tamsi.integrators.data import Memory, Options
from contact_experiments.tamsi.integrators.dense_lu import copy, factorize, norm, substitute
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.scheme.contact import project, update_contact_forces
from tamsi_sim.scheme.joint_forces import update_joint_forces
from tamsi_sim.scheme.line_search import transition_limit
from tamsi_sim.scheme.shear import recall_shear
from tamsi_sim.scheme.stepper import evaluate, start_substeps

# Square root of the machine's precision: far below any v_s, far above the forces' round-off.
PERTURBATION = 1.5e-8


@inner_kernel
def _evaluate_iterate(simulation: Simulation, memory: Memory, differentiate: bool) -> int:
    """Write the imbalance F(q, v) - M(q) a, with F = tau + J_c^T f_c of ``tamsi`` (2).

    Nothing is frozen: kinematics, contact geometry and forces belong to (q, v). With
    derivatives, 2 nv neighbours of the iterate are evaluated before the iterate itself.

    Args:
        simulation: Overwritten: everything that depends on q and v, in the end at the iterate.
        memory: Reads q, v and acceleration a; writes imbalance and, with derivatives, the
            rows of by_v and by_q; counts.
        differentiate: Whether to compute the derivatives.

    Returns:
        The number of contact points, possibly more than the workspace holds.
    """
    nv = memory.v.shape[0]
    state, drives, joints = simulation.state, simulation.drives, simulation.joints
    points, jacobian, forces = (
        simulation.contacts, simulation.jacobian, simulation.contact_forces,
    )  # fmt: skip
    joint_forces, dynamics, trees = (
        simulation.joint_forces, simulation.dynamics, simulation.trees,
    )  # fmt: skip
    found = 0
    for k in range(-2 * nv if differentiate else 0, 1):
        # The point of this turn: moved along v_j, along q_j, or the iterate itself.
        copy(memory.q, state.q)
        copy(memory.v, state.v)
        out = memory.imbalance
        if k < -nv:
            out = memory.by_v[k + 2 * nv]
            state.v[k + 2 * nv] += _velocity_step(memory, k + 2 * nv)
        elif k < 0:
            out = memory.by_q[k + nv]
            memory.direction[k + nv] = 1.0
            move_configuration(simulation.bodies, joints.q, state.q, memory.direction, PERTURBATION)
            memory.direction[k + nv] = 0.0

        found = evaluate(simulation)
        contacts = min(found, points.depth.shape[0])
        recall_shear(simulation, contacts)
        start_substeps(simulation, contacts)
        # h = 0: forces of this very state, without the look ahead of (19).
        update_contact_forces(simulation, contacts, 0.0)
        update_joint_forces(simulation, 0.0)

        for i in range(nv):
            force = drives.applied[i] + joint_forces.force[i] - dynamics.bias[i]
            for j in range(nv):
                force -= mass(trees, dynamics.mass_matrix, i, j) * memory.acceleration[j]
            out[i] = force
        for c in range(contacts):
            contact, entries, dofs = forces.force[c], jacobian.entry[c], jacobian.dof[c]
            for a in range(jacobian.columns[c]):
                out[dofs[a]] += (
                    entries[0, a] * contact[0]
                    + entries[1, a] * contact[1]
                    + entries[2, a] * contact[2]
                )
        memory.counters[data.EVALUATIONS] += 1
    if differentiate:
        memory.counters[data.JACOBIANS] += 1
        _take_differences(memory)
    return found


@inner_kernel
def _velocity_step(memory: Memory, j: int) -> float:
    """Return the perturbation of one velocity."""
    return PERTURBATION * max(1.0, abs(memory.v[j]))


@inner_kernel
def _take_differences(memory: Memory) -> None:
    """Turn the neighbours' imbalances into forward differences."""
    nv = memory.v.shape[0]
    for j in range(nv):
        step = _velocity_step(memory, j)
        for i in range(nv):
            memory.by_v[j, i] = (memory.by_v[j, i] - memory.imbalance[i]) / step
            memory.by_q[j, i] = (memory.by_q[j, i] - memory.imbalance[i]) / PERTURBATION


@inner_kernel
def _limit_transitions(simulation: Simulation, memory: Memory, contacts: int) -> float:
    """Return alpha = min alpha_i, with the contact Jacobians frozen at the iterate.

    Args:
        simulation: Reads contact velocities and Jacobians of the iterate, and update.
        memory: Notes the contact that is to land inside stiction; counts.
        contacts: Number of contact points.

    Returns:
        alpha in (0, 1].
    """
    settings, newton, friction = (
        simulation.settings, simulation.newton, simulation.joints.friction,
    )  # fmt: skip
    forces, jacobian = simulation.contact_forces, simulation.jacobian
    alpha, limiting = 1.0, -1
    stiction = settings.stiction_velocity
    tolerance = settings.relative_tolerance * stiction
    cosine, landing = settings.cos_max_angle, settings.landing
    for c in range(contacts):
        project(jacobian, c, newton.update, forces.update)
        x, y = forces.velocity[c, 0], forces.velocity[c, 1]
        dx, dy = forces.update[c, 0], forces.update[c, 1]
        share = transition_limit(x, y, dx, dy, stiction, tolerance, cosine, landing)
        if share < alpha:
            alpha, limiting = share, c
    for i in range(friction.shape[0]):
        if friction[i] > 0.0:
            rate, change = newton.v[i], newton.update[i]
            share = transition_limit(rate, 0.0, change, 0.0, stiction, tolerance, cosine, landing)
            if share < alpha:
                alpha, limiting = share, -1
    memory.jacobian_state[data.LANDING_PAIR] = -1
    if alpha < 1.0:
        memory.counters[data.LIMITED] += 1
    if limiting >= 0:
        x = forces.velocity[limiting, 0] + alpha * forces.update[limiting, 0]
        y = forces.velocity[limiting, 1] + alpha * forces.update[limiting, 1]
        if math.hypot(x, y) < stiction:
            memory.jacobian_state[data.LANDING_PAIR] = _shapes_of(simulation, limiting)
            memory.jacobian_state[data.LANDING_CONTACT] = limiting
    return alpha


@inner_kernel
def _shapes_of(simulation: Simulation, c: int) -> int:
    """Return a number that tells a contact's two shapes from others."""
    pair, pairs = simulation.contacts.pair[c], simulation.pairs
    first: int = pairs.shapes[pair, 0] * simulation.geometry.kind.shape[0]
    return first + pairs.shapes[pair, 1]


@inner_kernel
def _check_landing(simulation: Simulation, memory: Memory, contacts: int) -> None:
    """Count landings, and those that missed since the configuration moved, Sec. IV-B.

    Args:
        simulation: Reads the contact velocities at the new iterate.
        memory: Reads the contact that was to land; counts.
        contacts: Number of contact points.
    """
    c = memory.jacobian_state[data.LANDING_CONTACT]
    pair = memory.jacobian_state[data.LANDING_PAIR]
    memory.jacobian_state[data.LANDING_PAIR] = -1
    if pair < 0 or c >= contacts or _shapes_of(simulation, c) != pair:
        return
    memory.counters[data.LANDINGS] += 1
    forces = simulation.contact_forces
    slip = math.hypot(forces.velocity[c, 0], forces.velocity[c, 1])
    if slip > simulation.settings.stiction_velocity:
        memory.counters[data.MISSED] += 1


OK = int(StepStatus.OK)
NOT_CONVERGED = int(StepStatus.NOT_CONVERGED)
NOT_FINITE = int(StepStatus.NOT_FINITE)
TOO_MANY_CONTACTS = int(StepStatus.TOO_MANY_CONTACTS)

# An update that is round-off [m/s and rad/s].
NO_UPDATE = 1e-12
# Updates may grow once: on the way out of stiction the second is much larger than the first.
FIRST_JUDGED = 2


@inner_kernel
def solve_implicit(simulation: Simulation, options: Options, memory: Memory, h: float) -> int:
    """Solve M (v - v0) = h F(q, v) with q = q0 + h N(q) v, the implicit Euler step.

    The configuration follows from the velocity, so Newton's method needs no further
    unknowns: the renormalised first-order turn of a quaternion is the same whether N is
    taken at its start or at its end. A quasi-Newton iteration keeps its Jacobian, but not
    behind an update that TALS limited, where the slope of friction is another one.

    Args:
        simulation: Reads applied; everything that depends on q and v is overwritten.
        options: The options.
        memory: Reads q_start and v_start; writes q and v.
        h: Length of the step [s].

    Returns:
        A StepStatus.
    """
    bodies, joint_q = simulation.bodies, simulation.joints.q
    mass_matrix, update = simulation.dynamics.mass_matrix, simulation.newton.update
    state, v = memory.jacobian_state, memory.v
    nv = v.shape[0]
    tolerance = options.newton_tolerance + options.newton_drift * h
    copy(memory.v_start, v)
    copy(memory.q_start, memory.q)
    move_configuration(bodies, joint_q, memory.q, v, h)
    memory.residuals[:] = math.nan
    state[data.FRESH] = 0
    state[data.LANDING_PAIR] = -1
    last = 0.0
    for iteration in range(options.max_iterations):
        memory.counters[data.ITERATIONS] += 1
        for i in range(nv):
            memory.acceleration[i] = (v[i] - memory.v_start[i]) / h
        renew = options.full_newton == 1 or state[data.KNOWN] == 0
        contacts = _evaluate_iterate(simulation, memory, renew)
        if contacts > simulation.contacts.depth.shape[0]:
            return TOO_MANY_CONTACTS
        _check_landing(simulation, memory, contacts)
        if renew:
            state[data.KNOWN] = state[data.FRESH] = 1
        if renew or memory.clock[data.MATRIX_STEP] != h:
            _factorize_matrix(simulation.trees, mass_matrix, memory, h)
        for i in range(nv):
            update[i] = h * memory.imbalance[i]
        memory.residuals[iteration] = norm(update)
        substitute(memory.matrix, memory.pivots, update)
        size = 0.0
        for i in range(nv):
            size = max(size, abs(update[i]))
        if not math.isfinite(norm(update)):
            return NOT_FINITE
        alpha = 1.0
        if options.line_search == 1:
            alpha = _limit_transitions(simulation, memory, contacts)
        for i in range(nv):
            v[i] += alpha * update[i]
        copy(memory.q_start, memory.q)
        move_configuration(bodies, joint_q, memory.q, v, h)
        if alpha < 1.0:
            state[data.KNOWN] = 0
            last = 0.0
            continue
        # The size of an update means nothing if its Jacobian is that of another place.
        if size <= (tolerance if renew else NO_UPDATE):
            return OK
        if last > 0.0:
            # Hairer and Wanner, Solving ODEs II, IV.8: rate theta and remaining error.
            theta = size / last
            if theta > options.max_rate and iteration >= FIRST_JUDGED:
                return NOT_CONVERGED
            if theta < 1.0 and theta / (1.0 - theta) * size <= tolerance:
                return OK
        last = size
    return NOT_CONVERGED


@inner_kernel
def _factorize_matrix(trees: Trees, mass_matrix: np.ndarray, memory: Memory, h: float) -> None:
    """Factorise M - h dF/dv - h^2 dF/dq, the derivative of M (v - v0) - h F(q0 + h N v, v).

    Args:
        trees: The trees.
        mass_matrix: (nv, n) M, see :class:`BodyDynamics`.
        memory: Reads the Jacobians; writes matrix and pivots.
        h: Length of the step [s].
    """
    memory.counters[data.FACTORIZATIONS] += 1
    memory.clock[data.MATRIX_STEP] = h
    nv = memory.v.shape[0]
    for i in range(nv):
        for j in range(nv):
            memory.matrix[i, j] = mass(trees, mass_matrix, i, j) - h * (
                memory.by_v[j, i] + h * memory.by_q[j, i]
            )
    factorize(memory.matrix, memory.pivots)
