"""Newton's matrix of implicit Euler."""

from __future__ import annotations

import numpy as np

from contact_experiments.tamsi.integrators.data import FACTORIZATIONS, MATRIX_STEP, Memory
from contact_experiments.tamsi.integrators.dense_lu import factorize
from tamsi_sim.arrays.borrowing import inner_kernel


@inner_kernel
def factorize_matrix(mass_matrix: np.ndarray, memory: Memory, h: float) -> None:
    """Factorise M - h dF/dv - h^2 dF/dq, the derivative of M (v - v0) - h F(q0 + h N v, v).

    Args:
        mass_matrix: (nv, nv) M.
        memory: Reads the Jacobians; writes matrix and pivots.
        h: Length of the step [s].
    """
    memory.counters[FACTORIZATIONS] += 1
    memory.clock[MATRIX_STEP] = h
    nv = memory.v.shape[0]
    for i in range(nv):
        for j in range(nv):
            memory.matrix[i, j] = mass_matrix[i, j] - h * (
                memory.by_v[j, i] + h * memory.by_q[j, i]
            )
    factorize(memory.matrix, memory.pivots)
