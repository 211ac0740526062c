"""Energy that comes from nowhere: the sign of a simulation that runs away.

Contact and friction only take energy. What bodies have at the start, what falls, and what drives
and applied forces do, is all there can be; a scheme that is asked for too much makes more, and
more at every step. Small errors are no sign: those of a coarse step, or a feature that contact
meets at once.
"""

from __future__ import annotations

import numpy as np

from contact_core.base.kernel import inlined_kernel, inner_kernel
from contact_core.multibody.rigid_body.arrays import Inertias, Kinematics, Trees
from tamsi_sim.arrays.data import DIVERGED, HEIGHT, LOWEST, SCALE, START, STEPS, WORK
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.scheme.closures import closure_energy

FACTOR = 10.0
"""A simulation has diverged when it has made so many times what there was to move it."""
FLOOR = 1e-2
"""Energy per mass that is always there: that of 0.14 m/s, or of a millimetre's fall [J/kg]."""
EVERY = 8
"""Steps from one comparison to the next."""


@inner_kernel
def runs_away(simulation: Simulation, count: int) -> bool:
    """Compare the energy at the start of a step with what there can be, every few steps.

    Args:
        simulation: The ledger of its energy moves.
        count: Number of contact points.

    Returns:
        Whether FACTOR times as much has come from nowhere since the state was last set.
    """
    state, watch, inertias = simulation.state, simulation.energy, simulation.inertias
    ledger, contacts = watch.ledger, simulation.contacts
    anew = not (_same(state.q, watch.q) and _same(state.v, watch.v))
    if not anew and simulation.counters[STEPS] % EVERY:
        return ledger[DIVERGED] > 0.0
    potential, weight = 0.0, 0.0
    for body in range(inertias.mass.shape[0]):
        weight += inertias.mass[body]
        potential -= inertias.mass[body] * _height(inertias, simulation.kinematics, body)
    kinetic = _kinetic(simulation.trees, simulation.dynamics.mass_matrix, state.v)
    if anew:
        elastic = closure_energy(simulation.closures.stiffness, simulation.closure_forces.gap)
        for c in range(count):
            elastic += 0.5 * contacts.stiffness[c] * contacts.depth[c] * contacts.depth[c]
        ledger[START] = kinetic + potential + elastic
        ledger[WORK] = 0.0
        ledger[SCALE] = kinetic + elastic + FLOOR * weight
        ledger[HEIGHT] = ledger[LOWEST] = potential
    ledger[LOWEST] = min(ledger[LOWEST], potential)
    # Without that of contacts: after a long step they are deeper than energy reaches, for a step.
    made = kinetic + potential - ledger[START] - ledger[WORK]
    diverged = made > FACTOR * (ledger[SCALE] + ledger[HEIGHT] - ledger[LOWEST])
    ledger[DIVERGED] = 1.0 if diverged else 0.0
    return diverged


@inlined_kernel
def enter_work(simulation: Simulation, h: float) -> None:
    """Enter the work of a step.

    Args:
        simulation: After the step; the ledger of its energy and the copy of the state move.
        h: Length of the step [s].
    """
    q, v, watch = simulation.state.q, simulation.state.v, simulation.energy
    applied, joint_force = simulation.drives.applied, simulation.joint_forces.force
    for i in range(v.shape[0]):
        work = h * v[i] * (applied[i] + joint_force[i])
        watch.ledger[WORK] += work
        watch.ledger[SCALE] += abs(work)
        watch.v[i] = v[i]
    for i in range(q.shape[0]):
        watch.q[i] = q[i]


@inlined_kernel
def _height(inertias: Inertias, kinematics: Kinematics, body: int) -> float:
    """Centre of mass along gravity, times it [m^2/s^2]."""
    center, gravity = inertias.center[body], inertias.gravity[body]
    rotation, position = kinematics.rotation[body], kinematics.position[body]
    total = 0.0
    for i in range(3):
        place = position[i]
        for j in range(3):
            place += rotation[i, j] * center[j]
        total += gravity[i] * place
    return total


@inlined_kernel
def _kinetic(trees: Trees, mass_matrix: np.ndarray, v: np.ndarray) -> float:
    total = 0.0
    for i in range(v.shape[0]):
        tree = trees.of_dof[i]
        first = trees.first_dof[tree]
        momentum = 0.0
        for j in range(trees.first_dof[tree + 1] - first):
            momentum += mass_matrix[i, j] * v[first + j]
        total += 0.5 * momentum * v[i]
    return total


@inlined_kernel
def _same(a: np.ndarray, b: np.ndarray) -> bool:
    different = 0
    for i in range(a.shape[0]):
        different += a[i] != b[i]
    return different == 0
