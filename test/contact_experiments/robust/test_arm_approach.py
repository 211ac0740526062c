"""The arm puts a ball down under contact-aware control, as the planner's model says it does."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from contact_experiments.robust.arm_approach import APPROACH, arm_approach, judge_approach
from contact_experiments.robust.arm_runs import ArmCase
from robust_planner import simulate_worlds
from robust_planner.examples import Example
from robust_planner.risk.worlds import spread_worlds

KNOTS = 51
TIME = np.linspace(0.0, 1.0, KNOTS)


@pytest.fixture(scope="module")
def example() -> Example:
    return arm_approach()


def accelerations(slow: float) -> np.ndarray:
    """Down by 0.11 m, and slower after the first half."""
    u = np.zeros(KNOTS)
    u[:10], u[10:20], u[30:50] = -1.5, 1.5 - slow, slow / 2.0
    return u[:, None]


@pytest.mark.parametrize("height", [pytest.param(-0.005, marks=pytest.mark.verify), 0.01])
def test_the_arm_touches_as_fast_as_the_model(example: Example, height: float) -> None:
    """Which knows neither controller nor estimator; both are in the loop."""
    problem = example.problem
    worlds = dataclasses.replace(spread_worlds(problem, {}, 0, 0.5, 0), height=np.array([height]))
    motion = simulate_worlds(problem, accelerations(0.5), worlds, 10)
    course = motion.position[0, :, 0]
    case = ArmCase("nominal", tuple(TIME.tolist()), tuple(course.tolist()), height)
    impact, gap, force = APPROACH.execution.run(case)
    expected = motion.impact_speed.max()
    assert expected > 0.05
    assert impact == pytest.approx(expected, abs=0.02)
    assert gap < example.failure.final_gap
    assert force > 5.0
    assert np.array_equal(APPROACH.execution.run(case), [impact, gap, force])


def test_a_hard_impact_and_no_contact_are_failures(example: Example) -> None:
    measured = [np.array(row) for row in ((0.09, 0.0, 9.0), (0.11, 0.0, 9.0), (0.0, 0.002, 0.0))]
    assert [judge_approach(example, row)[1] for row in measured] == [False, True, True]
    plans = APPROACH.summarize(example, [ArmCase("nominal", (), (), 0.0)] * 3, measured)
    assert plans["nominal"]["failures"] == 2
    assert plans["nominal"]["worst"] == 0.11
