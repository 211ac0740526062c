"""Trees with bodies that spin fast: rotors, reaction wheels, tops on hinges.

Explicit velocity terms let them gain energy at every step. So such a tree is first moved by itself,
under its weight alone, by the implicit midpoint rule, M(q) (v1 - v0) = -h c(q, v) at the mean of
start and end, in parts of the step in which nothing turns far. What that does to its velocity
enters the step as its mean bias, and it moves with its mean velocity, as bodies that turn freely
do, see :mod:`tamsi_sim.scheme.free_rotation`. A world in which nothing spins pays nothing; trees
that loops hold do not move like that by themselves, and keep their explicit terms.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel, inner_kernel
from contact_core.multibody.rigid_body.configuration import (
    configuration_change,
    move_configuration,
)
from contact_core.multibody.rigid_body.joints import FREE
from tamsi_sim.arrays.data import LENGTH
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.scheme.motion import update_motion

FAST, PART = 0.05, 0.2
"""Turn of a body in a step from which its tree spins, and in a part of the step at most [rad]."""
MAX_PARTS, MAX_ITERATIONS = 50, 20
ENOUGH = 1e-10
"""Relative size of the last change of the mean velocity."""


@inner_kernel
def average_spins(simulation: Simulation) -> None:
    """Replace the bias of trees that spin by its mean over a step without contact.

    Args:
        simulation: At the start of a step; gets bias and drift, see
            :func:`~tamsi_sim.scheme.free_rotation.average_rotations`.
    """
    turn = _find_spinning(simulation)
    if turn > 0.0:
        _move_by_themselves(simulation, min(MAX_PARTS, math.ceil(turn / PART)))


@inlined_kernel
def _find_spinning(simulation: Simulation) -> float:
    """Mark the trees of several bodies of which one turns fast; return its turn in a step [rad]."""
    bodies, trees, spins = simulation.bodies, simulation.trees, simulation.spin.spins
    h, most = simulation.pace[LENGTH], 0.0
    for tree in range(spins.shape[0]):
        spins[tree] = 0
    for body in range(bodies.parent.shape[0]):
        if bodies.parent[body] >= 0:
            # The one it is on may turn, too, and then both are of this tree.
            tree = trees.of_dof[bodies.column_dof[bodies.first_column[body]]]
            for member in (body, bodies.parent[body]):
                w = simulation.kinematics.velocity[member]
                turn = h * math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
                if turn > FAST and not _looped(simulation, tree):
                    spins[tree], most = 1, max(most, turn)
    return most


@inlined_kernel
def _looped(simulation: Simulation, tree: int) -> bool:
    closures, held = simulation.closures.tree, 0
    for c in range(closures.shape[0]):
        held += closures[c, 0] == tree or closures[c, 1] == tree
    return held > 0


@inlined_kernel
def _move_by_themselves(simulation: Simulation, parts: int) -> None:
    """Move the marked trees without contact; write their mean bias and drift."""
    spin, state, dynamics = simulation.spin, simulation.state, simulation.dynamics
    bodies, joint_q, h = simulation.bodies, simulation.joints.q, simulation.pace[LENGTH]
    nq, nv = state.q.shape[0], state.v.shape[0]
    for i in range(nq):
        spin.start_q[i] = spin.q[i] = state.q[i]
    for i in range(nv):
        spin.start_v[i] = spin.v[i] = spin.mean[i] = state.v[i]
    for _ in range(parts):
        _find_mean(simulation, h / parts)
        for i in range(nv):
            spin.v[i] = 2.0 * spin.mean[i] - spin.v[i]
        move_configuration(bodies, joint_q, spin.q, spin.mean, h / parts)
    configuration_change(bodies, joint_q, spin.start_q, spin.q, spin.mean)
    for i in range(nq):
        state.q[i] = spin.start_q[i]
    for i in range(nv):
        state.v[i] = spin.start_v[i]
    update_motion(simulation)
    trees = simulation.trees
    for i in range(nv):
        tree = trees.of_dof[i]
        if spin.spins[tree]:
            first = trees.first_dof[tree]
            bias = 0.0
            for j in range(trees.first_dof[tree + 1] - first):
                change = spin.v[first + j] - spin.start_v[first + j]
                bias -= dynamics.mass_matrix[i, j] * change / h
            dynamics.bias[i] = bias
            simulation.drift[i] = spin.mean[i] / h - spin.v[i]
    # What floats may be carried, and does not leave half a step's fall behind then.
    for body in range(bodies.parent.shape[0]):
        if bodies.joint_type[body] == FREE:
            dof = bodies.column_dof[bodies.first_column[body]]
            if spin.spins[trees.of_dof[dof]]:
                for i in range(3):
                    simulation.drift[dof + i] -= 0.5 * h * simulation.inertias.gravity[body, i]


@inlined_kernel
def _find_mean(simulation: Simulation, h: float) -> None:
    """Solve for the mean velocity of a part of the step, from the last one on."""
    spin, state = simulation.spin, simulation.state
    for _ in range(MAX_ITERATIONS):
        for i in range(state.q.shape[0]):
            state.q[i] = spin.q[i]
        move_configuration(simulation.bodies, simulation.joints.q, state.q, spin.mean, 0.5 * h)
        for i in range(state.v.shape[0]):
            state.v[i] = spin.mean[i]
        update_motion(simulation)
        change, size = 0.0, 0.0
        for tree in range(spin.spins.shape[0]):
            if spin.spins[tree]:
                first, last = simulation.trees.first_dof[tree], simulation.trees.first_dof[tree + 1]
                _solve_tree(simulation.dynamics.mass_matrix, simulation.dynamics.bias, first, last)
                for i in range(first, last):
                    mean = spin.v[i] - 0.5 * h * simulation.dynamics.bias[i]
                    change = max(change, abs(mean - spin.mean[i]))
                    size = max(size, abs(mean))
                    spin.mean[i] = mean
        if not change > ENOUGH * size:
            break


@inlined_kernel
def _solve_tree(matrix: np.ndarray, vector: np.ndarray, first: int, last: int) -> None:
    """Solve M x = b for one tree, rows first to last; x replaces b, and M is destroyed."""
    for k in range(first, last):
        pivot = 1.0 / matrix[k, k - first]
        for i in range(k + 1, last):
            factor = matrix[i, k - first] * pivot
            if factor != 0.0:
                for j in range(k + 1 - first, last - first):
                    matrix[i, j] -= factor * matrix[k, j]
                vector[i] -= factor * vector[k]
    for k in range(last - 1, first - 1, -1):
        value = vector[k]
        for j in range(k + 1, last):
            value -= matrix[k, j - first] * vector[j]
        vector[k] = value / matrix[k, k - first]
