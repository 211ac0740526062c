"""Plans of the sled executed by the simulated arm; the graph does the same, bit for bit."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from contact_experiments.robust.arm_runs import SLIDE, ArmCase
from robust_planner import FailureConfig, make_example

TIME = tuple(np.linspace(0.0, 0.1, 11).tolist())
PUSH = ArmCase("nominal", TIME, (25.0,) * 11, 0.3)


def test_more_friction_is_less_way() -> None:
    slides = [dataclasses.replace(PUSH, world=friction) for friction in (0.3, 0.6)]
    ways = [SLIDE.execution.run(case) for case in slides]
    assert ways[0][0] == 0.0
    assert len(ways[0]) == 21
    assert 0.0 < ways[1][-1] < ways[0][-1]
    np.testing.assert_array_equal(SLIDE.execution.run(PUSH), ways[0])


def test_errors_beyond_the_tolerance_are_failures() -> None:
    """Both sides count, the goal is 0.35 m away."""
    example = dataclasses.replace(
        make_example("sled"), failure=FailureConfig(goal_tolerance=(0.09, 0.0, 0.0, 0.0))
    )
    other = dataclasses.replace(PUSH, plan="with risk")
    cases = [PUSH, PUSH, PUSH, other]
    ways = [np.array([0.0, end]) for end in (0.35, 0.25, 0.45, 0.43)]
    plans = SLIDE.summarize(example, cases, ways)
    assert (plans["nominal"]["failures"], plans["nominal"]["runs"]) == (2, 3)
    assert plans["with risk"]["failures"] == 0
    assert plans["with risk"]["worst"] == pytest.approx(0.08)


def test_both_plans_meet_the_same_worlds() -> None:
    motion = SimpleNamespace(time=np.array(TIME), control=np.zeros((11, 1)))
    plan = SimpleNamespace(nominal=SimpleNamespace(trajectory=motion), trajectory=motion)
    cases = SLIDE.draw(make_example("sled"), plan, 5, 0)  # type: ignore[arg-type]
    assert [case.plan for case in cases] == ["nominal"] * 5 + ["with risk"] * 5
    assert [case.world for case in cases[:5]] == [case.world for case in cases[5:]]
    assert len({case.world for case in cases}) == 5
