"""How stiff the normal forces are for an explicit treatment of them.

Symplectic Euler with explicit damping, M (v - v0) = -h (C v0 + K q0), turns unstable where a
mode changes its sign in every step, (h^2 K + 2 h C) x = 4 M x. A contact's damping thus acts
like the additional stiffness 2 c / h, and with it the limit is h sqrt(k/m) = 2.
"""

from __future__ import annotations

import math

from contact_experiments.tamsi.integrators.data import Memory
from contact_experiments.tamsi.integrators.dense_lu import factorize, substitute
from contact_experiments.tamsi.integrators.vectors import copy
from tamsi_sim.arrays.borrowing import inner_kernel
from tamsi_sim.arrays.data import NORMAL, Work

POWER_ITERATIONS = 10


@inner_kernel
def highest_frequency(work: Work, memory: Memory, contacts: int, h: float) -> float:
    """Estimate sqrt(k/m) of the stiffest mode of J_n^T (K + 2 C / h) J_n x = omega^2 M x.

    Some power iterations, each of which brings the Rayleigh quotient closer from below.

    Args:
        work: Reads mass matrix, Jacobians, contact_stiffness and contact_elastic.
        memory: Reads dissipation; scratch: mode, mode_force, matrix and pivots.
        contacts: Number of contact points.
        h: Time step [s].

    Returns:
        omega [rad/s], never more than the true one.
    """
    mode, force, nv = memory.mode, memory.mode_force, memory.mode.shape[0]
    for i in range(nv):
        # Not orthogonal to any likely mode.
        mode[i] = 1.0 + i / math.sqrt(2.0)
        copy(work.mass_matrix[i], memory.matrix[i])
    factorize(memory.matrix, memory.pivots)
    square = 0.0
    for _ in range(POWER_ITERATIONS):
        _normal_forces(work, memory, contacts, h)
        elastic, kinetic = 0.0, 0.0
        for i in range(nv):
            elastic += mode[i] * force[i]
            for j in range(nv):
                kinetic += mode[i] * work.mass_matrix[i, j] * mode[j]
        square = elastic / kinetic
        if square == 0.0:
            return 0.0
        substitute(memory.matrix, memory.pivots, force)
        for i in range(nv):
            # Divided by omega^2, the mode keeps its size.
            mode[i] = force[i] / square
    return math.sqrt(square)


@inner_kernel
def _normal_forces(work: Work, memory: Memory, contacts: int, h: float) -> None:
    """Write J_n^T (K + 2 C / h) J_n x of the mode x, with c = d k delta of (5)."""
    mode, force = memory.mode, memory.mode_force
    for i in range(force.shape[0]):
        force[i] = 0.0
    for c in range(contacts):
        jacobian, dofs = work.jacobian[c, NORMAL], work.jacobian_dof[c]
        damping = memory.dissipation[work.contact_pair[c]] * work.contact_elastic[c]
        stiffness = work.contact_stiffness[c] + 2.0 * damping / h
        rate = 0.0
        for k in range(work.jacobian_columns[c]):
            rate += jacobian[k] * mode[dofs[k]]
        for k in range(work.jacobian_columns[c]):
            force[dofs[k]] += stiffness * rate * jacobian[k]
