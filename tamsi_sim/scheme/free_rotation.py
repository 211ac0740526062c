"""Gyroscopic terms of free bodies, and of those on a fixed ball joint, by the midpoint rule.

Explicit ones let a tumbling body gain energy at every step. In the body's own axes Euler's
equations are I (w1 - w0) / h + w x I w = 0 with w = (w0 + w1) / 2: w1 has the energy of w0, and
as the body turns by the Cayley transform of h w, which is what
:func:`~contact_core.multibody.rigid_body.configuration.move_configuration` does, its angular
momentum in the world stays as well.

A free body is pushed first, and turns then: the forces of the step act on the mass matrix at its
start, where the contacts are, and the body turns by itself from the velocity that they leave. So
neither of the two adds energy, and what is held while it spins keeps its own. The forces know
beforehand how it would turn without them. On a ball joint the weight turns a body with its spin,
and a step without contact ends at w1: that is the mean bias of the step, and all other forces act
on top. Either body moves with its mean velocity and not, as in tamsi (10), with the one at the end;
the difference of the two is its drift.
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
    """Take the bias of every body that turns freely for what its step is without contact.

    That is a free body, or one on a ball joint that is fixed. One that is slow, that carries others
    on joints, that has a rotor or that no force moves keeps its explicit bias.

    Args:
        simulation: At the start of a step. Its drift, of zeros, receives the mean velocity, with
            which a body moves, less the one that the forces of the step would leave.
    """
    bodies, drift, h = simulation.bodies, simulation.drift, simulation.pace[LENGTH]
    for body in range(bodies.parent.shape[0]):
        if bodies.joint_type[body] not in (FREE, BALL):
            continue
        dof = bodies.column_dof[bodies.first_column[body]]
        if bodies.joint_type[body] == FREE and _turns(simulation, dof, FREE_DOFS):
            gravity, matrix = simulation.inertias.gravity[body], simulation.dynamics.mass_matrix
            for i in range(FREE_DOFS):
                bias = 0.0
                for j in range(3):
                    bias -= matrix[dof + i, j] * gravity[j]
                simulation.dynamics.bias[dof + i] = bias
            mean, motion, _, _ = _turn_alone(simulation, body, dof, simulation.state.v, h)
            for i in range(3):
                drift[dof + i] = motion[i]
                drift[dof + 3 + i] = mean[i] - simulation.state.v[dof + 3 + i]
        elif bodies.parent[body] < 0 and _turns(simulation, dof, BALL_DOFS):
            _average_turn(simulation, body, dof, h)


@inner_kernel
def turn_freely(simulation: Simulation, h: float) -> None:
    """Let free bodies turn by themselves, from the velocity that the forces of a step leave.

    Args:
        simulation: Its state is that at the start of the step. Newton's velocity becomes the one at
            the end, and the drift the mean velocity less that.
        h: Length of the step [s].
    """
    bodies, v, drift = simulation.bodies, simulation.newton.v, simulation.drift
    for body in range(bodies.parent.shape[0]):
        if bodies.joint_type[body] != FREE:
            continue
        dof = bodies.column_dof[bodies.first_column[body]]
        if _turns(simulation, dof, FREE_DOFS):
            mean, motion, end, change = _turn_alone(simulation, body, dof, v, h)
            for i in range(3):
                v[dof + i] += change[i]
                v[dof + 3 + i] = end[i]
                drift[dof + i] = motion[i] - change[i]
                drift[dof + 3 + i] = mean[i] - end[i]


@inlined_kernel
def _turns(simulation: Simulation, dof: int, dofs: int) -> bool:
    """Whether a body whose last three of some dofs are a rotation is alone, and turns."""
    trees, v, h = simulation.trees, simulation.state.v, simulation.pace[LENGTH]
    tree, last = trees.of_dof[dof], dof + dofs
    alone = trees.first_dof[tree + 1] - trees.first_dof[tree] == dofs
    rate = (v[last - 3], v[last - 2], v[last - 1])
    # Halves of a step may not go by another rule than the whole, or they tell no error.
    turns = simulation.settings.accuracy > 0.0 or h * h * _dot(rate, rate) > SLOW * SLOW
    return alone and turns and simulation.joints.armature[dof] == 0.0


@inlined_kernel
def _turn_alone(
    simulation: Simulation, body: int, dof: int, v: np.ndarray, h: float
) -> tuple[Vector, Vector, Vector, Vector]:
    """Turn a free body without any force.

    Returns:
        Its mean angular velocity, that of its origin less the one at the start, its angular
        velocity at the end, and the change of its origin's velocity.
    """
    rotation, center = simulation.kinematics.rotation[body], simulation.inertias.center[body]
    inertia, lever = simulation.inertias.inertia[body], _times(rotation, _vector(center))
    start = (v[dof + 3], v[dof + 4], v[dof + 5])
    rate = midpoint_rate(inertia, _to_body(rotation, start), (0.0, 0.0, 0.0), h)
    mean = _times(rotation, rate)
    # 2 w - w0 are the end velocity's components in the body's axes: they turn with it.
    end = _turn((2 * mean[0] - start[0], 2 * mean[1] - start[1], 2 * mean[2] - start[2]), mean, h)
    end_lever = _turn(lever, mean, h)
    # The centre of mass goes straight ahead, and the body's origin around it.
    swing, end_swing = cross(start, lever), cross(end, end_lever)
    motion = (
        swing[0] - (end_lever[0] - lever[0]) / h,
        swing[1] - (end_lever[1] - lever[1]) / h,
        swing[2] - (end_lever[2] - lever[2]) / h,
    )
    change = (swing[0] - end_swing[0], swing[1] - end_swing[1], swing[2] - end_swing[2])
    return mean, motion, end, change


@inlined_kernel
def _average_turn(simulation: Simulation, body: int, dof: int, h: float) -> None:
    """The same about a ball joint, in the axes of its frame; its weight is part of the mean."""
    inertias, dynamics = simulation.inertias, simulation.dynamics
    v, drift = simulation.state.v, simulation.drift
    frame, rotation = simulation.bodies.joint_rotation[body], simulation.kinematics.rotation[body]
    mass, center, gravity = inertias.mass[body], inertias.center[body], inertias.gravity[body]
    lever = _to_body(frame, _times(rotation, _vector(center)))
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
def _vector(array: np.ndarray) -> Vector:
    return array[0], array[1], array[2]


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
