"""Contact Jacobians: relative velocity of A and B at a contact point, tamsi Sec. II-A."""

from __future__ import annotations

import math

import numpy as np

from contact_core.base.kernel import inlined_kernel
from contact_core.multibody.collision.arrays import NORMAL, Contacts
from contact_core.multibody.rigid_body.arrays import Bodies, Jacobian


@inlined_kernel
def update_jacobians(
    bodies: Bodies,
    motion: np.ndarray,
    shape_body: np.ndarray,
    pair_shapes: np.ndarray,
    contacts: Contacts,
    jacobian: Jacobian,
    count: int,
) -> None:
    """Compute the tangents and the non-zero Jacobian columns of every contact.

    Args:
        bodies: The bodies.
        motion: (nm, 6) their motion columns.
        shape_body: (ns) body of each shape, -1 for the world.
        pair_shapes: (np, 2) shapes A and B of each pair.
        contacts: The contact points; their tangents are written.
        jacobian: Written.
        count: Number of contact points.
    """
    for c in range(count):
        _tangents(contacts.frame[c])
        jacobian.columns[c] = 0
        pair = contacts.pair[c]
        for side in range(2):
            body = shape_body[pair_shapes[pair, side]]
            if body >= 0:
                _add_chain(bodies, motion, contacts, jacobian, c, body, 1.0 - 2.0 * side)


@inlined_kernel
def update_angular_jacobian(
    bodies: Bodies,
    motion: np.ndarray,
    frame: np.ndarray,
    body_a: int,
    body_b: int,
    jacobian: Jacobian,
    c: int,
) -> None:
    """Compute the angular velocity of A relative to B at one contact, on the columns it has.

    Args:
        bodies: The bodies.
        motion: (nm, 6) their motion columns.
        frame: (3, 3) the contact's frame.
        body_a: Body A, -1 for the world.
        body_b: Body B, -1 for the world.
        jacobian: Its entries of the contact are written; reads dof and columns.
        c: The contact.
    """
    entries, dofs = jacobian.entry[c], jacobian.dof[c]
    for k in range(jacobian.columns[c]):
        entries[0, k] = entries[1, k] = entries[2, k] = 0.0
    for side in range(2):
        body = body_b if side else body_a
        sign = 1.0 - 2.0 * side
        column = bodies.last_column[body] if body >= 0 else -1
        while column >= 0:
            s = motion[column]
            entry = 0
            while dofs[entry] != bodies.column_dof[column]:
                entry += 1
            for i in range(3):
                turn = frame[i, 0] * s[0] + frame[i, 1] * s[1] + frame[i, 2] * s[2]
                entries[i, entry] += sign * turn
            column = bodies.column_parent[column]


@inlined_kernel
def _tangents(frame: np.ndarray) -> None:
    """Complete the normal of a frame (3, 3) to a right-handed one."""
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
def _add_chain(
    bodies: Bodies,
    motion: np.ndarray,
    contacts: Contacts,
    jacobian: Jacobian,
    c: int,
    body: int,
    sign: float,
) -> None:
    """Add the columns from a body to the world, in the contact's frame."""
    frame, entries = contacts.frame[c], jacobian.entry[c]
    # Held in registers: the compiler cannot know that writing the Jacobian leaves them alone.
    f00, f01, f02 = frame[0]
    f10, f11, f12 = frame[1]
    f20, f21, f22 = frame[2]
    px, py, pz = contacts.point[c]
    dofs, count = jacobian.dof[c], jacobian.columns[c]
    column = bodies.last_column[body]
    while column >= 0:
        s = motion[column]
        # Velocity of the contact point: linear + angular x point.
        x = sign * (s[3] + s[1] * pz - s[2] * py)
        y = sign * (s[4] + s[2] * px - s[0] * pz)
        z = sign * (s[5] + s[0] * py - s[1] * px)
        u = f00 * x + f01 * y + f02 * z
        v = f10 * x + f11 * y + f12 * z
        w = f20 * x + f21 * y + f22 * z
        dof = bodies.column_dof[column]
        entry = 0
        while entry < count and dofs[entry] != dof:
            entry += 1
        if entry == count:
            dofs[entry] = dof
            entries[0, entry], entries[1, entry], entries[2, entry] = u, v, w
            count += 1
        else:
            entries[0, entry] += u
            entries[1, entry] += v
            entries[2, entry] += w
        column = bodies.column_parent[column]
    jacobian.columns[c] = count
