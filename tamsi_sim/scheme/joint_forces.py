"""Forces of the joints themselves: position controller, friction, damping, end stops.

All are functions of the joint's velocity at the end of the step, so stiff gains do not
limit the time step. They are monotone and piecewise smooth.
"""

from __future__ import annotations

import numpy as np

from contact_core.kernel import inlined_kernel, inner_kernel
from contact_core.rigid_body.arrays import Joints
from tamsi_sim.arrays.data import Drives, JointForces
from tamsi_sim.scheme.contact import normal_force


@inner_kernel
def update_joint_forces(
    joints: Joints,
    drives: Drives,
    q: np.ndarray,
    v: np.ndarray,
    forces: JointForces,
    stiction: float,
    h: float,
) -> bool:
    """Compute the joints' forces and minus their derivatives by the velocity.

    The position controller exerts K (target - q0 - h v) - D v, within the effort limit;
    friction is regularised like (7); an end stop is a compliant contact like (5). Of free bodies
    and ball joints, which have no such position, only the damping acts.

    Args:
        joints: The joints.
        drives: Targets and gains of the position controllers.
        q: (nq) positions at the start of the step.
        v: (nv) velocities at the end of the (sub-)step.
        forces: Reads shift and damping; writes force, gradient and piece.
        stiction: Velocity below which joint friction is linear [rad/s or m/s].
        h: Length of the (sub-)step [s].

    Returns:
        Whether a joint moved to another piece of its law, so that the previous update,
        computed on the old piece, may not be exact.
    """
    changed = False
    for i in range(v.shape[0]):
        moved = update_joint_force(joints, drives, q, v, forces, i, stiction, h)
        changed = changed or moved
    return changed


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
    """Compute force and derivative of one joint, see above."""
    rate = v[i]
    if joints.q[i] < 0:
        forces.gradient[i] = joints.damping[i] + drives.damping[i]
        forces.force[i] = -forces.gradient[i] * rate
        return False
    position = q[joints.q[i]] + forces.shift[i]
    force = -joints.damping[i] * rate
    gradient = joints.damping[i]
    piece = 0

    stiffness, damping = drives.stiffness[i], forces.damping[i]
    effort = stiffness * (drives.target[i] - position - h * rate) - damping * rate
    limit = drives.effort_limit[i]
    if effort > limit:
        force += limit
        piece += 1
    elif effort < -limit:
        force -= limit
        piece += 2
    else:
        force += effort
        gradient += h * stiffness + damping

    friction = joints.friction[i]
    if friction > 0.0:
        if rate > stiction:
            force -= friction
            piece += 4
        elif rate < -stiction:
            force += friction
            piece += 8
        else:
            force -= friction * rate / stiction
            gradient += friction / stiction

    k, d = joints.limit_stiffness[i], joints.limit_dissipation[i]
    if position + h * rate > joints.upper[i]:
        push, slope = normal_force(k * (position - joints.upper[i]), k, d, -rate, h)
        force -= push
        gradient -= slope
        piece += 16
    elif position + h * rate < joints.lower[i]:
        push, slope = normal_force(k * (joints.lower[i] - position), k, d, rate, h)
        force += push
        gradient -= slope
        piece += 32

    changed: bool = piece != forces.piece[i]
    forces.piece[i] = piece
    forces.force[i] = force
    forces.gradient[i] = gradient
    return changed
