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

from contact_core.kernel import inlined_kernel
from contact_core.rigid_body.arrays import Bodies, Kinematics, Trees
from tamsi_sim.arrays.data import ClosureForces, Closures, Islands, Newton


@inlined_kernel
def update_closures(
    bodies: Bodies, kinematics: Kinematics, closures: Closures, forces: ClosureForces
) -> None:
    """Compute the gaps and Jacobians of all closures.

    Args:
        bodies: The bodies.
        kinematics: Where they are.
        closures: The closures.
        forces: Gets frames, gap, and Jacobian.
    """
    for c in range(closures.body.shape[0]):
        forces.columns[c] = 0
        for side in range(2):
            _place(kinematics, closures, forces, c, side)
            body = closures.body[c, side]
            if body >= 0:
                _add_chain(bodies, kinematics.motion, forces, c, side, bodies.last_column[body])
        _measure(forces, c)


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
def _measure(forces: ClosureForces, c: int) -> None:
    """Write the gap: the distance of the points, and the vector of the rotation from B to A."""
    frame_a, frame_b = forces.rotation[c, 0], forces.rotation[c, 1]
    gap = forces.gap[c]
    cosine = -0.5
    for i in range(3):
        gap[i] = forces.position[c, 0, i] - forces.position[c, 1, i]
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
def closure_energy(closures: Closures, forces: ClosureForces) -> float:
    """Return what the springs hold at the start of a step, 1/2 k g^2 [J]."""
    energy = 0.0
    for c in range(closures.body.shape[0]):
        for i in range(6):
            energy += 0.5 * closures.stiffness[c, i // 3] * forces.gap[c, i] * forces.gap[c, i]
    return energy


@inlined_kernel
def start_closures(forces: ClosureForces, drift: np.ndarray, h: float) -> None:
    """Begin the sub-steps of a step, with the gaps after the drift.

    Args:
        forces: Gets stretch, and a mean force of zero.
        drift: (nv) with which bodies move besides their end velocity.
        h: Length of the step [s].
    """
    for c in range(forces.gap.shape[0]):
        for i in range(6):
            forces.stretch[c, i] = forces.gap[c, i] + h * _rate(forces, drift, c, i)
            forces.mean_force[c, i] = 0.0


@inlined_kernel
def finish_closures(
    closures: Closures, forces: ClosureForces, v: np.ndarray, h: float, share: float
) -> None:
    """Move the closures to where the next sub-step starts.

    Args:
        closures: The closures.
        forces: Moves stretch; adds the sub-step's force to mean_force.
        v: (nv) velocity at the end of the sub-step.
        h: Length of the sub-step [s].
        share: Of the sub-step in the step.
    """
    for c in range(closures.body.shape[0]):
        reach = h + closures.dissipation[c]
        for i in range(6):
            rate = _rate(forces, v, c, i)
            force = closures.stiffness[c, i // 3] * (forces.stretch[c, i] + reach * rate)
            forces.mean_force[c, i] -= share * force
            forces.stretch[c, i] += h * rate


@inlined_kernel
def _rate(forces: ClosureForces, v: np.ndarray, c: int, i: int) -> float:
    """Velocity of A relative to B along one row."""
    rate = 0.0
    for k in range(forces.columns[c]):
        rate += forces.entry[c, i, k] * v[forces.dof[c, k]]
    return rate


@inlined_kernel
def assemble_closures(
    trees: Trees,
    closures: Closures,
    forces: ClosureForces,
    islands: Islands,
    newton: Newton,
    island: int,
    h: float,
) -> None:
    """Add the force and stiffness of an island's closures to Newton's system.

    Args:
        trees: The trees.
        closures: The closures.
        forces: Their Jacobians and stretch.
        islands: The islands.
        newton: Reads v; adds to system and right_side.
        island: The island.
        h: Length of the (sub-)step [s].
    """
    row, last = islands.first_row[island], islands.first_row[island + 1]
    while row < last:
        tree = trees.of_dof[islands.order[row]]
        for c in range(closures.first[tree], closures.first[tree + 1]):
            for i in range(6):
                stiffness = h * closures.stiffness[c, i // 3]
                if stiffness > 0.0:
                    reach = h + closures.dissipation[c]
                    _assemble_row(forces, islands.place, newton, stiffness, reach, c, i)
        row += trees.first_dof[tree + 1] - trees.first_dof[tree]


@inlined_kernel
def _assemble_row(
    forces: ClosureForces,
    place: np.ndarray,
    newton: Newton,
    stiffness: float,
    reach: float,
    c: int,
    i: int,
) -> None:
    entries, dofs, columns = forces.entry[c, i], forces.dof[c], forces.columns[c]
    impulse = stiffness * (forces.stretch[c, i] + reach * _rate(forces, newton.v, c, i))
    for a in range(columns):
        row, entry = place[dofs[a]], entries[a]
        newton.right_side[row] -= entry * impulse
        for b in range(columns):
            newton.system[row, place[dofs[b]]] += stiffness * reach * entry * entries[b]
