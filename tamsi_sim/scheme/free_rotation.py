"""Gyroscopic terms of free bodies, and of those on a fixed ball joint, by the midpoint rule.

Explicit ones let a tumbling body gain energy at every step. In the body's own axes Euler's
equations are I (w1 - w0) / h + w x I w = 0 with w = (w0 + w1) / 2: w1 has the energy of w0, and
as the body turns by the Cayley transform of h w, which is what
:func:`~contact_core.multibody.rigid_body.configuration.move_configuration` does, its angular
momentum in the world stays as well.

A step without contact ends at w1, so that is entered as the mean bias of the step; all other
forces act on top, on the mass matrix at the step's start. The body moves with its mean velocity
and not, as in tamsi (10), with the one at the end; the difference of the two is its drift.
"""

from __future__ import annotations

import numpy as np

from contact_core.base.kernel import inlined_kernel, inner_kernel
from contact_core.multibody.collision.arrays import NORMAL
from contact_core.multibody.rigid_body.joints import BALL, FREE
from contact_core.multibody.rigid_body.kinematics import cross
from tamsi_sim.arrays.data import LENGTH
from tamsi_sim.arrays.simulation import Simulation

FREE_DOFS, BALL_DOFS = 6, 3
MAX_ITERATIONS = 20
ENOUGH = 1e-9
"""Relative size of Newton's last update; the error is its square."""

SLOW = 1e-3
"""Of what turns by less in a step, explicit terms change the energy by under 1e-7 [rad]."""

Vector = tuple[float, float, float]


@inner_kernel
def average_rotations(simulation: Simulation) -> None:
    """Replace the bias of every body that turns freely by its mean over a step without contact.

    That is a free body, or one on a ball joint that is fixed. One that is slow, that carries others
    on joints, that has a rotor or that no force moves keeps its explicit bias.

    Args:
        simulation: At the start of a step. Its drift, of zeros, receives the mean velocity, with
            which a body moves, less the one at the end of the step.
    """
    bodies, trees, v = simulation.bodies, simulation.trees, simulation.state.v
    armature, h = simulation.joints.armature, simulation.pace[LENGTH]
    # Halves of a step may not go by another rule than the whole, or they tell no error.
    always = simulation.settings.accuracy > 0.0
    for body in range(bodies.parent.shape[0]):
        if bodies.joint_type[body] == FREE:
            dof = bodies.column_dof[bodies.first_column[body]]
            tree = trees.of_dof[dof]
            alone = trees.first_dof[tree + 1] - trees.first_dof[tree] == FREE_DOFS
            rate = (v[dof + 3], v[dof + 4], v[dof + 5])
            turns = always or h * h * _dot(rate, rate) > SLOW * SLOW
            if alone and turns and armature[dof] == 0.0:
                _average_rotation(simulation, body, dof, h)
        elif bodies.joint_type[body] == BALL and bodies.parent[body] < 0:
            dof = bodies.column_dof[bodies.first_column[body]]
            tree = trees.of_dof[dof]
            alone = trees.first_dof[tree + 1] - trees.first_dof[tree] == BALL_DOFS
            rate = (v[dof], v[dof + 1], v[dof + 2])
            turns = always or h * h * _dot(rate, rate) > SLOW * SLOW
            if alone and turns and armature[dof] == 0.0:
                _average_turn(simulation, body, dof, h)


@inlined_kernel
def _average_rotation(simulation: Simulation, body: int, dof: int, h: float) -> None:
    inertias, dynamics = simulation.inertias, simulation.dynamics
    v, drift = simulation.state.v, simulation.drift
    rotation, gravity = simulation.kinematics.rotation[body], inertias.gravity[body]
    center = inertias.center[body]
    lever = _times(rotation, (center[0], center[1], center[2]))
    start = (v[dof + 3], v[dof + 4], v[dof + 5])
    rate = midpoint_rate(inertias.inertia[body], _to_body(rotation, start), (0.0, 0.0, 0.0), h)
    mean = _times(rotation, rate)
    # 2 w - w0 are the end velocity's components in the body's axes: they turn with it.
    end = _turn((2 * mean[0] - start[0], 2 * mean[1] - start[1], 2 * mean[2] - start[2]), mean, h)
    end_lever = _turn(lever, mean, h)
    # The centre of mass goes straight ahead, and the body's origin around it.
    swing, end_swing = cross(start, lever), cross(end, end_lever)
    acceleration = (
        (swing[0] - end_swing[0]) / h + gravity[0],
        (swing[1] - end_swing[1]) / h + gravity[1],
        (swing[2] - end_swing[2]) / h + gravity[2],
        (end[0] - start[0]) / h,
        (end[1] - start[1]) / h,
        (end[2] - start[2]) / h,
    )
    for i in range(FREE_DOFS):
        bias = 0.0
        for j in range(FREE_DOFS):
            bias -= dynamics.mass_matrix[dof + i, j] * acceleration[j]
        dynamics.bias[dof + i] = bias
    for i in range(3):
        drift[dof + i] = end_swing[i] - (end_lever[i] - lever[i]) / h
        drift[dof + 3 + i] = mean[i] - end[i]


@inlined_kernel
def _average_turn(simulation: Simulation, body: int, dof: int, h: float) -> None:
    """The same about a ball joint, in the axes of its frame; its weight is part of the mean."""
    inertias, dynamics = simulation.inertias, simulation.dynamics
    v, drift = simulation.state.v, simulation.drift
    frame, rotation = simulation.bodies.joint_rotation[body], simulation.kinematics.rotation[body]
    mass, center, gravity = inertias.mass[body], inertias.center[body], inertias.gravity[body]
    lever = _to_body(frame, _times(rotation, (center[0], center[1], center[2])))
    pull = _to_body(frame, (mass * gravity[0], mass * gravity[1], mass * gravity[2]))
    start = (v[dof], v[dof + 1], v[dof + 2])
    # In axes that turn with the body, and are the frame's at the start, the weight turns back.
    back = cross(pull, start)
    half = (pull[0] + h / 2 * back[0], pull[1] + h / 2 * back[1], pull[2] + h / 2 * back[2])
    # The mass matrix is the inertia about the joint in these axes.
    inertia = dynamics.mass_matrix[dof : dof + BALL_DOFS]
    mean = midpoint_rate(inertia, start, cross(lever, half), h)
    end = _turn((2 * mean[0] - start[0], 2 * mean[1] - start[1], 2 * mean[2] - start[2]), mean, h)
    for i in range(BALL_DOFS):
        bias = 0.0
        for j in range(BALL_DOFS):
            bias -= inertia[i, j] * (end[j] - start[j]) / h
        dynamics.bias[dof + i] = bias
        drift[dof + i] = mean[i] - end[i]


@inner_kernel
def midpoint_rate(inertia: np.ndarray, start: Vector, torque: Vector, h: float) -> Vector:
    """Solve 2 I (w - w0) + h w x I w = h t by Newton's method.

    Args:
        inertia: (3, 3) I about the centre of mass, or what is fixed, body axes [kg m^2].
        start: w0, the angular velocity at the start of the step, body axes [rad/s].
        torque: t, body axes in the middle of the step [Nm].
        h: Length of the step [s].

    Returns:
        w, the mean angular velocity. It is w0 where no solution is found, which happens only
        to bodies that turn by more than two radians a step: too fast for any dynamics.
    """
    w = start
    for _ in range(MAX_ITERATIONS):
        momentum = _times(inertia, w)
        gyroscopic = cross(w, momentum)
        residual = _times(inertia, (w[0] - start[0], w[1] - start[1], w[2] - start[2]))
        x, y, z = momentum
        update = _solve(
            _column(inertia, 0, w, (0.0, -z, y), h),
            _column(inertia, 1, w, (z, 0.0, -x), h),
            _column(inertia, 2, w, (-y, x, 0.0), h),
            (
                2.0 * residual[0] + h * (gyroscopic[0] - torque[0]),
                2.0 * residual[1] + h * (gyroscopic[1] - torque[1]),
                2.0 * residual[2] + h * (gyroscopic[2] - torque[2]),
            ),
        )
        w = (w[0] - update[0], w[1] - update[1], w[2] - update[2])
        if _dot(update, update) <= ENOUGH * ENOUGH * _dot(w, w):
            return w
    return start


@inner_kernel
def _column(inertia: np.ndarray, j: int, w: Vector, other: Vector, h: float) -> Vector:
    """Column j of Newton's matrix 2 I + h ([w] I - [I w]); the other is that of -[I w]."""
    column = (inertia[0, j], inertia[1, j], inertia[2, j])
    x, y, z = cross(w, column)
    return (
        2.0 * column[0] + h * (x + other[0]),
        2.0 * column[1] + h * (y + other[1]),
        2.0 * column[2] + h * (z + other[2]),
    )


@inner_kernel
def _solve(a: Vector, b: Vector, c: Vector, right_side: Vector) -> Vector:
    """Solve x a + y b + z c = right_side by Cramer's rule."""
    across = cross(b, c)
    scale = 1.0 / _dot(a, across)
    return (
        scale * _dot(right_side, across),
        scale * _dot(a, cross(right_side, c)),
        scale * _dot(a, cross(b, right_side)),
    )


@inner_kernel
def _turn(vector: Vector, rate: Vector, h: float) -> Vector:
    """Turn a vector by the Cayley transform of h times an angular velocity."""
    a = (0.5 * h * rate[0], 0.5 * h * rate[1], 0.5 * h * rate[2])
    scale = 2.0 / (1.0 + _dot(a, a))
    first = cross(a, vector)
    second = cross(a, first)
    return (
        vector[0] + scale * (first[0] + second[0]),
        vector[1] + scale * (first[1] + second[1]),
        vector[2] + scale * (first[2] + second[2]),
    )


@inner_kernel
def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inner_kernel
def _times(matrix: np.ndarray, vector: Vector) -> Vector:
    x, y, z = vector
    return (
        matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2] * z,
        matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2] * z,
        matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2] * z,
    )


@inner_kernel
def _to_body(rotation: np.ndarray, vector: Vector) -> Vector:
    x, y, z = vector
    return (
        rotation[0, 0] * x + rotation[1, 0] * y + rotation[2, 0] * z,
        rotation[0, 1] * x + rotation[1, 1] * y + rotation[2, 1] * z,
        rotation[0, 2] * x + rotation[1, 2] * y + rotation[2, 2] * z,
    )


@inlined_kernel
def look_ahead(simulation: Simulation, count: int) -> None:
    """Take the drift's part of the motion off the penetrations at the end of the step.

    Args:
        simulation: Its elastic forces, k delta_0 of tamsi (19), move.
        count: Number of contact points.
    """
    jacobian, drift, h = simulation.jacobian, simulation.drift, simulation.pace[LENGTH]
    stiffness, elastic = simulation.contacts.stiffness, simulation.contact_forces.elastic
    for c in range(count):
        entries, dofs = jacobian.entry[c], jacobian.dof[c]
        separation = 0.0
        for k in range(jacobian.columns[c]):
            separation += entries[NORMAL, k] * drift[dofs[k]]
        elastic[c] -= h * stiffness[c] * separation
