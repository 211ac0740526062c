"""What kernels read of rigid bodies, and what they compute.

Sizes: nb moving bodies, nm motion columns, nq positions, nv velocities (degrees of freedom),
nt trees, nw velocities of the widest tree.

A motion column is the spatial velocity of a body per unit of one degree of freedom. A free
body has six columns, a ball joint three, another joint one; a mimic joint has a column of its
own that is driven by its master's degree of freedom.

A tree is what the mass matrix couples: the degrees of freedom of one instance, or of a floating
body of it with what it carries.

Spatial vectors are (angular, linear), expressed in world axes about the world origin.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np


class Bodies(NamedTuple):
    """Moving bodies, how joints connect them, and their motion columns.

    Attributes:
        parent: (nb) parent body, -1 for the world; parents come first.
        joint_type: (nb) REVOLUTE, PRISMATIC, FREE or BALL.
        joint_axis: (nb, 3) unit axis in the joint's frame.
        joint_rotation: (nb, 3, 3) joint's frame in the parent's; where q = 0 it is the body's.
        joint_position: (nb, 3) [m].
        joint_ratio: (nb) joint coordinate per master coordinate; 1 unless mimic.
        joint_offset: (nb) joint coordinate where the master's is zero.
        q_index: (nb) first entry in q; a mimic joint's is its master's.
        first_column: (nb) first motion column.
        last_column: (nb) last motion column of the body or of its nearest moving ancestor.
        column_dof: (nm) degree of freedom that drives the column.
        column_parent: (nm) next column towards the world, -1 at its end.
    """

    parent: Annotated[np.ndarray, int, "nb"]
    joint_type: Annotated[np.ndarray, int, "nb"]
    joint_axis: Annotated[np.ndarray, float, "nb", 3]
    joint_rotation: Annotated[np.ndarray, float, "nb", 3, 3]
    joint_position: Annotated[np.ndarray, float, "nb", 3]
    joint_ratio: Annotated[np.ndarray, float, "nb"]
    joint_offset: Annotated[np.ndarray, float, "nb"]
    q_index: Annotated[np.ndarray, int, "nb"]
    first_column: Annotated[np.ndarray, int, "nb"]
    last_column: Annotated[np.ndarray, int, "nb"]
    column_dof: Annotated[np.ndarray, int, "nm"]
    column_parent: Annotated[np.ndarray, int, "nm"]


class Inertias(NamedTuple):
    """Inertia and weight of the moving bodies.

    Attributes:
        mass: (nb) [kg].
        center: (nb, 3) centre of mass in the body's frame [m].
        inertia: (nb, 3, 3) about the centre of mass, body axes [kg m^2].
        gravity: (nb, 3) [m/s^2]; zero where a controller compensates it.
    """

    mass: Annotated[np.ndarray, float, "nb"]
    center: Annotated[np.ndarray, float, "nb", 3]
    inertia: Annotated[np.ndarray, float, "nb", 3, 3]
    gravity: Annotated[np.ndarray, float, "nb", 3]


class Joints(NamedTuple):
    """Degrees of freedom; those of free bodies and ball joints have armature and damping only.

    Attributes:
        q: (nv) entry of q, -1 for those of free bodies and ball joints.
        armature: (nv) effective rotor inertia [kg m^2 or kg].
        damping: (nv) viscous joint damping [Nm s/rad or N s/m].
        friction: (nv) kinetic (Coulomb) friction of the joint [Nm or N].
        static_excess: (nv) what its friction at rest has more [Nm or N].
        stribeck_velocity: (nv) at which 1/e of this excess is left [rad/s or m/s].
        presliding_stiffness: (nv) of the spring that friction is before it slides [Nm/rad or
            N/m]; 0 where it is regularised instead.
        stiffness: (nv) of the joint's spring [Nm/rad or N/m].
        rest: (nv) position at which it exerts nothing [rad or m].
        lower: (nv) position limit; infinite if there is none.
        upper: (nv) position limit.
        limit_stiffness: (nv) stiffness of the joint's end stop [Nm/rad or N/m].
        limit_dissipation: (nv) dissipation of the end stop [s/rad or s/m].
    """

    q: Annotated[np.ndarray, int, "nv"]
    armature: Annotated[np.ndarray, float, "nv"]
    damping: Annotated[np.ndarray, float, "nv"]
    friction: Annotated[np.ndarray, float, "nv"]
    static_excess: Annotated[np.ndarray, float, "nv"]
    stribeck_velocity: Annotated[np.ndarray, float, "nv"]
    presliding_stiffness: Annotated[np.ndarray, float, "nv"]
    stiffness: Annotated[np.ndarray, float, "nv"]
    rest: Annotated[np.ndarray, float, "nv"]
    lower: Annotated[np.ndarray, float, "nv"]
    upper: Annotated[np.ndarray, float, "nv"]
    limit_stiffness: Annotated[np.ndarray, float, "nv"]
    limit_dissipation: Annotated[np.ndarray, float, "nv"]


class Trees(NamedTuple):
    """Which degrees of freedom belong together.

    Attributes:
        first_dof: (nt + 1) first degree of freedom of each tree, then nv.
        of_dof: (nv) tree.
        elimination: (nv) order of the degrees of freedom in Newton's matrix, tree by tree: from
            the leaves to the root where a tree branches, so that branches stay apart.
    """

    first_dof: Annotated[np.ndarray, int, "nt + 1"]
    of_dof: Annotated[np.ndarray, int, "nv"]
    elimination: Annotated[np.ndarray, int, "nv"]


class State(NamedTuple):
    """Positions and velocities.

    Attributes:
        q: (nq) positions; free bodies (x, y, z, qx, qy, qz, qw) in the world, ball joints
            (qx, qy, qz, qw) in the joint's frame.
        v: (nv) velocities; free bodies (linear velocity of the origin, angular), world axes;
            ball joints the angular velocity relative to the parent, in the axes of the joint's
            frame, which is fixed in the parent.
    """

    q: Annotated[np.ndarray, float, "nq"]
    v: Annotated[np.ndarray, float, "nv"]


class Kinematics(NamedTuple):
    """Where bodies are, and how they move.

    Attributes:
        rotation: (nb, 3, 3) bodies in the world.
        position: (nb, 3) [m].
        motion: (nm, 6) motion columns.
        velocity: (nb, 6) spatial velocities.
        acceleration: (nb, 6) velocity-dependent part of the spatial accelerations.
    """

    rotation: Annotated[np.ndarray, float, "nb", 3, 3]
    position: Annotated[np.ndarray, float, "nb", 3]
    motion: Annotated[np.ndarray, float, "nm", 6]
    velocity: Annotated[np.ndarray, float, "nb", 6]
    acceleration: Annotated[np.ndarray, float, "nb", 6]


class BodyDynamics(NamedTuple):
    """Mass matrix and bias forces, and the subtrees they are summed over.

    Attributes:
        mass_matrix: (nv, nw) rows of M with the effective armature, within their trees: entry
            (i, j) is in column j - first_dof of i's tree.
        bias: (nv) C(q, v) v - gravity.
        force: (nb, 6) spatial bias forces, then summed over subtrees.
        composite_mass: (nb) [kg] of the subtree.
        composite_moment: (nb, 3) first mass moment of the subtree [kg m].
        composite_inertia: (nb, 3, 3) of the subtree about the world origin [kg m^2].
        mobility: (nb) one over the mass of the subtree, with the armature of a free body [1/kg].
        momentum: (6) scratch, a column's spatial momentum.
    """

    mass_matrix: Annotated[np.ndarray, float, "nv", "nw"]
    bias: Annotated[np.ndarray, float, "nv"]
    force: Annotated[np.ndarray, float, "nb", 6]
    composite_mass: Annotated[np.ndarray, float, "nb"]
    composite_moment: Annotated[np.ndarray, float, "nb", 3]
    composite_inertia: Annotated[np.ndarray, float, "nb", 3, 3]
    mobility: Annotated[np.ndarray, float, "nb"]
    momentum: Annotated[np.ndarray, float, 6]


class Jacobian(NamedTuple):
    """Contact Jacobians, their non-zero columns only; n is what the widest pair needs.

    Attributes:
        entry: (nc, 3, n) velocity of A relative to B in the contact's frame per unit of a
            degree of freedom.
        dof: (nc, n) degrees of freedom of the columns.
        columns: (nc) how many there are.
    """

    entry: Annotated[np.ndarray, float, "nc", 3, "n"]
    dof: Annotated[np.ndarray, np.uint64, "nc", "n"]
    columns: Annotated[np.ndarray, int, "nc"]
