"""Workspaces: making them, room for contacts, and enlarging one in which a step did not fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from contact_core.multibody.rigid_body.joints import BALL, FREE, columns_of
from contact_core.multibody.selection import allocate
from tamsi_sim.arrays.data import Drives, JointForces, Model, ShearMemory, Work


class Room(NamedTuple):
    """How much a workspace holds.

    Attributes:
        contacts: Contact points.
        close: Pairs of hulls that are close to each other.
        entries: Of Newton's matrix.
    """

    contacts: int
    close: int
    entries: int


def usual_room(model: Model, contacts: int) -> Room:
    """Return how much room to start with: a small model never needs more.

    Args:
        model: The model.
        contacts: Contact points.
    """
    nv, nh = len(model.joints.q), len(model.hulls.body)
    return Room(contacts, min(nh * nh, 32 * (nh + 32)), min(nv * nv, 64 * (nv + 1024)))


def room_of(work: Work) -> Room:
    """Return how much a workspace holds."""
    return Room(len(work.contacts.depth), len(work.sweep.close), len(work.newton.system))


def more_room(work: Work, most_contacts: int) -> Room | None:
    """Return the room that a workspace needs in which the last evaluation did not fit.

    Args:
        work: The workspace.
        most_contacts: How many contact points there may be.

    Returns:
        At least twice as much of what lacks; None if nothing does, or there may not be more.
    """
    room = room_of(work)
    needed = Room(
        int(work.contacts.number[0]), int(work.sweep.number[0]), int(work.islands.entries[0])
    )
    if needed.contacts > most_contacts or all(n <= r for n, r in zip(needed, room, strict=True)):
        return None
    more = Room(*(r if n <= r else max(n, 2 * r) for n, r in zip(needed, room, strict=True)))
    return more._replace(contacts=min(more.contacts, max(most_contacts, room.contacts)))


def enlarge(work: Work, model: Model, room: Room) -> Work:
    """Return a workspace with more room; state, inputs and sums are those of the old one.

    Args:
        work: The old one.
        model: Its model.
        room: Its room.
    """
    new = make_work(model, len(work.state.q), room, len(work.newton.residuals) - 1)
    copy_shear(work.shear, new.shear)
    return new._replace(
        state=work.state,
        drives=work.drives,
        contact_impulse=work.contact_impulse,
        drift=work.drift,
        counters=work.counters,
        pace=work.pace,
        joint_forces=work.joint_forces,
        tendon_drives=work.tendon_drives,
        tendon_forces=work.tendon_forces,
        energy=work.energy,
    )


def copy_shear(memory: ShearMemory, target: ShearMemory) -> None:
    """Copy the shear of contacts.

    Args:
        memory: From here.
        target: Of a workspace that has at least as much room.
    """
    for array, into in zip(memory, target, strict=True):
        into[: len(array)] = array


def make_work(model: Model, nq: int, room: Room, max_iterations: int) -> Work:
    """Allocate a workspace.

    Args:
        model: The model.
        nq: Number of positions.
        room: How much it holds.
        max_iterations: Newton iterations of one solve.

    Returns:
        A workspace of zeros; free bodies and ball joints have a unit quaternion.
    """
    nv, nt, nl = len(model.joints.q), len(model.trees.first_dof) - 1, len(model.closures.body)
    nh, nc = len(model.hulls.body), room.contacts
    chains = _chain_lengths(model)[model.closures.body].sum(axis=1, initial=0)
    moments = model.rules.torsional.any() or model.rules.rolling.any()
    sizes = {
        "nb": len(model.bodies.parent),
        "nm": len(model.bodies.column_dof),
        "nq": nq,
        "nv": nv,
        "nt": nt,
        "nt + 1": nt + 1,
        "nw": int(np.diff(model.trees.first_dof).max(initial=0)),
        "ns": len(model.geometry.kind),
        "np": nc + 1,
        "np + 1": nc + 2,
        "hash": 1 << (2 * nc + 1).bit_length(),
        "nh": nh,
        "nh + 1": nh + 1,
        "nk": room.close,
        "nc": nc,
        "nr": nc if moments else 0,
        "n": _contact_width(model),
        "nl": nl,
        "nu": int(chains.max(initial=1)),
        "nc + nl": nc + nl,
        "2 nc + 2 nl": 2 * nc + 2 * nl,
        "ne": room.entries,
        "ni + 1": max_iterations + 1,
    }
    work = allocate(Work, sizes)
    angular = np.zeros((sizes["nr"], *work.jacobian.entry.shape[1:]))
    of_tendons = {"nv": len(model.tendons.tree)}
    work = work._replace(
        angular=work.jacobian._replace(entry=angular),
        tendon_drives=allocate(Drives, of_tendons),
        tendon_forces=allocate(JointForces, of_tendons),
    )
    work.sweep.order[:] = np.arange(nh)
    work.shear.table[:] = -1
    work.drives.effort_limit[:] = np.inf
    work.energy.q[:] = work.energy.v[:] = np.nan
    for kind, scalar in ((FREE, 6), (BALL, 3)):
        for body in np.flatnonzero(model.bodies.joint_type == kind):
            work.state.q[model.bodies.q_index[body] + scalar] = 1.0
    return work


def mass_blocks(model: Model, work: Work) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield each tree's first degree of freedom, the one behind its last, and its mass matrix.

    Args:
        model: The model.
        work: Its workspace.
    """
    rows = work.dynamics.mass_matrix
    for first, last in pairwise(model.trees.first_dof.tolist()):
        yield first, last, rows[first:last, : last - first]


def dense_mass_matrix(model: Model, work: Work) -> np.ndarray:
    """Return the whole mass matrix (nv, nv).

    Args:
        model: The model.
        work: Its workspace.
    """
    matrix = np.zeros((len(work.state.v),) * 2)
    for first, last, block in mass_blocks(model, work):
        matrix[first:last, first:last] = block
    return matrix


def body_pose(work: Work, body: int) -> pin.SE3:
    """Return where a body is in the world, after an evaluation.

    Args:
        work: The workspace.
        body: Number of the body; -1 for the world itself.
    """
    if body < 0:
        return pin.SE3.Identity()
    return pin.SE3(work.kinematics.rotation[body], work.kinematics.position[body])


def _chain_lengths(model: Model) -> np.ndarray:
    """How many columns each body's motion has, with those of the bodies that carry it."""
    lengths: list[int] = []
    for parent, joint in zip(model.bodies.parent, model.bodies.joint_type, strict=True):
        lengths.append(columns_of(joint) + (lengths[parent] if parent >= 0 else 0))
    # One more for the world, which is body -1 and has no columns.
    return np.array([*lengths, 0])


def _contact_width(model: Model) -> int:
    """How many columns the Jacobian of one contact may have."""
    lengths, rules, widest = _chain_lengths(model)[model.geometry.body], model.rules.shapes, 1
    longest = [np.sort(lengths[model.geometry.group == g])[-2:] for g in range(len(rules))]
    for g, h in np.argwhere(rules >= 0):
        both = longest[g].sum() if g == h else longest[g][-1] + longest[h][-1]
        widest = max(widest, int(both))
    return widest
