"""The elastic shear of contacts: what sticks is held by a spring, and does not creep.

Surfaces that stick shear before they slip, by Prandtl's and Dahl's element: a spring along each
tangent whose force friction bounds. Its stiffness does not depend on the load, so that no change of
load moves what sticks or makes energy. The shear is part of the state. It belongs to a pair of
shapes, not to a place on either of them: every point of a pair goes on with the shear of the
nearest point that the pair had before, so what rolls takes its shear along, and what rests keeps
its own. From step to step shear turns with the normal, and about it as the two bodies do in the
mean. Nothing of this adds energy: a pair never has more of it than it had when its last step ended.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel, leaf_kernel
from contact_core.multibody.collision.arrays import NORMAL
from tamsi_sim.arrays.data import KNOWN, LENGTH, PAIRS, POINTS, ShearMemory
from tamsi_sim.arrays.settings import FrictionLaw
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.scheme.impact import (
    faster,
    find_bend,
    find_slack,
    left_slack,
    left_speed,
    meet,
    resisted,
)

ELASTIC = int(FrictionLaw.ELASTIC)
SOFTEST = 0.1
"""Compliance along the tangents, relative to that along the normal."""
KEPT = 0.99
"""Share of a pair's energy below which some of its points are gone."""
ELSEWHERE = 0.1
"""Of the radius of the smaller shape: a point that moved farther may be another corner."""
FREQUENCY = 7e3
"""Of what vibrates while one point holds it [rad/s]: its own weight shears that by 0.2 um."""


@inlined_kernel
def forget_shear(simulation: Simulation) -> None:
    """Forget the shear at the start of a step if the bodies are not where the last one left them.

    Args:
        simulation: Reads its positions; the memory of shear may become empty.
    """
    q, memory, moved = simulation.state.q, simulation.shear, 0
    for i in range(q.shape[0]):
        moved += q[i] != memory.q[i]
    if moved:
        memory.number[:] = 0


@leaf_kernel
def copy_array(source: np.ndarray, target: np.ndarray) -> None:
    """Copy an array (n)."""
    for i in range(target.shape[0]):
        target[i] = source[i]


@inlined_kernel
def copy_shear(memory: ShearMemory, target: ShearMemory) -> None:
    """Copy what a memory holds into another one."""
    pairs, points = memory.number[PAIRS], memory.number[POINTS]
    copy_array(memory.number, target.number)
    for k in range(pairs):
        target.shapes[k, 0], target.shapes[k, 1] = memory.shapes[k, 0], memory.shapes[k, 1]
        target.first[k], target.energy[k] = memory.first[k], memory.energy[k]
        target.speed[k], target.resisted[k] = memory.speed[k], memory.resisted[k]
    target.first[pairs] = memory.first[pairs]
    for k in range(points):
        target.slack[k] = memory.slack[k]
        for i in range(3):
            target.point[k, i], target.shear[k, i] = memory.point[k, i], memory.shear[k, i]
            target.slip[k, i] = memory.slip[k, i]
    for k in range(min(points, memory.twist.shape[0])):
        for i in range(3):
            target.twist[k, i] = memory.twist[k, i]
    copy_array(memory.velocity, target.velocity)
    copy_array(memory.half, target.half)
    copy_array(memory.q, target.q)


@inlined_kernel
def find_before(simulation: Simulation, count: int) -> None:
    """Find which of the pairs that touched when the last step ended those that touch now are.

    Args:
        simulation: Reads contacts and the memory of shear, of which it writes ``before``.
        count: Number of contact points.
    """
    settings, memory, last = simulation.settings, simulation.shear, -1
    if settings.friction_law == ELASTIC or settings.accuracy > 0.0:
        _fill_table(memory)
        for c in range(count):
            pair = simulation.contacts.pair[c]
            if pair != last:
                last, (a, b) = pair, simulation.pairs.shapes[pair]
                memory.before[pair] = memory.table[_slot(memory, a, b)]
        # Clearing all of the table would take longer than all else in a small scene.
        for k in range(memory.number[PAIRS]):
            memory.table[memory.slot[k]] = -1


@inlined_kernel
def recall_shear(simulation: Simulation, count: int) -> None:
    """Compute how the contacts are sheared where the bodies are now, and their stiffness.

    Args:
        simulation: Reads contacts, motion of the bodies and the memory of shear; writes tangential
            compliance and initial shear of its contact forces, and what :func:`meet` does, which
            depends on the length of the step.
        count: Number of contact points.
    """
    if simulation.settings.friction_law == ELASTIC:
        contacts, first = simulation.contacts, 0
        while first < count:
            pair, last = contacts.pair[first], first + 1
            while last < count and contacts.pair[last] == pair:
                last += 1
            _recall_pair(simulation, pair, first, last)
            first = last
    else:
        for c in range(count):
            simulation.contact_forces.ahead[c] = 1.0
            simulation.contact_forces.slack[c] = 0.0


@inlined_kernel
def move_shear(simulation: Simulation, count: int) -> None:
    """Shear the contacts to where a (sub-)step ends: as much as friction stretches its springs.

    Args:
        simulation: Reads the forces of its contacts; moves their shear.
        count: Number of contact points.
    """
    if simulation.settings.friction_law == ELASTIC:
        forces = simulation.contact_forces
        for c in range(count):
            forces.shear[c, 0] = -forces.compliance[c] * forces.force[c, 0]
            forces.shear[c, 1] = -forces.compliance[c] * forces.force[c, 1]


@inlined_kernel
def keep_shear(simulation: Simulation, count: int) -> None:
    """Remember the shear at the end of a step for the next one, or just what touched.

    Args:
        simulation: Reads contacts, their shear, and the poses they belong to; writes the memory.
        count: Number of contact points.
    """
    settings = simulation.settings
    if settings.friction_law == ELASTIC or settings.accuracy > 0.0:
        memory, contacts, forces = simulation.shear, simulation.contacts, simulation.contact_forces
        last, kept, a = -1, -1, 0
        for c in range(count):
            if contacts.pair[c] != last:
                last, kept = contacts.pair[c], kept + 1
                a = simulation.pairs.shapes[last, 0]
                memory.shapes[kept, 0], memory.shapes[kept, 1] = a, simulation.pairs.shapes[last, 1]
                memory.first[kept], memory.energy[kept], memory.resisted[kept] = c, 0.0, 0.0
                memory.speed[kept] = left_speed(simulation, last)
            memory.speed[kept] = faster(simulation, last, c, memory.speed[kept])
            x, y = forces.shear[c]
            u, w = forces.velocity[c, 0], forces.velocity[c, 1]
            s, t = contacts.frame[c, 0], contacts.frame[c, 1]
            if settings.friction_law == ELASTIC:
                memory.energy[kept] -= x * forces.force[c, 0] + y * forces.force[c, 1]
                memory.slack[c] = left_slack(simulation, c)
                memory.resisted[kept] = max(memory.resisted[kept], resisted(simulation, c))
            for i in range(3):
                memory.point[c, i] = contacts.point[c, i] - simulation.poses.position[a, i]
                memory.shear[c, i] = x * s[i] + y * t[i]
                memory.slip[c, i] = u * s[i] + w * t[i]
            if settings.friction_law == ELASTIC and c < memory.twist.shape[0]:
                memory.energy[kept] += _keep_twist(simulation, c)
        memory.number[PAIRS], memory.number[POINTS], memory.number[KNOWN] = kept + 1, count, 1
        memory.first[kept + 1] = count
        copy_array(simulation.newton.v, memory.velocity)
        memory.half[0] = half_of_arc(simulation)


@inlined_kernel
def half_of_arc(simulation: Simulation) -> float:
    """Return half of the length of a step for :func:`_add_arc` [s].

    With a given accuracy it is 0: the length of such steps accounts for arcs.
    """
    return 0.0 if simulation.settings.accuracy > 0.0 else 0.5 * simulation.pace[LENGTH]


@inlined_kernel
def _recall_pair(simulation: Simulation, pair: int, first: int, last: int) -> None:
    """Write initial shear and compliance of a pair's contacts."""
    contacts, forces, memory = simulation.contacts, simulation.contact_forces, simulation.shear
    a, b = simulation.pairs.shapes[pair]
    old, inverse = memory.before[pair], inverse_mass(simulation, pair)
    meet(simulation, pair, first, last, old, inverse)
    # It suits the masses that it holds, lest a light body shakes or a heavy one drifts.
    softness = min(SOFTEST, inverse * simulation.pairs.stiffness[pair] / FREQUENCY**2)
    turn = simulation.pace[LENGTH] * _spin(simulation, a, b, contacts.frame[first, NORMAL])
    p, radius = simulation.poses.position[a], simulation.geometry.radius
    lever = min(radius[a], radius[b])
    energy, grown = 0.0, old >= 0 and last - first > memory.first[old + 1] - memory.first[old]
    bend, rigidity = find_bend(simulation, a) + find_bend(simulation, b), 1.0 / softness
    for c in range(first, last):
        start = forces.initial_shear[c]
        forces.compliance[c] = softness / contacts.stiffness[c]
        start[0] = start[1] = 0.0
        k, fresh = -1, True
        if old >= 0:
            k, square = _nearest(memory, old, contacts.point[c], p)
            fresh = grown or square > (ELSEWHERE * lever) ** 2
            u = memory.shear[k]
            s, t = contacts.frame[c, 0], contacts.frame[c, 1]
            x, y = s[0] * u[0] + s[1] * u[1] + s[2] * u[2], t[0] * u[0] + t[1] * u[1] + t[2] * u[2]
            start[0], start[1] = x - turn * y, y + turn * x
            square = start[0] * start[0] + start[1] * start[1]
            energy += square * contacts.stiffness[c] * rigidity
            if not fresh:
                _add_arc(simulation, c, k)
        forces.slack[c] = find_slack(simulation, c, old, k, fresh, bend)
        if c < memory.twist.shape[0]:
            simulation.contact_moments.compliance[c] = forces.compliance[c] / lever**2
            energy += _recall_twist(simulation, c, k, turn)
    # This is a rotation of first order: it keeps the energy, but for that of points that are gone.
    if energy > KEPT * memory.energy[max(0, old)] and energy > 0.0:
        share = math.sqrt(memory.energy[old] / energy)
        for c in range(first, last):
            forces.initial_shear[c, 0] *= share
            forces.initial_shear[c, 1] *= share
            if c < memory.twist.shape[0]:
                for i in range(3):
                    simulation.contact_moments.initial_twist[c, i] *= share


@inlined_kernel
def _add_arc(simulation: Simulation, c: int, k: int) -> None:
    """Add to a contact's initial shear what its step was short of the way of the bodies.

    Velocities hold for a step as they are where it begins, and bodies go on arcs: what is carried
    along would fall behind by h^2 / 2 times their acceleration. The mean with where it ends does
    not, and nothing changes for what rolls.
    """
    start, jacobian, memory = (
        simulation.contact_forces.initial_shear[c],
        simulation.jacobian,
        simulation.shear,
    )
    u, v, frame = memory.slip[k], memory.velocity, simulation.contacts.frame[c]
    for axis in range(2):
        slip = 0.0
        for i in range(3):
            slip -= u[i] * frame[axis, i]
        for j in range(jacobian.columns[c]):
            slip += jacobian.entry[c, axis, j] * v[jacobian.dof[c, j]]
        start[axis] += memory.half[0] * slip


@inlined_kernel
def _recall_twist(simulation: Simulation, c: int, k: int, turn: float) -> float:
    """Write a contact's initial twist, that of a point that was; return its energy."""
    twist, frame = simulation.contact_moments.initial_twist[c], simulation.contacts.frame[c]
    x, y, z = 0.0, 0.0, 0.0
    if k >= 0:
        u = simulation.shear.twist[k]
        x = frame[0, 0] * u[0] + frame[0, 1] * u[1] + frame[0, 2] * u[2]
        y = frame[1, 0] * u[0] + frame[1, 1] * u[1] + frame[1, 2] * u[2]
        z = frame[2, 0] * u[0] + frame[2, 1] * u[1] + frame[2, 2] * u[2]
    twist[0], twist[1], twist[NORMAL] = x - turn * y, y + turn * x, z
    return _twist_energy(simulation, c, twist)


@inlined_kernel
def _keep_twist(simulation: Simulation, c: int) -> float:
    twist, frame = simulation.contact_moments.twist[c], simulation.contacts.frame[c]
    for i in range(3):
        simulation.shear.twist[c, i] = (
            twist[0] * frame[0, i] + twist[1] * frame[1, i] + twist[2] * frame[2, i]
        )
    return _twist_energy(simulation, c, twist)


@inlined_kernel
def _twist_energy(simulation: Simulation, c: int, twist: np.ndarray) -> float:
    square = twist[0] * twist[0] + twist[1] * twist[1] + twist[2] * twist[2]
    energy: float = square / simulation.contact_moments.compliance[c]
    return energy


@inlined_kernel
def _spin(simulation: Simulation, a: int, b: int, n: np.ndarray) -> float:
    """Return the mean angular velocity of two shapes about a normal (3) [rad/s]."""
    body, velocity, spin = simulation.geometry.body, simulation.kinematics.velocity, 0.0
    for shape in (a, b):
        if body[shape] >= 0:
            w = velocity[body[shape]]
            spin += 0.5 * (w[0] * n[0] + w[1] * n[1] + w[2] * n[2])
    return spin


@inlined_kernel
def _nearest(
    memory: ShearMemory, old: int, point: np.ndarray, origin: np.ndarray
) -> tuple[int, float]:
    """Return the entry of the point (3) of a pair that was nearest, seen from shape A.

    Returns:
        Its entry, and its distance squared [m^2].
    """
    nearest, least = memory.first[old], math.inf
    px, py, pz = point[0] - origin[0], point[1] - origin[1], point[2] - origin[2]
    for k in range(memory.first[old], memory.first[old + 1]):
        q = memory.point[k]
        x, y, z = q[0] - px, q[1] - py, q[2] - pz
        square = x * x + y * y + z * z
        if square < least:
            least, nearest = square, k
    return nearest, least


@inlined_kernel
def _fill_table(memory: ShearMemory) -> None:
    """Enter the pairs that touched in the hash table."""
    for k in range(memory.number[PAIRS]):
        memory.slot[k] = _slot(memory, memory.shapes[k, 0], memory.shapes[k, 1])
        memory.table[memory.slot[k]] = k


@inlined_kernel
def _slot(memory: ShearMemory, a: int, b: int) -> int:
    """Return the entry of the hash table where two shapes are, or have their place."""
    mask = memory.table.shape[0] - 1
    slot = (a * 73856093 ^ b * 19349663) & mask
    while True:
        found = memory.table[slot]
        if found < 0 or (memory.shapes[found, 0] == a and memory.shapes[found, 1] == b):
            return slot
        slot = (slot + 1) & mask


@inlined_kernel
def inverse_mass(simulation: Simulation, pair: int) -> float:
    """Return the sum of the inverse masses of a pair's bodies, with all that they carry [1/kg]."""
    inverse = 0.0
    for side in range(2):
        body = simulation.geometry.body[simulation.pairs.shapes[pair, side]]
        if body >= 0:
            inverse += simulation.dynamics.mobility[body]
    return inverse
