"""What the page shows at one instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

WAITING = "waiting"
"""State of a page that has heard of no controller."""


@dataclass
class PageState:
    """The latest of everything the page shows; replaced piece by piece as news arrive.

    Attributes:
        time: Since the first state that was heard [s].
        joints: Joint name -> position [rad or m].
        objects: Object name -> (position [m], quaternion x y z w), world frame.
        true_points: (3) true contact points [m], world frame.
        true_forces: (3) true contact forces on the robot [N], world frame; None if nobody knows.
        estimated_points: (3) estimated contact points [m], world frame.
        estimated_forces: (3) estimated contact forces on the robot [N], world frame; None if
            nobody estimates.
        estimated_normals: (3) unit vectors into the robot there, world frame.
        particles: (N, 3) where the estimator's particles are [m], world frame; empty unless wanted.
        reference: (n) joint positions where the reference has the arm [rad]; empty without one.
        beside: Joint name -> position [rad or m] of another run at the same time, if one is shown.
        beside_name: What that run is called.
        beside_force: Magnitude of its contact force at that time [N], NaN if it is not known.
        beside_peak: The largest one of that run [N], likewise.
        name: What this run is called, e.g. its controller; empty if nobody says.
        felt: What the estimator feels, a line of text for each contact.
        force_limit: [N].
        position_error: Of the measured tool from the reference [m], NaN without one.
        rotation_error: Of the measured tool from the reference [rad], NaN without one.
        state: What the controller does, e.g. ``"TRACKING"``.
        status: Why, e.g. ``"FORCE_EXCEEDED"``; empty if nothing is wrong.
        remedy: What to do about it, empty if nothing.
        command: (n) commanded joint positions [rad], base to flange; empty without a command.
        peak: Largest contact force since the picture before [N], NaN if only pictures tell it.
        pace: Simulated seconds that pass in a real one, NaN where time is real.
    """

    time: float = 0.0
    joints: Mapping[str, float] = field(default_factory=dict)
    objects: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    true_points: Sequence[np.ndarray] = ()
    true_forces: Sequence[np.ndarray] | None = None
    estimated_points: Sequence[np.ndarray] = ()
    estimated_forces: Sequence[np.ndarray] | None = None
    estimated_normals: Sequence[np.ndarray] = ()
    particles: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    reference: Sequence[float] = ()
    beside: Mapping[str, float] = field(default_factory=dict)
    beside_name: str = ""
    beside_force: float = np.nan
    beside_peak: float = np.nan
    name: str = ""
    felt: Sequence[str] = ()
    force_limit: float = 0.0
    position_error: float = np.nan
    rotation_error: float = np.nan
    state: str = WAITING
    status: str = ""
    remedy: str = ""
    command: Sequence[float] = ()
    peak: float = np.nan
    pace: float = np.nan

    @property
    def force(self) -> float:
        """The contact force [N]: the true one, or the estimated one if nobody knows that."""
        return self.estimated_force if np.isnan(self.true_force) else self.true_force

    @property
    def largest_force(self) -> float:
        """The largest contact force [N] since the picture before, as far as it is known."""
        return float(np.fmax(self.force, self.peak))

    @property
    def true_force(self) -> float:
        """Magnitude of the sum of the true contact forces [N], NaN if nobody knows them."""
        return _total(self.true_forces)

    @property
    def estimated_force(self) -> float:
        """Magnitude of the sum of the estimated contact forces [N], NaN if nobody estimates."""
        return _total(self.estimated_forces)


def _total(forces: Sequence[np.ndarray] | None) -> float:
    if forces is None:
        return float("nan")
    return float(np.linalg.norm(np.sum(forces, axis=0))) if len(forces) else 0.0
