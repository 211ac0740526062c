"""The arm puts a pin into a slot under contact-aware control, as the planner's model does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from contact_experiments.robust.arm_insertion import (
    DEPTH,
    INSERTION,
    NOSE,
    WAY,
    arm_insertion,
    judge_insertion,
)
from contact_experiments.robust.arm_runs import ArmCase
from contact_stack import cli
from robust_planner import simulate_worlds
from robust_planner.examples import Example
from robust_planner.risk.worlds import spread_worlds


@pytest.fixture(scope="module")
def example() -> Example:
    return arm_insertion()


def test_the_planner_knows_the_arm_at_the_nose(example: Example) -> None:
    """The first coordinates are those of z and x; across the slot the arm is light and soft."""
    model = example.problem.model
    assert model.position_names == ("z", "x", "z.reference", "x.reference")
    mass = np.diag(np.asarray(model.mass_matrix(np.zeros(4))))
    assert mass[0] > 2.0 * mass[1] > 0.0
    assert example.problem.start[0] == pytest.approx(NOSE + WAY)


@pytest.mark.parametrize("shift", [0.0, 0.009])
def test_the_arm_ends_where_the_model_does(example: Example, shift: float) -> None:
    """At the bottom, or on a block; the model knows neither controller nor estimator."""
    problem = example.problem
    controls = np.zeros((problem.knots, 2))
    controls[:45, 0] = np.linspace(NOSE + WAY, NOSE, 45)
    controls[45:, 0] = NOSE
    controls[:, 1] = 0.002
    worlds = spread_worlds(problem, {}, 0, 0.5, 0)
    worlds.shift[:] = [[shift, 0.0]]
    motion = simulate_worlds(problem, controls, worlds, 10)
    gap, course = motion.position[0, -1, 0] - NOSE, motion.position[0][:, [3, 2]]
    time = problem.time_step * np.arange(problem.knots)
    case = ArmCase("nominal", tuple(time.tolist()), tuple(map(tuple, course.tolist())), shift)
    measured, force = INSERTION.execution.run(case)
    assert measured == pytest.approx(gap, abs=5e-4)
    assert measured > DEPTH - 2e-3 if shift else measured < example.failure.final_gap
    # Along the slot friction holds the nose, and the arm is stiffer than where that is free.
    expected = np.linalg.norm(motion.normal_force[0], axis=1).max()
    assert 0.8 * expected < force < 1.7 * expected


def test_a_pin_that_stands_out_and_a_large_force_are_failures(example: Example) -> None:
    measured = [np.array(row) for row in ((0.0, 20.0), (0.002, 20.0), (0.0, 31.0))]
    assert [judge_insertion(example, row)[1] for row in measured] == [False, True, True]


@pytest.mark.verify
def test_the_arm_keeps_the_promise(tmp_path: Path) -> None:
    """100 drawn slots for each plan, 5 % accepted: at most 9 fail, and half of the nominal's."""
    file = tmp_path / "risk.json"
    words = ["bench", "risk", "insertion", "--out", str(tmp_path), "--json", str(file)]
    assert cli.main(words) == 0
    plans = json.loads(file.read_text())["insertion"]["plans"]
    failures = {name: plan["failures"] for name, plan in plans.items()}
    assert failures["with risk"] <= 9
    assert failures["with risk"] <= 0.5 * failures["nominal"]
