"""Many steps in one call: of equal length, or as long as an accuracy allows."""

from __future__ import annotations

import numpy as np

from contact_core.base.kernel import inner_kernel, kernel
from tamsi_sim.arrays.data import LAST, LEFT, LENGTH, STEPS, ShearMemory
from tamsi_sim.arrays.simulation import PERIOD, Simulation, phase
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.scheme.error_control import advance_accurately
from tamsi_sim.scheme.shear import copy_array, copy_shear
from tamsi_sim.scheme.stepper import add_impulses, step

OK = int(StepStatus.OK)
EFFORT, TARGET, FEEDFORWARD = 0, 1, 2
"""What the inputs of a rollout are."""


@kernel
def advance(simulation: Simulation, steps: int) -> int:
    """Advance by a number of steps, or up to the first that fails.

    Args:
        simulation: Its q and v move, contact_impulse accumulates, the joints' targets move by
            target_rate every step.
        steps: How many steps.

    Returns:
        The status of the last step, a StepStatus.
    """
    return _advance(simulation, steps)


@phase(PERIOD)
def _finish_period(simulation: Simulation) -> int:
    return advance_accurately(simulation)


@inner_kernel
def _advance(simulation: Simulation, steps: int) -> int:
    """Advance, see :func:`advance`; a step of the user's is a period of any number of ours."""
    pace = simulation.pace
    if simulation.settings.accuracy > 0.0:
        # What is left of a call in which there was no room for the contacts comes first.
        if steps > 0 and pace[LEFT] == 0.0:
            pace[LEFT] = steps * simulation.settings.time_step
        status = _finish_period(simulation)
        if status == OK:
            simulation.counters[STEPS] += steps
        return status
    # Another simulation may have the same workspace.
    pace[LENGTH] = pace[LAST] = simulation.settings.time_step
    for _ in range(steps):
        status = step(simulation)
        if status != OK:
            return status
    return OK


@kernel
def roll(
    simulation: Simulation,
    q: np.ndarray,
    v: np.ndarray,
    inputs: np.ndarray,
    command: int,
    positions: np.ndarray,
    velocities: np.ndarray,
    contact_force: np.ndarray,
    joint_force: np.ndarray,
    statuses: np.ndarray,
) -> None:
    """Advance from several states under inputs of their own, one after the other.

    Args:
        simulation: Every sample starts with its targets and the deflections of its joints'
            friction, those where it is with the shear of its contacts; what the inputs are is
            overwritten.
        q: (n, nq) initial positions.
        v: (n, nv) initial velocities.
        inputs: (n, T, nv) input of each step; behind it may be the feedforward of tendons.
        command: EFFORT, TARGET or FEEDFORWARD, what the inputs are.
        positions: (n, T + 1, nq) row 0 is the initial state, row k the one after k steps;
            rows behind a failed step are not written.
        velocities: (n, T + 1, nv)
        contact_force: (n, T, nv) zeros, get J^T f of each step; (n, 0, nv) not to record forces.
        joint_force: Of the same size, of drives, friction and end stops.
        statuses: (n) the StepStatus of each sample's last step.
    """
    target = simulation.drives.target.copy()
    deflection = simulation.joint_forces.deflection.copy()
    memory = simulation.shear
    shear = ShearMemory(
        memory.number.copy(), memory.shapes.copy(), memory.first.copy(), memory.energy.copy(),
        memory.speed.copy(), memory.resisted.copy(), memory.slack.copy(), memory.point.copy(),
        memory.shear.copy(), memory.slip.copy(), memory.twist.copy(), memory.velocity.copy(),
        memory.half.copy(), memory.table, memory.slot, memory.before, memory.q.copy(),
    )  # fmt: skip
    for sample in range(q.shape[0]):
        statuses[sample] = _roll(
            simulation, q[sample], v[sample], target, deflection, shear, inputs[sample], command,
            positions[sample], velocities[sample], contact_force[sample], joint_force[sample],
        )  # fmt: skip


@inner_kernel
def _roll(
    simulation: Simulation,
    q: np.ndarray,
    v: np.ndarray,
    target: np.ndarray,
    deflection: np.ndarray,
    shear: ShearMemory,
    inputs: np.ndarray,
    command: int,
    positions: np.ndarray,
    velocities: np.ndarray,
    contact_force: np.ndarray,
    joint_force: np.ndarray,
) -> int:
    state, drives = simulation.state, simulation.drives
    copy_array(q, state.q)
    copy_array(v, state.v)
    copy_array(target, drives.target)
    copy_array(deflection, simulation.joint_forces.deflection)
    copy_shear(shear, simulation.shear)
    driven = drives.target if command == TARGET else drives.applied
    if command == FEEDFORWARD:
        driven = drives.feedforward
    nv = state.v.shape[0]
    for k in range(inputs.shape[0] + 1):
        copy_array(state.q, positions[k])
        copy_array(state.v, velocities[k])
        if k < inputs.shape[0]:
            copy_array(inputs[k], driven)
            recorded = k < contact_force.shape[0]
            if recorded and simulation.settings.accuracy > 0.0:
                copy_array(simulation.contact_impulse, contact_force[k])
            for t in range(inputs.shape[1] - nv):
                simulation.tendon_drives.feedforward[t] = inputs[k, nv + t]
            status = _advance(simulation, 1)
            if status != OK:
                return status
            if recorded:
                if simulation.settings.accuracy > 0.0:
                    for i in range(nv):
                        given = simulation.contact_impulse[i] - contact_force[k, i]
                        contact_force[k, i] = given / simulation.settings.time_step
                else:
                    add_impulses(simulation, contact_force[k], 1.0, simulation.contacts.number[0])
                copy_array(simulation.joint_forces.force, joint_force[k])
    return OK
