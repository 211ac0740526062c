"""How a plan ended; failure is data."""

from __future__ import annotations

from enum import StrEnum


class PlanStatus(StrEnum):
    """The reason why planning stopped, or why its result cannot be used."""

    CONVERGED = "converged"
    ITERATION_LIMIT = "iteration limit"
    TIME_BUDGET = "time budget reached"
    CANCELLED = "cancelled"
    GOAL_MISSED = "goal missed"
    GRADIENT_FLAT = "gradient flat"
    NO_CONTACT = "no contact ever made"
    UNREACHABLE = "goal unreachable within the bounds"
    INITIAL_PENETRATION = "initial state penetrates"
    NOT_FINITE = "simulation failed"

    @property
    def usable(self) -> bool:
        """Whether the best iterate may be executed as far as the planner can tell."""
        return self in _USABLE

    @property
    def remedy(self) -> str:
        """What the caller can do about it."""
        return _REMEDIES[self]


_USABLE = (
    PlanStatus.CONVERGED,
    PlanStatus.ITERATION_LIMIT,
    PlanStatus.TIME_BUDGET,
    PlanStatus.CANCELLED,
)
_REMEDIES = {
    PlanStatus.CONVERGED: "none needed",
    PlanStatus.ITERATION_LIMIT: "none needed; more iterations may lower the cost further",
    PlanStatus.TIME_BUDGET: "best so far returned; allow more time or warm-start from it",
    PlanStatus.CANCELLED: "best so far returned; warm-start from it to go on",
    PlanStatus.GOAL_MISSED: (
        "warm-start from the result, allow more iterations or a longer horizon, "
        "or raise the final weights"
    ),
    PlanStatus.GRADIENT_FLAT: (
        "no input changes the object: use a bundled mode (first, zero or log_barrier), "
        "a larger standard deviation, or start closer to contact"
    ),
    PlanStatus.NO_CONTACT: (
        "the robot never touches the object: start closer, raise the standard deviation or "
        "lower the input weights"
    ),
    PlanStatus.UNREACHABLE: (
        "inputs are at their bounds almost everywhere: use a longer horizon or wider bounds"
    ),
    PlanStatus.INITIAL_PENETRATION: "move the robot or the object apart before planning",
    PlanStatus.NOT_FINITE: (
        "the contact problem has no solution along the first guess: choose another one"
    ),
}
