"""The engine's data: flat arrays that kernels read (Model) and write (Work).

Sizes: nb moving bodies, nm motion columns, nq positions, nv velocities (degrees of
freedom), nt trees, ns shapes, np pairs of shapes, nh hulls, nc contact points.

A motion column is the spatial velocity of a body per unit of one degree of freedom. A
free body has six columns, another joint one; a mimic joint has a column of its own that
is driven by its master's degree of freedom.

A tree is what the mass matrix couples: the degrees of freedom of one instance. A hull is
what the broad phase sees: a sphere about all shapes of a moving body, or about one fixed
shape.

Spatial vectors are (angular, linear), expressed in world axes about the world origin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_core.convex_mesh import MAX_FACES

# Entries of Work.counters.
STEPS = 0
ITERATIONS = 1
RETRIES = 2
CONTACTS = 3
CONTACT_COUNT = 4
WORST_SUBSTEPS = 5
SUBSTEPS = 6
ISLANDS = 7
COUNTERS = 8

# Sizes of the narrow phase's scratch: corners of a polygon, two faces of meshes clipped
# against each other at most; corners, triangles and edges of a Polytope.
MAX_CORNERS = 2 * MAX_FACES
MAX_POINTS = 96
MAX_TRIANGLES = 2 * MAX_POINTS
MAX_EDGES = 3 * MAX_POINTS

# Row of Work.contact_frame that holds the normal; the others are the tangents.
NORMAL = 2


class Settings(NamedTuple):
    """Scalars of the scheme.

    Attributes:
        time_step: h [s].
        stiction_velocity: v_s [m/s] of ``tamsi`` (7).
        relative_tolerance: Newton stops when contact velocities change by less than this
            times v_s.
        max_iterations: Newton iterations of one (sub-)step.
        max_substeps: A step that fails is retried with up to so many sub-steps.
        friction_law: A FrictionLaw.
        line_search: 1 to limit Newton updates by TALS, 0 not to.
        cos_max_angle: Cosine of TALS's theta_max.
        landing: Slip speed [v_s] at which TALS lands when an update would cross zero slip.
        soft_norm: Regularisation of the slip speed's norm [v_s].
    """

    time_step: float
    stiction_velocity: float
    relative_tolerance: float
    max_iterations: int
    max_substeps: int
    friction_law: int
    line_search: int
    cos_max_angle: float
    landing: float
    soft_norm: float


class Model(NamedTuple):
    """What does not change during a simulation.

    Attributes:
        parent: (nb) parent body, -1 for the world; parents come first.
        joint_type: (nb) REVOLUTE, PRISMATIC or FREE.
        joint_axis: (nb, 3) unit axis in the joint's frame.
        joint_rotation: (nb, 3, 3) joint's frame in the parent's frame at q = 0.
        joint_position: (nb, 3) [m].
        joint_ratio: (nb) joint coordinate per master coordinate; 1 unless mimic.
        joint_offset: (nb) joint coordinate where the master's is zero.
        q_index: (nb) first entry in q; a mimic joint's is its master's.
        first_column: (nb) first motion column.
        last_column: (nb) last motion column of the body or of its nearest moving ancestor.
        body_tree: (nb) tree.
        mass: (nb) [kg].
        center: (nb, 3) centre of mass in the body's frame [m].
        inertia: (nb, 3, 3) about the centre of mass, body axes [kg m^2].
        gravity: (nb, 3) [m/s^2]; zero where a controller compensates it.
        column_body: (nm) body.
        column_dof: (nm) degree of freedom that drives the column.
        column_parent: (nm) next column towards the world, -1 at its end.
        tree_dof: (nt + 1) first degree of freedom of each tree, then nv.
        dof_tree: (nv) tree.
        dof_q: (nv) entry of q, -1 for those of free bodies.
        armature: (nv) effective rotor inertia [kg m^2 or kg].
        damping: (nv) viscous joint damping [Nm s/rad or N s/m].
        friction: (nv) Coulomb friction of the joint [Nm or N].
        lower: (nv) position limit; infinite if there is none.
        upper: (nv) position limit.
        limit_stiffness: (nv) stiffness of the joint's end stop [Nm/rad or N/m].
        limit_dissipation: (nv) dissipation of the end stop [s/rad or s/m].
        shape_kind: (ns) ShapeKind.
        shape_size: (ns, 3), see Shape.size; the first number of a mesh is its index.
        shape_body: (ns) body, -1 for the world.
        shape_tree: (ns) tree, -1 for the world.
        shape_rotation: (ns, 3, 3) in the body's frame.
        shape_position: (ns, 3) [m].
        shape_radius: (ns) bounding radius [m].
        hull_body: (nh) body, -1 for the world.
        hull_center: (nh, 3) in the body's frame [m].
        hull_radius: (nh) [m].
        hull_shape: (nh) its shape, -1 if it has several.
        hull_pair: (nhp, 2) hulls A and B; a fixed one is B.
        hull_pair_end: (nhp) the pair of shapes behind the last one of these two hulls.
        mesh_vertex: (n, 3) corners of all meshes in their frames [m].
        mesh_plane: (m, 4) outward unit normals of their faces and distances from the origin [m].
        mesh_corner: corners of the faces, counter-clockwise, face by face.
        mesh_first_vertex: (number of meshes + 1) first corner of each, then n.
        mesh_first_face: (number of meshes + 1) first face of each, then m.
        mesh_first_corner: (m + 1) first entry of mesh_corner of each face, then its length.
        pair_shapes: (np, 2) shapes A and B, sorted by their hulls.
        pair_routine: (np) entry of the narrow phase's table.
        pair_stiffness: (np) k [N/m].
        pair_dissipation: (np) d [s/m].
        pair_friction: (np) mu.
    """

    parent: np.ndarray
    joint_type: np.ndarray
    joint_axis: np.ndarray
    joint_rotation: np.ndarray
    joint_position: np.ndarray
    joint_ratio: np.ndarray
    joint_offset: np.ndarray
    q_index: np.ndarray
    first_column: np.ndarray
    last_column: np.ndarray
    body_tree: np.ndarray
    mass: np.ndarray
    center: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray
    column_body: np.ndarray
    column_dof: np.ndarray
    column_parent: np.ndarray
    tree_dof: np.ndarray
    dof_tree: np.ndarray
    dof_q: np.ndarray
    armature: np.ndarray
    damping: np.ndarray
    friction: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    limit_stiffness: np.ndarray
    limit_dissipation: np.ndarray
    shape_kind: np.ndarray
    shape_size: np.ndarray
    shape_body: np.ndarray
    shape_tree: np.ndarray
    shape_rotation: np.ndarray
    shape_position: np.ndarray
    shape_radius: np.ndarray
    hull_body: np.ndarray
    hull_center: np.ndarray
    hull_radius: np.ndarray
    hull_shape: np.ndarray
    hull_pair: np.ndarray
    hull_pair_end: np.ndarray
    mesh_vertex: np.ndarray
    mesh_plane: np.ndarray
    mesh_corner: np.ndarray
    mesh_first_vertex: np.ndarray
    mesh_first_face: np.ndarray
    mesh_first_corner: np.ndarray
    pair_shapes: np.ndarray
    pair_routine: np.ndarray
    pair_stiffness: np.ndarray
    pair_dissipation: np.ndarray
    pair_friction: np.ndarray


class Work(NamedTuple):
    """State, inputs, results and scratch of one simulation.

    Attributes:
        q: (nq) positions; free bodies (x, y, z, qx, qy, qz, qw) in the world.
        v: (nv) velocities; free bodies (linear velocity of the origin, angular), world axes.
        applied: (nv) constant generalised force [Nm or N].
        stiffness: (nv) of the joint's position controller [Nm/rad or N/m].
        drive_damping: (nv) its constant damping [Nm s/rad or N s/m].
        damping_ratio: (nv) its damping relative to critical, 2 ratio sqrt(K m_ii).
        effort_limit: (nv) bound on its effort [Nm or N].
        target: (nv) its target position at the start of the next step.
        target_rate: (nv) change of the target per step.
        contact_impulse: (nv) sum of J^T f h since it was last cleared [Nms or Ns].
        counters: (8) see the names above.
        residuals: norms of the residual in the iterations of the last island's solve [Nms or Ns].
        rotation: (nb, 3, 3) bodies in the world.
        position: (nb, 3) [m].
        motion: (nm, 6) motion columns.
        velocity: (nb, 6) spatial velocities.
        acceleration: (nb, 6) velocity-dependent part of the spatial accelerations.
        force: (nb, 6) spatial bias forces, then summed over subtrees.
        composite_mass: (nb) [kg] of the subtree.
        composite_moment: (nb, 3) first mass moment of the subtree [kg m].
        composite_inertia: (nb, 3, 3) of the subtree about the world origin [kg m^2].
        mass_matrix: (nv, nv) M with the effective armature.
        bias: (nv) C(q, v) v - gravity.
        drive_damping_now: (nv) damping of the position controller at this configuration.
        shape_rotation: (ns, 3, 3) shapes in the world.
        shape_position: (ns, 3) [m].
        hull_position: (nh, 3) centres of the hulls in the world [m].
        contact_pair: (nc) pair.
        contact_depth: (nc) penetration delta [m].
        contact_point: (nc, 3) midway between the witness points [m].
        contact_frame: (nc, 3, 3) rows: two tangents, normal from B into A.
        contact_stiffness: (nc) k [N/m].
        contact_elastic: (nc) k delta at the start of the (sub-)step [N].
        contact_velocity: (nc, 3) in the contact's frame [m/s].
        contact_update: (nc, 3) its change by Newton's update [m/s].
        contact_force: (nc, 3) on A in the contact's frame [N].
        contact_gradient: (nc, 3, 3) minus its derivative by the velocity [N s/m].
        contact_mean_force: (nc, 3) mean over the last step [N].
        edge_trees: (nc, 2) two trees in contact.
        link_first: (nt + 1) first entry of link_tree that is a tree's.
        link_tree: (2 nc) trees that a tree touches.
        tree_island: (nt) island.
        tree_queue: (nt) trees, island by island.
        island_dof: (nt + 1) first row of each island.
        island_contact: (nt + 1) its first entry of contact_order.
        contact_order: (nc) contacts, island by island.
        order: (nv) degree of freedom of a row.
        place: (nv) row of a degree of freedom.
        row_end: (nv) last non-zero column of a row of the system, never decreasing.
        jacobian: (nc, 3, n) its non-zero columns; n is what the widest pair needs.
        jacobian_dof: (nc, n) their degrees of freedom.
        jacobian_row: (nc, n) the rows of these.
        jacobian_columns: (nc) how many there are.
        joint_force: (nv) position controller, friction and limits [Nm or N].
        joint_gradient: (nv) minus its derivative by the velocity.
        joint_piece: (nv) which pieces of the piecewise laws are active.
        joint_shift: (nv) motion since the start of the step, over its sub-steps.
        v_next: (nv) Newton's iterate.
        momentum: (nv) p* = M v0 + h tau.
        system: (nv, nv) Newton's matrix by rows, valid within the envelope.
        right_side: (nv) minus the residual, then Newton's update, by rows.
        update: (nv) Newton's update by degrees of freedom.
        row_buffer: (6) spatial force.
        clip: (3, n, 3) polygons of the narrow phase.
        polytope_point: (n, 6), see Polytope.
        polytope_corner: (m, 3)
        polytope_plane: (m, 4)
        polytope_edge: (l, 2)
    """

    q: np.ndarray
    v: np.ndarray
    applied: np.ndarray
    stiffness: np.ndarray
    drive_damping: np.ndarray
    damping_ratio: np.ndarray
    effort_limit: np.ndarray
    target: np.ndarray
    target_rate: np.ndarray
    contact_impulse: np.ndarray
    counters: np.ndarray
    residuals: np.ndarray
    rotation: np.ndarray
    position: np.ndarray
    motion: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    force: np.ndarray
    composite_mass: np.ndarray
    composite_moment: np.ndarray
    composite_inertia: np.ndarray
    mass_matrix: np.ndarray
    bias: np.ndarray
    drive_damping_now: np.ndarray
    shape_rotation: np.ndarray
    shape_position: np.ndarray
    hull_position: np.ndarray
    contact_pair: np.ndarray
    contact_depth: np.ndarray
    contact_point: np.ndarray
    contact_frame: np.ndarray
    contact_stiffness: np.ndarray
    contact_elastic: np.ndarray
    contact_velocity: np.ndarray
    contact_update: np.ndarray
    contact_force: np.ndarray
    contact_gradient: np.ndarray
    contact_mean_force: np.ndarray
    edge_trees: np.ndarray
    link_first: np.ndarray
    link_tree: np.ndarray
    tree_island: np.ndarray
    tree_queue: np.ndarray
    island_dof: np.ndarray
    island_contact: np.ndarray
    contact_order: np.ndarray
    order: np.ndarray
    place: np.ndarray
    row_end: np.ndarray
    jacobian: np.ndarray
    jacobian_dof: np.ndarray
    jacobian_row: np.ndarray
    jacobian_columns: np.ndarray
    joint_force: np.ndarray
    joint_gradient: np.ndarray
    joint_piece: np.ndarray
    joint_shift: np.ndarray
    v_next: np.ndarray
    momentum: np.ndarray
    system: np.ndarray
    right_side: np.ndarray
    update: np.ndarray
    row_buffer: np.ndarray
    clip: np.ndarray
    polytope_point: np.ndarray
    polytope_corner: np.ndarray
    polytope_plane: np.ndarray
    polytope_edge: np.ndarray


class Meshes(NamedTuple):
    """Convex meshes, a selection of Model."""

    vertex: np.ndarray
    plane: np.ndarray
    corner: np.ndarray
    first_vertex: np.ndarray
    first_face: np.ndarray
    first_corner: np.ndarray


class Polytope(NamedTuple):
    """A polytope inside the Minkowski difference of two shapes, B - A; part of Work.

    Attributes:
        point: (n, 6) its corners, and the points of A they come from [m].
        corner: (m, 3) corners of its triangles, counter-clockwise as seen from outside.
        plane: (m, 4) their outward unit normals and distances from the origin [m].
        edge: (l, 2) border of the triangles that a new corner replaces.
    """

    point: np.ndarray
    corner: np.ndarray
    plane: np.ndarray
    edge: np.ndarray


class Shapes(NamedTuple):
    """Collision shapes and their poses in the world, a selection of Model and Work.

    Attributes:
        kind: (ns) ShapeKind.
        size: (ns, 3), see Model.shape_size.
        rotation: (ns, 3, 3)
        position: (ns, 3) [m].
        meshes: The convex meshes.
    """

    kind: np.ndarray
    size: np.ndarray
    rotation: np.ndarray
    position: np.ndarray
    meshes: Meshes


class Contacts(NamedTuple):
    """What the narrow phase writes, and the pairs it reads, a selection of Model and Work."""

    pair_shapes: np.ndarray
    pair_stiffness: np.ndarray
    counters: np.ndarray
    pair: np.ndarray
    depth: np.ndarray
    stiffness: np.ndarray
    point: np.ndarray
    frame: np.ndarray
    clip: np.ndarray
    polytope: Polytope
