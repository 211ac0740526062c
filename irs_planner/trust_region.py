"""An optional last phase: accept an iterate only if it is better.

Algorithm 1 moves on to every new iterate, and its input bounds are centred at the actual
robot positions. This phase stays at the best iterate, centres its region at the COMMANDS
of that iterate, and shrinks it whenever a step fails; it therefore reaches lower costs,
but the bound |u - q_a| of an example no longer holds for its result.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from contact_core.planning import StopCondition
from irs_planner.iteration import iterate
from irs_planner.mpc import MpcSolver
from irs_planner.problem import IrsProblem
from irs_planner.progress import IterateHistory
from irs_planner.result import IterationReport
from irs_planner.settings import PlannerSettings

SHRINK, GROW = 0.5, 1.5
SMALLEST = 1e-3  # of the first radius


def refine(
    problem: IrsProblem,
    settings: PlannerSettings,
    progress: IterateHistory,
    generator: np.random.Generator,
    mpc: MpcSolver,
    stop: StopCondition,
    callback: Callable[[IterationReport], None] | None,
) -> None:
    """Improve the best iterate with a trust region.

    The samples shrink with the region.

    Args:
        problem: The problem.
        settings: Number of refinements and first radius.
        progress: Where iterates are recorded.
        generator: Source of the samples.
        mpc: Solver of the MPC problems.
        stop: Asked at every step.
        callback: Called after every iteration.
    """
    radius = settings.trust_radius
    first_scale = problem.schedule.scale(len(progress.reports) + 1)
    for _ in range(settings.refinements):
        if stop.reason is not None or radius < SMALLEST * settings.trust_radius:
            return
        best = progress.best
        scale = max(problem.schedule.floor, first_scale * radius / settings.trust_radius)
        result = iterate(problem, settings, best, scale, generator, mpc, stop, radius)
        if result.trajectory is None:
            return
        report = progress.add(result, result.trajectory, stop.elapsed)
        if callback is not None:
            callback(report)
        radius *= GROW if result.trajectory.cost < best.cost else SHRINK
