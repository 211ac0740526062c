"""Fixed tendons as a user sees them: lengths and forces by name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contact_core.multibody.rigid_body.arrays import Joints
from tamsi_sim.arrays.data import Tendons, Work
from tamsi_sim.simulation.model import BuiltModel


@dataclass(frozen=True)
class TendonState:
    """A tendon at the end of the last step.

    Attributes:
        length: Its length, in its file's unit.
        velocity: Its change per second.
        force: What it exerts along its length: drive, spring, friction, damping and ends.
    """

    length: float
    velocity: float
    force: float


def tendon_length(tendons: Tendons, joints: Joints, number: int, q: np.ndarray) -> float:
    """Return the length of a tendon, in its file's unit.

    Args:
        tendons: All of them.
        joints: The joints.
        number: Which tendon.
        q: (nq) positions.
    """
    columns = tendons.columns[number]
    positions = q[joints.q[tendons.dof[number, :columns]]]
    return float(tendons.offset[number] + tendons.entry[number, :columns] @ positions)


def tendon_states(built: BuiltModel, work: Work) -> dict[str, TendonState]:
    """Return where tendons are, and what they exerted in the last step.

    Args:
        built: The model.
        work: Its simulation.
    """
    tendons, states = built.arrays.tendons, {}
    for name, t in built.tendons.items():
        dofs, entry = tendons.dof[t, : tendons.columns[t]], tendons.entry[t, : tendons.columns[t]]
        length = tendon_length(tendons, built.arrays.joints, t, work.state.q)
        velocity, force = entry @ work.state.v[dofs], work.tendon_forces.force[t]
        states[name] = TendonState(length, float(velocity), float(force))
    return states
