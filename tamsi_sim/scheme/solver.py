"""One TAMSI solve: Newton's method with the two-way Jacobian (23), limited by TALS."""

from __future__ import annotations

import math

from tamsi_sim.arrays.borrowing import inlined_kernel, inner_kernel
from tamsi_sim.arrays.data import ISLANDS, ITERATIONS, NORMAL, Model, Settings, Work
from tamsi_sim.scheme.contact import project, update_contact_force
from tamsi_sim.scheme.factorization import solve_in_place
from tamsi_sim.scheme.joint_forces import update_joint_force
from tamsi_sim.scheme.line_search import transition_limit


@inner_kernel
def solve(model: Model, work: Work, settings: Settings, contacts: int, h: float) -> bool:
    """Solve tamsi (21) for the velocity at the end of a (sub-)step, island by island.

    Args:
        model: The model.
        work: Reads the mass matrix, momentum p*, islands, Jacobians and contact_elastic, and
            v_next as the first guess; writes v_next and the forces that belong to it.
        settings: The settings.
        contacts: Number of contact points.
        h: Length of the (sub-)step [s].

    Returns:
        Whether Newton's method converged, on every island.
    """
    most = 0
    for island in range(work.counters[ISLANDS]):
        iterations = _solve_island(model, work, settings, island, h)
        most = max(most, iterations)
        if iterations > settings.max_iterations:
            work.counters[ITERATIONS] += settings.max_iterations
            return False
    work.counters[ITERATIONS] += most
    return True


@inlined_kernel
def _solve_island(model: Model, work: Work, settings: Settings, island: int, h: float) -> int:
    """Return how many iterations one island took, one more than allowed if it failed."""
    tolerance = settings.relative_tolerance * settings.stiction_velocity
    first, last = work.island_dof[island], work.island_dof[island + 1]
    _start_velocities(work, island)
    _update_forces(model, work, settings, island, h)
    for iteration in range(settings.max_iterations):
        work.residuals[iteration] = assemble(model, work, island, h)
        solve_in_place(work.system, work.right_side, work.row_end, first, last)
        for row in range(first, last):
            work.update[work.order[row]] = work.right_side[row]
        alpha, change = _limit_update(model, work, settings, island, tolerance)
        _move_velocities(work, island, alpha)
        changed = _update_forces(model, work, settings, island, h)
        if change < tolerance and not changed:
            work.residuals[iteration + 1] = 0.0
            return iteration + 1
    return settings.max_iterations + 1


@inlined_kernel
def _start_velocities(work: Work, island: int) -> None:
    """Compute the velocities at an island's contacts that belong to v_next."""
    for k in range(work.island_contact[island], work.island_contact[island + 1]):
        project(work, work.contact_order[k], work.v_next, work.contact_velocity)


@inlined_kernel
def _move_velocities(work: Work, island: int, alpha: float) -> None:
    """Add a share of Newton's update to an island's velocities, and to those at its contacts."""
    for row in range(work.island_dof[island], work.island_dof[island + 1]):
        dof = work.order[row]
        work.v_next[dof] += alpha * work.update[dof]
    for k in range(work.island_contact[island], work.island_contact[island + 1]):
        c = work.contact_order[k]
        for i in range(3):
            work.contact_velocity[c, i] += alpha * work.contact_update[c, i]


@inlined_kernel
def _update_forces(model: Model, work: Work, settings: Settings, island: int, h: float) -> bool:
    """Compute an island's forces; return whether a joint moved to another piece of its law."""
    for k in range(work.island_contact[island], work.island_contact[island + 1]):
        update_contact_force(model, work, settings, work.contact_order[k], h)
    changed = False
    for row in range(work.island_dof[island], work.island_dof[island + 1]):
        dof = work.order[row]
        if model.dof_q[dof] >= 0:
            moved = update_joint_force(model, work, dof, settings.stiction_velocity, h)
            changed = changed or moved
    return changed


@inner_kernel
def assemble(model: Model, work: Work, island: int, h: float) -> float:
    """Write Newton's matrix (23) and minus the residual (21) of one island.

    Args:
        model: The model.
        work: Reads the mass matrix, momentum p*, v_next, the Jacobians and the forces and
            gradients that belong to v_next; writes the island's rows of system, within
            their envelope, and of right_side.
        island: The island.
        h: Length of the (sub-)step [s].

    Returns:
        The residual's norm [Nms or Ns].
    """
    first, last = work.island_dof[island], work.island_dof[island + 1]
    _assemble_trees(model, work, first, last, h)
    for k in range(work.island_contact[island], work.island_contact[island + 1]):
        c = work.contact_order[k]
        # Apart at the end of the step: no force, no stiffness.
        if work.contact_force[c, NORMAL] != 0.0:
            _assemble_contact(work, c, h)
    square = 0.0
    for row in range(first, last):
        square += work.right_side[row] * work.right_side[row]
    return math.sqrt(square)


@inlined_kernel
def _assemble_trees(model: Model, work: Work, first: int, last: int, h: float) -> None:
    """Start an island's system with what its trees have without contacts."""
    system, v = work.system, work.v_next
    start = first
    for row in range(first, last):
        while work.row_end[start] < row:
            start += 1
        for column in range(start, work.row_end[row] + 1):
            system[row, column] = 0.0
        dof = work.order[row]
        tree = model.dof_tree[dof]
        shift = row - dof
        value = work.momentum[dof] + h * work.joint_force[dof]
        for other in range(model.tree_dof[tree], model.tree_dof[tree + 1]):
            entry = work.mass_matrix[dof, other]
            system[row, other + shift] = entry
            value -= entry * v[other]
        system[row, row] += h * work.joint_gradient[dof]
        work.right_side[row] = value


@inlined_kernel
def _assemble_contact(work: Work, c: int, h: float) -> None:
    """Add a contact's force and stiffness."""
    force, gradient, jacobian = work.contact_force[c], work.contact_gradient[c], work.jacobian[c]
    system, right_side, rows = work.system, work.right_side, work.jacobian_row[c]
    columns = work.jacobian_columns[c]
    for a in range(columns):
        i = rows[a]
        x, y, z = h * jacobian[0, a], h * jacobian[1, a], h * jacobian[2, a]
        right_side[i] += x * force[0] + y * force[1] + z * force[2]
        g0 = x * gradient[0, 0] + y * gradient[1, 0]
        g1 = x * gradient[0, 1] + y * gradient[1, 1]
        g2 = x * gradient[0, 2] + y * gradient[1, 2] + z * gradient[2, 2]
        for b in range(columns):
            system[i, rows[b]] += g0 * jacobian[0, b] + g1 * jacobian[1, b] + g2 * jacobian[2, b]


@inlined_kernel
def _limit_update(
    model: Model, work: Work, settings: Settings, island: int, tolerance: float
) -> tuple[float, float]:
    """Return TALS's alpha = min alpha_i and the size of the update at the contacts [m/s]."""
    alpha = 1.0
    normal, tangential = 0.0, 0.0
    stiction, cosine = settings.stiction_velocity, settings.cos_max_angle
    landing = settings.landing
    for k in range(work.island_contact[island], work.island_contact[island + 1]):
        c = work.contact_order[k]
        project(work, c, work.update, work.contact_update)
        dx, dy, dn = work.contact_update[c]
        normal += dn * dn
        tangential += dx * dx + dy * dy
        if settings.line_search:
            x, y = work.contact_velocity[c, 0], work.contact_velocity[c, 1]
            share = transition_limit(x, y, dx, dy, stiction, tolerance, cosine, landing)
            alpha = min(alpha, share)
    if settings.line_search:
        for row in range(work.island_dof[island], work.island_dof[island + 1]):
            dof = work.order[row]
            if model.friction[dof] > 0.0:
                rate, change = work.v_next[dof], work.update[dof]
                share = transition_limit(
                    rate, 0.0, change, 0.0, stiction, tolerance, cosine, landing
                )
                alpha = min(alpha, share)
    return alpha, math.sqrt(max(normal, tangential))
