"""Plans of one example over a grid of uncertainties and risk bounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from contact_experiments.robust.plan_store import PlanStore
from robust_planner.config import PlannerConfig, RiskConfig, UncertaintyConfig
from robust_planner.planner import plan
from robust_planner.problem import RobustProblem
from robust_planner.problems.example import Example
from robust_planner.result import RobustPlan, StageProgress

OnProgress = Callable[[StageProgress], None]


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
    example: Example,
    config: PlannerConfig | None = None,
    store: PlanStore | None = None,
    on_progress: OnProgress | None = None,
) -> RobustPlan:
    """Plan an example as if nothing was uncertain.

    Args:
        example: The example.
        config: Settings; None for those of the example.
        store: Where the plan is looked for and kept.
        on_progress: Called now and then while planning.

    Returns:
        The plan.
    """
    certain = dataclasses.replace(config or example.config, uncertainty=UncertaintyConfig())
    return _stored(
        store, example.problem, certain, lambda: plan(example.problem, certain, None, on_progress)
    )


def sweep(
    example: Example,
    points: Iterable[GridPoint],
    reference: RobustPlan,
    config: PlannerConfig | None = None,
    on_plan: Callable[[GridPoint, RobustPlan], None] | None = None,
    store: PlanStore | None = None,
    on_progress: OnProgress | None = None,
) -> dict[GridPoint, RobustPlan]:
    """Plan every point of a grid, each from the same reference plan.

    Args:
        example: The example; its robust problem is planned.
        points: The grid.
        reference: Plan of the example without uncertainty.
        config: Settings; None for those of the example.
        on_plan: Called after every plan.
        store: Where plans are looked for and kept.
        on_progress: Called now and then while planning.

    Returns:
        Grid point -> plan, also of those that did not converge.
    """
    plans = {}
    problem = example.robust_problem
    for point in points:
        chosen = point.configure(config or example.config)
        plans[point] = _stored(
            store, problem, chosen, partial(plan, problem, chosen, reference, on_progress)
        )
        if on_plan is not None:
            on_plan(point, plans[point])
    return plans


def _stored(
    store: PlanStore | None,
    problem: RobustProblem,
    config: PlannerConfig,
    make: Callable[[], RobustPlan],
) -> RobustPlan:
    """Return the plan that is kept, or make it and keep it."""
    if store is None:
        return make()
    found = store.load(problem, config)
    if found is None:
        found = make()
        store.save(problem, config, found)
    return found
