"""Fixed tendons: lengths that are linear in the joints' coordinates, with the laws of joints.

A tendon pulls at all its joints with its force times their coefficients, and that force is the law
of a joint whose coordinate is its length: drive, spring, friction, damping, end stops, implicitly.
Its coefficients do not change, so its inertia is a constant part of the mass matrix.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.scheme.joint_forces import END_STOP, stick_range, update_law
from tamsi_sim.scheme.line_search import transition_limit


@inlined_kernel
def update_tendons(simulation: Simulation) -> None:
    """Add the tendons' inertia to the mass matrix; take over what is constant during a step."""
    tendons, laws, trees = simulation.tendons, simulation.tendon_laws, simulation.trees
    forces, mass_matrix = simulation.tendon_forces, simulation.dynamics.mass_matrix
    for t in range(tendons.tree.shape[0]):
        forces.friction[t] = laws.friction[t]
        forces.damping[t] = simulation.tendon_drives.damping[t]
        if laws.armature[t] > 0.0:
            dofs, entries, first = (
                tendons.dof[t],
                tendons.entry[t],
                trees.first_dof[tendons.tree[t]],
            )
            for a in range(tendons.columns[t]):
                for b in range(tendons.columns[t]):
                    mass_matrix[dofs[a], dofs[b] - first] += (
                        laws.armature[t] * entries[a] * entries[b]
                    )


@inlined_kernel
def _rate(simulation: Simulation, t: int, v: np.ndarray) -> float:
    """Change of a tendon's length under velocities (nv)."""
    tendons, rate = simulation.tendons, 0.0
    for k in range(tendons.columns[t]):
        rate += tendons.entry[t, k] * v[tendons.dof[t, k]]
    return rate


@inlined_kernel
def _length(simulation: Simulation, t: int) -> float:
    """A tendon's length at the start of the sub-step."""
    tendons, joints, shift = simulation.tendons, simulation.joints, simulation.joint_forces.shift
    length = tendons.offset[t]
    for k in range(tendons.columns[t]):
        dof = tendons.dof[t, k]
        length += tendons.entry[t, k] * (simulation.state.q[joints.q[dof]] + shift[dof])
    return length


@inlined_kernel
def update_tendon_forces(simulation: Simulation, island: int, h: float) -> bool:
    """Compute the forces of an island's tendons, and add them to those of its joints.

    Args:
        simulation: Reads Newton's v; writes the tendons' force, gradient and piece, and adds to the
            force of the joints, whose own is up to date.
        island: The island.
        h: Length of the (sub-)step [s].

    Returns:
        Whether one moved to another piece of its law.
    """
    tendons, of_tree, changed = simulation.tendons, simulation.islands.of_tree, False
    forces, stiction = simulation.tendon_forces, simulation.settings.stiction_velocity
    for t in range(tendons.tree.shape[0]):
        if of_tree[tendons.tree[t]] == island:
            rate = _rate(simulation, t, simulation.newton.v)
            moved = update_law(
                simulation.tendon_laws, simulation.tendon_drives, forces, t,
                _length(simulation, t), rate, stiction * tendons.scale[t], h,
            )  # fmt: skip
            changed = changed or moved
            for k in range(tendons.columns[t]):
                pull = tendons.entry[t, k] * forces.force[t]
                simulation.joint_forces.force[tendons.dof[t, k]] += pull
    return changed


@inlined_kernel
def assemble_tendons(simulation: Simulation, island: int, h: float) -> None:
    """Add the stiffness of an island's tendons to Newton's matrix.

    Args:
        simulation: Reads the tendons' gradients; adds to Newton's system.
        island: The island.
        h: Length of the (sub-)step [s].
    """
    tendons, islands, system = simulation.tendons, simulation.islands, simulation.newton.system
    for t in range(tendons.tree.shape[0]):
        if islands.of_tree[tendons.tree[t]] == island:
            dofs, entries = tendons.dof[t], tendons.entry[t]
            for a in range(tendons.columns[t]):
                start = islands.row_start[islands.place[dofs[a]]]
                slope = h * simulation.tendon_forces.gradient[t] * entries[a]
                for b in range(tendons.columns[t]):
                    system[start + islands.place[dofs[b]]] += slope * entries[b]


@inlined_kernel
def limit_tendons(simulation: Simulation, island: int, tolerance: float) -> tuple[float, float]:
    """Limit an island's update by the friction of its tendons.

    Args:
        simulation: Reads Newton's v and update.
        island: The island.
        tolerance: Changes below this count as zero [rad/s or m/s of the joint that a tendon moves
            with most].

    Returns:
        TALS's alpha, and the size of the update at end stops.
    """
    tendons, forces, settings = simulation.tendons, simulation.tendon_forces, simulation.settings
    alpha, square = 1.0, 0.0
    for t in range(tendons.tree.shape[0]):
        if simulation.islands.of_tree[tendons.tree[t]] == island:
            scale = tendons.scale[t]
            change = _rate(simulation, t, simulation.newton.update) / scale
            if forces.piece[t] >= END_STOP:
                square += change * change
            if settings.line_search and forces.friction[t] > 0.0:
                width = stick_range(
                    simulation.tendon_laws, forces, t, settings.stiction_velocity,
                    simulation.newton.duration[0],
                )[1]  # fmt: skip
                rate = _rate(simulation, t, simulation.newton.v) / scale
                share = transition_limit(
                    rate, 0.0, change, 0.0, width, tolerance, settings.cos_max_angle,
                    settings.landing,
                )  # fmt: skip
                alpha = min(alpha, share)
    return alpha, math.sqrt(square)
