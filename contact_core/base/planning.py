"""What every planner shares: the statuses of a plan, and when planning has to stop early."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from enum import Enum


class PlanStatus(Enum):
    """How planning ended; failure is data. The value says what the caller can do about it.

    The names are those of the planning actions' constants.
    """

    SUCCEEDED = "none needed"
    REACHED_IN_MODEL = (
        "only in the planner's own model does the plan reach its goal: carry it out by looks "
        "(move_objects), or allow more time"
    )
    CONVERGED_SHORT = (
        "warm-start from the result, allow more iterations or a longer horizon, "
        "or raise the final weights"
    )
    ITERATIONS_REACHED = "none needed; more iterations may lower the cost further"
    TIME_BUDGET_REACHED = (
        "the plan is the best iterate: allow more time, ask for fewer knots or stages, or start "
        "from it"
    )
    CANCELED = "the plan is the best iterate when planning was canceled: start from it to go on"
    PREEMPTED = "a newer goal took over: send this one again once that has ended"
    NO_CONTACT = (
        "the robot never touches the object: start closer, raise the standard deviation or "
        "lower the input weights"
    )
    GRADIENT_FLAT = (
        "no input changes the object: use a bundled mode (first, zero or log_barrier), "
        "a larger standard deviation, or start closer to contact"
    )
    GOAL_UNREACHABLE = (
        "inputs are at their bounds almost everywhere: use a longer horizon or wider bounds"
    )
    INITIAL_PENETRATION = "move the robot or the object apart before planning"
    NOT_CONVERGED = (
        "the trajectory is the best iterate: add stages to the continuation, lengthen the "
        "duration, loosen limits or try the other solver"
    )
    RESIDUAL_TOO_LARGE = (
        "the solver claims success but the plan violates its conditions: tighten its tolerance "
        "or end the continuation at a larger penalty or smaller relaxation"
    )
    INFEASIBLE = (
        "near the best iterate no motion satisfies dynamics, limits and risk bounds: lengthen the "
        "duration, loosen limits or risk bounds"
    )
    RISK_UNREACHABLE = (
        "no plan was found that fails this rarely, this is the one that fails least; that is a "
        "search's best and no proof: start from another plan, accept more risk or error, lessen "
        "the uncertainty, measure more values, or loosen limits of force and speed"
    )
    NOT_SEEN = "publish the poses of all objects, and the joints' positions, without a pause"
    NOT_FOLLOWED = "activate the contact-aware controller, or reset it, and send the goal again"
    SOLVER_FAILED = "the contact problem has no solution along the first guess: choose another one"
    SOLVER_MISSING = "install the solver or choose another one"
    INVALID_GOAL = "correct the value"

    @property
    def remedy(self) -> str:
        """What the caller can do about it."""
        return self.value


class StopCondition:
    """A budget of wall-clock time and a request to cancel, cheap enough to ask at every step.

    The limits of solvers count processor time, which is no help to a person who waits.
    """

    def __init__(
        self,
        time_budget: float = math.inf,
        cancelled: Callable[[], bool] | None = None,
        waited: float = 0.0,
    ) -> None:
        """Start the clock.

        Args:
            time_budget: [s]; infinite for no limit.
            cancelled: Whether nobody wants the plan any more; asked from the planning thread.
            waited: Time that has passed since the plan was asked for [s]; it counts as well.
        """
        self._start = time.monotonic() - waited
        self._time_budget = time_budget
        self._cancelled = cancelled

    @property
    def elapsed(self) -> float:
        """Wall-clock time since the plan was asked for [s]."""
        return time.monotonic() - self._start

    @property
    def reason(self) -> PlanStatus | None:
        """Why planning has to stop now, CANCELED or TIME_BUDGET_REACHED; None if it may go on."""
        if self._cancelled is not None and self._cancelled():
            return PlanStatus.CANCELED
        if self.elapsed >= self._time_budget:
            return PlanStatus.TIME_BUDGET_REACHED
        return None
