"""How a motion is searched for, and what a search reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contact_core.base.config import parameter

SEARCH, SHORTEN, TRY_OUT = "search", "shorten", "try out"
"""Phases of a search."""


@dataclass(frozen=True)
class SearchSettings:
    """Settings of the global planner; none of them knows the scale of a scene but clearance."""

    seed: int = parameter(0, "seed of all random samples", low=0)
    time_budget: float = parameter(
        0.0, "time after which the best plan so far is returned; 0 for no limit", unit="s", low=0.0
    )
    attempts: int = parameter(2000, "attempts to extend the tree until the search gives up", low=1)
    force: float = parameter(
        0.0,
        "largest force of a robot on anything while it pushes; 0 for no limit",
        unit="N",
        low=0.0,
    )
    hold: bool = parameter(
        True, "whether objects may also be squeezed and moved as one body with the robot"
    )
    lean: bool = parameter(
        True, "whether robots may touch what is fixed, on their way or to lean on it"
    )
    clearance: float = parameter(
        0.005, "distance at which a robot passes objects and begins to push", unit="m", above=0.0
    )
    slack: float = parameter(
        1.0, "largest motion of an object while nothing should touch it, in tolerances", above=0.0
    )
    shortening: float = parameter(
        1.0, "attempts to shorten the first plan, relative to 20 more than it took", low=0.0
    )
    refinements: int = parameter(5, "iterations of iRS-LQR for every contact segment", low=0)
    height: float = parameter(
        1.0,
        "where things are touched at most, as a share of the height of their centre of mass above "
        "what they stand on; 1 for anywhere",
        above=0.0,
        high=1.0,
    )
    judge: str = parameter(
        "", "who carries a plan out before it is called good; empty: who is installed, none: nobody"
    )
    judge_budget: float = parameter(
        60.0,
        "time after which the judge of a plan is not waited for any more; 0 for no limit",
        unit="s",
        low=0.0,
    )

    @classmethod
    def within(cls, budget: float, seed: int) -> SearchSettings:
        """Return the defaults with a budget of time, which is the judge's as well if it is longer.

        Args:
            budget: The time budget [s].
            seed: The seed.
        """
        return cls(seed, budget, judge_budget=max(budget, cls.judge_budget))


@dataclass(frozen=True)
class SearchReport:
    """One attempt of a search, as the callback sees it.

    Attributes:
        attempt: Its number, starting at 1 in every part of the way.
        nodes: Nodes of the tree.
        distance: From the goal of this part of the way to the nearest node, root of the sum of
            squares of the objects' errors in tolerances.
        steps: Length of the best plan, 0 as long as there is none.
        elapsed: Time since planning began [s].
        phase: What the search does: SEARCH, SHORTEN or TRY_OUT.
        inputs: (T, n_a) of the best plan, where this attempt found it; else None.
    """

    attempt: int
    nodes: int
    distance: float
    steps: int
    elapsed: float
    phase: str = SEARCH
    inputs: np.ndarray | None = None
