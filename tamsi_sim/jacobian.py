"""Contact Jacobians: relative velocity of A and B at a contact point, tamsi Sec. II-A."""

from __future__ import annotations

import math

from tamsi_sim.borrowing import inlined_kernel
from tamsi_sim.data import NORMAL, Model, Work


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
    frame, point, jacobian = work.contact_frame[c], work.contact_point[c], work.jacobian[c]
    dofs, rows = work.jacobian_dof[c], work.jacobian_row[c]
    count = work.jacobian_columns[c]
    column = model.last_column[body]
    while column >= 0:
        s = work.motion[column]
        # Velocity of the contact point: linear + angular x point.
        x = sign * (s[3] + s[1] * point[2] - s[2] * point[1])
        y = sign * (s[4] + s[2] * point[0] - s[0] * point[2])
        z = sign * (s[5] + s[0] * point[1] - s[1] * point[0])
        dof = model.column_dof[column]
        entry = 0
        while entry < count and dofs[entry] != dof:
            entry += 1
        if entry == count:
            dofs[entry] = dof
            rows[entry] = work.place[dof]
            count += 1
            for i in range(3):
                jacobian[i, entry] = 0.0
        for i in range(3):
            jacobian[i, entry] += frame[i, 0] * x + frame[i, 1] * y + frame[i, 2] * z
        column = model.column_parent[column]
    work.jacobian_columns[c] = count
