"""Plans kept on disk, so that a long sweep can go on where it was interrupted."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from pathlib import Path

import numpy as np

from contact_core.planning import PlanStatus
from robust_planner.config import PlannerConfig
from robust_planner.merit import merit
from robust_planner.plan_warnings import warn_of_parameters, warn_of_plan
from robust_planner.planner import running_cost
from robust_planner.problem import RobustProblem
from robust_planner.residuals import check
from robust_planner.result import RobustPlan
from robust_planner.trajectory import to_trajectory

# Others ended because somebody had no more time: the next attempt may do better.
FINAL = (
    PlanStatus.SUCCEEDED,
    PlanStatus.NOT_CONVERGED,
    PlanStatus.RESIDUAL_TOO_LARGE,
    PlanStatus.INFEASIBLE,
)


class PlanStore:
    """A folder of plans, each found by what was asked for."""

    def __init__(self, folder: Path) -> None:
        """Open the folder.

        Args:
            folder: Created if it does not exist.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def load(self, problem: RobustProblem, config: PlannerConfig) -> RobustPlan | None:
        """Look for a plan.

        Args:
            problem: What was planned.
            config: With which parameters.

        Returns:
            The plan, judged again but without the records of its stages; None if there is
            none.
        """
        path = self._path(problem, config)
        if not path.exists():
            return None
        with np.load(path) as content:
            values, status = content["values"], PlanStatus[str(content["status"])]
            seconds = float(content["seconds"])
        trajectory = to_trajectory(values, problem)
        return RobustPlan(
            status=status,
            trajectory=trajectory,
            cost=running_cost(trajectory, problem),
            merit=merit(trajectory, problem, config.uncertainty.kind),
            residuals=check(trajectory, problem, config, config.robust),
            stages=(),
            warnings=(
                *warn_of_parameters(problem, config),
                *warn_of_plan(trajectory, problem, config),
            ),
            seconds=seconds,
            values=values,
        )

    def save(self, problem: RobustProblem, config: PlannerConfig, result: RobustPlan) -> None:
        """Keep a plan, unless a lack of time ended it.

        Args:
            problem: What was planned.
            config: With which parameters.
            result: The plan.
        """
        if result.status not in FINAL:
            return
        path = self._path(problem, config)
        unfinished = path.with_suffix(".part.npz")
        np.savez(
            unfinished, values=result.values, status=result.status.name, seconds=result.seconds
        )
        unfinished.replace(path)

    def _path(self, problem: RobustProblem, config: PlannerConfig) -> Path:
        numbers = {key: value for key, value in vars(problem).items() if key != "model"}
        model = problem.model
        mass = np.asarray(model.mass_matrix(problem.start[: model.coordinates])).tolist()
        # A plan that is final would have been the same with more time.
        solver = dataclasses.replace(config.solver, budget=math.inf)
        untimed = dataclasses.replace(config, solver=solver)
        key = repr((model.name, model.limits, mass, numbers, untimed))
        digest = hashlib.sha256(key.encode())
        return self._folder / f"{problem.name}_{digest.hexdigest()[:16]}.npz"
