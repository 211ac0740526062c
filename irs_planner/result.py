"""What planning reports, iteration by iteration and at the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from contact_core.base.planning import PlanStatus

USABLE = (
    PlanStatus.SUCCEEDED,
    PlanStatus.CONVERGED_SHORT,
    PlanStatus.ITERATIONS_REACHED,
    PlanStatus.TIME_BUDGET_REACHED,
)
"""Statuses of plans that may be executed: every iterate obeys the dynamics."""


@dataclass(frozen=True)
class Rollout:
    """A simulated motion.

    Attributes:
        states: (T + 1, n) x.
        inputs: (T, m) u.
        cost: Its reported cost.
    """

    states: np.ndarray
    inputs: np.ndarray
    cost: float


@dataclass(frozen=True)
class IterationTimes:
    """Where the time of one iteration went [s]."""

    linearisation: float
    mpc: float
    rollout: float

    @property
    def total(self) -> float:
        """Their sum [s]."""
        return self.linearisation + self.mpc + self.rollout


@dataclass(frozen=True)
class IterationReport:
    """One iteration of Algorithm 1, as the callback sees it.

    Attributes:
        iteration: k, starting at 1.
        cost: Cost of this iterate, inf if its simulation failed.
        best_cost: Lowest cost so far.
        std: Largest standard deviation of the samples; 0 for exact derivatives.
        goal_error: Norm of the final error of the planned states of the best iterate.
        elapsed: Time since planning began [s].
        times: How this iteration spent it.
        mpc_failures: MPC problems of this iteration that were not solved to optimality.
        flat: Whether no input changed any planned state anywhere.
        final_error: (n) x_T - goal of the best iterate.
    """

    iteration: int
    cost: float
    best_cost: float
    std: float
    goal_error: float
    elapsed: float
    times: IterationTimes
    mpc_failures: int
    flat: bool
    final_error: np.ndarray


TRANSIT, CONTACT = "transit", "contact"
"""Kinds of segments."""


@dataclass(frozen=True)
class Segment:
    """A part of a plan.

    Attributes:
        kind: TRANSIT, where the robot moves and no object does, or CONTACT.
        start: First of its inputs.
        stop: The one after its last input.
    """

    kind: str
    start: int
    stop: int


@dataclass(frozen=True)
class IrsPlan:
    """The best iterate, and how planning went.

    Attributes:
        status: Why planning stopped, or why the result cannot be used.
        message: The status and its remedy, for a person.
        states: (T + 1, n) predicted states, the robot's actual positions among them.
        inputs: (T, m) inputs; commanded positions are what to send to a robot.
        cost: Reported cost of the best iterate.
        costs: Reported cost of the first guess and of every iterate.
        final_error: (n) x_T - goal.
        goal_reached: Whether every final error is within its tolerance; False if all
            tolerances are infinite.
        iterations: One report per iteration.
        link_forces: Link name -> (T, D) sum of the contact forces on it [N]; empty
            for systems without contact.
        seconds: Planning time [s].
        segments: Transits and contact in their order, where global planning found the motion;
            empty for local plans, which do not tell.
    """

    status: PlanStatus
    message: str
    states: np.ndarray
    inputs: np.ndarray
    cost: float
    costs: tuple[float, ...]
    final_error: np.ndarray
    goal_reached: bool
    iterations: tuple[IterationReport, ...]
    link_forces: dict[str, np.ndarray]
    seconds: float
    segments: tuple[Segment, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether the planner did its work and the plan may be executed."""
        return self.status in USABLE and (
            bool(self.iterations) or self.status is not PlanStatus.TIME_BUDGET_REACHED
        )
