"""How often controls fail in the world: in many worlds, and whatever the time step.

Time stepping is of first order: halving the step changes a motion by about as much as it is still
off. In a single world that may happen to be little, since it depends on when in a step a body comes
to rest; what most worlds change by is told apart from chance. Worlds that this could carry across a
bound are simulated again, with half the step.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from contact_core.base.planning import StopCondition
from robust_planner.evaluation.time_stepping import WorldsSimulator, simulate_worlds
from robust_planner.problem import RobustProblem
from robust_planner.risk.failure import FailureConfig, FailureRate, severity, use_of_bounds
from robust_planner.risk.settings import RiskSettings
from robust_planner.risk.worlds import Worlds

JUMP = 8
"""First refinement of the time step: two long steps may agree on a wrong answer."""
REFINEMENTS = 10
"""Largest number of refinements; with fewer worlds left each takes as long as the one before."""
USUAL = 0.98
"""Share of the worlds that a halving changes by less than what all are taken to be off by."""
WORLDS_A_PART = 32
"""Number of worlds that are simulated at once, before the clock is looked at."""
RESOLUTION = 0.25
"""Share of the half width of the confidence interval that may stay undecided."""


def first_substeps(problem: RobustProblem, failure: FailureConfig, settings: RiskSettings) -> int:
    """Return the number of steps from knot to knot with which simulations begin.

    Args:
        problem: The problem.
        failure: What counts as a failure.
        settings: How fine they are for an impact, and for corners.
    """
    if failure.impact_speed == 0.0 and not problem.model.obstacles:
        return 1
    return math.ceil(problem.time_step / settings.impact_step - 1e-9)


def failure_rate(
    problem: RobustProblem,
    failure: FailureConfig,
    controls: np.ndarray,
    worlds: Worlds,
    simulate: WorldsSimulator = simulate_worlds,
    confidence: float = 0.95,
) -> FailureRate:
    """Execute controls in many worlds and count failures.

    Args:
        problem: The problem.
        failure: What counts as a failure.
        controls: u (N, nu) [N, Nm].
        worlds: The worlds.
        simulate: What executes them.
        confidence: Of the interval.

    Returns:
        The rate.
    """
    failed = _severity(problem, failure, controls, worlds, simulate) > 1.0
    return FailureRate(int(failed.sum()), len(worlds), confidence)


def true_rate(
    problem: RobustProblem,
    failure: FailureConfig,
    controls: np.ndarray,
    worlds: Worlds,
    substeps: int = 1,
    confidence: float = 0.95,
    enough: float = 1.0,
    stop: StopCondition | None = None,
) -> FailureRate:
    """Execute controls in many worlds, with ever shorter steps, and count failures.

    Args:
        problem: The problem.
        failure: What counts as a failure.
        controls: u (N, nu) [N, Nm].
        worlds: The worlds.
        substeps: Steps from knot to knot to begin with.
        confidence: Of the interval.
        enough: Of a rate that is certainly above this no more is told.
        stop: Ends it early, with fewer worlds, and more that are undecided.

    Returns:
        The rate, with the worlds that no step has decided.
    """

    def use(chosen: np.ndarray) -> np.ndarray:
        """Return how the first of some worlds use their bounds: as many as there is time for."""
        step, used = partial(simulate_worlds, substeps=substeps), list[np.ndarray]()
        for first in range(0, len(chosen), WORLDS_A_PART):
            some = worlds.select(chosen[first : first + WORLDS_A_PART])
            used.append(_severity(problem, failure, controls, some, step))
            if stop is not None and stop.reason is not None:
                break
        return np.concatenate(used)

    # Measured values are drawn again and again.
    undecided, often = worlds.distinct()
    failed = np.zeros(len(worlds), dtype=bool)
    before, off = use(undecided), 0.0
    often[undecided[len(before) :]] = 0
    undecided, count = undecided[: len(before)], int(often.sum())
    for refinement in range(REFINEMENTS):
        substeps *= 2 if refinement else JUMP
        after = use(undecided)
        known, before = len(after), before[: len(after)]
        failed[undecided[:known]] = after > 1.0
        # A motion that cannot be simulated has failed, if with the longer step as well.
        same = np.isinf(after) & np.isinf(before)
        change = np.abs(np.where(same, 0.0, after) - np.where(same, 0.0, before))
        # Of few worlds it cannot be told; then from those before. What could be simulated with
        # one of the steps alone stays unclear, and says nothing of the others.
        told = change[np.isfinite(change)]
        usual = np.quantile(told, USUAL, method="higher") if told.size else 0.0
        off = max(0.5 * off, float(usual))
        unclear = ~(np.abs(after - 1.0) > np.maximum(off, change)) & ~same
        late = undecided[known:]
        undecided, before = np.concatenate((undecided[:known][unclear], late)), after[unclear]
        rate = FailureRate(
            int(often @ failed), count, confidence, int(often[undecided].sum()),
            int(often[undecided] @ failed[undecided]), problem.time_step / substeps,
        )  # fmt: skip
        certain = FailureRate(rate.failures, count, confidence)
        width = certain.high - certain.low
        timed_out = stop is not None and stop.reason is not None
        if timed_out or rate.low > enough or rate.undecided <= 0.5 * RESOLUTION * count * width:
            break
    return rate


def _severity(
    problem: RobustProblem,
    failure: FailureConfig,
    controls: np.ndarray,
    worlds: Worlds,
    simulate: WorldsSimulator,
) -> np.ndarray:
    motion = simulate(problem, controls, worlds)
    return severity(use_of_bounds(problem, failure, motion, worlds))
