"""Which contact is open, stuck or sliding when."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import Enum

import numpy as np

from robust_planner.model.contact_model import ContactModel
from robust_planner.trajectory import ContactTrajectory

# Contacts with less force are open [N]; slower ones stick [m/s].
OPEN_FORCE = 1e-2
STICKING_SPEED = 1e-2


class ContactState(Enum):
    """What a contact point does."""

    OPEN = "open"
    STICKING = "sticking"
    SLIDING = "sliding"


@dataclass(frozen=True)
class ContactPhase:
    """An interval in which a contact point does not change its mode.

    Attributes:
        contact: Name of the contact point.
        mode: What it does.
        start: Time of the first knot [s].
        end: Time of the last knot [s].
    """

    contact: str
    mode: ContactState
    start: float
    end: float


def contact_schedule(trajectory: ContactTrajectory, model: ContactModel) -> list[ContactPhase]:
    """Read the contact sequence off a plan.

    Args:
        trajectory: The plan.
        model: Its model.

    Returns:
        The phases, contact by contact, in the order of time.
    """
    phases = []
    # No force is planned for the first knot: nothing acted before it.
    time = trajectory.time
    # Not the slack gamma: robust plans may lift it where nothing moves.
    speed = trajectory.tangent_velocity(model)[1:].max(axis=2)
    for index, contact in enumerate(model.contact_names):
        loaded = trajectory.normal_force[1:, index] > OPEN_FORCE
        moving = speed[:, index] > STICKING_SPEED
        codes = np.where(loaded, np.where(moving, 2, 1), 0)
        cuts = np.flatnonzero(np.diff(codes)) + 1
        edges = [0, *cuts.tolist(), len(codes)]
        for first, last in itertools.pairwise(edges):
            mode = list(ContactState)[codes[first]]
            phases.append(ContactPhase(contact, mode, float(time[first]), float(time[last])))
    return phases
