"""Plans of one example over a grid of uncertainties and risk bounds, kept on disk."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contact_core.planning import PlanStatus
from robust_planner.config import PlannerConfig, RiskConfig, UncertaintyConfig
from robust_planner.examples import Example
from robust_planner.plan_warnings import warn_of_parameters, warn_of_plan
from robust_planner.planner import merit, plan, running_cost
from robust_planner.problem import RobustProblem
from robust_planner.residuals import check
from robust_planner.result import RobustPlan, StageProgress
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


@dataclass(frozen=True, slots=True)
class GridPoint:
    """One combination of the grid.

    Attributes:
        sigma: Standard deviation [-] or [m].
        beta: Risk bound beta; None without chance constraints.
        theta: Risk bound theta; None without chance constraints.
        expected_residual: Whether the cost (3) is added.
    """

    sigma: float
    beta: float | None = None
    theta: float | None = None
    expected_residual: bool = True

    def configure(self, config: PlannerConfig) -> PlannerConfig:
        """Apply the point to the settings of an example.

        Args:
            config: The settings; its kind of uncertainty is kept.

        Returns:
            The settings of this point.
        """
        risk = RiskConfig()
        if self.beta is not None and self.theta is not None:
            risk = RiskConfig(enabled=True, beta=self.beta, theta=self.theta)
        return dataclasses.replace(
            config,
            uncertainty=UncertaintyConfig(config.uncertainty.kind, self.sigma),
            expected_residual=dataclasses.replace(
                config.expected_residual, enabled=self.expected_residual
            ),
            risk=risk,
        )


@dataclass(frozen=True)
class Listeners:
    """Who hears about plans, and where they are kept.

    Attributes:
        store: Where plans are looked for and kept; None for nowhere.
        on_plan: Called after every plan, with None for the reference.
        on_progress: Called now and then while planning.
    """

    store: PlanStore | None = None
    on_plan: Callable[[GridPoint | None, RobustPlan], None] = lambda point, result: None
    on_progress: Callable[[StageProgress], None] | None = None


SILENT = Listeners()


def plan_reference(
    example: Example, config: PlannerConfig | None = None, listeners: Listeners = SILENT
) -> RobustPlan:
    """Plan an example as if nothing was uncertain.

    Args:
        example: The example.
        config: Settings; None for those of the example, whose mode is kept: it does not matter.
        listeners: Who hears about the plan.

    Returns:
        The plan.
    """
    mode, nothing = example.config.mode, UncertaintyConfig()
    certain = dataclasses.replace(config or example.config, mode=mode, uncertainty=nothing)
    reference = _stored(example.problem, certain, None, listeners)
    listeners.on_plan(None, reference)
    return reference


def sweep(
    example: Example,
    points: Iterable[GridPoint],
    reference: RobustPlan,
    config: PlannerConfig | None = None,
    listeners: Listeners = SILENT,
) -> dict[GridPoint, RobustPlan]:
    """Plan every point of a grid, each from the same reference plan.

    Args:
        example: The example; its robust problem is planned.
        points: The grid.
        reference: Plan of the example without uncertainty.
        config: Settings; None for those of the example.
        listeners: Who hears about the plans.

    Returns:
        Grid point -> plan, also of those that did not converge.
    """
    plans = {}
    for point in points:
        chosen = point.configure(config or example.config)
        plans[point] = _stored(example.robust_problem, chosen, reference, listeners)
        listeners.on_plan(point, plans[point])
    return plans


def _stored(
    problem: RobustProblem,
    config: PlannerConfig,
    reference: RobustPlan | None,
    listeners: Listeners,
) -> RobustPlan:
    """Return the plan that is kept, or make it and keep it."""
    store = listeners.store
    found = store.load(problem, config) if store is not None else None
    if found is None:
        found = plan(problem, config, reference, listeners.on_progress)
        if store is not None:
            store.save(problem, config, found)
    return found
