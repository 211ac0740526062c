"""One goal's planning: what, how, and from how many starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Event

import numpy as np

from irs_planner.irs_lqr import plan
from irs_planner.problem import PlanningProblem
from irs_planner.result import IterationReport, PlanResult
from irs_planner.settings import PlannerSettings
from irs_planner.status import PlanStatus
from irs_planner.stop_condition import StopCondition

INTERRUPTED = (PlanStatus.CANCELLED, PlanStatus.TIME_BUDGET)


@dataclass(frozen=True)
class PlanningTask:
    """What a goal asks for.

    Attributes:
        problem: What to plan.
        settings: How; its seed is that of the first start.
        starts: Number of independent plans, with seeds counting upwards.
    """

    problem: PlanningProblem
    settings: PlannerSettings
    starts: int = 1


@dataclass(frozen=True)
class TaskResult:
    """How a task went.

    Attributes:
        best: The best plan; its status is that of the interruption if there was one.
        iterations: Iterations of all starts together.
        seconds: Time of all starts together, and of what came before them [s].
    """

    best: PlanResult
    iterations: int
    seconds: float


def run_task(
    task: PlanningTask,
    on_iteration: Callable[[IterationReport], None],
    cancel: Event,
    waiting: float = 0.0,
) -> TaskResult:
    """Plan from every start, one after the other.

    Args:
        task: The task; its time budget is that of all starts together.
        on_iteration: Called after every iteration; iterations, time and best cost count
            over all starts.
        cancel: Set it from another thread to stop.
        waiting: Time that has passed since the budget began [s]; it counts as well.

    Returns:
        The best plan.
    """
    stop = StopCondition()
    iterations, lowest, best = 0, np.inf, None
    for start in range(task.starts):
        before, done, best_before = waiting + stop.elapsed, iterations, lowest

        def report(
            step: IterationReport,
            before: float = before,
            done: int = done,
            best_before: float = best_before,
        ) -> None:
            on_iteration(
                replace(
                    step,
                    iteration=done + step.iteration,
                    best_cost=min(best_before, step.best_cost),
                    elapsed=before + step.elapsed,
                )
            )

        settings = replace(
            task.settings,
            seed=task.settings.seed + start,
            time_budget=_rest(task.settings.time_budget, before),
        )
        result = plan(task.problem, settings, callback=report, cancel=cancel)
        iterations += len(result.iterations)
        if best is None or result.cost < best.cost:
            best, lowest = result, result.cost
        if result.status in INTERRUPTED:
            best = replace(best, status=result.status, message=result.message)
            break
    assert best is not None
    return TaskResult(best, iterations, waiting + stop.elapsed)


def relative_error(error: np.ndarray, tolerance: np.ndarray) -> float:
    """Return the largest error relative to its tolerance.

    Args:
        error: (n) final error.
        tolerance: (n) what counts as reached, inf where the error does not matter.

    Returns:
        At most 1 if the goal is reached; NaN if no entry has a tolerance.
    """
    checked = np.isfinite(tolerance)
    if not checked.any():
        return float("nan")
    return float(np.max(np.abs(error[checked]) / tolerance[checked]))


def _rest(time_budget: float, elapsed: float) -> float:
    """Return what is left of a time budget [s]; 0 stands for no limit."""
    return max(time_budget - elapsed, 1e-9) if time_budget > 0.0 else 0.0
