"""How soft MuJoCo's contacts have to be to give way like ours.

MuJoCo's contacts have no stiffness in N/m: their softness is a time constant, ``solref``, and
scales with the effective mass. Equal physics is therefore fitted scene by scene: bodies at the
same median depth, on about as many contact points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SAMPLES = 100
"""States of a run of which the contacts are looked at, over its second half."""
CLOSE = 0.2
"""Depth and number of contacts may differ by this share."""
FOUND = 0.02
"""And the depth by this share when the search ends."""
HALVINGS = 12
MAX_TIME_CONSTANT = 0.2  # [s]


@dataclass(frozen=True)
class ContactAgreement:
    """What two simulators have to agree in.

    Attributes:
        depth: Median depth of the contact points over the second half of a run [m].
        count: Mean number of contact points in a state.
    """

    depth: float
    count: float

    @staticmethod
    def of(depths: list[np.ndarray]) -> ContactAgreement:
        """Summarise the depths of contact points in several states.

        Args:
            depths: (n) of each state [m]; points that do not touch, below zero, do not count.
        """
        touching = [depth[depth > 0.0] for depth in depths]
        every = np.concatenate(touching) if touching else np.zeros(0)
        count = float(np.mean([len(depth) for depth in touching])) if touching else 0.0
        return ContactAgreement(float(np.median(every)) if len(every) else 0.0, count)

    def close_to(self, other: ContactAgreement) -> bool:
        """Return whether depth and number are those of another simulator, but for CLOSE."""
        pairs = ((self.depth, other.depth), (self.count, other.count))
        return all(abs(own - its) <= CLOSE * its for own, its in pairs)


@dataclass(frozen=True)
class Fit:
    """The softness that was found.

    Attributes:
        time_constant: The first number of ``solref`` [s].
        contacts: What MuJoCo's contacts are like with it.
        target: What ours are like.
    """

    time_constant: float
    contacts: ContactAgreement
    target: ContactAgreement

    @property
    def equal(self) -> bool:
        """Whether the two are close."""
        return self.contacts.close_to(self.target)

    @property
    def missed(self) -> float:
        """How far the depths are apart [m]."""
        return abs(self.contacts.depth - self.target.depth)


def fit_time_constant(
    target: ContactAgreement, contacts_at: Callable[[float], ContactAgreement], time_step: float
) -> Fit:
    """Find the time constant at which the median depth is ours.

    Args:
        target: What our contacts are like.
        contacts_at: What MuJoCo's are like at a time constant [s].
        time_step: h [s]; MuJoCo is stable from a time constant of 2 h on.

    Returns:
        The closest one between 2 h and MAX_TIME_CONSTANT: the depth grows with the time constant.
    """
    lower, upper = 2.0 * time_step, MAX_TIME_CONSTANT
    best = Fit(lower, contacts_at(lower), target)
    if best.contacts.depth >= target.depth:
        return best
    for _ in range(HALVINGS):
        middle = math.sqrt(lower * upper)
        found = Fit(middle, contacts_at(middle), target)
        if found.missed < best.missed:
            best = found
        if found.missed <= FOUND * target.depth:
            break
        if found.contacts.depth < target.depth:
            lower = middle
        else:
            upper = middle
    return best
