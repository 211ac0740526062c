"""One TAMSI solve: Newton's method with the two-way Jacobian (23), limited by TALS."""

from __future__ import annotations

import math

from tamsi_sim.borrowing import inner_kernel
from tamsi_sim.contact import project, update_contact_forces
from tamsi_sim.data import ITERATIONS, NORMAL, Model, Settings, Work
from tamsi_sim.factorization import solve_in_place
from tamsi_sim.joint_forces import update_joint_forces
from tamsi_sim.line_search import transition_limit


@inner_kernel
def solve(model: Model, work: Work, settings: Settings, contacts: int, h: float) -> bool:
    """Solve tamsi (21) for the velocity at the end of a (sub-)step.

    Args:
        model: The model.
        work: Reads the mass matrix, momentum p*, Jacobians and contact_elastic, and v_next
            as the first guess; writes v_next and the forces that belong to it.
        settings: The settings.
        contacts: Number of contact points.
        h: Length of the (sub-)step [s].

    Returns:
        Whether Newton's method converged.
    """
    tolerance = settings.relative_tolerance * settings.stiction_velocity
    v = work.v_next
    update_contact_forces(model, work, settings, contacts, h)
    update_joint_forces(model, work, settings.stiction_velocity, h)
    for iteration in range(settings.max_iterations):
        work.counters[ITERATIONS] += 1
        work.residuals[iteration] = assemble(work, contacts, h)
        solve_in_place(work.system, work.update, work.row_end)
        alpha, change = _limit_update(model, work, settings, contacts, tolerance)
        for i in range(v.shape[0]):
            v[i] += alpha * work.update[i]
        update_contact_forces(model, work, settings, contacts, h)
        changed = update_joint_forces(model, work, settings.stiction_velocity, h)
        if change < tolerance and not changed:
            work.residuals[iteration + 1] = 0.0
            return True
    return False


@inner_kernel
def assemble(work: Work, contacts: int, h: float) -> float:
    """Write Newton's matrix (23) and minus the residual (21).

    Args:
        work: Reads the mass matrix, momentum p*, v_next, the Jacobians and the forces and
            gradients that belong to v_next; writes system and update.
        contacts: Number of contact points.
        h: Length of the (sub-)step [s].

    Returns:
        The residual's norm [Nms or Ns].
    """
    system, update, v = work.system, work.update, work.v_next
    nv = v.shape[0]
    for i in range(nv):
        value = work.momentum[i] + h * work.joint_force[i]
        for j in range(nv):
            entry = work.mass_matrix[i, j]
            system[i, j] = entry
            value -= entry * v[j]
        system[i, i] += h * work.joint_gradient[i]
        update[i] = value
    for c in range(contacts):
        gradient = work.contact_gradient[c]
        if work.contact_force[c, NORMAL] == 0.0:
            # Apart at the end of the step: no force, no stiffness.
            continue
        force, jacobian, dofs = work.contact_force[c], work.jacobian[c], work.jacobian_dof[c]
        columns = work.jacobian_columns[c]
        for a in range(columns):
            i = dofs[a]
            x, y, z = h * jacobian[0, a], h * jacobian[1, a], h * jacobian[2, a]
            update[i] += x * force[0] + y * force[1] + z * force[2]
            g0 = x * gradient[0, 0] + y * gradient[1, 0]
            g1 = x * gradient[0, 1] + y * gradient[1, 1]
            g2 = x * gradient[0, 2] + y * gradient[1, 2] + z * gradient[2, 2]
            for b in range(columns):
                system[i, dofs[b]] += (
                    g0 * jacobian[0, b] + g1 * jacobian[1, b] + g2 * jacobian[2, b]
                )
    square = 0.0
    for i in range(nv):
        square += update[i] * update[i]
    return math.sqrt(square)


@inner_kernel
def _limit_update(
    model: Model, work: Work, settings: Settings, contacts: int, tolerance: float
) -> tuple[float, float]:
    """Return TALS's alpha = min alpha_i and the size of the update at the contacts [m/s]."""
    alpha = 1.0
    normal, tangential = 0.0, 0.0
    stiction, cosine = settings.stiction_velocity, settings.cos_max_angle
    landing = settings.landing
    for c in range(contacts):
        project(work, c, work.update, work.contact_update)
        dx, dy, dn = work.contact_update[c]
        normal += dn * dn
        tangential += dx * dx + dy * dy
        if settings.line_search:
            x, y = work.contact_velocity[c, 0], work.contact_velocity[c, 1]
            share = transition_limit(x, y, dx, dy, stiction, tolerance, cosine, landing)
            alpha = min(alpha, share)
    if settings.line_search:
        for i in range(model.friction.shape[0]):
            if model.friction[i] > 0.0:
                rate, change = work.v_next[i], work.update[i]
                share = transition_limit(
                    rate, 0.0, change, 0.0, stiction, tolerance, cosine, landing
                )
                alpha = min(alpha, share)
    return alpha, math.sqrt(max(normal, tangential))
