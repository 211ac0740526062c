"""What the planner answers; failure is data, never an exception."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contact_core.base.planning import PlanStatus
from robust_planner.plan_warnings import PlanWarning
from robust_planner.program import ProgramParameters
from robust_planner.residuals import Residuals
from robust_planner.trajectory import ContactTrajectory


@dataclass(frozen=True, slots=True)
class StageProgress:
    """Where the planner is; what an action server sends as feedback.

    Attributes:
        stage: Name of the stage, e.g. ``"penalty 2/7"``.
        relaxation: s of the stage.
        penalty: rho of the stage.
        residual_weight: alpha of the stage.
        iterations: Solver iterations of the stage so far.
        residual: Largest violated constraint of the program at the best iterate so far.
        elapsed: Wall-clock time since the plan was requested [s].
        finished: Whether the stage has ended.
    """

    stage: str
    relaxation: float
    penalty: float
    residual_weight: float
    iterations: int
    residual: float
    elapsed: float
    finished: bool


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
class RobustPlan:
    """A plan, or the best iterate if there is none.

    Attributes:
        status: How planning ended.
        trajectory: Motion and forces.
        cost: Running cost of eq. (1a), without penalties and expected residuals.
        merit: Score (4) of the uncertain pair, or of the friction cone.
        residuals: Our check of ``trajectory``.
        stages: Every solve, in order; the last one tells the last s, rho and alpha.
        warnings: What the caller should know about the parameters.
        seconds: Wall-clock time [s].
        values: Decision variables (N, n) of ``trajectory``, to start another plan from.
    """

    status: PlanStatus
    trajectory: ContactTrajectory
    cost: float
    merit: float
    residuals: Residuals
    stages: tuple[StageRecord, ...]
    warnings: tuple[PlanWarning, ...]
    seconds: float
    values: np.ndarray

    @property
    def solved(self) -> bool:
        """Whether the plan satisfies its problem."""
        return self.status is PlanStatus.SUCCEEDED
