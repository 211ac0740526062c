"""Inserting: which phase has failed is told, and a search goes on after what was no hole."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from skill_bench import SkillBench

from contact_aware_control.insert import PITCH, Insert
from contact_core.base.errors import TrajectoryError

DIAMETER, RADIUS = 0.02, 0.012
ASKED = {
    "diameter": DIAMETER, "radius": RADIUS, "depth": 0.02, "force": 15.0, "speed": 0.05,
    "distance": 0.03, "force_limit": 0.0,
}  # fmt: skip


def inserted(robot, height, wall=np.inf, longest=40.0, **changed):
    """Return what happened; only the lowest point of the leaning peg touches."""
    bench = SkillBench(robot, height, wall=wall)
    rotation = bench.tool.start.rotation
    bench.point = rotation.T @ (0.5 * DIAMETER * bench.tool.axes[0])
    return bench, bench.run(
        Insert(bench.tool, period=bench.period, **{**ASKED, **changed}), longest
    )


def test_a_plate_without_a_hole_is_searched_as_far_as_was_said(robot):
    bench, insert = inserted(robot, lambda way: 0.015)
    assert insert.failure == "HOLE_NOT_FOUND"
    assert f"{1e3 * RADIUS:.0f} mm" in insert.text
    searched = np.array([phase == "search" for phase, _ in bench.phases])
    places = bench.tips[searched, :2] + (0.5 * DIAMETER, 0.0)
    away = np.linalg.norm(places, axis=1)
    assert away.max() == pytest.approx(RADIUS, abs=2e-3)
    # No place within the radius is farther from the spiral than half its pitch.
    angles = np.linspace(0.0, 2.0 * np.pi, 40)
    wanted = 0.7 * RADIUS * np.stack((np.cos(angles), np.sin(angles)), axis=1)
    nearest = np.linalg.norm(wanted[:, None] - places[None], axis=2).min(axis=1)
    assert nearest.max() < 0.6 * PITCH * DIAMETER
    assert np.median(bench.forces("search")) == pytest.approx(7.5, rel=0.1)


def test_a_dent_is_no_hole(robot):
    """It drops into it, finds no way in, backs off and searches on."""

    def height(way):
        return 0.019 if np.linalg.norm(way - (0.0, 0.008)) < 0.003 else 0.015

    bench, insert = inserted(robot, height)
    phases = [phase for phase, _ in bench.phases]
    turns = [name for name, before in zip(phases, ["", *phases], strict=False) if name != before]
    assert turns[:4] == ["lean", "approach", "search", "straighten"]
    assert insert.failure == "HOLE_NOT_FOUND"
    assert 1 <= turns.count("back off") <= 3


def test_beside_a_wall_the_search_comes_to_an_end(robot):
    """What was no hole twice is passed over: felt all along, a wall took minutes."""
    bench, insert = inserted(robot, lambda way: 0.015, wall=0.003, longest=60.0)
    assert insert.failure == "HOLE_NOT_FOUND"
    phases = [phase for phase, _ in bench.phases]
    backed_off = sum(now == "back off" != then for then, now in itertools.pairwise(phases))
    assert 2 <= backed_off <= 12


def test_where_the_surface_ends_it_does_not_fall(robot):
    bench, insert = inserted(robot, lambda way: 0.015 if way[1] < 0.004 else 1.0)
    assert insert.failure == "HOLE_NOT_FOUND"
    assert "the surface ends" in insert.text
    assert -bench.tips[:, 2].min() < 0.015 + DIAMETER + ASKED["depth"] + 5e-3


def test_a_long_peg_leans_no_faster_than_its_ways(robot):
    bench = SkillBench(robot, lambda way: np.inf, tip=np.array([0.0, 0.0, 0.4]))
    bench.run(Insert(bench.tool, period=bench.period, **ASKED), 5.0)
    lean = np.array([phase == "lean" for phase, _ in bench.phases])
    speeds = np.linalg.norm(np.diff(bench.places[lean], axis=0), axis=1) / bench.period
    assert np.median(speeds) == pytest.approx(ASKED["speed"], rel=0.1)


def test_nothing_to_touch_is_told(robot):
    _, insert = inserted(robot, lambda way: 1.0)
    assert insert.failure == "NOT_TOUCHED"
    assert "0.03 m" in insert.text


@pytest.mark.parametrize("name", ["diameter", "radius", "depth", "force", "speed", "distance"])
def test_what_is_no_insertion_is_refused(robot, name):
    with pytest.raises(TrajectoryError, match=name):
        inserted(robot, lambda way: 1.0, **{name: 0.0})
