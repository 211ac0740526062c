"""The gripped sled: robust against non-robust plan, within the limits of the arm."""

from __future__ import annotations

import numpy as np

from robust_planner.evaluation.execution import final_errors
from robust_planner.examples import Example
from robust_planner.planner import plan
from robust_planner.result import RobustPlan


def test_robust_plan_ends_closer_to_the_goal(
    coarse_sled: Example, coarse_sled_reference: RobustPlan
) -> None:
    sled, reference = coarse_sled, coarse_sled_reference
    robust = plan(sled.robust_problem, sled.config, reference)
    before, after = (
        final_errors(result.trajectory, sled.problem, sled.test_friction)
        for result in (reference, robust)
    )
    assert reference.solved and robust.solved
    assert after.range <= 0.25 * before.range
    assert abs(after.mean) <= 0.010


def test_reference_respects_force_and_speed(sled_reference: RobustPlan) -> None:
    assert np.abs(sled_reference.trajectory.control).max() <= 60.0
    assert np.abs(sled_reference.trajectory.velocity).max() <= 1.5
