"""What the planner answers; failure is data, never an exception."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from robust_planner.advice import Advice
from robust_planner.program import ProgramParameters
from robust_planner.residuals import Residuals
from robust_planner.trajectory import Trajectory


class PlanStatus(IntEnum):
    """How planning ended."""

    SOLVED = 0
    NOT_CONVERGED = 1
    RESIDUAL_TOO_LARGE = 2
    BUDGET_EXHAUSTED = 3
    CANCELLED = 4

    @property
    def remedy(self) -> str:
        """What the caller can do about it."""
        return _REMEDIES[self]


_REMEDIES = {
    PlanStatus.SOLVED: "none needed",
    PlanStatus.NOT_CONVERGED: (
        "the trajectory is the best iterate: add stages to the continuation, lengthen the "
        "duration, loosen limits or try the other solver"
    ),
    PlanStatus.RESIDUAL_TOO_LARGE: (
        "the solver claims success but the plan violates its conditions: tighten its tolerance "
        "or end the continuation at a larger penalty or smaller relaxation"
    ),
    PlanStatus.BUDGET_EXHAUSTED: (
        "the trajectory is the best iterate: allow more time, or fewer knots or stages"
    ),
    PlanStatus.CANCELLED: "the trajectory is the best iterate when the plan was cancelled",
}


@dataclass(frozen=True)
class StageRecord:
    """One solve of the continuation.

    Attributes:
        name: For instance ``"penalty 1/1"``.
        parameters: s, rho and alpha.
        iterations: Solver iterations.
        seconds: Wall-clock time [s].
        converged: Whether the solver claimed a local optimum.
        message: The solver's own words.
        residuals: Our check of the iterate it returned.
    """

    name: str
    parameters: ProgramParameters
    iterations: int
    seconds: float
    converged: bool
    message: str
    residuals: Residuals


@dataclass(frozen=True)
class PlanResult:
    """A plan, or the best iterate if there is none.

    Attributes:
        status: How planning ended.
        trajectory: Motion and forces.
        cost: Running cost of eq. (1a), without penalties and expected residuals.
        merit: Score (4) of the uncertain pair, or of the friction cone.
        residuals: Our check of ``trajectory``.
        stages: Every solve, in order; the last one tells the last s, rho and alpha.
        advice: What the caller should know about the parameters.
        seconds: Wall-clock time [s].
        values: Decision variables (N, n) of ``trajectory``, to start another plan from.
    """

    status: PlanStatus
    trajectory: Trajectory
    cost: float
    merit: float
    residuals: Residuals
    stages: tuple[StageRecord, ...]
    advice: tuple[Advice, ...]
    seconds: float
    values: np.ndarray

    @property
    def solved(self) -> bool:
        """Whether the plan satisfies its problem."""
        return self.status == PlanStatus.SOLVED
