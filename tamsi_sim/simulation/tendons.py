"""Fixed tendons as a user sees them: lengths and forces by name."""

from __future__ import annotations

from dataclasses import dataclass

from tamsi_sim.arrays.data import Work
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


def tendon_states(built: BuiltModel, work: Work) -> dict[str, TendonState]:
    """Return where tendons are, and what they exerted in the last step.

    Args:
        built: The model.
        work: Its simulation.
    """
    tendons, states = built.arrays.tendons, {}
    for name, t in built.tendons.items():
        dofs, entry = tendons.dof[t, : tendons.columns[t]], tendons.entry[t, : tendons.columns[t]]
        length = tendons.offset[t] + entry @ work.state.q[built.arrays.joints.q[dofs]]
        velocity, force = entry @ work.state.v[dofs], work.tendon_forces.force[t]
        states[name] = TendonState(float(length), float(velocity), float(force))
    return states
