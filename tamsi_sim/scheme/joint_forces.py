"""Forces of the joints themselves: drive, spring, friction, damping, end stops.

All are functions of the joint's velocity at the end of the step, so stiff gains do not
limit the time step. They are monotone and piecewise smooth.

Friction holds up to a level and slides above it. Below it is either regularised, like (7), which
creeps; or a spring that bends with the joint and slips at the level (Prandtl's and Dahl's element),
which holds. At the end of a step of h the spring's force is a line in the velocity, too: a
regularisation about another velocity than zero. The level falls from static to kinetic friction
with the speed (Stribeck). Were that implicit, the force would not be monotone and a step might have
several solutions, so the level is that of the velocity at the start of the step.
"""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel, inner_kernel
from contact_core.multibody.rigid_body.arrays import Joints
from tamsi_sim.arrays.data import Drives, JointForces
from tamsi_sim.arrays.simulation import Simulation
from tamsi_sim.scheme.contact import normal_force

END_STOP = 16
"""Pieces of a joint's law from which on it is at an end stop."""


@inlined_kernel
def update_friction(joints: Joints, v: np.ndarray, friction: np.ndarray) -> None:
    """Compute how far the joints' friction reaches in a step, the Gaussian Stribeck curve.

    Armstrong-Helouvry, Dupont and Canudas de Wit, Automatica 30(7), 1994.

    Args:
        joints: The joints.
        v: (nv) velocities at the start of the step.
        friction: (nv) written [Nm or N].
    """
    for i in range(v.shape[0]):
        friction[i] = joints.friction[i]
        if joints.static_excess[i] > 0.0:
            ratio = v[i] / joints.stribeck_velocity[i]
            friction[i] += joints.static_excess[i] * math.exp(-ratio * ratio)


@inlined_kernel
def stick_range(
    joints: Joints, forces: JointForces, i: int, stiction: float, h: float
) -> tuple[float, float]:
    """Return the end velocity of a (sub-)step at which friction is zero, and how far it sticks.

    Args:
        joints: The joints.
        forces: Reads friction and bent.
        i: The degree of freedom.
        stiction: Velocity below which regularised friction is linear [rad/s or m/s].
        h: Length of the (sub-)step [s].
    """
    stiffness = joints.presliding_stiffness[i]
    if stiffness > 0.0:
        return -forces.bent[i] / h, forces.friction[i] / (h * stiffness)
    return 0.0, stiction


@inlined_kernel
def bend(joints: Joints, v: np.ndarray, forces: JointForces, h: float) -> None:
    """Bend the springs of friction with the joints, as far as friction reaches.

    Args:
        joints: The joints.
        v: (nv) velocities at the end of the (sub-)step.
        forces: Reads friction; moves bent.
        h: Length of the (sub-)step [s].
    """
    for i in range(v.shape[0]):
        stiffness = joints.presliding_stiffness[i]
        if stiffness > 0.0:
            reach = forces.friction[i] / stiffness
            forces.bent[i] = min(max(forces.bent[i] + h * v[i], -reach), reach)


@inner_kernel
def update_joint_forces(simulation: Simulation, h: float) -> None:
    """Compute the joints' forces and minus their derivatives by the velocity.

    The drive exerts K (target - q0 - h v) - D v + feedforward, within the effort limit;
    friction sticks about a velocity and slides beyond; an end stop is a compliant contact like (5).
    Of free bodies and ball joints, which have no such position, only the damping acts.

    Args:
        simulation: Read at the iterate of its solve; writes force, gradient and piece of its
            joint forces.
        h: Length of the (sub-)step [s].
    """
    joints, drives, forces = simulation.joints, simulation.drives, simulation.joint_forces
    q, v = simulation.state.q, simulation.newton.v
    stiction = simulation.settings.stiction_velocity
    for i in range(v.shape[0]):
        update_joint_force(joints, drives, q, v, forces, i, stiction, h)


@inlined_kernel
def update_joint_force(
    joints: Joints,
    drives: Drives,
    q: np.ndarray,
    v: np.ndarray,
    forces: JointForces,
    i: int,
    stiction: float,
    h: float,
) -> bool:
    """Compute force and derivative of one joint, see above.

    Returns:
        Whether it moved to another piece of its law, so that the previous update, computed on the
        old piece, may not be exact.
    """
    rate = v[i]
    if joints.q[i] < 0:
        forces.gradient[i] = joints.damping[i] + drives.damping[i]
        forces.force[i] = -forces.gradient[i] * rate
        return False
    position = q[joints.q[i]] + forces.shift[i]
    return update_law(joints, drives, forces, i, position, rate, stiction, h)


@inlined_kernel
def update_law(
    joints: Joints,
    drives: Drives,
    forces: JointForces,
    i: int,
    position: float,
    rate: float,
    stiction: float,
    h: float,
) -> bool:
    """Compute force and derivative of one law, of a joint or of a tendon, see above.

    Args:
        joints: The laws.
        drives: What drives them.
        forces: Reads damping, friction and bent; writes force, gradient and piece.
        i: Which one.
        position: Its coordinate at the start of the (sub-)step.
        rate: The velocity of this at its end.
        stiction: Velocity below which regularised friction is linear.
        h: Length of the (sub-)step [s].

    Returns:
        Whether it moved to another piece.
    """
    force = -joints.damping[i] * rate
    gradient = joints.damping[i]
    piece = 0

    stiffness, damping = drives.stiffness[i], forces.damping[i]
    effort = stiffness * (drives.target[i] - position - h * rate) - damping * rate
    effort += drives.feedforward[i]
    lowest, highest = (
        drives.effort_center[i] - drives.effort_limit[i],
        drives.effort_center[i] + drives.effort_limit[i],
    )
    if effort > highest:
        force += highest
        piece += 1
    elif effort < lowest:
        force += lowest
        piece += 2
    else:
        force += effort
        gradient += h * stiffness + damping

    spring = joints.stiffness[i]
    if spring > 0.0:
        force += spring * (joints.rest[i] - position - h * rate)
        gradient += h * spring

    friction = forces.friction[i]
    if friction > 0.0:
        center, width = stick_range(joints, forces, i, stiction, h)
        if rate - center > width:
            force -= friction
            piece += 4
        elif rate - center < -width:
            force += friction
            piece += 8
        else:
            force -= friction * (rate - center) / width
            gradient += friction / width

    k, d = joints.limit_stiffness[i], joints.limit_dissipation[i]
    if position + h * rate > joints.upper[i]:
        push, slope = normal_force(k * (position - joints.upper[i]), k, d, -rate, h)
        force -= push
        gradient -= slope
        piece += END_STOP
    elif position + h * rate < joints.lower[i]:
        push, slope = normal_force(k * (joints.lower[i] - position), k, d, rate, h)
        force += push
        gradient -= slope
        piece += 2 * END_STOP

    changed: bool = piece != forces.piece[i]
    forces.piece[i] = piece
    forces.force[i] = force
    forces.gradient[i] = gradient
    return changed
