"""Newton's method of implicit Euler, tamsi (9), with TALS and Hairer's test of convergence."""

from __future__ import annotations

import math

from contact_experiments.tamsi.integrators.data import (
    FRESH,
    ITERATIONS,
    KNOWN,
    LANDING_PAIR,
    MATRIX_STEP,
    Memory,
    Options,
)
from contact_experiments.tamsi.integrators.dense_lu import substitute
from contact_experiments.tamsi.integrators.iterate import evaluate_iterate
from contact_experiments.tamsi.integrators.iteration_matrix import factorize_matrix
from contact_experiments.tamsi.integrators.transitions import check_landing, limit_transitions
from contact_experiments.tamsi.integrators.vectors import copy, norm
from tamsi_sim.arrays.borrowing import inner_kernel
from tamsi_sim.arrays.data import Model, Settings, Work
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.body.configuration import move_configuration

OK = int(StepStatus.OK)
NOT_CONVERGED = int(StepStatus.NOT_CONVERGED)
NOT_FINITE = int(StepStatus.NOT_FINITE)
TOO_MANY_CONTACTS = int(StepStatus.TOO_MANY_CONTACTS)

# An update that is round-off [m/s and rad/s].
NO_UPDATE = 1e-12
# Updates may grow once: on the way out of stiction the second is much larger than the first.
FIRST_JUDGED = 2


@inner_kernel
def solve_implicit(
    model: Model, work: Work, settings: Settings, options: Options, memory: Memory, h: float
) -> int:
    """Solve M (v - v0) = h F(q, v) with q = q0 + h N(q) v, the implicit Euler step.

    The configuration follows from the velocity, so Newton's method needs no further
    unknowns: the renormalised first-order turn of a quaternion is the same whether N is
    taken at its start or at its end. A quasi-Newton iteration keeps its Jacobian, but not
    behind an update that TALS limited, where the slope of friction is another one.

    Args:
        model: The model.
        work: Reads applied; everything that depends on q and v is overwritten.
        settings: The settings.
        options: The options.
        memory: Reads q_start and v_start; writes q and v.
        h: Length of the step [s].

    Returns:
        A StepStatus.
    """
    state, v = memory.jacobian_state, memory.v
    nv = v.shape[0]
    tolerance = options.newton_tolerance + options.newton_drift * h
    copy(memory.v_start, v)
    copy(memory.q_start, memory.q)
    move_configuration(model, memory.q, v, h)
    memory.residuals[:] = math.nan
    state[FRESH] = 0
    state[LANDING_PAIR] = -1
    last = 0.0
    for iteration in range(options.max_iterations):
        memory.counters[ITERATIONS] += 1
        for i in range(nv):
            memory.acceleration[i] = (v[i] - memory.v_start[i]) / h
        renew = options.full_newton == 1 or state[KNOWN] == 0
        contacts = evaluate_iterate(model, work, settings, memory, renew)
        if contacts > work.contact_depth.shape[0]:
            return TOO_MANY_CONTACTS
        check_landing(work, settings, memory, contacts)
        if renew:
            state[KNOWN] = state[FRESH] = 1
        if renew or memory.clock[MATRIX_STEP] != h:
            factorize_matrix(work.mass_matrix, memory, h)
        for i in range(nv):
            work.update[i] = h * memory.imbalance[i]
        memory.residuals[iteration] = norm(work.update)
        substitute(memory.matrix, memory.pivots, work.update)
        size = 0.0
        for i in range(nv):
            size = max(size, abs(work.update[i]))
        if not math.isfinite(norm(work.update)):
            return NOT_FINITE
        alpha = 1.0
        if options.line_search == 1:
            alpha = limit_transitions(model, work, settings, memory, contacts)
        for i in range(nv):
            v[i] += alpha * work.update[i]
        copy(memory.q_start, memory.q)
        move_configuration(model, memory.q, v, h)
        if alpha < 1.0:
            state[KNOWN] = 0
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
