"""What an engine gives its user: contact points, trajectories, and states to come back to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tamsi_sim.arrays.data import Drives, ShearMemory
from tamsi_sim.arrays.status import StepStatus


@dataclass(frozen=True)
class ContactPoint:
    """One contact of the last step, see ``Engine.contacts``.

    Attributes:
        shape_a: Name of collision shape A.
        shape_b: Name of collision shape B.
        link_a: Link of shape A.
        link_b: Link of shape B.
        instance_a: Instance of shape A.
        instance_b: Instance of shape B.
        point: (3) midway between the surfaces, world [m].
        normal: (3) unit vector from B into A, world.
        depth: Penetration at the start of the step [m].
        force: (3) mean force on A over the step, world [N].
        impulse: (3) what it gave A during the step, world [Ns].
        moment: (3) mean moment on A about the point, world [Nm]: torsional and rolling friction.
        slip: Slip speed at the end of the step [m/s].
    """

    shape_a: str
    shape_b: str
    link_a: str
    link_b: str
    instance_a: str
    instance_b: str
    point: np.ndarray
    normal: np.ndarray
    depth: float
    force: np.ndarray
    impulse: np.ndarray
    moment: np.ndarray
    slip: float


@dataclass(frozen=True)
class Trajectory:
    """States at the ends of steps.

    Attributes:
        status: The status of the last step.
        time: (n + 1) since the start [s].
        q: (n + 1, nq) positions; NaN behind a failed step.
        v: (n + 1, nv) velocities.
        contact_force: (n, nv) generalised force of all contacts, the mean over each step; of a
            free body the force on it [N], and the moment about its origin [Nm], in world axes.
        joint_force: (n, nv) of the joints' controllers, friction, damping and end stops, at the
            end of each step [Nm or N].
    """

    status: StepStatus
    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    contact_force: np.ndarray
    joint_force: np.ndarray


@dataclass(frozen=True)
class Snapshot:
    """A state with its inputs, as :meth:`Engine.save` keeps it.

    Attributes:
        q: (nq) positions.
        v: (nv) velocities.
        deflection: (nv) of the springs that joint friction is before it slides [rad or m].
        pace: Length of the next step, where the accuracy is given [s].
        shear: Of the contacts.
        drives: Copies of the inputs.
        commands: Actuator -> command, of those that have been commanded.
        sensors: Sensor -> what it remembers: filter, delay and noise.
    """

    q: np.ndarray
    v: np.ndarray
    deflection: np.ndarray
    pace: float
    shear: ShearMemory
    drives: Drives
    commands: Mapping[str, float]
    sensors: Mapping[str, object]
