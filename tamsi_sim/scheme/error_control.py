"""Steps as long as an accuracy allows: the user gives an error, the engine the steps.

TAMSI is of first order. So every step is taken whole and in two halves: their difference is the
error of the whole one, and what it is short of the halves is added to these, which is of second
order (Richardson's extrapolation). So it is with impulses and forces, which are those that gave the
bodies their momentum. The error is that of any position [m or rad], and of any velocity over
:data:`HORIZON`. What sticks keeps the shear that the halves left it: that is never
extrapolated.

A step looks for contacts where it starts. So nothing moves by more than a part of its own thickness
at once, and a step at whose end two shapes are deep inside each other for the first time is taken
again up to where they touch.
"""

from __future__ import annotations

import math

from contact_core.base.kernel import inlined_kernel
from contact_core.multibody.collision.arrays import NORMAL
from contact_core.multibody.rigid_body.configuration import (
    configuration_change,
    move_configuration,
)
from tamsi_sim.arrays.data import LAST, LEFT, LENGTH, NEXT, REJECTED, STEPS, Stash
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.arrays.status import StepStatus
from tamsi_sim.scheme.contact import project
from tamsi_sim.scheme.energy import runs_away
from tamsi_sim.scheme.shear import (
    copy_array,
    copy_shear,
    forget_shear,
    inverse_mass,
)
from tamsi_sim.scheme.stepper import evaluate, fits, proceed

OK, TOO_MANY_CONTACTS = int(StepStatus.OK), int(StepStatus.TOO_MANY_CONTACTS)
HORIZON = 0.1
"""How long an error of a velocity acts [s]."""
SAFETY = 0.85
"""Share of the length that the last error allows."""
GROWTH, SHRINKAGE, RETREAT = 2.5, 0.2, 0.25
"""Of the length from a step to the next, to its repetition, and after a failure."""
SHORTEST = 1e-10
"""A step [s]: what fails even so fails, and what is not accurate is taken as it is."""
THICKNESS = 0.5
"""Share of the radius of the ball inside its thinnest shape by which a body moves at most."""


@inlined_kernel
def advance_accurately(simulation: Simulation) -> int:
    """Advance by the time that is left.

    Args:
        simulation: Its state moves, and its pace: what is left is zero at the end, and after
            TOO_MANY_CONTACTS what is still to be done.

    Returns:
        The status of the last step, a StepStatus; the state is that of the last good one.
    """
    pace, counters = simulation.pace, simulation.counters
    steps, status = counters[STEPS], OK
    forget_shear(simulation)
    contacts = evaluate(simulation)
    if not fits(simulation, contacts):
        return TOO_MANY_CONTACTS
    # Enters a state that was set by hand, so that going back to it is not another one.
    runs_away(simulation, contacts)
    copy_array(simulation.state.q, simulation.energy.q)
    copy_array(simulation.state.v, simulation.energy.v)
    while pace[LEFT] > 0.0 and status == OK:
        h = min(pace[NEXT], _reach(simulation))
        # No tiny step at the end.
        rest = pace[LEFT]
        h = rest if h > 0.999 * rest else min(h, 0.5 * rest)
        _remember(simulation)
        status, longest = _try_step(simulation, h)
        if status == OK and (longest >= h or h <= SHORTEST):
            longest, pace[LAST] = max(longest, h), h
            pace[LEFT] = rest - h if h < rest else 0.0
            if h < rest or longest < pace[NEXT]:
                pace[NEXT] = longest
        else:
            counters[REJECTED] += 1
            _go_back(simulation)
            if status != TOO_MANY_CONTACTS:
                evaluate(simulation)
                if h > SHORTEST:
                    status = OK
                pace[NEXT] = max(longest, SHORTEST)
    counters[STEPS] = steps
    pace[LENGTH] = simulation.settings.time_step
    if status not in (OK, TOO_MANY_CONTACTS):
        pace[LEFT], pace[NEXT] = 0.0, pace[LENGTH]
    return status


@inlined_kernel
def _try_step(simulation: Simulation, h: float) -> tuple[int, float]:
    """Take a step whole, in halves, and extrapolate; evaluate where it ends.

    Returns:
        A StepStatus, and how long the next step may be, or this one instead if that is less [s].
    """
    stash, state = simulation.stash, simulation.state
    status = _proceed(simulation, h)
    if status != OK:
        return status, RETREAT * h
    copy_array(state.q, stash.coarse_q)
    copy_array(state.v, stash.coarse_v)
    copy_array(simulation.contact_impulse, stash.coarse_impulse)
    _begin_forces(simulation)
    _go_back(simulation)
    copy_array(stash.bias, simulation.dynamics.bias)
    status = _proceed(simulation, 0.5 * h)
    if status != OK:
        return status, RETREAT * h
    _add_forces(simulation)
    contacts = evaluate(simulation)
    if not fits(simulation, contacts):
        return TOO_MANY_CONTACTS, h
    _renumber_forces(simulation, contacts)
    late = _too_late(simulation, contacts)
    if late > 0.0:
        return OK, max(SHRINKAGE * h, 0.5 * h - late)
    status = _proceed(simulation, 0.5 * h)
    if status != OK:
        return status, RETREAT * h
    _add_forces(simulation)
    error = _extrapolate(simulation)
    allowed = SAFETY * math.sqrt(simulation.settings.accuracy / max(error, 1e-300))
    # What is too far off is repeated; else the next step may be longer or shorter.
    if error > simulation.settings.accuracy:
        return OK, h * max(SHRINKAGE, allowed)
    contacts = evaluate(simulation)
    if not fits(simulation, contacts):
        return TOO_MANY_CONTACTS, h
    _renumber_forces(simulation, contacts)
    _report_forces(simulation)
    late = _too_late(simulation, contacts)
    if late > 0.0:
        return OK, max(SHRINKAGE * h, h - late)
    return OK, h * min(GROWTH, max(1.0, allowed))


@inlined_kernel
def _proceed(simulation: Simulation, h: float) -> int:
    """Take a step of some length from where all is evaluated."""
    simulation.pace[LENGTH] = h
    return proceed(simulation)


@inlined_kernel
def _remember(simulation: Simulation) -> None:
    """Keep all that steps move."""
    stash, state = simulation.stash, simulation.state
    copy_array(state.q, stash.q)
    copy_array(state.v, stash.v)
    copy_array(simulation.joint_forces.deflection, stash.deflection)
    copy_array(simulation.dynamics.bias, stash.bias)
    copy_array(simulation.drives.target, stash.target)
    copy_array(simulation.contact_impulse, stash.impulse)
    copy_array(simulation.energy.ledger, stash.ledger)
    copy_shear(simulation.shear, stash.shear)


@inlined_kernel
def _go_back(simulation: Simulation) -> None:
    """Go back to where the step started."""
    stash, state, energy = simulation.stash, simulation.state, simulation.energy
    copy_array(stash.q, state.q)
    copy_array(stash.v, state.v)
    copy_array(stash.q, energy.q)
    copy_array(stash.v, energy.v)
    copy_array(stash.deflection, simulation.joint_forces.deflection)
    copy_array(stash.target, simulation.drives.target)
    copy_array(stash.impulse, simulation.contact_impulse)
    copy_array(stash.ledger, energy.ledger)
    copy_shear(stash.shear, simulation.shear)


@inlined_kernel
def _extrapolate(simulation: Simulation) -> float:
    """Move on from the halves by what the whole step is short of them.

    Returns:
        The error of the whole step [m, rad].
    """
    stash, state, bodies = simulation.stash, simulation.state, simulation.bodies
    joint_q, change, error = simulation.joints.q, stash.change, 0.0
    configuration_change(bodies, joint_q, stash.coarse_q, state.q, change)
    for i in range(change.shape[0]):
        turn = state.v[i] - stash.coarse_v[i]
        error = max(error, abs(change[i]), HORIZON * abs(turn))
        state.v[i] += turn
    move_configuration(bodies, joint_q, state.q, change, 1.0)
    impulse = simulation.contact_impulse
    for i in range(impulse.shape[0]):
        impulse[i] += impulse[i] - stash.coarse_impulse[i]
    copy_array(state.q, simulation.shear.q)
    copy_array(state.q, simulation.energy.q)
    copy_array(state.v, simulation.energy.v)
    return error


@inlined_kernel
def _begin_forces(simulation: Simulation) -> None:
    """Note the forces of the whole step, which those of the halves are added to, as negative."""
    stash = simulation.stash
    stash.number[0] = simulation.contacts.number[0]
    for c in range(stash.number[0]):
        a, b = simulation.pairs.shapes[simulation.contacts.pair[c]]
        stash.shapes[c, 0], stash.shapes[c, 1] = a, b
        for i in range(6):
            stash.force[c, i] = -_mean(simulation, c, i)
    closures = simulation.closure_forces.mean_force
    for c in range(closures.shape[0]):
        for i in range(6):
            stash.closure_force[c, i] = -closures[c, i]


@inlined_kernel
def _add_forces(simulation: Simulation) -> None:
    """Add the forces of half a step."""
    stash, closures = simulation.stash, simulation.closure_forces.mean_force
    for c in range(stash.number[0]):
        for i in range(6):
            stash.force[c, i] += _mean(simulation, c, i)
    for c in range(closures.shape[0]):
        for i in range(6):
            stash.closure_force[c, i] += closures[c, i]


@inlined_kernel
def _mean(simulation: Simulation, c: int, i: int) -> float:
    """Entry of force and moment of a contact point over the last step."""
    if i < 3:
        return simulation.contact_forces.mean_force[c, i]
    moments = simulation.contact_moments.mean_moment
    return moments[c, i - 3] if c < moments.shape[0] else 0.0


@inlined_kernel
def _renumber_forces(simulation: Simulation, contacts: int) -> None:
    """Give the points that are noted their present numbers; what is new bears nothing yet."""
    stash, pairs, last, k = simulation.stash, simulation.pairs.shapes, -1, 0
    for c in range(contacts):
        pair = simulation.contacts.pair[c]
        a, b = pairs[pair]
        if pair != last:
            last, k = pair, c
            if not _noted(stash, k, a, b) or (k > 0 and _noted(stash, k - 1, a, b)):
                k = 0  # not the first of its pair
                while k < stash.number[0] and not _noted(stash, k, a, b):
                    k += 1
        known = _noted(stash, k, a, b)
        for i in range(6):
            stash.carried[c, i] = stash.force[k, i] if known else 0.0
        k += 1
    for c in range(contacts):
        a, b = pairs[simulation.contacts.pair[c]]
        stash.shapes[c, 0], stash.shapes[c, 1] = a, b
        for i in range(6):
            stash.force[c, i] = stash.carried[c, i]
    stash.number[0] = contacts


@inlined_kernel
def _noted(stash: Stash, k: int, a: int, b: int) -> bool:
    """Whether the point that is noted with a number is one of two shapes."""
    return k < stash.number[0] and stash.shapes[k, 0] == a and stash.shapes[k, 1] == b


@inlined_kernel
def _report_forces(simulation: Simulation) -> None:
    """Write what is noted as the forces of the step."""
    stash, closures = simulation.stash, simulation.closure_forces.mean_force
    forces, moments = simulation.contact_forces.mean_force, simulation.contact_moments.mean_moment
    for c in range(stash.number[0]):
        for i in range(3):
            forces[c, i] = stash.force[c, i]
            if c < moments.shape[0]:
                moments[c, i] = stash.force[c, 3 + i]
    for c in range(closures.shape[0]):
        for i in range(6):
            closures[c, i] = stash.closure_force[c, i]


@inlined_kernel
def _too_late(simulation: Simulation, contacts: int) -> float:
    """Return for how long what did not touch before is inside each other, if too deep; else 0 [s].

    Nothing slowed that down, so its contact gives back what it never took: by the energy of its
    spring it leaves faster than it came.
    """
    found, late = simulation.contacts, 0.0
    accuracy, velocity = simulation.settings.accuracy, simulation.contact_forces.velocity
    last, fresh, softness = -1, False, 0.0
    for c in range(contacts):
        pair = found.pair[c]
        if pair != last:
            last, fresh = pair, simulation.shear.before[pair] < 0
            softness = inverse_mass(simulation, pair) if fresh else 0.0
        if fresh:
            project(simulation.jacobian, c, simulation.state.v, velocity)
            speed, depth = -velocity[c, NORMAL], found.depth[c]
            if speed > 0.0:
                # sqrt(v^2 + k/m depth^2) - v
                gain = math.sqrt(speed * speed + softness * found.stiffness[c] * depth * depth)
                if max(depth, HORIZON * (gain - speed)) > accuracy:
                    late = max(late, depth / speed)
    return late


@inlined_kernel
def _reach(simulation: Simulation) -> float:
    """Return how long a step may be, so that no body moves through another one unseen [s]."""
    hulls, longest = simulation.hulls, math.inf
    for hull in range(hulls.body.shape[0]):
        body = hulls.body[hull]
        if body >= 0:
            w, p = simulation.kinematics.velocity[body], simulation.poses.hull[hull]
            x = w[3] + w[1] * p[2] - w[2] * p[1]
            y = w[4] + w[2] * p[0] - w[0] * p[2]
            z = w[5] + w[0] * p[1] - w[1] * p[0]
            turn = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
            speed = math.sqrt(x * x + y * y + z * z)
            speed += turn * (hulls.radius[hull] - hulls.thickness[hull])
            if speed > 0.0:
                longest = min(longest, THICKNESS * hulls.thickness[hull] / speed)
    return max(longest, SHORTEST)
