"""Plans that a sweep finds again after an interruption."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from contact_core.planning import PlanStatus
from contact_experiments.robust import sweep as sweep_module
from contact_experiments.robust.sweep import GridPoint, Listeners, PlanStore, plan_reference, sweep
from robust_planner.config import UncertaintyConfig
from robust_planner.examples import Example
from robust_planner.result import RobustPlan


def test_plan_comes_back_as_it_was(
    block: Example, block_reference: RobustPlan, tmp_path: Path
) -> None:
    store = PlanStore(tmp_path)
    certain = dataclasses.replace(block.config, uncertainty=UncertaintyConfig())
    assert store.load(block.problem, certain) is None
    store.save(block.problem, certain, block_reference)
    found = store.load(block.problem, certain)
    assert found is not None
    np.testing.assert_array_equal(found.values, block_reference.values)
    assert found.status is PlanStatus.SUCCEEDED
    assert found.cost == block_reference.cost
    assert found.merit == block_reference.merit
    assert found.residuals == block_reference.residuals


@pytest.mark.parametrize(
    "changes", [{"friction": 0.51}, {"knots": 100}, {"control_weight": (11.0,)}]
)
def test_another_problem_is_another_plan(
    block: Example, block_reference: RobustPlan, tmp_path: Path, changes: dict[str, object]
) -> None:
    store = PlanStore(tmp_path)
    store.save(block.problem, block.config, block_reference)
    assert store.load(dataclasses.replace(block.problem, **changes), block.config) is None
    other = dataclasses.replace(block.config, mode="paper")
    assert store.load(block.problem, other) is None


def test_another_budget_is_the_same_plan(
    block: Example, block_reference: RobustPlan, tmp_path: Path
) -> None:
    store = PlanStore(tmp_path)
    store.save(block.problem, block.config, block_reference)
    solver = dataclasses.replace(block.config.solver, budget=1.0)
    assert store.load(block.problem, dataclasses.replace(block.config, solver=solver)) is not None


def test_plan_that_ran_out_of_time_is_not_kept(
    block: Example, block_reference: RobustPlan, tmp_path: Path
) -> None:
    store = PlanStore(tmp_path)
    for status in (PlanStatus.TIME_BUDGET_REACHED, PlanStatus.CANCELED):
        unfinished = dataclasses.replace(block_reference, status=status)
        store.save(block.problem, block.config, unfinished)
    assert list(tmp_path.iterdir()) == []


def test_sweep_goes_on_where_it_was(
    sled: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in the store is not planned again."""
    store = PlanStore(tmp_path)
    point = GridPoint(0.08, 0.7, 0.7, expected_residual=False)
    kept = Listeners(store)
    reference = plan_reference(sled, listeners=kept)
    first = sweep(sled, [point], reference, listeners=kept)
    heard: list[GridPoint | None] = []

    def forbidden(*args: object, **keywords: object) -> RobustPlan:
        raise AssertionError("planned again")

    monkeypatch.setattr(sweep_module, "plan", forbidden)
    listening = Listeners(store, lambda point, result: heard.append(point))
    again = sweep(sled, [point], plan_reference(sled, listeners=listening), listeners=listening)
    np.testing.assert_array_equal(again[point].values, first[point].values)
    assert heard == [None, point]
