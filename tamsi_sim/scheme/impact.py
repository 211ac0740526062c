"""Impacts: what comes back of their speed, at steps that do not resolve them.

Estimating the penetration at the end of the step, tamsi (19), damps like h k beside the spring k:
of an impact that lasts some steps much is lost. What rests or creeps needs that damping, and so do
patches, whose stiffness changes with their faces, which may give energy. A ball that hits does not.
So the faster it is, the less its penetration is estimated ahead, down to what it gains where it is
met at a depth that nothing slowed it down to. Steps of a given accuracy need no such thing.

A surface's restitution e is that of its impacts at any speed. With f = k x (1 + d dx/dt) it solves
ln((1 + a) / (1 - a e)) = a (1 + e) with a = d v, for two that meet at a speed v, whatever k and
their masses are. So the dissipation of an impact is d = a / v.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel, leaf_kernel
from contact_core.multibody.collision.arrays import NORMAL
from contact_core.multibody.collision.shapes import ShapeKind
from contact_core.multibody.rigid_body.arrays import Jacobian
from tamsi_sim.arrays.data import LENGTH
from tamsi_sim.arrays.simulation import Simulation

SPHERE = int(ShapeKind.SPHERE)

SLOW, CALM = 0.1, 1.0
"""Speed up to which all of the penetration is estimated ahead, and at which half of it is [m/s]."""
SLOWEST = 1e-2
"""What meets at less dissipates as at this speed [m/s]."""
DEADEST = 1e-2
"""Restitution below which nothing visible comes back."""
BISECTIONS = 40


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
    fastest = 0.0
    for c in range(first, last):
        forces.ahead[c] = 1.0
        if ball or restitution < 1.0:
            speed = _separation(simulation.jacobian, c, simulation.state.v)
            fastest = max(fastest, -speed)
            if ball and abs(speed) > SLOW:
                share = (CALM * CALM + SLOW * SLOW) / (CALM * CALM + speed * speed)
                frequency = math.sqrt(simulation.contacts.stiffness[c] * inverse_mass)
                least = min(1.0, 0.5 * simulation.pace[LENGTH] * frequency)
                forces.ahead[c] = max(least, share)
    if restitution < 1.0:
        pairs.speed[pair] = simulation.shear.speed[old] if old >= 0 else max(SLOWEST, fastest)
        dissipation = rules.dissipation[pairs.rule[pair]]
        pairs.dissipation[pair] = dissipation + impact_loss(restitution) / pairs.speed[pair]


@inlined_kernel
def _separation(jacobian: Jacobian, c: int, v: np.ndarray) -> float:
    """Speed at which the bodies of a contact separate [m/s]."""
    speed = 0.0
    for k in range(jacobian.columns[c]):
        speed += jacobian.entry[c, NORMAL, k] * v[jacobian.dof[c, k]]
    return speed


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
