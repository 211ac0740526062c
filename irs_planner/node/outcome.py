"""How a goal ended, in the terms of the action."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from irs_planner.dynamics.dynamics import ContactDynamics
from irs_planner.problem import PlanningProblem
from irs_planner.result import PlanResult
from irs_planner.settings import PlannerSettings
from irs_planner.status import PlanStatus


class Outcome(IntEnum):
    """The statuses of PlanThroughContact's result."""

    SUCCEEDED = 0
    CONVERGED_SHORT = 1
    TIME_BUDGET_REACHED = 2
    ITERATIONS_REACHED = 3
    CANCELED = 4
    NO_CONTACT = 5
    GRADIENT_FLAT = 6
    GOAL_UNREACHABLE = 7
    INITIAL_PENETRATION = 8
    SOLVER_FAILED = 9
    INVALID_GOAL = 10
    PREEMPTED = 11

    @property
    def has_plan(self) -> bool:
        """Whether the planner did its work and the plan may be executed."""
        return self <= Outcome.ITERATIONS_REACHED


_OUTCOMES = {
    PlanStatus.CONVERGED: Outcome.SUCCEEDED,
    PlanStatus.ITERATION_LIMIT: Outcome.ITERATIONS_REACHED,
    PlanStatus.TIME_BUDGET: Outcome.TIME_BUDGET_REACHED,
    PlanStatus.CANCELLED: Outcome.CANCELED,
    PlanStatus.GRADIENT_FLAT: Outcome.GRADIENT_FLAT,
    PlanStatus.NO_CONTACT: Outcome.NO_CONTACT,
    PlanStatus.UNREACHABLE: Outcome.GOAL_UNREACHABLE,
    PlanStatus.INITIAL_PENETRATION: Outcome.INITIAL_PENETRATION,
    PlanStatus.NOT_FINITE: Outcome.SOLVER_FAILED,
}


def outcome_of(result: PlanResult, settings: PlannerSettings) -> Outcome:
    """Return the action's status of a plan.

    Args:
        result: The plan.
        settings: How it was made.
    """
    if result.status is PlanStatus.GOAL_MISSED:
        converged = len(result.iterations) < settings.iterations
        return Outcome.CONVERGED_SHORT if converged else Outcome.ITERATIONS_REACHED
    return _OUTCOMES[result.status]


def remedy_of(result: PlanResult, problem: PlanningProblem, outcome: Outcome) -> str:
    """Say what a person can do about a plan, with the value that is wrong.

    Args:
        result: The plan.
        problem: What was planned.
        outcome: How it ended.

    Returns:
        The remedy, empty on success.
    """
    if outcome is Outcome.SUCCEEDED:
        return ""
    if outcome is Outcome.PREEMPTED:
        return "a newer goal took over; best so far returned: warm-start from it"
    text = result.status.remedy
    if outcome is Outcome.INITIAL_PENETRATION and isinstance(problem.dynamics, ContactDynamics):
        depth = problem.dynamics.penetration(problem.initial_state)
        return (
            f"bodies overlap by {depth:.4f} m (allowed {problem.allowed_penetration:g} m): {text}"
        )
    missed = _missed(result, problem)
    return f"{missed}: {text}" if missed else text


def _missed(result: PlanResult, problem: PlanningProblem) -> str:
    """Name the state that is farthest from its goal, empty if none is beyond its tolerance."""
    error, tolerance = np.abs(result.final_error), problem.tolerance
    if not (error > tolerance).any():
        return ""
    i = int(np.argmax(error / tolerance))
    name = problem.dynamics.state_names[i]
    return f"{name} ends {error[i]:.4g} from its goal (tolerance {tolerance[i]:g})"
