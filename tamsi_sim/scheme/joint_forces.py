"""Forces of the joints themselves: position controller, friction, damping, end stops.

All are functions of the joint's velocity at the end of the step, so stiff gains do not
limit the time step. They are monotone and piecewise smooth.
"""

from __future__ import annotations

from tamsi_sim.arrays.borrowing import inlined_kernel, inner_kernel
from tamsi_sim.arrays.data import Model, Work
from tamsi_sim.scheme.contact import normal_force


@inner_kernel
def update_joint_forces(model: Model, work: Work, stiction: float, h: float) -> bool:
    """Compute the joints' forces and minus their derivatives by the velocity.

    The position controller exerts K (target - q0 - h v) - D v, within the effort limit;
    friction is regularised like (7); an end stop is a compliant contact like (5).

    Args:
        model: The model.
        work: Reads q, v_next, joint_shift, target and the gains; writes joint_force,
            joint_gradient and joint_piece.
        stiction: Velocity below which joint friction is linear [rad/s or m/s].
        h: Length of the (sub-)step [s].

    Returns:
        Whether a joint moved to another piece of its law, so that the previous update,
        computed on the old piece, may not be exact.
    """
    changed = False
    for i in range(work.v_next.shape[0]):
        if model.dof_q[i] >= 0:
            moved = update_joint_force(model, work, i, stiction, h)
            changed = changed or moved
    return changed


@inlined_kernel
def update_joint_force(model: Model, work: Work, i: int, stiction: float, h: float) -> bool:
    """Compute force and derivative of one joint, see above."""
    rate = work.v_next[i]
    position = work.q[model.dof_q[i]] + work.joint_shift[i]
    force = -model.damping[i] * rate
    gradient = model.damping[i]
    piece = 0

    stiffness, damping = work.stiffness[i], work.drive_damping_now[i]
    effort = stiffness * (work.target[i] - position - h * rate) - damping * rate
    limit = work.effort_limit[i]
    if effort > limit:
        force += limit
        piece += 1
    elif effort < -limit:
        force -= limit
        piece += 2
    else:
        force += effort
        gradient += h * stiffness + damping

    friction = model.friction[i]
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

    k, d = model.limit_stiffness[i], model.limit_dissipation[i]
    if position + h * rate > model.upper[i]:
        push, slope = normal_force(k * (position - model.upper[i]), k, d, -rate, h)
        force -= push
        gradient -= slope
        piece += 16
    elif position + h * rate < model.lower[i]:
        push, slope = normal_force(k * (model.lower[i] - position), k, d, rate, h)
        force += push
        gradient -= slope
        piece += 32

    changed: bool = piece != work.joint_piece[i]
    work.joint_piece[i] = piece
    work.joint_force[i] = force
    work.joint_gradient[i] = gradient
    return changed
