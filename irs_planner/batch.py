"""Many plans: seeds, goals and starts, side by side or one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from contact_core.base.planning import StopCondition
from contact_core.base.sweep import ALONE, Sweep, Workers
from irs_planner.examples import build_problem, example_settings, load_example
from irs_planner.global_plan import plan_globally
from irs_planner.irs_lqr import plan
from irs_planner.problem import IrsProblem, PlannerSettings
from irs_planner.result import INTERRUPTED, IrsPlan, IterationReport
from irs_planner.search import SearchReport, SearchSettings


@dataclass(frozen=True)
class PlanTask:
    """What to plan and how.

    Attributes:
        problem: What.
        settings: How; its seed is that of the first start.
        starts: Number of independent plans, with seeds counting upwards, of which the best
            counts.
        search: Plan globally, from the first start alone; None: locally.
    """

    problem: IrsProblem
    settings: PlannerSettings
    starts: int = 1
    search: SearchSettings | None = None


@dataclass(frozen=True)
class TaskResult:
    """How a task went.

    Attributes:
        best: The best plan; its status is that of the interruption if there was one.
        iterations: Iterations of all starts together.
        seconds: Time of all starts together, and of what came before them [s].
    """

    best: IrsPlan
    iterations: int
    seconds: float


def run_task(
    task: PlanTask,
    callback: Callable[[IterationReport | SearchReport], None] | None = None,
    stop: StopCondition | None = None,
) -> TaskResult:
    """Plan from every start, one after the other, or globally.

    Args:
        task: The task.
        callback: Called after every iteration, or attempt of a search; iterations, time and best
            cost count over all starts.
        stop: A clock that runs already, instead of the time budget of the settings; either is
            for all starts together.

    Returns:
        The best plan.
    """
    stop = stop or StopCondition(task.settings.time_budget or math.inf)
    if task.search is not None:
        return _search(task.problem, task.search, callback, stop)
    iterations, lowest, best = 0, np.inf, None
    for start in range(task.starts):

        def report(
            step: IterationReport, done: int = iterations, best_before: float = lowest
        ) -> None:
            if callback is not None:
                cost = min(best_before, step.best_cost)
                callback(replace(step, iteration=done + step.iteration, best_cost=cost))

        settings = replace(task.settings, seed=task.settings.seed + start)
        result = plan(task.problem, settings, callback=report, stop=stop)
        iterations += len(result.iterations)
        if best is None or result.cost < best.cost:
            best, lowest = result, result.cost
        if result.status in INTERRUPTED:
            best = replace(best, status=result.status, message=result.message)
            break
    assert best is not None
    return TaskResult(best, iterations, stop.elapsed)


def _search(
    problem: IrsProblem,
    settings: SearchSettings,
    callback: Callable[[SearchReport], None] | None,
    stop: StopCondition,
) -> TaskResult:
    attempts = 0

    def report(step: SearchReport) -> None:
        nonlocal attempts
        attempts = step.attempt
        if callback is not None:
            callback(step)

    best = plan_globally(problem, settings, callback=report, stop=stop)
    return TaskResult(best, attempts, stop.elapsed)


def plan_all(tasks: Sequence[PlanTask], workers: Workers = ALONE) -> list[IrsPlan]:
    """Plan several tasks side by side.

    Every task is planned from its own seed, so that it does not matter to a result who computes
    it. Below about 0.1 s per task one process is faster.

    Args:
        tasks: What to plan.
        workers: Processes of this machine, or a cluster.

    Returns:
        The best plan of every task, in their order.

    Raises:
        ConfigError: If the cluster cannot be reached.
    """
    sweep = Sweep(workers, show=False)
    return [result.best for result in sweep.run(run_task, [(task,) for task in tasks])]


def multi_start(
    problem: IrsProblem, settings: PlannerSettings, starts: int, workers: Workers = ALONE
) -> list[IrsPlan]:
    """Plan the same problem from several seeds.

    Args:
        problem: The problem.
        settings: Its ``seed`` is the first seed.
        starts: Number of seeds.
        workers: Processes of this machine, or a cluster.

    Returns:
        The results, best first.

    Raises:
        ConfigError: If the cluster cannot be reached.
    """
    tasks = [PlanTask(problem, replace(settings, seed=settings.seed + i)) for i in range(starts)]
    return sorted(plan_all(tasks, workers), key=lambda result: result.cost)


def example_task(name: str, settings: PlannerSettings | None = None) -> PlanTask:
    """Return the task of an example.

    Args:
        name: One of :func:`irs_planner.examples.example_names`.
        settings: None for the defaults, with as many iterations as the example states.

    Raises:
        ConfigError: If there is no such example.
    """
    config = load_example(name)
    return PlanTask(build_problem(config), settings or example_settings(config))
