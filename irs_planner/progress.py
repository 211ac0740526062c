"""The course of a plan: iterates, the best of them, and the convergence test."""

from __future__ import annotations

import numpy as np

from irs_planner.iteration import Iterate
from irs_planner.problem import IrsProblem
from irs_planner.result import IterationReport, Rollout
from irs_planner.settings import PlannerSettings


class IterateHistory:
    """Keeps the best iterate; the last one may well be worse."""

    def __init__(self, problem: IrsProblem, first: Rollout) -> None:
        """Begin with the first guess.

        Args:
            problem: The problem.
            first: Rollout of its initial inputs.
        """
        self._problem = problem
        self.best = first
        self.costs = [first.cost]
        self.reports: list[IterationReport] = []

    def add(self, iterate: Iterate, trajectory: Rollout, elapsed: float) -> IterationReport:
        """Record an iterate.

        Args:
            iterate: How the iteration went.
            trajectory: What it led to.
            elapsed: Time since planning began [s].

        Returns:
            The report of this iteration.
        """
        self.costs.append(trajectory.cost)
        if trajectory.cost < self.best.cost:
            self.best = trajectory
        planned = self._problem.planned_states
        error = self.best.states[-1] - self._problem.goal
        report = IterationReport(
            len(self.reports) + 1,
            trajectory.cost,
            self.best.cost,
            iterate.std,
            float(np.linalg.norm(error[planned])),
            elapsed,
            iterate.times,
            iterate.mpc_failures,
            iterate.flat,
            error,
        )
        self.reports.append(report)
        return report

    def converged(self, settings: PlannerSettings) -> bool:
        """Whether the cost stayed the same for ``patience`` iterations.

        Args:
            settings: Tolerance and patience.
        """
        recent = np.array(self.costs[-settings.patience - 1 :])
        if len(recent) <= settings.patience or not np.isfinite(recent).all():
            return False
        change = np.abs(np.diff(recent))
        return bool((change <= settings.tolerance * np.abs(recent[:-1])).all())
