"""The system's dynamics f(t, x) of tamsi (3) at Newton's iterate, and around it."""

from __future__ import annotations

from contact_experiments.tamsi.integrators.data import EVALUATIONS, JACOBIANS, Memory
from contact_experiments.tamsi.integrators.vectors import copy
from tamsi_sim.arrays.borrowing import inner_kernel
from tamsi_sim.arrays.data import Model, Settings, Work
from tamsi_sim.body.configuration import move_configuration
from tamsi_sim.scheme.contact import update_contact_forces
from tamsi_sim.scheme.joint_forces import update_joint_forces
from tamsi_sim.scheme.stepper import evaluate

# Square root of the machine's precision: far below any v_s, far above the forces' round-off.
PERTURBATION = 1.5e-8


@inner_kernel
def evaluate_iterate(
    model: Model, work: Work, settings: Settings, memory: Memory, differentiate: bool
) -> int:
    """Write the imbalance F(q, v) - M(q) a, with F = tau + J_c^T f_c of ``tamsi`` (2).

    Nothing is frozen: kinematics, contact geometry and forces belong to (q, v). With
    derivatives, 2 nv neighbours of the iterate are evaluated before the iterate itself.

    Args:
        model: The model.
        work: Overwritten: everything that depends on q and v, in the end at the iterate.
        settings: The settings.
        memory: Reads q, v and acceleration a; writes imbalance and, with derivatives, the
            rows of by_v and by_q; counts.
        differentiate: Whether to compute the derivatives.

    Returns:
        The number of contact points, possibly more than the workspace holds.
    """
    nv = memory.v.shape[0]
    found = 0
    for k in range(-2 * nv if differentiate else 0, 1):
        # The point of this turn: moved along v_j, along q_j, or the iterate itself.
        copy(memory.q, work.q)
        copy(memory.v, work.v)
        out = memory.imbalance
        if k < -nv:
            out = memory.by_v[k + 2 * nv]
            work.v[k + 2 * nv] += velocity_step(memory, k + 2 * nv)
        elif k < 0:
            out = memory.by_q[k + nv]
            memory.direction[k + nv] = 1.0
            move_configuration(model, work.q, memory.direction, PERTURBATION)
            memory.direction[k + nv] = 0.0

        found = evaluate(model, work)
        contacts = min(found, work.contact_depth.shape[0])
        for i in range(nv):
            work.v_next[i] = work.v[i]
            work.joint_shift[i] = 0.0
        for c in range(contacts):
            work.contact_elastic[c] = work.contact_stiffness[c] * work.contact_depth[c]
        # h = 0: forces of this very state, without the look ahead of (19).
        update_contact_forces(model, work, settings, contacts, 0.0)
        update_joint_forces(model, work, settings.stiction_velocity, 0.0)

        for i in range(nv):
            force = work.applied[i] + work.joint_force[i] - work.bias[i]
            for j in range(nv):
                force -= work.mass_matrix[i, j] * memory.acceleration[j]
            out[i] = force
        for c in range(contacts):
            contact, jacobian, dofs = work.contact_force[c], work.jacobian[c], work.jacobian_dof[c]
            for a in range(work.jacobian_columns[c]):
                out[dofs[a]] += (
                    jacobian[0, a] * contact[0]
                    + jacobian[1, a] * contact[1]
                    + jacobian[2, a] * contact[2]
                )
        memory.counters[EVALUATIONS] += 1
    if differentiate:
        memory.counters[JACOBIANS] += 1
        _take_differences(memory)
    return found


@inner_kernel
def velocity_step(memory: Memory, j: int) -> float:
    """Return the perturbation of one velocity."""
    return PERTURBATION * max(1.0, abs(memory.v[j]))


@inner_kernel
def _take_differences(memory: Memory) -> None:
    """Turn the neighbours' imbalances into forward differences."""
    nv = memory.v.shape[0]
    for j in range(nv):
        step = velocity_step(memory, j)
        for i in range(nv):
            memory.by_v[j, i] = (memory.by_v[j, i] - memory.imbalance[i]) / step
            memory.by_q[j, i] = (memory.by_q[j, i] - memory.imbalance[i]) / PERTURBATION
