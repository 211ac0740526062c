"""Several starts are one plan: one budget, one count, the best result."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import numpy as np
import pytest

from contact_core.base.planning import StopCondition
from irs_planner import PlannerSettings, PlanStatus, build_problem, load_example, plan
from irs_planner.batch import PlanTask, run_task
from irs_planner.result import relative_error

SETTINGS = PlannerSettings(iterations=2, samples=5, seed=3)


@pytest.fixture(scope="module")
def problem():
    return build_problem(load_example("pushing"))


def test_the_best_start_is_returned_and_reports_count_on(problem) -> None:
    reports: list = []
    result = run_task(PlanTask(problem, SETTINGS, 3), reports.append)
    alone = [plan(problem, replace(SETTINGS, seed=3 + i)) for i in range(3)]
    assert result.best.cost == min(one.cost for one in alone)
    assert [step.iteration for step in reports] == [1, 2, 3, 4, 5, 6]
    best = [step.best_cost for step in reports]
    assert best == sorted(best, reverse=True)
    assert best[-1] == result.best.cost
    assert result.iterations == 6


def test_a_cancelled_start_cancels_the_rest_and_keeps_the_best(problem) -> None:
    cancel = Event()

    def stop_in_second_start(report) -> None:
        if report.iteration == 3:
            cancel.set()

    result = run_task(
        PlanTask(problem, SETTINGS, 5), stop_in_second_start, StopCondition(cancelled=cancel.is_set)
    )
    assert result.best.status is PlanStatus.CANCELED
    assert result.iterations == 3


def test_a_budget_that_is_used_up_while_waiting_still_gives_the_first_guess(problem) -> None:
    result = run_task(PlanTask(problem, SETTINGS), stop=StopCondition(0.5, waited=2.0))
    assert not result.best.usable
    assert result.best.status is PlanStatus.TIME_BUDGET_REACHED
    assert result.seconds >= 2.0
    assert result.iterations == 0
    np.testing.assert_array_equal(result.best.inputs, problem.initial_inputs)


def test_the_largest_error_counts_relative_to_its_tolerance() -> None:
    error, tolerance = np.array([0.3, -0.4, 9.0]), np.array([0.1, 0.1, np.inf])
    assert relative_error(error, tolerance) == pytest.approx(4.0)
    assert np.isnan(relative_error(error, np.full(3, np.inf)))
