"""Many plans at a time: seeds, goals, several starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from joblib import Parallel, delayed

from irs_planner.examples import build_problem, example_settings, load_example
from irs_planner.irs_lqr import plan
from irs_planner.problem import PlanningProblem
from irs_planner.result import PlanResult
from irs_planner.settings import PlannerSettings


@dataclass(frozen=True)
class PlanTask:
    """One plan: what and how."""

    problem: PlanningProblem
    settings: PlannerSettings


def plan_all(
    tasks: Sequence[PlanTask], workers: int = 1, backend: str = "loky"
) -> list[PlanResult]:
    """Plan several tasks, in processes of their own.

    Every task is planned from its own seed, so that neither the number of workers nor the
    backend changes a result. On a cluster, register joblib's ``dask`` or ``ray`` backend
    and name it here. Below about 0.1 s per task one worker is faster.

    Args:
        tasks: What to plan.
        workers: Number of processes.
        backend: Any joblib backend.

    Returns:
        One result per task, in their order.
    """
    run = Parallel(n_jobs=workers, backend=backend)
    return list(run(delayed(plan)(task.problem, task.settings) for task in tasks))


def multi_start(
    problem: PlanningProblem,
    settings: PlannerSettings,
    starts: int,
    workers: int = 1,
    backend: str = "loky",
) -> list[PlanResult]:
    """Plan the same problem from several seeds.

    Args:
        problem: The problem.
        settings: Its ``seed`` is the first seed.
        starts: Number of seeds.
        workers: Number of processes.
        backend: Any joblib backend.

    Returns:
        The results, best first.
    """
    tasks = [PlanTask(problem, replace(settings, seed=settings.seed + i)) for i in range(starts)]
    return sorted(plan_all(tasks, workers, backend), key=lambda result: result.cost)


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
