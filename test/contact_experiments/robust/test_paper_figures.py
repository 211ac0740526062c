"""Which plan of the hopper starts from which."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import pytest

from contact_core.base.planning import PlanStatus
from contact_core.base.sweep import Sweep
from contact_experiments.robust import paper_figures
from contact_experiments.robust.paper_figures import BETA, THETA_OF_FRAMES, hopper_study
from robust_planner.config import NonlinearSolverConfig, PlannerConfig
from robust_planner.examples import Example, make_example
from robust_planner.result import RobustPlan
from robust_planner.sweep import GridPoint, plan_reference

UNSOLVED = 0.1


@pytest.fixture(scope="module")
def reference() -> RobustPlan:
    """Any plan will do."""
    example = make_example("block")
    hurried = dataclasses.replace(example.config, solver=NonlinearSolverConfig(max_iterations=1))
    return plan_reference(example, hurried)


def test_plans_start_from_the_solved_one_of_their_sigma(
    reference: RobustPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: dict[GridPoint, float] = {}
    stages: dict[GridPoint, tuple[float, ...]] = {}

    def plan_grid(
        example: Example,
        points: Iterable[GridPoint],
        start: RobustPlan,
        config: PlannerConfig,
        sweep: Sweep,
    ) -> dict[GridPoint, RobustPlan]:
        plans = {}
        for point in points:
            failed = point.sigma == UNSOLVED
            status = PlanStatus.NOT_CONVERGED if failed else PlanStatus.SUCCEEDED
            plans[point] = dataclasses.replace(reference, status=status, cost=point.sigma)
            starts[point], stages[point] = start.cost, config.continuation.weight_fractions
        return plans

    monkeypatch.setattr(paper_figures, "plan_grid", plan_grid)
    monkeypatch.setattr(paper_figures, "plan_reference", lambda *_: reference)
    points = [GridPoint(sigma, *risk) for sigma in (0.01, UNSOLVED) for risk in ((), (BETA, 0.9))]
    study = hopper_study(Sweep(show=False), points)
    assert list(study.plans) == points
    ladder = make_example("hopper").config.continuation.weight_fractions
    for point in points:
        first = GridPoint(point.sigma, BETA, THETA_OF_FRAMES)
        assert (starts[first], stages[first]) == (reference.cost, ladder)
        if point.sigma == UNSOLVED:
            assert (starts[point], stages[point]) == (reference.cost, ladder)
        else:
            assert (starts[point], stages[point]) == (point.sigma, (1.0,))
