"""Wiping: the path waits for the force, and where it was lost is told."""

from __future__ import annotations

import numpy as np
import pytest
from skill_bench import SkillBench

from contact_aware_control.wipe import Wipe
from contact_core.base.errors import TrajectoryError

PATH = np.array([[0.06, 0.0, 0.3], [0.06, 0.03, -0.2]])
ASKED = {"lift": 0.02, "force": 10.0, "speed": 0.05, "distance": 0.03, "force_limit": 0.0}


def wiped(robot, height, path=PATH, end=np.inf, wall=np.inf, **changed):
    """Return what happened."""
    bench = SkillBench(robot, height, end=end, wall=wall)
    asked = {**ASKED, **changed}
    return bench, bench.run(Wipe(bench.tool, path, period=bench.period, **asked))


def test_a_slope_with_a_step_is_wiped_to_the_end_and_left(robot):
    def height(way):
        return 0.015 + 0.08 * way[0] + (0.004 if way[0] > 0.03 else 0.0)

    bench, wipe = wiped(robot, height)
    assert (wipe.ended, wipe.failure) == (True, "")
    assert wipe.wiped == pytest.approx(0.09)
    np.testing.assert_allclose(bench.tips[-1, :2], [0.06, 0.03], atol=2e-3)
    assert bench.tips[:, 2].min() == pytest.approx(bench.tips[-1, 2] - 0.02, abs=2e-3)
    force = bench.forces("wipe")
    # The slope is followed with a force that lags by D times its speed.
    assert np.median(force) == pytest.approx(10.0 - 200.0 * 0.08 * 0.05, rel=0.05)
    # At the step alone it is lost, for as long as the tool needs to get down.
    assert np.mean(force < 5.0) * force.size * bench.period < 0.5
    assert bench.forces("lift")[-1] == 0.0


def test_where_the_force_is_lost_is_told(robot):
    bench, wipe = wiped(robot, lambda way: 0.015 if way[0] < 0.04 else 0.2)
    assert wipe.failure == "FORCE_NOT_HELD"
    assert "10 N was lost after" in wipe.text
    assert 0.035 < wipe.wiped < 0.055
    assert (wipe.lost - bench.begin)[0] == pytest.approx(wipe.wiped, abs=5e-3)
    # It lifts all the same.
    assert bench.tips[-1, 2] > (wipe.lost - bench.begin)[2] + 0.015


def test_a_tool_that_is_held_back_does_not_count_as_wiping(robot):
    _, wipe = wiped(robot, lambda way: 0.015, end=0.02)
    assert wipe.failure == "GOAL_TOLERANCE_VIOLATED"
    assert "30 mm behind its way" in wipe.text
    assert wipe.wiped < 0.055
    assert np.isnan(wipe.lost).all()


@pytest.mark.parametrize("speed", [0.02, 1.0])
def test_a_wall_before_the_end_of_the_path_is_told_and_left(robot, speed):
    bench, wipe = wiped(robot, lambda way: 0.015, PATH[:1], end=0.045, wall=0.041, speed=speed)
    assert wipe.failure == "GOAL_TOLERANCE_VIOLATED"
    assert wipe.phase == "lift"
    assert bench.tips[:, 0].max() < 0.05


def test_a_fast_wipe_gets_to_its_end_and_lifts(robot):
    bench, wipe = wiped(robot, lambda way: 0.015, PATH[:1], speed=1.0)
    assert wipe.failure == ""
    assert bench.tips[-1, 0] == pytest.approx(0.06, abs=2e-3)
    assert bench.tips[-1, 2] == pytest.approx(bench.tips[:, 2].min() + 0.02, abs=2e-3)


def test_nothing_to_wipe_is_told(robot):
    bench, wipe = wiped(robot, lambda way: 1.0)
    assert wipe.failure == "NOT_TOUCHED"
    assert bench.tips[:, 2].min() == pytest.approx(-0.03, abs=2e-3)
    assert np.isnan(wipe.lost).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"force": 0.0}, "force"),
        ({"speed": np.nan}, "speed"),
        ({"distance": -1.0}, "distance"),
        ({"lift": np.inf}, "lift"),
        ({"path": np.array([[0.0, 0.0, 0.1]])}, "path"),
    ],
)
def test_what_is_no_wipe_is_refused(robot, change, said):
    with pytest.raises(TrajectoryError, match=said):
        wiped(robot, lambda way: 1.0, **change)
