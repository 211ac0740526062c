"""Contact Jacobians: relative velocity of A and B at a contact point, tamsi Sec. II-A."""

from __future__ import annotations

import math

from tamsi_sim.arrays.borrowing import inlined_kernel
from tamsi_sim.arrays.data import NORMAL, Model, Work


@inlined_kernel
def update_jacobians(model: Model, work: Work, contacts: int) -> None:
    """Compute the tangents and the non-zero Jacobian columns of every contact.

    Args:
        model: The model.
        work: Reads contacts, islands and motion columns; writes contact_frame's tangents, jacobian,
            jacobian_dof, jacobian_row and jacobian_columns.
        contacts: Number of contact points.
    """
    for c in range(contacts):
        _tangents(work, c)
        work.jacobian_columns[c] = 0
        pair = work.contact_pair[c]
        for side in range(2):
            body = model.shape_body[model.pair_shapes[pair, side]]
            if body >= 0:
                _add_chain(model, work, c, body, 1.0 - 2.0 * side)


@inlined_kernel
def _tangents(work: Work, c: int) -> None:
    """Complete the normal to a right-handed frame."""
    frame = work.contact_frame[c]
    x, y, z = frame[NORMAL, 0], frame[NORMAL, 1], frame[NORMAL, 2]
    # Cross the normal with the first coordinate axis that is not nearly parallel to it.
    if abs(x) < 0.57:
        length = math.sqrt(y * y + z * z)
        t0, t1, t2 = 0.0, z / length, -y / length
    elif abs(y) < 0.57:
        length = math.sqrt(x * x + z * z)
        t0, t1, t2 = -z / length, 0.0, x / length
    else:
        length = math.sqrt(x * x + y * y)
        t0, t1, t2 = y / length, -x / length, 0.0
    frame[0, 0], frame[0, 1], frame[0, 2] = t0, t1, t2
    frame[1, 0], frame[1, 1], frame[1, 2] = y * t2 - z * t1, z * t0 - x * t2, x * t1 - y * t0


@inlined_kernel
def _add_chain(model: Model, work: Work, c: int, body: int, sign: float) -> None:
    """Add the columns from a body to the world, in the contact's frame."""
    frame, jacobian = work.contact_frame[c], work.jacobian[c]
    # Held in registers: the compiler cannot know that writing the Jacobian leaves them alone.
    f00, f01, f02 = frame[0]
    f10, f11, f12 = frame[1]
    f20, f21, f22 = frame[2]
    px, py, pz = work.contact_point[c]
    dofs, rows = work.jacobian_dof[c], work.jacobian_row[c]
    count = work.jacobian_columns[c]
    column = model.last_column[body]
    while column >= 0:
        s = work.motion[column]
        # Velocity of the contact point: linear + angular x point.
        x = sign * (s[3] + s[1] * pz - s[2] * py)
        y = sign * (s[4] + s[2] * px - s[0] * pz)
        z = sign * (s[5] + s[0] * py - s[1] * px)
        u = f00 * x + f01 * y + f02 * z
        v = f10 * x + f11 * y + f12 * z
        w = f20 * x + f21 * y + f22 * z
        dof = model.column_dof[column]
        entry = 0
        while entry < count and dofs[entry] != dof:
            entry += 1
        if entry == count:
            dofs[entry] = dof
            rows[entry] = work.place[dof]
            jacobian[0, entry], jacobian[1, entry], jacobian[2, entry] = u, v, w
            count += 1
        else:
            jacobian[0, entry] += u
            jacobian[1, entry] += v
            jacobian[2, entry] += w
        column = model.column_parent[column]
    work.jacobian_columns[c] = count
