"""One TAMSI solve: Newton's method with the two-way Jacobian (23), limited by TALS.

Contact couples few bodies, so most entries of Newton's matrix are zero and stay zero. It is
close to symmetric positive definite, so it is factorised within its rows' envelope, with the
pivots on the diagonal.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel, leaf_kernel
from contact_core.multibody.collision.arrays import NORMAL
from contact_core.multibody.rigid_body.arrays import Jacobian
from tamsi_sim.arrays.data import ISLANDS, ITERATIONS, STUCK, ContactForces, Islands, Newton
from tamsi_sim.arrays.simulation import SOLVE, Simulation, phase
from tamsi_sim.scheme.closures import assemble_closures
from tamsi_sim.scheme.contact import SMALL, project, slip_velocity, update_contact_force
from tamsi_sim.scheme.contact_moments import assemble_moments, limit_moments
from tamsi_sim.scheme.joint_forces import END_STOP, stick_range, update_joint_force
from tamsi_sim.scheme.line_search import transition_limit
from tamsi_sim.scheme.tendons import assemble_tendons, limit_tendons, update_tendon_forces

NOTHING = 1e-3
"""Share of the tolerance below which an update is none, whatever piece of its law a force is on."""


@phase(SOLVE)
def solve(simulation: Simulation) -> int:
    """Solve tamsi (21) for the velocity at the end of a (sub-)step, island by island.

    Args:
        simulation: Reads the mass matrix, momentum p*, islands, Jacobians and the contacts'
            elastic forces, and Newton's v as the first guess; writes it and the forces that
            belong to it.

    Returns:
        1 if Newton's method converged on every island, else 0.
    """
    counters, settings = simulation.counters, simulation.settings
    islands, newton = simulation.islands, simulation.newton
    h = newton.duration[0]
    tolerance = settings.relative_tolerance * settings.stiction_velocity
    most = 0
    for island in range(counters[ISLANDS]):
        first, last = islands.first_row[island], islands.first_row[island + 1]
        _start_velocities(simulation, island)
        _update_forces(simulation, island, h)
        iterations = settings.max_iterations + 1
        for iteration in range(settings.max_iterations):
            newton.residuals[iteration] = assemble(simulation, island, h)
            solve_in_place(
                newton.system, newton.right_side, islands.row_start, islands.row_end, first, last
            )
            for row in range(first, last):
                newton.update[islands.order[row]] = newton.right_side[row]
            alpha, change = _limit_update(simulation, island, tolerance)
            share, turn = limit_moments(simulation, island, tolerance)
            pull, stretch = limit_tendons(simulation, island, tolerance)
            alpha, change = min(alpha, share, pull), max(change, turn, stretch)
            _move_velocities(simulation, island, alpha)
            changed = _update_forces(simulation, island, h)
            if change < tolerance and (
                not changed or max(change, _moved(newton, islands, island)) < NOTHING * tolerance
            ):
                newton.residuals[iteration + 1] = 0.0
                iterations = iteration + 1
                break
        most = max(most, iterations)
        if iterations > settings.max_iterations:
            counters[ITERATIONS] += settings.max_iterations
            counters[STUCK] = 1 + _most_moved(simulation, island)
            return 0
    counters[ITERATIONS] += most
    counters[STUCK] = 0
    return 1


@inlined_kernel
def _most_moved(simulation: Simulation, island: int) -> int:
    """Return an island's contact that the last update moved most, -1 if it has none."""
    islands, update = simulation.islands, simulation.contact_forces.update
    found, most = -1, -1.0
    for k in range(islands.first_contact[island], islands.first_contact[island + 1]):
        x, y, z = update[islands.contact[k]]
        if x * x + y * y + z * z > most:
            found, most = islands.contact[k], x * x + y * y + z * z
    return found


@inlined_kernel
def _start_velocities(simulation: Simulation, island: int) -> None:
    """Compute the velocities at an island's contacts that belong to Newton's."""
    jacobian, islands, v = simulation.jacobian, simulation.islands, simulation.newton.v
    velocity = simulation.contact_forces.velocity
    for k in range(islands.first_contact[island], islands.first_contact[island + 1]):
        project(jacobian, islands.contact[k], v, velocity)


@inlined_kernel
def _move_velocities(simulation: Simulation, island: int, alpha: float) -> None:
    """Add a share of Newton's update to an island's velocities, and to those at its contacts."""
    islands, newton, forces = simulation.islands, simulation.newton, simulation.contact_forces
    for row in range(islands.first_row[island], islands.first_row[island + 1]):
        dof = islands.order[row]
        newton.v[dof] += alpha * newton.update[dof]
    for k in range(islands.first_contact[island], islands.first_contact[island + 1]):
        c = islands.contact[k]
        for i in range(3):
            forces.velocity[c, i] += alpha * forces.update[c, i]


@inlined_kernel
def _update_forces(simulation: Simulation, island: int, h: float) -> bool:
    """Compute an island's forces; return whether any moved to another piece of its law."""
    pairs, contacts, settings = simulation.pairs, simulation.contacts, simulation.settings
    joints, drives, islands = simulation.joints, simulation.drives, simulation.islands
    q, v, joint_forces = simulation.state.q, simulation.newton.v, simulation.joint_forces
    contact_forces = simulation.contact_forces
    changed = False
    for k in range(islands.first_contact[island], islands.first_contact[island + 1]):
        moved = update_contact_force(
            pairs, contacts, settings, contact_forces, islands.contact[k], h
        )
        changed = changed or moved
    for row in range(islands.first_row[island], islands.first_row[island + 1]):
        dof = islands.order[row]
        moved = update_joint_force(
            joints, drives, q, v, joint_forces, dof, settings.stiction_velocity, h
        )
        changed = changed or moved
    moved = update_tendon_forces(simulation, island, h)
    return changed or moved


@inlined_kernel
def assemble(simulation: Simulation, island: int, h: float) -> float:
    """Write Newton's matrix (23) and minus the residual (21) of one island.

    Args:
        simulation: Reads the mass matrix, forces and gradients that belong to Newton's v,
            momentum p* and v; writes the island's rows of system, within their envelope, and of
            right_side.
        island: The island.
        h: Length of the (sub-)step [s].

    Returns:
        The residual's norm [Nms or Ns].
    """
    islands, newton = simulation.islands, simulation.newton
    forces = simulation.contact_forces
    first, last = islands.first_row[island], islands.first_row[island + 1]
    _assemble_trees(simulation, first, last, h)
    for k in range(islands.first_contact[island], islands.first_contact[island + 1]):
        c = islands.contact[k]
        # Apart at the end of the step: no force, no stiffness.
        if forces.force[c, NORMAL] != 0.0:
            _assemble_contact(simulation.jacobian, islands, forces, newton, c, h)
    assemble_moments(simulation, island, h)
    assemble_closures(simulation, island, h)
    assemble_tendons(simulation, island, h)
    square = 0.0
    for row in range(first, last):
        square += newton.right_side[row] * newton.right_side[row]
    return math.sqrt(square)


@inlined_kernel
def _assemble_trees(simulation: Simulation, first: int, last: int, h: float) -> None:
    """Start an island's system with what its trees have without contacts."""
    trees, islands, newton = simulation.trees, simulation.islands, simulation.newton
    mass_matrix, joint_forces = simulation.dynamics.mass_matrix, simulation.joint_forces
    system, v = newton.system, newton.v
    for entry in range(
        islands.row_start[first] + first,
        islands.row_start[last - 1] + islands.row_end[last - 1] + 1,
    ):
        system[entry] = 0.0
    for row in range(first, last):
        dof, start = islands.order[row], islands.row_start[row]
        tree = trees.of_dof[dof]
        first_dof = trees.first_dof[tree]
        value = newton.momentum[dof] + h * joint_forces.force[dof]
        for k in range(trees.first_dof[tree + 1] - first_dof):
            mass = mass_matrix[dof, k]
            system[start + islands.place[first_dof + k]] = mass
            value -= mass * v[first_dof + k]
        system[start + row] += h * joint_forces.gradient[dof]
        newton.right_side[row] = value


@inlined_kernel
def _assemble_contact(
    jacobian: Jacobian, islands: Islands, forces: ContactForces, newton: Newton, c: int, h: float
) -> None:
    """Add a contact's force and stiffness."""
    force, gradient, entries = forces.force[c], forces.gradient[c], jacobian.entry[c]
    system, right_side, rows = newton.system, newton.right_side, islands.jacobian_row[c]
    columns = jacobian.columns[c]
    for a in range(columns):
        i = rows[a]
        start = islands.row_start[i]
        x, y, z = h * entries[0, a], h * entries[1, a], h * entries[2, a]
        right_side[i] += x * force[0] + y * force[1] + z * force[2]
        g0 = x * gradient[0, 0] + y * gradient[1, 0]
        g1 = x * gradient[0, 1] + y * gradient[1, 1]
        g2 = x * gradient[0, 2] + y * gradient[1, 2] + z * gradient[2, 2]
        for b in range(columns):
            system[start + rows[b]] += g0 * entries[0, b] + g1 * entries[1, b] + g2 * entries[2, b]


@inlined_kernel
def _limit_update(simulation: Simulation, island: int, tolerance: float) -> tuple[float, float]:
    """Limit an island's update.

    Returns:
        TALS's alpha = min alpha_i; the size of the update at contacts and end stops, whose laws
        are not linear.
    """
    jacobian, islands, newton = simulation.jacobian, simulation.islands, simulation.newton
    joints, joint_forces = simulation.joints, simulation.joint_forces
    settings, forces = simulation.settings, simulation.contact_forces
    alpha = 1.0
    normal, tangential = 0.0, 0.0
    stiction, cosine = settings.stiction_velocity, settings.cos_max_angle
    landing, h = settings.landing, newton.duration[0]
    for k in range(islands.first_contact[island], islands.first_contact[island + 1]):
        c = islands.contact[k]
        project(jacobian, c, newton.update, forces.update)
        dx, dy, dn = forces.update[c]
        normal += dn * dn
        tangential += dx * dx + dy * dy
        if settings.line_search:
            reach = simulation.pairs.friction[simulation.contacts.pair[c]] * forces.force[c, NORMAL]
            x, y, width = slip_velocity(settings, forces, c, reach, h)
            # What has no friction has no transition.
            if width > SMALL:
                share = transition_limit(x, y, dx, dy, width, tolerance, cosine, landing)
                alpha = min(alpha, share)
    for row in range(islands.first_row[island], islands.first_row[island + 1]):
        dof = islands.order[row]
        if joint_forces.piece[dof] >= END_STOP:
            normal += newton.update[dof] * newton.update[dof]
        if settings.line_search and joint_forces.friction[dof] > 0.0:
            center, width = stick_range(joints, joint_forces, dof, stiction, h)
            rate, change = newton.v[dof] - center, newton.update[dof]
            share = transition_limit(rate, 0.0, change, 0.0, width, tolerance, cosine, landing)
            alpha = min(alpha, share)
    return alpha, math.sqrt(max(normal, tangential))


@inlined_kernel
def _moved(newton: Newton, islands: Islands, island: int) -> float:
    """Return the size of an island's update at all its degrees of freedom."""
    square = 0.0
    for row in range(islands.first_row[island], islands.first_row[island + 1]):
        update = newton.update[islands.order[row]]
        square += update * update
    return math.sqrt(square)


@leaf_kernel
def solve_in_place(
    matrix: np.ndarray,
    vector: np.ndarray,
    row_start: np.ndarray,
    row_end: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Solve matrix x = vector by LU without pivoting, for a block on the diagonal.

    Args:
        matrix: Entries of an (n, n) matrix within its rows' envelope, row behind row; those
            of the block are destroyed.
        vector: (n) right-hand side on entry, solution on exit; NaN or infinite if the
            block is singular.
        row_start: (n) where column 0 of each row would be: entry (i, j) is row_start[i] + j.
        row_end: (n) the last non-zero column of each row, never decreasing; columns have
            their last non-zero row there too.
        first: First row and column of the block.
        last: The one behind its last.
    """
    for k in range(first, last):
        end = row_end[k] + 1
        row = row_start[k]
        inverse = 1.0 / matrix[row + k]
        matrix[row + k] = inverse
        # Slices, which start at zero, are what the compiler turns into vector instructions.
        pivots = matrix[row + k + 1 : row + end]
        for i in range(k + 1, end):
            other = row_start[i]
            factor = matrix[other + k]
            if factor != 0.0:
                factor *= inverse
                rest = matrix[other + k + 1 : other + end]
                for j in range(pivots.shape[0]):
                    rest[j] -= factor * pivots[j]
                vector[i] -= factor * vector[k]
    for i in range(last - 1, first - 1, -1):
        row, value = row_start[i], vector[i]
        for j in range(i + 1, row_end[i] + 1):
            value -= matrix[row + j] * vector[j]
        vector[i] = value * matrix[row + i]
