"""Plans of one example over a grid of uncertainties and risk bounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from contact_core.base.planning import PlanStatus
from contact_core.base.registry import Registry
from contact_core.base.sweep import Sweep
from robust_planner.config import (
    PlannerConfig,
    RiskConfig,
    UncertaintyConfig,
    with_monotone_barrier,
)
from robust_planner.examples import Example
from robust_planner.planner import plan
from robust_planner.problem import RobustProblem
from robust_planner.result import RobustPlan

# Others ended because somebody had no more time: the next attempt may do better.
FINAL = (
    PlanStatus.SUCCEEDED,
    PlanStatus.NOT_CONVERGED,
    PlanStatus.RESIDUAL_TOO_LARGE,
    PlanStatus.INFEASIBLE,
)
HERE = Sweep(show=False)

Planner = Callable[[RobustProblem, PlannerConfig, RobustPlan | None], RobustPlan]
OURS = "robust_planner"
PLANNERS: Registry[Planner] = Registry("planner", {OURS: plan})
"""Name -> what plans a problem with some parameters, from the plan of certainty if it likes."""


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


def plan_reference(
    example: Example, config: PlannerConfig | None = None, sweep: Sweep = HERE
) -> RobustPlan:
    """Plan an example as if nothing was uncertain, for robust plans to start from.

    Args:
        example: The example.
        config: Settings; None for those of the example, whose mode is kept: it does not matter.
        sweep: Who computes, and keeps the plan.

    Returns:
        The plan.
    """
    mode, nothing = example.config.mode, UncertaintyConfig()
    certain = dataclasses.replace(config or example.config, mode=mode, uncertainty=nothing)
    # In the last digits the path of the solver matters to those.
    certain = with_monotone_barrier(certain)
    task = (example.problem, certain, None)
    return sweep.run(plan, [task], f"{example.problem.name}, reference", keep=is_final)[0]


def plan_by(
    planner: str, problem: RobustProblem, config: PlannerConfig, reference: RobustPlan
) -> RobustPlan:
    """Plan by one of the PLANNERS."""
    return PLANNERS[planner](problem, config, reference)


def plan_grid(
    example: Example,
    points: Iterable[GridPoint],
    reference: RobustPlan,
    config: PlannerConfig | None = None,
    sweep: Sweep = HERE,
    planner: str = OURS,
) -> dict[GridPoint, RobustPlan]:
    """Plan every point of a grid, each from the same reference plan.

    Args:
        example: The example; its robust problem is planned.
        points: The grid.
        reference: Plan of the example without uncertainty.
        config: Settings; None for those of the example.
        sweep: Who computes, and keeps the plans.
        planner: One of the PLANNERS.

    Returns:
        Grid point -> plan, also of those that did not converge.
    """
    points = list(points)
    # How long it took is no part of the task.
    start = dataclasses.replace(reference, stages=(), seconds=0.0)
    tasks = [
        (planner, example.robust_problem, point.configure(config or example.config), start)
        for point in points
    ]
    plans = sweep.run(plan_by, tasks, f"{example.problem.name}, plans", keep=is_final)
    return dict(zip(points, plans, strict=True))


def is_final(result: RobustPlan) -> bool:
    """Tell whether more time would have changed nothing."""
    return result.status in FINAL
