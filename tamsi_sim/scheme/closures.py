"""Loop closures: linear springs and dampers that hold two bodies together, implicitly.

The force on A is f = -k (g + (h + tau) J v), with the gap g at the start of the (sub-)step and the
velocity v at its end. It is linear: Newton's matrix gets h k (h + tau) J^T J, and no iteration
more. A spring may therefore be as stiff as the numbers allow. Under a force the gap is force / k;
besides, it is linear only to first order, so that a loop that turns gapes by (h v)^2 / 2 r, for a
relative speed v at a radius r, as long as it does so. Neither adds up.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel
from contact_core.multibody.rigid_body.arrays import Bodies, Kinematics
from tamsi_sim.arrays.data import LENGTH, ClosureForces, Closures
from tamsi_sim.arrays.simulation import Simulation


@inlined_kernel
def update_closures(simulation: Simulation) -> None:
    """Compute the frames, gaps and Jacobians of all closures."""
    bodies, kinematics = simulation.bodies, simulation.kinematics
    closures, forces = simulation.closures, simulation.closure_forces
    for c in range(closures.body.shape[0]):
        forces.columns[c] = 0
        for side in range(2):
            _place(kinematics, closures, forces, c, side)
            body = closures.body[c, side]
            if body >= 0:
                _add_chain(bodies, kinematics.motion, forces, c, side, bodies.last_column[body])
        _measure(forces.rotation[c, 0], forces.rotation[c, 1], forces.position[c], forces.gap[c])


@inlined_kernel
def _place(
    kinematics: Kinematics, closures: Closures, forces: ClosureForces, c: int, side: int
) -> None:
    """Write where one frame of a closure is in the world."""
    body = closures.body[c, side]
    local, offset = closures.rotation[c, side], closures.position[c, side]
    frame, point = forces.rotation[c, side], forces.position[c, side]
    for i in range(3):
        if body < 0:
            point[i] = offset[i]
            for j in range(3):
                frame[i, j] = local[i, j]
        else:
            rotation = kinematics.rotation[body]
            point[i] = kinematics.position[body, i]
            for j in range(3):
                point[i] += rotation[i, j] * offset[j]
                frame[i, j] = (
                    rotation[i, 0] * local[0, j]
                    + rotation[i, 1] * local[1, j]
                    + rotation[i, 2] * local[2, j]
                )


@inlined_kernel
def _measure(frame_a: np.ndarray, frame_b: np.ndarray, points: np.ndarray, gap: np.ndarray) -> None:
    """Write the gap: the distance of the points, and the vector of the rotation from B to A."""
    cosine = -0.5
    for i in range(3):
        gap[i] = points[0, i] - points[1, i]
        # The axes of B, crossed with those of A, add up to the axis of rotation.
        j, k = (i + 1) % 3, (i + 2) % 3
        gap[3 + i] = 0.0
        for axis in range(3):
            cosine += 0.5 * frame_b[i, axis] * frame_a[i, axis]
            gap[3 + i] += 0.5 * (
                frame_b[j, axis] * frame_a[k, axis] - frame_b[k, axis] * frame_a[j, axis]
            )
    sine = math.sqrt(gap[3] * gap[3] + gap[4] * gap[4] + gap[5] * gap[5])
    if sine > 0.0:
        scale = math.atan2(sine, cosine) / sine
        for i in range(3, 6):
            gap[i] *= scale


@inlined_kernel
def _add_chain(
    bodies: Bodies, motion: np.ndarray, forces: ClosureForces, c: int, side: int, column: int
) -> None:
    """Add the columns from a body to the world."""
    sign = 1.0 - 2.0 * side
    x, y, z = forces.position[c, side]
    entries, dofs, count = forces.entry[c], forces.dof[c], forces.columns[c]
    while column >= 0:
        s = motion[column]
        dof = bodies.column_dof[column]
        entry = 0
        while entry < count and dofs[entry] != dof:
            entry += 1
        if entry == count:
            dofs[entry] = dof
            count += 1
            for i in range(6):
                entries[i, entry] = 0.0
        # Velocity of the point: linear + angular x point.
        entries[0, entry] += sign * (s[3] + s[1] * z - s[2] * y)
        entries[1, entry] += sign * (s[4] + s[2] * x - s[0] * z)
        entries[2, entry] += sign * (s[5] + s[0] * y - s[1] * x)
        for i in range(3):
            entries[3 + i, entry] += sign * s[i]
        column = bodies.column_parent[column]
    forces.columns[c] = count


@inlined_kernel
def closure_energy(stiffness: np.ndarray, gap: np.ndarray) -> float:
    """Return what springs of stiffness (nl, 2) hold at gaps (nl, 6), 1/2 k g^2 [J]."""
    energy = 0.0
    for c in range(stiffness.shape[0]):
        for i in range(6):
            energy += 0.5 * stiffness[c, i // 3] * gap[c, i] * gap[c, i]
    return energy


@inlined_kernel
def start_closures(simulation: Simulation) -> None:
    """Begin the sub-steps of a step: with the gaps after the drift, and mean forces of zero."""
    forces, h = simulation.closure_forces, simulation.pace[LENGTH]
    for c in range(forces.gap.shape[0]):
        for i in range(6):
            rate = _rate(forces.entry[c, i], forces.dof[c], forces.columns[c], simulation.drift)
            forces.stretch[c, i] = forces.gap[c, i] + h * rate
            forces.mean_force[c, i] = 0.0


@inlined_kernel
def finish_closures(simulation: Simulation, h: float, share: float) -> None:
    """Move the closures to where the next sub-step starts, and add the force of this one.

    Args:
        simulation: Reads Newton's v; moves the closures' stretch and mean force.
        h: Length of the sub-step [s].
        share: Of the sub-step in the step.
    """
    closures, forces, v = simulation.closures, simulation.closure_forces, simulation.newton.v
    for c in range(forces.gap.shape[0]):
        reach = h + closures.dissipation[c]
        for i in range(6):
            rate = _rate(forces.entry[c, i], forces.dof[c], forces.columns[c], v)
            force = closures.stiffness[c, i // 3] * (forces.stretch[c, i] + reach * rate)
            forces.mean_force[c, i] -= share * force
            forces.stretch[c, i] += h * rate


@inlined_kernel
def _rate(entries: np.ndarray, dofs: np.ndarray, columns: int, v: np.ndarray) -> float:
    """Velocity of A relative to B along one row."""
    rate = 0.0
    for k in range(columns):
        rate += entries[k] * v[dofs[k]]
    return rate


@inlined_kernel
def assemble_closures(simulation: Simulation, island: int, h: float) -> None:
    """Add the forces and stiffness of an island's closures to Newton's system.

    Args:
        simulation: Reads the closures and Newton's v; adds to its system and right_side.
        island: The island.
        h: Length of the (sub-)step [s].
    """
    trees, closures, islands = simulation.trees, simulation.closures, simulation.islands
    if closures.body.shape[0] == 0:
        return
    row, last = islands.first_row[island], islands.first_row[island + 1]
    while row < last:
        tree = trees.of_dof[islands.order[row]]
        for c in range(closures.first[tree], closures.first[tree + 1]):
            for i in range(6):
                if closures.stiffness[c, i // 3] > 0.0:
                    _assemble_row(simulation, c, i, h)
        row += trees.first_dof[tree + 1] - trees.first_dof[tree]


@inlined_kernel
def _assemble_row(simulation: Simulation, c: int, i: int, h: float) -> None:
    closures, forces, newton = simulation.closures, simulation.closure_forces, simulation.newton
    entries, dofs, columns = forces.entry[c, i], forces.dof[c], forces.columns[c]
    islands, system = simulation.islands, newton.system
    stiffness = h * closures.stiffness[c, i // 3]
    reach = h + closures.dissipation[c]
    impulse = stiffness * (forces.stretch[c, i] + reach * _rate(entries, dofs, columns, newton.v))
    for a in range(columns):
        row, entry = islands.place[dofs[a]], entries[a]
        newton.right_side[row] -= entry * impulse
        for b in range(columns):
            place = islands.row_start[row] + islands.place[dofs[b]]
            system[place] += stiffness * reach * entry * entries[b]
