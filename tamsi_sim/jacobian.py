"""Contact Jacobians: relative velocity of A and B at a contact point, tamsi Sec. II-A."""

from __future__ import annotations

import math

import numpy as np

from tamsi_sim.borrowing import inner_kernel
from tamsi_sim.data import NORMAL, Model, Work


@inner_kernel
def update_jacobians(model: Model, work: Work, contacts: int) -> None:
    """Compute the tangents and the non-zero Jacobian columns of every contact.

    Args:
        model: The model.
        work: Reads contacts and motion columns; writes contact_frame's tangents, jacobian,
            jacobian_dof, jacobian_columns and jacobian_split.
        contacts: Number of contact points.
    """
    for c in range(contacts):
        _tangents(work, c)
        pair = work.contact_pair[c]
        a = model.shape_body[model.pair_shapes[pair, 0]]
        b = model.shape_body[model.pair_shapes[pair, 1]]
        _lay_out(model, work, c, a, b)
        if a >= 0:
            _add_chain(model, work, c, a, 1.0, 0)
        if b >= 0:
            split = work.jacobian_split[c]
            _add_chain(model, work, c, b, -1.0, split if split < work.jacobian_columns[c] else 0)


@inner_kernel
def _lay_out(model: Model, work: Work, c: int, a: int, b: int) -> None:
    """Choose the columns: runs of degrees of freedom, one per tree; zero the Jacobian."""
    dofs = work.jacobian_dof[c]
    if a >= 0 and b >= 0 and model.body_tree[a] == model.body_tree[b]:
        first = min(model.body_first_dof[a], model.body_first_dof[b])
        end = max(model.body_last_dof[a], model.body_last_dof[b]) + 1
        split = _add_run(dofs, 0, first, end)
        count = split
    else:
        split = 0
        if a >= 0:
            split = _add_run(dofs, 0, model.body_first_dof[a], model.body_last_dof[a] + 1)
        count = split
        if b >= 0:
            count = _add_run(dofs, split, model.body_first_dof[b], model.body_last_dof[b] + 1)
            if split == 0:
                split = count
    work.jacobian_split[c], work.jacobian_columns[c] = split, count
    for i in range(3):
        for k in range(count):
            work.jacobian[c, i, k] = 0.0


@inner_kernel
def _add_run(dofs: np.ndarray, count: int, first: int, end: int) -> int:
    """Append a run of degrees of freedom; return the new count."""
    for dof in range(first, end):
        dofs[count] = dof
        count += 1
    return count


@inner_kernel
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


@inner_kernel
def _add_chain(model: Model, work: Work, c: int, body: int, sign: float, start: int) -> None:
    """Add the motion columns from a body to the world, in the contact's frame."""
    frame, point, jacobian = work.contact_frame[c], work.contact_point[c], work.jacobian[c]
    shift = start - work.jacobian_dof[c, start]
    column = model.last_column[body]
    while column >= 0:
        s = work.motion[column]
        # Velocity of the contact point: linear + angular x point.
        x = sign * (s[3] + s[1] * point[2] - s[2] * point[1])
        y = sign * (s[4] + s[2] * point[0] - s[0] * point[2])
        z = sign * (s[5] + s[0] * point[1] - s[1] * point[0])
        entry = model.column_dof[column] + shift
        # Summed, not assigned: a mimic joint shares its master's column, a tree its sides'.
        for i in range(3):
            jacobian[i, entry] += frame[i, 0] * x + frame[i, 1] * y + frame[i, 2] * z
        column = model.column_parent[column]
