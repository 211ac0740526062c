"""Workspaces: making them, room for contacts, and enlarging one in which a step did not fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from contact_core.multibody.collision.arrays import (
    MAX_CORNERS,
    Contacts,
    Pairs,
    Scratch,
    ShapePoses,
    SweptHulls,
    allocate_polytope,
)
from contact_core.multibody.rigid_body.arrays import BodyDynamics, Jacobian, Kinematics, State
from contact_core.multibody.rigid_body.joints import BALL, FREE, columns_of
from tamsi_sim.arrays.data import (
    COUNTERS,
    LEDGER,
    ClosureForces,
    ContactForces,
    ContactMoments,
    Drives,
    EnergyWatch,
    Islands,
    JointForces,
    Model,
    Newton,
    Work,
)


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
    return new._replace(
        state=work.state,
        drives=work.drives,
        contact_impulse=work.contact_impulse,
        drift=work.drift,
        counters=work.counters,
        joint_forces=work.joint_forces,
        energy=work.energy,
    )


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
    nb, nm = len(model.bodies.parent), len(model.bodies.column_dof)
    nv, ns, nh = len(model.joints.q), len(model.geometry.kind), len(model.hulls.body)
    zeros, close = np.zeros, room.close
    nt, nc, nl = len(model.trees.first_dof) - 1, room.contacts, len(model.closures.body)
    width = _contact_width(model)
    wide = int(_chain_lengths(model)[model.closures.body].sum(axis=1, initial=0).max(initial=1))
    moments = model.rules.torsional.any() or model.rules.rolling.any()
    nr = nc if moments else 0
    # Unsigned: innermost loops would spend time on indices that count from the end.
    dofs, columns = zeros((nc, width), dtype=np.uint64), _indices(nc)
    work = Work(
        state=State(zeros(nq), zeros(nv)),
        drives=Drives(*(zeros(nv) for _ in Drives._fields)),
        contact_impulse=zeros(nv),
        drift=zeros(nv),
        counters=_indices(COUNTERS),
        kinematics=Kinematics(
            rotation=zeros((nb, 3, 3)),
            position=zeros((nb, 3)),
            motion=zeros((nm, 6)),
            velocity=zeros((nb, 6)),
            acceleration=zeros((nb, 6)),
        ),
        dynamics=BodyDynamics(
            mass_matrix=zeros((nv, int(np.diff(model.trees.first_dof).max(initial=0)))),
            bias=zeros(nv),
            force=zeros((nb, 6)),
            composite_mass=zeros(nb),
            composite_moment=zeros((nb, 3)),
            composite_inertia=zeros((nb, 3, 3)),
            momentum=zeros(6),
        ),
        poses=ShapePoses(zeros((ns, 3, 3)), zeros((ns, 3)), zeros((nh, 3))),
        sweep=SweptHulls(
            number=_indices(1),
            order=np.arange(nh),
            ends=zeros((nh, 2)),
            close=_indices(close, 2),
            first=_indices(nh + 1),
            partner=_indices(close),
        ),
        pairs=Pairs(
            number=_indices(1),
            shapes=_indices(nc + 1, 2),
            rule=_indices(nc + 1),
            stiffness=zeros(nc + 1),
            dissipation=zeros(nc + 1),
            friction=zeros(nc + 1),
            torsional=zeros(nc + 1),
            rolling=zeros(nc + 1),
        ),
        contacts=Contacts(
            number=_indices(1),
            pair=_indices(nc),
            depth=zeros(nc),
            point=zeros((nc, 3)),
            frame=zeros((nc, 3, 3)),
            stiffness=zeros(nc),
        ),
        scratch=Scratch(
            clip=zeros((3, MAX_CORNERS, 3)),
            polytope=allocate_polytope(),
        ),
        jacobian=Jacobian(zeros((nc, 3, width)), dofs, columns),
        angular=Jacobian(zeros((nr, 3, width)), dofs, columns),
        islands=Islands(
            edge_trees=_indices(nc + nl, 2),
            link_first=_indices(nt + 1),
            link_tree=_indices(2 * nc + 2 * nl),
            of_tree=_indices(nt),
            queue=_indices(nt),
            first_row=_indices(nt + 1),
            first_contact=_indices(nt + 1),
            contact=_indices(nc),
            order=_indices(nv),
            place=_indices(nv),
            row_end=_indices(nv),
            row_start=_indices(nv),
            entries=_indices(1),
            jacobian_row=zeros((nc, width), dtype=np.uint64),
        ),
        contact_forces=ContactForces(
            elastic=zeros(nc),
            velocity=zeros((nc, 3)),
            update=zeros((nc, 3)),
            force=zeros((nc, 3)),
            gradient=zeros((nc, 3, 3)),
            mean_force=zeros((nc, 3)),
        ),
        contact_moments=ContactMoments(
            coefficient=zeros((nr, 2)),
            moment=zeros((nr, 3)),
            gradient=zeros((nr, 3, 3)),
            coupling=zeros((nr, 3)),
            mean_moment=zeros((nr, 3)),
        ),
        joint_forces=JointForces(
            force=zeros(nv),
            gradient=zeros(nv),
            piece=_indices(nv),
            shift=zeros(nv),
            damping=zeros(nv),
            friction=zeros(nv),
            deflection=zeros(nv),
            bent=zeros(nv),
        ),
        closure_forces=ClosureForces(
            position=zeros((nl, 2, 3)),
            rotation=zeros((nl, 2, 3, 3)),
            gap=zeros((nl, 6)),
            stretch=zeros((nl, 6)),
            mean_force=zeros((nl, 6)),
            entry=zeros((nl, 6, wide)),
            dof=_indices(nl, wide),
            columns=_indices(nl),
        ),
        newton=Newton(
            v=zeros(nv),
            duration=zeros(1),
            momentum=zeros(nv),
            system=zeros(room.entries),
            right_side=zeros(nv),
            update=zeros(nv),
            residuals=zeros(max_iterations + 1),
        ),
        # No state is equal to NaN: the first step starts the ledger.
        energy=EnergyWatch(np.full(nq, np.nan), np.full(nv, np.nan), zeros(LEDGER)),
    )
    work.drives.effort_limit[:] = np.inf
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


def _indices(*shape: int) -> np.ndarray:
    return np.zeros(shape, dtype=np.int64)


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
