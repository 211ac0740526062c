"""How fast the normal forces vibrate: what an explicit treatment of them has to resolve."""

from __future__ import annotations

import math

from tamsi_sim.borrowing import inner_kernel
from tamsi_sim.data import NORMAL, Work
from tamsi_sim.integrators.data import Memory
from tamsi_sim.integrators.dense_lu import factorize, substitute
from tamsi_sim.integrators.vectors import copy

POWER_ITERATIONS = 10


@inner_kernel
def highest_frequency(work: Work, memory: Memory, contacts: int) -> float:
    """Estimate sqrt(k/m) of the stiffest mode of J_n^T K J_n x = omega^2 M x.

    Some power iterations, each of which brings the Rayleigh quotient closer from below.

    Args:
        work: Reads mass matrix, Jacobians and contact_stiffness.
        memory: Scratch: mode, mode_force, matrix and pivots.
        contacts: Number of contact points.

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
        _normal_forces(work, memory, contacts)
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
def _normal_forces(work: Work, memory: Memory, contacts: int) -> None:
    """Write J_n^T K J_n x of the mode x."""
    mode, force = memory.mode, memory.mode_force
    for i in range(force.shape[0]):
        force[i] = 0.0
    for c in range(contacts):
        jacobian, dofs = work.jacobian[c, NORMAL], work.jacobian_dof[c]
        rate = 0.0
        for k in range(work.jacobian_columns[c]):
            rate += jacobian[k] * mode[dofs[k]]
        for k in range(work.jacobian_columns[c]):
            force[dofs[k]] += work.contact_stiffness[c] * rate * jacobian[k]
