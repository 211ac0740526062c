"""The arrays of a simulation, in small selections: what kernels read (Model) and write (Work).

Sizes: nv velocities (degrees of freedom), nt trees, nc contact points, nl loop closures, nu columns
of the widest closure, nd tendons, nj joints of the widest one, ne entries of Newton's matrix, ni of
its iterations; for all others see
:mod:`contact_core.multibody.rigid_body.arrays` and :mod:`contact_core.multibody.collision.arrays`.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from contact_core.multibody.collision.arrays import (
    Contacts,
    Geometry,
    Hulls,
    Pairs,
    Rules,
    Scratch,
    ShapePoses,
    SweptHulls,
)
from contact_core.multibody.collision.convex_mesh import Meshes
from contact_core.multibody.rigid_body.arrays import (
    Bodies,
    BodyDynamics,
    Inertias,
    Jacobian,
    Joints,
    Kinematics,
    State,
    Trees,
)

# Entries of Work.counters.
STEPS = 0
ITERATIONS = 1
RETRIES = 2
CONTACTS = 3
WORST_SUBSTEPS = 4
SUBSTEPS = 5
ISLANDS = 6
STUCK = 7
"""One more than the contact at which the last step did not converge; 0 if there is none."""
REJECTED = 8
"""Steps that were too long for the accuracy, and taken again."""
COUNTERS = 9
# Entries of Work.pace: length of the step that is taken, of the one to try next, what is left of
# the time to advance by, and length of the last of our own steps that was taken [s].
LENGTH, NEXT, LEFT, LAST = 0, 1, 2, 3
PACE = 4
# Entries of EnergyWatch.ledger: energy at the start, work of drives and applied forces since,
# what there was to move things, the weights' potential at the start and where it was lowest; and
# 1 if it was too much.
START, WORK, SCALE, HEIGHT, LOWEST, DIVERGED = 0, 1, 2, 3, 4, 5
LEDGER = 6


class Drives(NamedTuple):
    """What a simulation is given besides its state.

    Attributes:
        applied: (nv) constant generalised force [Nm or N].
        stiffness: (nv) of the joint's position controller [Nm/rad or N/m]; free bodies and ball
            joints have none, only the damping counts there.
        damping: (nv) its constant damping [Nm s/rad or N s/m].
        damping_ratio: (nv) its damping relative to critical, 2 ratio sqrt(K m_ii).
        effort_limit: (nv) bound on its effort, about effort_center [Nm or N].
        effort_center: (nv) zero, unless several actuators with limits of their own drive a joint.
        target: (nv) its target position at the start of the next step.
        target_rate: (nv) change of the target per step.
        feedforward: (nv) effort that it adds to that of the controller [Nm or N].
    """

    applied: Annotated[np.ndarray, float, "nv"]
    stiffness: Annotated[np.ndarray, float, "nv"]
    damping: Annotated[np.ndarray, float, "nv"]
    damping_ratio: Annotated[np.ndarray, float, "nv"]
    effort_limit: Annotated[np.ndarray, float, "nv"]
    effort_center: Annotated[np.ndarray, float, "nv"]
    target: Annotated[np.ndarray, float, "nv"]
    target_rate: Annotated[np.ndarray, float, "nv"]
    feedforward: Annotated[np.ndarray, float, "nv"]


class ContactForces(NamedTuple):
    """The contact law at the end of a (sub-)step.

    Attributes:
        elastic: (nc) k delta at the start of the (sub-)step [N].
        slack: (nc) penetration at the start of the step that nothing has resisted [m].
        ahead: (nc) share of the (sub-)step for which the penetration is estimated ahead.
        compliance: (nc) of the shear, see :mod:`tamsi_sim.scheme.shear` [m/N].
        initial_shear: (nc, 2) at the start of the step, along the tangents [m].
        shear: (nc, 2) the same at the start of the sub-step [m].
        piece: (nc) whether what is elastic sticks, 1, or slips, 2.
        velocity: (nc, 3) in the contact's frame [m/s].
        update: (nc, 3) its change by Newton's update [m/s].
        force: (nc, 3) on A in the contact's frame [N].
        gradient: (nc, 3, 3) minus its derivative by the velocity [N s/m].
        mean_force: (nc, 3) mean over the last step [N].
    """

    elastic: Annotated[np.ndarray, float, "nc"]
    slack: Annotated[np.ndarray, float, "nc"]
    ahead: Annotated[np.ndarray, float, "nc"]
    compliance: Annotated[np.ndarray, float, "nc"]
    initial_shear: Annotated[np.ndarray, float, "nc", 2]
    shear: Annotated[np.ndarray, float, "nc", 2]
    piece: Annotated[np.ndarray, int, "nc"]
    velocity: Annotated[np.ndarray, float, "nc", 3]
    update: Annotated[np.ndarray, float, "nc", 3]
    force: Annotated[np.ndarray, float, "nc", 3]
    gradient: Annotated[np.ndarray, float, "nc", 3, 3]
    mean_force: Annotated[np.ndarray, float, "nc", 3]


PAIRS, POINTS, KNOWN = 0, 1, 2
"""Entries of ShearMemory.number."""


class ShearMemory(NamedTuple):
    """How pairs of shapes that touch were sheared when the last step ended: part of the state.

    Attributes:
        number: (3) pairs, their points, and whether a step has ended with them, or with none.
        shapes: (np, 2) shapes A and B of the pairs.
        first: (np + 1) first point of each pair.
        energy: (np) of its shear and twist, times two [J].
        speed: (np) at which the pair met, where that matters [m/s].
        resisted: (np) greatest penetration of the pair that was resisted [m].
        slack: (nc) penetration of the points that nothing has resisted [m].
        point: (nc, 3) the points, from A's origin, world axes [m].
        shear: (nc, 3) of A against B, world [m].
        slip: (nc, 3) velocity of A against B along the tangents, where that step began [m/s].
        twist: (nr, 3) turn of A against B that moments have held, world [rad].
        velocity: (nv) at its end.
        half: (1) half of its length [s].
        table: (hash) scratch, the pairs by the hash of their shapes; -1 where there is none.
        slot: (np) scratch, where they are in it.
        before: (np) scratch, the one that each pair of the last evaluation was; -1 if it is new.
        q: (nq) positions after that step; where others were set by hand, nothing is sheared.
    """

    number: Annotated[np.ndarray, int, 3]
    shapes: Annotated[np.ndarray, int, "np", 2]
    first: Annotated[np.ndarray, int, "np + 1"]
    energy: Annotated[np.ndarray, float, "np"]
    speed: Annotated[np.ndarray, float, "np"]
    resisted: Annotated[np.ndarray, float, "np"]
    slack: Annotated[np.ndarray, float, "nc"]
    point: Annotated[np.ndarray, float, "nc", 3]
    shear: Annotated[np.ndarray, float, "nc", 3]
    slip: Annotated[np.ndarray, float, "nc", 3]
    twist: Annotated[np.ndarray, float, "nr", 3]
    velocity: Annotated[np.ndarray, float, "nv"]
    half: Annotated[np.ndarray, float, 1]
    table: Annotated[np.ndarray, int, "hash"]
    slot: Annotated[np.ndarray, int, "np"]
    before: Annotated[np.ndarray, int, "np"]
    q: Annotated[np.ndarray, float, "nq"]


class ContactMoments(NamedTuple):
    """Torsional and rolling friction at the end of a (sub-)step; nr is nc, or 0 if nothing has any.

    Attributes:
        coefficient: (nr, 2) rolling and torsional friction [m].
        compliance: (nr) of the twist, see :mod:`tamsi_sim.scheme.shear` [rad/Nm].
        initial_twist: (nr, 3) elastic turn at the start of the step, in the contact's frame [rad].
        twist: (nr, 3) the same at the start of the sub-step [rad].
        moment: (nr, 3) on A in the contact's frame [Nm].
        gradient: (nr, 3, 3) minus its derivative by the angular velocity of A relative to B [Nm s].
        coupling: (nr, 3) minus its derivative by the velocity of separation [Ns].
        mean_moment: (nr, 3) mean over the last step [Nm].
    """

    coefficient: Annotated[np.ndarray, float, "nr", 2]
    compliance: Annotated[np.ndarray, float, "nr"]
    initial_twist: Annotated[np.ndarray, float, "nr", 3]
    twist: Annotated[np.ndarray, float, "nr", 3]
    moment: Annotated[np.ndarray, float, "nr", 3]
    gradient: Annotated[np.ndarray, float, "nr", 3, 3]
    coupling: Annotated[np.ndarray, float, "nr", 3]
    mean_moment: Annotated[np.ndarray, float, "nr", 3]


class JointForces(NamedTuple):
    """The joints' own forces at the end of a (sub-)step.

    Attributes:
        force: (nv) position controller, friction and limits [Nm or N].
        gradient: (nv) minus its derivative by the velocity.
        piece: (nv) which pieces of the piecewise laws are active.
        shift: (nv) motion since the start of the step, over its sub-steps.
        damping: (nv) of the position controller at this configuration.
        friction: (nv) how far friction reaches in this step [Nm or N].
        deflection: (nv) of the spring that friction is before it slides, at the start of the
            step: part of the state [rad or m].
        bent: (nv) the same at the start of the sub-step.
    """

    force: Annotated[np.ndarray, float, "nv"]
    gradient: Annotated[np.ndarray, float, "nv"]
    piece: Annotated[np.ndarray, int, "nv"]
    shift: Annotated[np.ndarray, float, "nv"]
    damping: Annotated[np.ndarray, float, "nv"]
    friction: Annotated[np.ndarray, float, "nv"]
    deflection: Annotated[np.ndarray, float, "nv"]
    bent: Annotated[np.ndarray, float, "nv"]


class Closures(NamedTuple):
    """Loop closures: frames on two bodies A and B that springs hold together, tree by tree.

    Attributes:
        body: (nl, 2) bodies A and B, -1 for the world.
        tree: (nl, 2) their trees, -1 for the world.
        first: (nt + 1) first closure of each tree; one between two trees is of the lower one.
        position: (nl, 2, 3) of the frames in their bodies [m].
        rotation: (nl, 2, 3, 3) of the frames in their bodies.
        stiffness: (nl, 2) of the positions [N/m] and of the orientations [Nm/rad]; the latter is
            zero where only points are held together.
        dissipation: (nl) the springs' damping as a multiple of their stiffness [s].
    """

    body: Annotated[np.ndarray, int, "nl", 2]
    tree: Annotated[np.ndarray, int, "nl", 2]
    first: Annotated[np.ndarray, int, "nt + 1"]
    position: Annotated[np.ndarray, float, "nl", 2, 3]
    rotation: Annotated[np.ndarray, float, "nl", 2, 3, 3]
    stiffness: Annotated[np.ndarray, float, "nl", 2]
    dissipation: Annotated[np.ndarray, float, "nl"]


class ClosureForces(NamedTuple):
    """The loop closures in motion; six rows are (linear, angular) in world axes.

    Attributes:
        position: (nl, 2, 3) of the frames in the world [m].
        rotation: (nl, 2, 3, 3) of the frames in the world.
        gap: (nl, 6) A relative to B at the start of the step, a distance [m] and a rotation
            vector [rad].
        stretch: (nl, 6) the gap at the start of the sub-step.
        mean_force: (nl, 6) force [N] and moment [Nm] on A, mean over the last step.
        entry: (nl, 6, nu) velocity of A relative to B per unit of a degree of freedom.
        dof: (nl, nu) degrees of freedom of these columns.
        columns: (nl) how many there are.
    """

    position: Annotated[np.ndarray, float, "nl", 2, 3]
    rotation: Annotated[np.ndarray, float, "nl", 2, 3, 3]
    gap: Annotated[np.ndarray, float, "nl", 6]
    stretch: Annotated[np.ndarray, float, "nl", 6]
    mean_force: Annotated[np.ndarray, float, "nl", 6]
    entry: Annotated[np.ndarray, float, "nl", 6, "nu"]
    dof: Annotated[np.ndarray, int, "nl", "nu"]
    columns: Annotated[np.ndarray, int, "nl"]


class Tendons(NamedTuple):
    """Fixed tendons: lengths that are linear in the coordinates of joints.

    Attributes:
        tree: (nd) the tree of its joints.
        columns: (nd) how many joints there are.
        dof: (nd, nj) their degrees of freedom.
        entry: (nd, nj) the length per unit of their coordinates.
        offset: (nd) the length where these are zero.
        scale: (nd) the greatest entry's magnitude.
    """

    tree: Annotated[np.ndarray, int, "nd"]
    columns: Annotated[np.ndarray, int, "nd"]
    dof: Annotated[np.ndarray, int, "nd", "nj"]
    entry: Annotated[np.ndarray, float, "nd", "nj"]
    offset: Annotated[np.ndarray, float, "nd"]
    scale: Annotated[np.ndarray, float, "nd"]


class Islands(NamedTuple):
    """Which trees contacts and closures couple, and the order of rows that follows from it.

    Attributes:
        edge_trees: (nc + nl, 2) two trees that are coupled.
        link_first: (nt + 1) first entry of link_tree that is a tree's.
        link_tree: (2 nc + 2 nl) trees that a tree is coupled to.
        of_tree: (nt) island.
        queue: (nt) trees, island by island.
        first_row: (nt + 1) first row of each island.
        first_contact: (nt + 1) its first entry of contact.
        contact: (nc) contacts, island by island.
        order: (nv) degree of freedom of a row.
        place: (nv) row of a degree of freedom.
        row_end: (nv) last non-zero column of a row of the system, never decreasing.
        row_start: (nv) entry of the system in which a row's column 0 would be.
        entries: (1) how many entries the system has.
        jacobian_row: (nc, n) rows of the Jacobians' columns.
    """

    edge_trees: Annotated[np.ndarray, int, "nc + nl", 2]
    link_first: Annotated[np.ndarray, int, "nt + 1"]
    link_tree: Annotated[np.ndarray, int, "2 nc + 2 nl"]
    of_tree: Annotated[np.ndarray, int, "nt"]
    queue: Annotated[np.ndarray, int, "nt"]
    first_row: Annotated[np.ndarray, int, "nt + 1"]
    first_contact: Annotated[np.ndarray, int, "nt + 1"]
    contact: Annotated[np.ndarray, int, "nc"]
    order: Annotated[np.ndarray, int, "nv"]
    place: Annotated[np.ndarray, int, "nv"]
    row_end: Annotated[np.ndarray, int, "nv"]
    row_start: Annotated[np.ndarray, int, "nv"]
    entries: Annotated[np.ndarray, int, 1]
    jacobian_row: Annotated[np.ndarray, np.uint64, "nc", "n"]


class Newton(NamedTuple):
    """Newton's method of one (sub-)step.

    Attributes:
        v: (nv) its iterate.
        duration: (1) h of the (sub-)step that is to be solved [s].
        momentum: (nv) p* = M v0 + h tau.
        system: (ne) its matrix within the envelope, row behind row, see Islands.row_start.
        right_side: (nv) minus the residual, then the update, by rows.
        update: (nv) the update by degrees of freedom.
        residuals: (ni + 1) norms of the residual in the iterations of the last island [Nms or Ns].
    """

    v: Annotated[np.ndarray, float, "nv"]
    duration: Annotated[np.ndarray, float, 1]
    momentum: Annotated[np.ndarray, float, "nv"]
    system: Annotated[np.ndarray, float, "ne"]
    right_side: Annotated[np.ndarray, float, "nv"]
    update: Annotated[np.ndarray, float, "nv"]
    residuals: Annotated[np.ndarray, float, "ni + 1"]


class EnergyWatch(NamedTuple):
    """What the energy is compared with, see :mod:`tamsi_sim.scheme.energy`.

    Attributes:
        q: (nq) positions after the last step; others were set by hand, and start anew.
        v: (nv) velocities after it.
        ledger: (6) sums since then [J].
    """

    q: Annotated[np.ndarray, float, "nq"]
    v: Annotated[np.ndarray, float, "nv"]
    ledger: Annotated[np.ndarray, float, LEDGER]


class Stash(NamedTuple):
    """Where a step of controlled accuracy started, and where the whole of it led.

    Attributes:
        q: (nq) positions at the start.
        v: (nv) velocities there.
        deflection: (nv) of the joints' friction there.
        bias: (nv) bias forces there.
        target: (nv) of the joints' controllers there.
        impulse: (nv) contact impulse until then.
        ledger: (6) of the energy until then.
        shear: Of the contacts there.
        coarse_q: (nq) positions after one step.
        coarse_v: (nv) velocities after it.
        coarse_impulse: (nv) contact impulse after it.
        change: (nv) from there to where two halves of it led.
        number: (1) of the contact points whose forces are noted.
        shapes: (nc, 2) shapes A and B that touch there.
        force: (nc, 6) force [N] and moment [Nm] there, mean over the step, frame of the contact.
        carried: (nc, 6) the same, while contact points get other numbers.
        closure_force: (nl, 6) likewise, of the closures.
    """

    q: Annotated[np.ndarray, float, "nq"]
    v: Annotated[np.ndarray, float, "nv"]
    deflection: Annotated[np.ndarray, float, "nv"]
    bias: Annotated[np.ndarray, float, "nv"]
    target: Annotated[np.ndarray, float, "nv"]
    impulse: Annotated[np.ndarray, float, "nv"]
    ledger: Annotated[np.ndarray, float, LEDGER]
    shear: ShearMemory
    coarse_q: Annotated[np.ndarray, float, "nq"]
    coarse_v: Annotated[np.ndarray, float, "nv"]
    coarse_impulse: Annotated[np.ndarray, float, "nv"]
    change: Annotated[np.ndarray, float, "nv"]
    number: Annotated[np.ndarray, int, 1]
    shapes: Annotated[np.ndarray, int, "nc", 2]
    force: Annotated[np.ndarray, float, "nc", 6]
    carried: Annotated[np.ndarray, float, "nc", 6]
    closure_force: Annotated[np.ndarray, float, "nl", 6]


class Spin(NamedTuple):
    """A motion of trees that spin, see :mod:`tamsi_sim.scheme.spinning_trees`.

    Attributes:
        spins: (nt) whether a tree spins.
        start_q: (nq) positions at the start of the step.
        start_v: (nv) velocities there.
        q: (nq) positions at the start of a part of it.
        v: (nv) velocities there.
        mean: (nv) velocity in this part.
    """

    spins: Annotated[np.ndarray, int, "nt"]
    start_q: Annotated[np.ndarray, float, "nq"]
    start_v: Annotated[np.ndarray, float, "nv"]
    q: Annotated[np.ndarray, float, "nq"]
    v: Annotated[np.ndarray, float, "nv"]
    mean: Annotated[np.ndarray, float, "nv"]


class Model(NamedTuple):
    """What does not change during a simulation.

    Attributes:
        tendon_laws: What tendons do by themselves: joints of which a length is the coordinate.
    """

    bodies: Bodies
    inertias: Inertias
    joints: Joints
    trees: Trees
    geometry: Geometry
    hulls: Hulls
    meshes: Meshes
    rules: Rules
    closures: Closures
    tendons: Tendons
    tendon_laws: Joints


class Work(NamedTuple):
    """State, inputs, results and scratch of one simulation.

    Attributes:
        state: Positions and velocities.
        drives: Inputs.
        contact_impulse: (nv) sum of J^T f h since it was last cleared [Nms or Ns].
        drift: (nv) with which free bodies move besides their end velocity in a step.
        counters: (9) see the names above.
        pace: (4) see the names above.
        spin: Of trees that spin.
        stash: Where steps that are tried start from.
        kinematics: Where bodies are, and how they move.
        dynamics: Mass matrix and bias forces.
        poses: Where shapes are.
        sweep: Which hulls are close.
        pairs: Which shapes touch.
        contacts: The contact points.
        scratch: Of the narrow phase.
        jacobian: Of the contacts.
        angular: Of their angular velocities, for (nr) contacts with moments.
        islands: The order of Newton's rows.
        shear: How contacts that stick were sheared.
        contact_forces: The contact law.
        contact_moments: Its torsional and rolling friction.
        joint_forces: The joints' laws.
        closure_forces: The loop closures.
        tendon_drives: Inputs of the tendons, by :class:`Engine.actuators`.
        tendon_forces: The tendons' laws.
        newton: The solve.
        energy: What has been put into the simulation.
    """

    state: State
    drives: Drives
    contact_impulse: Annotated[np.ndarray, float, "nv"]
    drift: Annotated[np.ndarray, float, "nv"]
    counters: Annotated[np.ndarray, int, COUNTERS]
    pace: Annotated[np.ndarray, float, PACE]
    spin: Spin
    stash: Stash
    kinematics: Kinematics
    dynamics: BodyDynamics
    poses: ShapePoses
    sweep: SweptHulls
    pairs: Pairs
    contacts: Contacts
    scratch: Scratch
    jacobian: Jacobian
    angular: Jacobian
    islands: Islands
    shear: ShearMemory
    contact_forces: ContactForces
    contact_moments: ContactMoments
    joint_forces: JointForces
    closure_forces: ClosureForces
    tendon_drives: Drives
    tendon_forces: JointForces
    newton: Newton
    energy: EnergyWatch
