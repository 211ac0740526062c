"""The contacts beside the one that is being looked for.

They stay at the places already known, but their forces are free within their friction
pyramids.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contact_aware_control.estimation.friction_cone import RAYS, contact_frame
from contact_aware_control.estimation.measurement import Measurement, jacobian_column
from contact_stack.core.kernel import kernel


class Companions(NamedTuple):
    """The contacts beside the one that is looked for, K of them.

    Their forces are expected to stay near what they were: without that, two forces and a place
    would be more unknowns than most arms have torques.

    Attributes:
        rays: (4 K, n) whitened joint torque of a unit force along each edge of their pyramids.
        edges: (4 K, 3) those edges, world frame.
        force: (K, 3) expected forces, world frame [N].
        precision: Reciprocal of the forces' standard deviation [1/N].
    """

    rays: np.ndarray
    edges: np.ndarray
    force: np.ndarray
    precision: float


def new_companions(count: int, joints: int, deviation: float) -> Companions:
    """Return room for the companions of a contact.

    Args:
        count: Their number K.
        joints: Number of joints n.
        deviation: Standard deviation of their forces [N].
    """
    return Companions(
        rays=np.zeros((RAYS * count, joints)),
        edges=np.zeros((RAYS * count, 3)),
        force=np.zeros((count, 3)),
        precision=1.0 / deviation,
    )


@kernel
def write_companion(
    measurement: Measurement,
    joints: int,
    point: np.ndarray,
    inward: np.ndarray,
    friction: float,
    companions: Companions,
    index: int,
) -> None:
    """Write what a contact that is known contributes to the fit of another one.

    Args:
        measurement: Kinematics and precision.
        joints: How many joints move the contact.
        point: (3) its place, world frame [m].
        inward: (3) its normal INTO the robot, world frame.
        friction: Half the width of its pyramid.
        companions: Its rays and edges are written.
        index: Its index among them.
    """
    ux, uy, uz, vx, vy, vz, nx, ny, nz = contact_frame(inward[0], inward[1], inward[2])
    for i in range(RAYS):
        along_u = friction * (1.0 - 2.0 * i) if i < 2 else 0.0
        along_v = friction * (5.0 - 2.0 * i) if i >= 2 else 0.0
        edge = companions.edges[RAYS * index + i]
        edge[0] = nx + along_u * ux + along_v * vx
        edge[1] = ny + along_u * uy + along_v * vy
        edge[2] = nz + along_u * uz + along_v * vz
        ray = companions.rays[RAYS * index + i]
        ray[:] = 0.0
        for k in range(joints):
            jx, jy, jz = jacobian_column(measurement, k, point[0], point[1], point[2])
            ray[k] = jx * edge[0] + jy * edge[1] + jz * edge[2]


@kernel
def expect_forces(companions: Companions, gram: np.ndarray, rhs: np.ndarray) -> float:
    """Add |f_i - expected f_i|^2 / s^2 of each companion; return its constant part."""
    square = companions.precision**2
    constant = 0.0
    for c in range(companions.force.shape[0]):
        for d in range(3):
            constant += square * companions.force[c, d] ** 2
        for i in range(RAYS * c, RAYS * (c + 1)):
            for d in range(3):
                rhs[RAYS + i] += square * companions.edges[i, d] * companions.force[c, d]
            for j in range(RAYS * c, RAYS * (c + 1)):
                for d in range(3):
                    gram[RAYS + i, RAYS + j] += (
                        square * companions.edges[i, d] * companions.edges[j, d]
                    )
    return constant
