"""Mass matrix (composite rigid bodies) and bias forces (Newton-Euler), tamsi (2)."""

from __future__ import annotations

import numpy as np

from contact_core.base.kernel import inlined_kernel, inner_kernel
from contact_core.multibody.rigid_body.arrays import (
    Bodies,
    BodyDynamics,
    Inertias,
    Kinematics,
    Trees,
)
from contact_core.multibody.rigid_body.joints import FREE, columns_of
from contact_core.multibody.rigid_body.kinematics import cross


@inlined_kernel
def update_dynamics(
    bodies: Bodies,
    inertias: Inertias,
    trees: Trees,
    armature: np.ndarray,
    kinematics: Kinematics,
    dynamics: BodyDynamics,
) -> None:
    """Compute the mass matrix and the bias forces, so that M vdot + bias = applied + J^T f.

    Args:
        bodies: The bodies.
        inertias: Their inertias.
        trees: The trees.
        armature: (nv) effective rotor inertia [kg m^2 or kg].
        kinematics: Where the bodies are, and how they move.
        dynamics: Written: M with the effective armature, C(q, v) v - gravity, and mobilities.
    """
    for body in range(bodies.parent.shape[0]):
        _world_inertia(inertias, kinematics, dynamics, body)
        _bias_force(inertias.gravity, kinematics, dynamics, body)
    matrix = dynamics.mass_matrix
    for i in range(matrix.shape[0]):
        dynamics.bias[i] = 0.0
        tree = trees.of_dof[i]
        first = trees.first_dof[tree]
        for j in range(trees.first_dof[tree + 1] - first):
            matrix[i, j] = 0.0
        matrix[i, i - first] = armature[i]
    for body in range(bodies.parent.shape[0] - 1, -1, -1):
        _project(bodies, trees, kinematics.motion, dynamics, body)
        inertia = dynamics.composite_mass[body]
        if bodies.joint_type[body] == FREE:
            # That of a kinematic body is its armature.
            inertia += armature[bodies.column_dof[bodies.first_column[body]]]
        dynamics.mobility[body] = 1.0 / inertia
        parent = bodies.parent[body]
        if parent >= 0:
            _add_to_parent(dynamics, body, parent)


@inlined_kernel
def mass(trees: Trees, mass_matrix: np.ndarray, i: int, j: int) -> float:
    """Return an entry of M, for what needs few; it is zero between trees.

    Args:
        trees: The trees.
        mass_matrix: (nv, n) see :class:`BodyDynamics`.
        i: Row, a degree of freedom.
        j: Column.
    """
    tree = trees.of_dof[i]
    return mass_matrix[i, j - trees.first_dof[tree]] if trees.of_dof[j] == tree else 0.0


@inlined_kernel
def _world_inertia(
    inertias: Inertias, kinematics: Kinematics, dynamics: BodyDynamics, body: int
) -> None:
    """Spatial inertia of one body about the world origin."""
    mass, center = inertias.mass[body], inertias.center[body]
    rotation, position = kinematics.rotation[body], kinematics.position[body]
    moment, inertia = dynamics.composite_moment[body], dynamics.composite_inertia[body]
    local = inertias.inertia[body]
    dynamics.composite_mass[body] = mass
    c0 = position[0] + _row(rotation, 0, center)
    c1 = position[1] + _row(rotation, 1, center)
    c2 = position[2] + _row(rotation, 2, center)
    moment[0], moment[1], moment[2] = mass * c0, mass * c1, mass * c2
    for i in range(3):
        # Row i of R I, then times R^T.
        a, b, c = rotation[i, 0], rotation[i, 1], rotation[i, 2]
        x = a * local[0, 0] + b * local[1, 0] + c * local[2, 0]
        y = a * local[0, 1] + b * local[1, 1] + c * local[2, 1]
        z = a * local[0, 2] + b * local[1, 2] + c * local[2, 2]
        for j in range(3):
            inertia[i, j] = x * rotation[j, 0] + y * rotation[j, 1] + z * rotation[j, 2]
    square = c0 * c0 + c1 * c1 + c2 * c2
    inertia[0, 0] += mass * (square - c0 * c0)
    inertia[1, 1] += mass * (square - c1 * c1)
    inertia[2, 2] += mass * (square - c2 * c2)
    inertia[0, 1] -= mass * c0 * c1
    inertia[1, 0] -= mass * c0 * c1
    inertia[0, 2] -= mass * c0 * c2
    inertia[2, 0] -= mass * c0 * c2
    inertia[1, 2] -= mass * c1 * c2
    inertia[2, 1] -= mass * c1 * c2


@inner_kernel
def _row(matrix: np.ndarray, i: int, vector: np.ndarray) -> float:
    return matrix[i, 0] * vector[0] + matrix[i, 1] * vector[1] + matrix[i, 2] * vector[2]


@inlined_kernel
def _bias_force(
    gravities: np.ndarray, kinematics: Kinematics, dynamics: BodyDynamics, body: int
) -> None:
    """Spatial force I (A - g) + V x* (I V) of one body; gyroscopic terms are explicit."""
    mass, gravity = dynamics.composite_mass[body], gravities[body]
    moment, inertia = dynamics.composite_moment[body], dynamics.composite_inertia[body]
    angular, linear = kinematics.velocity[body, :3], kinematics.velocity[body, 3:]
    alpha, acceleration = kinematics.acceleration[body, :3], kinematics.acceleration[body, 3:]
    force = dynamics.force[body]
    swing = cross(angular, moment)
    momentum = (
        mass * linear[0] + swing[0],
        mass * linear[1] + swing[1],
        mass * linear[2] + swing[2],
    )
    carried = cross(moment, linear)
    spin = (
        _row(inertia, 0, angular) + carried[0],
        _row(inertia, 1, angular) + carried[1],
        _row(inertia, 2, angular) + carried[2],
    )
    relative = (
        acceleration[0] - gravity[0],
        acceleration[1] - gravity[1],
        acceleration[2] - gravity[2],
    )
    lever = cross(moment, relative)
    gyroscopic = cross(angular, spin)
    convective = cross(linear, momentum)
    tangential = cross(alpha, moment)
    centripetal = cross(angular, momentum)
    for i in range(3):
        force[i] = _row(inertia, i, alpha) + lever[i] + gyroscopic[i] + convective[i]
        force[3 + i] = mass * relative[i] + tangential[i] + centripetal[i]


@inlined_kernel
def _project(
    bodies: Bodies, trees: Trees, motion: np.ndarray, dynamics: BodyDynamics, body: int
) -> None:
    """Entries of the mass matrix and of the bias that this body's columns contribute."""
    mass, moment = dynamics.composite_mass[body], dynamics.composite_moment[body]
    inertia, force = dynamics.composite_inertia[body], dynamics.force[body]
    matrix, momentum = dynamics.mass_matrix, dynamics.momentum
    for k in range(columns_of(bodies.joint_type[body])):
        column = bodies.first_column[body] + k
        s = motion[column]
        dof = bodies.column_dof[column]
        first = trees.first_dof[trees.of_dof[dof]]
        dynamics.bias[dof] += (
            s[0] * force[0]
            + s[1] * force[1]
            + s[2] * force[2]
            + s[3] * force[3]
            + s[4] * force[4]
            + s[5] * force[5]
        )
        lever = cross(moment, s[3:])
        swing = cross(s[:3], moment)
        for i in range(3):
            momentum[i] = _row(inertia, i, s) + lever[i]
            momentum[3 + i] = mass * s[3 + i] + swing[i]
        other = column
        while other >= 0:
            t = motion[other]
            entry = (
                t[0] * momentum[0]
                + t[1] * momentum[1]
                + t[2] * momentum[2]
                + t[3] * momentum[3]
                + t[4] * momentum[4]
                + t[5] * momentum[5]
            )
            other_dof = bodies.column_dof[other]
            # Summed, not assigned: a mimic joint shares its master's row and column.
            matrix[dof, other_dof - first] += entry
            if other != column:
                matrix[other_dof, dof - first] += entry
            other = bodies.column_parent[other]


@inlined_kernel
def _add_to_parent(dynamics: BodyDynamics, body: int, parent: int) -> None:
    """Add a finished subtree to its parent's composite body."""
    dynamics.composite_mass[parent] += dynamics.composite_mass[body]
    for i in range(3):
        dynamics.composite_moment[parent, i] += dynamics.composite_moment[body, i]
        for j in range(3):
            dynamics.composite_inertia[parent, i, j] += dynamics.composite_inertia[body, i, j]
    for i in range(6):
        dynamics.force[parent, i] += dynamics.force[body, i]
