"""Semi-implicit Euler: tamsi Sec. V-A, where normal forces couple into friction, one way.

And how stiff the normal forces are for their explicit treatment: symplectic Euler with explicit
damping, M (v - v0) = -h (C v0 + K q0), turns unstable where a mode changes its sign in every
step, (h^2 K + 2 h C) x = 4 M x. A contact's damping thus acts like the additional stiffness
2 c / h, and with it the limit is h sqrt(k/m) = 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from contact_core.base.kernel import inner_kernel, kernel
from contact_core.multibody.collision.arrays import NORMAL
from contact_core.multibody.rigid_body.configuration import move_configuration
from contact_core.multibody.rigid_body.dynamics import mass
from contact_experiments.tamsi.integrators import data
from contact_experiments.tamsi.integrators.data import Memory
from contact_experiments.tamsi.integrators.dense_lu import copy, factorize, substitute
from contact_experiments.tamsi.integrators.excitation import Excitation, excite
from tamsi_sim.arrays.data import ITERATIONS as SOLVER_ITERATIONS
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.scheme.contact import normal_force, project
from tamsi_sim.scheme.shear import recall_shear
from tamsi_sim.scheme.solver import solve
from tamsi_sim.scheme.stepper import evaluate, move_targets, set_momentum, start_substeps

# Symplectic Euler of an oscillator is unstable from h sqrt(k/m) = 2 on.
STABILITY_LIMIT = 2.0
WARNING_RATIO = 1.0


@dataclass(frozen=True)
class ExplicitNormalsWarning:
    """Normal forces that are treated explicitly are, or soon will be, unstable.

    Attributes:
        ratio: Largest h sqrt(k/m) so far, of the stiffest mode of the contacts; k counts
            their damping too.
        since: When it first came so close to its limit that it is warned of [s].
    """

    ratio: float
    since: float

    @property
    def limit(self) -> float:
        """The ratio from which on the scheme is unstable."""
        return STABILITY_LIMIT

    @property
    def remedy(self) -> str:
        """What is wrong, and what to do about it."""
        state = "unstable" if self.ratio >= self.limit else "close to unstable"
        return (
            f"explicit normal forces are {state} since {self.since:.4g} s: h sqrt(k/m) = "
            f"{self.ratio:.2g}, the limit is {self.limit:g}; choose the integrator 'tamsi', or a "
            "smaller time_step"
        )


POWER_ITERATIONS = 10


@inner_kernel
def _highest_frequency(simulation: Simulation, memory: Memory, contacts: int, h: float) -> float:
    """Estimate sqrt(k/m) of the stiffest mode of J_n^T (K + 2 C / h) J_n x = omega^2 M x.

    Some power iterations, each of which brings the Rayleigh quotient closer from below.

    Args:
        simulation: Reads mass matrix, Jacobians, contacts and their elastic forces.
        memory: Reads dissipation; scratch: mode, mode_force, matrix and pivots.
        contacts: Number of contact points.
        h: Time step [s].

    Returns:
        omega [rad/s], never more than the true one.
    """
    trees, mass_matrix = simulation.trees, simulation.dynamics.mass_matrix
    mode, force, nv = memory.mode, memory.mode_force, memory.mode.shape[0]
    for i in range(nv):
        # Not orthogonal to any likely mode.
        mode[i] = 1.0 + i / math.sqrt(2.0)
        for j in range(nv):
            memory.matrix[i, j] = mass(trees, mass_matrix, i, j)
    factorize(memory.matrix, memory.pivots)
    square = 0.0
    for _ in range(POWER_ITERATIONS):
        _normal_forces(simulation, memory, contacts, h)
        elastic, kinetic = 0.0, 0.0
        for i in range(nv):
            elastic += mode[i] * force[i]
            for j in range(nv):
                kinetic += mode[i] * mass(trees, mass_matrix, i, j) * mode[j]
        square = elastic / kinetic
        if square == 0.0:
            return 0.0
        substitute(memory.matrix, memory.pivots, force)
        for i in range(nv):
            # Divided by omega^2, the mode keeps its size.
            mode[i] = force[i] / square
    return math.sqrt(square)


@inner_kernel
def _normal_forces(simulation: Simulation, memory: Memory, contacts: int, h: float) -> None:
    """Write J_n^T (K + 2 C / h) J_n x of the mode x, with c = d k delta of (5)."""
    points, jacobian = simulation.contacts, simulation.jacobian
    elastic = simulation.contact_forces.elastic
    mode, force = memory.mode, memory.mode_force
    for i in range(force.shape[0]):
        force[i] = 0.0
    for c in range(contacts):
        entries, dofs = jacobian.entry[c, NORMAL], jacobian.dof[c]
        damping = memory.dissipation[simulation.pairs.rule[points.pair[c]]] * elastic[c]
        stiffness = points.stiffness[c] + 2.0 * damping / h
        rate = 0.0
        for k in range(jacobian.columns[c]):
            rate += entries[k] * mode[dofs[k]]
        for k in range(jacobian.columns[c]):
            force[dofs[k]] += stiffness * rate * entries[k]


OK = int(StepStatus.OK)
NOT_CONVERGED = int(StepStatus.NOT_CONVERGED)
TOO_MANY_CONTACTS = int(StepStatus.TOO_MANY_CONTACTS)


@kernel
def advance_one_way(
    simulation: Simulation, excitation: Excitation, memory: Memory, steps: int
) -> int:
    """Advance by steps of ``tamsi`` (10) and (11), or up to the first that fails.

    Args:
        simulation: Its q and v move, applied is overwritten. The pairs of its model have no
            dissipation, since (5) is evaluated here.
        excitation: Forces, taken at the end of a step.
        memory: The time moves; the stability of the explicit normal forces is noted.
        steps: How many steps.

    Returns:
        The status of the last step, a StepStatus.
    """
    return _advance(simulation, excitation, memory, steps)


@inner_kernel
def _advance(simulation: Simulation, excitation: Excitation, memory: Memory, steps: int) -> int:
    h, clock, counters = simulation.settings.time_step, memory.clock, simulation.counters
    state, drives, newton = simulation.state, simulation.drives, simulation.newton
    points = simulation.contacts
    for _ in range(steps):
        move_targets(drives.target, drives.target_rate, 1.0)
        excite(excitation, clock[data.TIME] + h, drives.applied)
        memory.counters[data.EVALUATIONS] += 1
        contacts = evaluate(simulation)
        if contacts > points.depth.shape[0]:
            return TOO_MANY_CONTACTS
        recall_shear(simulation, contacts)
        start_substeps(simulation, contacts)
        ratio = h * _highest_frequency(simulation, memory, contacts, h)
        clock[data.NORMAL_RATIO] = max(ratio, clock[data.NORMAL_RATIO])
        if ratio >= WARNING_RATIO:
            clock[data.WARNED_SINCE] = min(clock[data.TIME], clock[data.WARNED_SINCE])
        _freeze_normal_forces(simulation, memory, contacts)
        set_momentum(simulation, h)
        before = counters[SOLVER_ITERATIONS]
        converged = solve(simulation)
        memory.counters[data.ITERATIONS] += counters[SOLVER_ITERATIONS] - before
        memory.counters[data.FACTORIZATIONS] += counters[SOLVER_ITERATIONS] - before
        if not converged:
            return NOT_CONVERGED
        copy(newton.v, state.v)
        move_configuration(simulation.bodies, simulation.joints.q, state.q, state.v, h)
        clock[data.TIME] += h
        memory.counters[data.STEPS] += 1
    return OK


@inner_kernel
def _freeze_normal_forces(simulation: Simulation, memory: Memory, contacts: int) -> None:
    """Make pi_0 = k delta_0 (1 - d v_n0)_+ the contact's force, whatever its velocity."""
    points, forces, jacobian = (
        simulation.contacts, simulation.contact_forces, simulation.jacobian,
    )  # fmt: skip
    for c in range(contacts):
        project(jacobian, c, simulation.state.v, forces.velocity)
        dissipation = memory.dissipation[simulation.pairs.rule[points.pair[c]]]
        stiffness = points.stiffness[c]
        separation = forces.velocity[c, NORMAL]
        pi, _ = normal_force(forces.elastic[c], stiffness, dissipation, separation, 0.0)
        forces.elastic[c] = pi
        points.stiffness[c] = 0.0
