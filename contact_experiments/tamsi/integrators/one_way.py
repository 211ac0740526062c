"""Semi-implicit Euler: tamsi Sec. V-A, where normal forces couple into friction, one way."""

from __future__ import annotations

from contact_core.kernel import kernel
from contact_experiments.tamsi.integrators.data import (
    EVALUATIONS,
    FACTORIZATIONS,
    ITERATIONS,
    NORMAL_RATIO,
    STEPS,
    TIME,
    WARNED_SINCE,
    Memory,
)
from contact_experiments.tamsi.integrators.excitation import Excitation, excite
from contact_experiments.tamsi.integrators.normal_stiffness import highest_frequency
from contact_experiments.tamsi.integrators.vectors import copy
from contact_experiments.tamsi.integrators.warning import WARNING_RATIO
from tamsi_sim.arrays.borrowing import inner_kernel
from tamsi_sim.arrays.data import ITERATIONS as SOLVER_ITERATIONS
from tamsi_sim.arrays.data import NORMAL, Work
from tamsi_sim.arrays.handle import Handle
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.body.configuration import move_configuration
from tamsi_sim.scheme.contact import normal_force, project
from tamsi_sim.scheme.solver import solve
from tamsi_sim.scheme.stepper import evaluate, set_momentum, start_substeps

OK = int(StepStatus.OK)
NOT_CONVERGED = int(StepStatus.NOT_CONVERGED)
TOO_MANY_CONTACTS = int(StepStatus.TOO_MANY_CONTACTS)


@kernel
def advance_one_way(handle: Handle, excitation: Excitation, memory: Memory, steps: int) -> int:
    """Advance by steps of ``tamsi`` (10) and (11), or up to the first that fails.

    Args:
        handle: The simulation; its work's q and v move, applied is overwritten. The pairs
            of its model have no dissipation, since (5) is evaluated here.
        excitation: Forces, taken at the end of a step.
        memory: The time moves; the stability of the explicit normal forces is noted.
        steps: How many steps.

    Returns:
        The status of the last step, a StepStatus.
    """
    model, work, settings = handle.model, handle.work, handle.settings
    h, clock = settings.time_step, memory.clock
    for _ in range(steps):
        for i in range(work.target.shape[0]):
            work.target[i] += work.target_rate[i]
        excite(excitation, clock[TIME] + h, work.applied)
        memory.counters[EVALUATIONS] += 1
        contacts = evaluate(model, work)
        if contacts > work.contact_depth.shape[0]:
            return TOO_MANY_CONTACTS
        start_substeps(work, contacts)
        ratio = h * highest_frequency(work, memory, contacts, h)
        clock[NORMAL_RATIO] = max(ratio, clock[NORMAL_RATIO])
        if ratio >= WARNING_RATIO:
            clock[WARNED_SINCE] = min(clock[TIME], clock[WARNED_SINCE])
        _freeze_normal_forces(work, memory, contacts)
        set_momentum(model, work, h)
        before = work.counters[SOLVER_ITERATIONS]
        converged = solve(model, work, settings, contacts, h)
        memory.counters[ITERATIONS] += work.counters[SOLVER_ITERATIONS] - before
        memory.counters[FACTORIZATIONS] += work.counters[SOLVER_ITERATIONS] - before
        if not converged:
            return NOT_CONVERGED
        copy(work.v_next, work.v)
        move_configuration(model, work.q, work.v, h)
        clock[TIME] += h
        memory.counters[STEPS] += 1
    return OK


@inner_kernel
def _freeze_normal_forces(work: Work, memory: Memory, contacts: int) -> None:
    """Make pi_0 = k delta_0 (1 - d v_n0)_+ the contact's force, whatever its velocity."""
    for c in range(contacts):
        project(work, c, work.v, work.contact_velocity)
        stiffness, dissipation = work.contact_stiffness[c], memory.dissipation[work.contact_pair[c]]
        separation = work.contact_velocity[c, NORMAL]
        pi, _ = normal_force(work.contact_elastic[c], stiffness, dissipation, separation, 0.0)
        work.contact_elastic[c] = pi
        work.contact_stiffness[c] = 0.0
