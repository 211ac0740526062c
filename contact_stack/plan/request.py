"""What a plan is asked for on the command line, and how it went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PlanRequest:
    """What to plan.

    Attributes:
        example: Name of the example.
        goal_state: Goal of every state, empty for the example's own.
        mode: How gradients are made.
        samples: Samples per knot.
        iterations: Most iterations.
        seed: Seed of all samples.
        time_budget: [s], 0 for no limit.
    """

    example: str
    goal_state: tuple[float, ...]
    mode: str
    samples: int
    iterations: int
    seed: int
    time_budget: float


@dataclass(frozen=True)
class PlanOutcome:
    """How it went.

    Attributes:
        status: Name of the action's status.
        remedy: What to do about it, empty on success.
        has_plan: Whether the plan may be used.
        states: (T + 1, n) best plan.
        inputs: (T, m) its inputs.
        costs: Cost of the first guess and of every iteration.
        best_cost: The lowest one.
        iterations: Number of iterations.
        seconds: Planning time [s].
    """

    status: str
    remedy: str
    has_plan: bool
    states: np.ndarray
    inputs: np.ndarray
    costs: tuple[float, ...]
    best_cost: float
    iterations: int
    seconds: float


OnIteration = Callable[[int, float, float], None]
"""Called with iteration, cost and best cost."""
