"""Impacts: where a touch begins, and what comes back of its speed, at steps of any length.

A step looks for contacts where it starts. So two that meet are inside each other when a step first
sees them, by as much as they came in the step before, and nothing has resisted that: the spring of
so much penetration would give energy that it never took. It is *slack*: it counts as none, and is
taken up, in some ten steps, while things rest. Corners that a pair had not before have some, too.

Estimating the penetration at the end of the step, tamsi (19), damps like h k beside the spring k:
of an impact that lasts some steps much is lost. What rests or creeps needs that damping, and so do
patches, whose stiffness changes with their faces, which may give energy. A ball that hits does not.
So the faster it met something, and the less that dissipates, the less its penetration is estimated
ahead, down to what keeps the energy from impact to impact; in between it swings by up to h w / 4.
An impact of pi / (h w) steps, w^2 = k / m, begins at a penetration of zero and ends up to a step
late, which gives (h w)^2 / 6 of the energy, and loses a pi h w of it at a share a. Where h w is
more than sqrt(2) the share is 1/2 - 1 / (h w)^2 at least, half of what stability needs. Steps of a
given accuracy need no such thing.

A surface's restitution e is that of its impacts at any speed. With f = k x (1 + d dx/dt) it solves
ln((1 + a) / (1 - a e)) = a (1 + e) with a = d v, for two that meet at a speed v, whatever k and
their masses are. So the dissipation of an impact is d = a / v. A ball of such a surface is
estimated ahead as little where it is slow: what it does then is said.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel, leaf_kernel
from contact_core.multibody.collision.arrays import NORMAL
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.multibody.rigid_body.arrays import Jacobian
from tamsi_sim.arrays.data import KNOWN, LENGTH
from tamsi_sim.arrays.simulation import Simulation

SPHERE = int(ShapeKind.SPHERE)

SLOW, CALM = 0.1, 0.2
"""Speed up to which all of the penetration is estimated ahead, and at which 5/8 of it is [m/s];
where no restitution is stated."""
SLOWEST = 1e-2
"""What meets at less dissipates as at this speed, and has no slack [m/s]."""
DEADEST = 1e-2
"""Restitution below which nothing visible comes back."""
DEAD = 3.0
"""Dissipation times speed of an impact of which three tenths come back."""
BISECTIONS = 40
RELAXATION = 0.05
"""Time constant with which the speed is forgotten at which two met [s]."""
TAKEN_UP = 0.1
"""Share of its slack that a contact takes up in a step, at a tenth of the speed that it came at."""
SPARE = 1e-5
"""A point that was there may be deeper by that than its pair was, lest rounding counts [m]."""
LEAST_SLACK = 1e-9
"""Less is none [m]."""


@inlined_kernel
def meet(
    simulation: Simulation, pair: int, first: int, last: int, old: int, inverse_mass: float
) -> None:
    """Set how far a pair's penetration is estimated ahead, and what its impact dissipates.

    Args:
        simulation: Reads contacts, velocities and the memory of the last step; writes the contacts'
            ahead, and the pair's speed and dissipation.
        pair: The pair.
        first: Its first contact.
        last: The one behind its last.
        old: The pair in the memory of the last step; -1 if it did not touch.
        inverse_mass: Sum of the inverse masses of its bodies [1/kg].
    """
    pairs, rules, forces = simulation.pairs, simulation.rules, simulation.contact_forces
    restitution = rules.restitution[pairs.rule[pair]]
    fixed = simulation.settings.accuracy == 0.0
    ball = fixed and simulation.geometry.kind[pairs.shapes[pair, 0]] == SPHERE
    ahead, met = 1.0, SLOWEST
    if ball or restitution < 1.0:
        if old >= 0:
            met = simulation.shear.speed[old]
        else:
            for c in range(first, last):
                met = max(met, -_separation(simulation.jacobian, c, simulation.state.v))
        if ball and (met > SLOW or restitution < 1.0):
            calm = 0.0
            if restitution == 1.0:
                calm = (CALM * CALM + SLOW * SLOW) / (CALM * CALM + met * met)
            loss = rules.dissipation[pairs.rule[pair]] * met / DEAD
            calm = max(calm, loss * loss / (1.0 + loss * loss))
            square = simulation.contacts.stiffness[first] * inverse_mass
            phase = simulation.pace[LENGTH] * math.sqrt(square)
            ahead = max(calm, phase / (3.0 * math.pi), 0.5 - 1.0 / phase**2)
    pairs.speed[pair] = met
    for c in range(first, last):
        forces.ahead[c] = ahead
    if restitution < 1.0:
        dissipation = rules.dissipation[pairs.rule[pair]]
        pairs.dissipation[pair] = dissipation + impact_loss(restitution) / pairs.speed[pair]


@inlined_kernel
def left_speed(simulation: Simulation, pair: int) -> float:
    """Return what is left of the speed at which a pair met when a step ends [m/s].

    An impact is over soon, but has a restitution of its own as long as the two touch.
    """
    met: float = simulation.pairs.speed[pair]
    if simulation.rules.restitution[simulation.pairs.rule[pair]] < 1.0:
        return met
    return met * max(0.0, 1.0 - simulation.pace[LENGTH] / RELAXATION)


@inlined_kernel
def faster(simulation: Simulation, pair: int, c: int, speed: float) -> float:
    """Return the speed of a pair's contact at the end of a step, if that is more [m/s]."""
    if simulation.rules.restitution[simulation.pairs.rule[pair]] < 1.0:
        return speed
    return max(speed, abs(simulation.contact_forces.velocity[c, NORMAL]))


@inlined_kernel
def find_slack(
    simulation: Simulation, c: int, old: int, nearest: int, fresh: bool, bend: float
) -> float:
    """Return the penetration of a contact that nothing has resisted [m].

    Args:
        simulation: Reads contacts and velocities, and the memory of the last step.
        c: The contact.
        old: Its pair in that memory; -1 if it did not touch.
        nearest: The nearest point of the pair there.
        fresh: Whether it may be a point that was not there.
        bend: Of its two shapes, see :func:`find_bend` [m].
    """
    slack, memory, depth = 0.0, simulation.shear, simulation.contacts.depth[c]
    if simulation.settings.accuracy > 0.0:
        return slack
    if old >= 0:
        # A patch need not hold all that is inside; what was not in it was not resisted.
        more = depth - memory.resisted[old] - (0.0 if fresh else max(bend, SPARE))
        slack = max(memory.slack[nearest], more)
    if fresh and memory.number[KNOWN]:
        speed = -_separation(simulation.jacobian, c, simulation.state.v)
        if speed > SLOWEST:
            way = simulation.pace[LENGTH] * speed + bend
            # It was not inside before; what of a new pair was, others resisted.
            if old < 0 or depth < way:
                slack = way
    return min(slack, depth)


@inlined_kernel
def left_slack(simulation: Simulation, c: int) -> float:
    """Return what is left of a contact's slack when a step ends [m].

    It is taken up where things rest: to push during an impact it would give energy.
    """
    forces = simulation.contact_forces
    slack = forces.slack[c]
    if forces.ahead[c] == 1.0:
        slack *= 1.0 - TAKEN_UP
    return slack if slack > LEAST_SLACK else 0.0


@inlined_kernel
def resisted(simulation: Simulation, c: int) -> float:
    """Return the penetration of a contact without what is left of its slack at a step's end [m]."""
    way: float = simulation.pace[LENGTH] * simulation.contact_forces.velocity[c, NORMAL]
    return simulation.contacts.depth[c] - simulation.shear.slack[c] - way


@inlined_kernel
def _separation(jacobian: Jacobian, c: int, v: np.ndarray) -> float:
    """Speed at which the bodies of a contact separate [m/s]."""
    speed = 0.0
    for k in range(jacobian.columns[c]):
        speed += jacobian.entry[c, NORMAL, k] * v[jacobian.dof[c, k]]
    return speed


@inlined_kernel
def find_bend(simulation: Simulation, shape: int) -> float:
    """Return how much further than its speed says a turning shape may bring a corner [m]."""
    body: int = simulation.geometry.body[shape]
    if body < 0:
        return 0.0
    w = simulation.kinematics.velocity[body]
    square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2]
    bend: float = 0.5 * simulation.pace[LENGTH] ** 2 * square * simulation.geometry.radius[shape]
    return bend


@leaf_kernel
def impact_loss(restitution: float) -> float:
    """Return a = d v of an impact with a restitution e, below 1, see above."""
    e = max(DEADEST, restitution)
    low, high = 0.0, 1.0 / e
    for _ in range(BISECTIONS):
        a = 0.5 * (low + high)
        if math.log((1.0 + a) / (1.0 - a * e)) < a * (1.0 + e):
            low = a
        else:
            high = a
    return 0.5 * (low + high)
