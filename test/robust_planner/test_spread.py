"""The predicted spread of the final position."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from robust_planner.evaluation.execution import predicted_spread
from robust_planner.examples import Example
from robust_planner.result import RobustPlan


def test_spread_of_a_coasting_block(block: Example, block_reference: RobustPlan) -> None:
    """x = v T - mu g T^2 / 2: linear in mu as long as the block slides to the end."""
    coasting = dataclasses.replace(block.problem, start=(0.0, 0.5, 10.0, 0.0))
    plan = block_reference.trajectory
    free = dataclasses.replace(plan, control=np.zeros_like(plan.control))
    steps = len(plan.time) - 1
    # Backward Euler sums 1 + ... + N steps instead of integrating.
    expected = 0.05 * 9.81 * 0.5 * (1.0 + 1.0 / steps)
    assert predicted_spread(free, coasting, 0.05) == pytest.approx(expected, rel=1e-6)


def test_nothing_spreads_without_uncertainty(block: Example, block_reference: RobustPlan) -> None:
    assert predicted_spread(block_reference.trajectory, block.problem, 0.0) == pytest.approx(0.0)
