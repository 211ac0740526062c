"""Errors over CPU time: what is measured, how curves are compared, and that ours is right."""

import argparse
import json
import math

import pytest

from contact_experiments.bench import accuracy
from contact_experiments.bench.accuracy import (
    CENIC,
    FIXED,
    MUJOCO,
    OURS,
    compare,
    cost,
    curve,
    measure,
    summary,
)

FEW = {OURS: (1e-2, 1e-4), FIXED: (1e-3,), CENIC: (1e-3,), MUJOCO: (1e-3,)}
LIMITS = {OURS: (1e-6, 1e-5), CENIC: (1e-6, 1e-5), MUJOCO: (1e-4, 2e-4)}


def test_two_scenes_are_measured_and_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(
        accuracy, "measure", lambda name, rounds: measure(name, rounds, FEW, LIMITS, 2)
    )
    parser = argparse.ArgumentParser()
    accuracy.add_arguments(parser)
    options = ["--scene", "pendulum", "belt", "--rounds", "1", "--out", str(tmp_path)]
    told = tmp_path / "told.json"
    args = parser.parse_args([*options, "--json", str(told)])
    assert accuracy.main(args) == 0
    assert (tmp_path / "accuracy.png").stat().st_size > 1000
    scenes = json.loads(told.read_text())["scenes"]
    for name in ("pendulum", "belt"):
        coarse, fine = scenes[name][OURS]["runs"]
        assert fine["error"] < coarse["error"] < 10.0
        assert coarse["cpu"] > 0.0
        # The peers, where they are installed, mean the same scene.
        for peer in (CENIC, MUJOCO):
            if "missing" not in scenes[name][peer]:
                assert scenes[name][peer]["distance"] < 5.0
    # What is there is not measured again.
    monkeypatch.setattr(accuracy, "measure", None)
    assert accuracy.main(args) == 0


def test_curves_are_compared_where_one_of_them_gets():
    def found(*runs):
        return {"runs": [{"setting": s, "error": e, "cpu": c} for s, e, c in runs]}

    ours = found((1e-3, 0.1, 1.0), (1e-4, 0.2, 2.0), (1e-5, 1e-3, 10.0))
    assert curve(ours) == [(0.1, 1.0), (1e-3, 10.0)]
    assert cost(curve(ours), 1e-2) == pytest.approx(math.sqrt(10.0))
    assert cost(curve(ours), 5.0) == 1.0
    assert cost(curve(ours), 1e-4) == math.inf
    slower = found((1e-3, 1.0, 2.0), (1e-5, 1e-2, 40.0))
    result = {OURS: ours, CENIC: slower, MUJOCO: {"missing": "it is not installed"}}
    compared = compare(result)
    assert compared[CENIC] == 1.0
    assert compared[MUJOCO] is None
    assert compared["ratio"] == pytest.approx(40.0 / math.sqrt(10.0))
    turned = {OURS: slower, CENIC: ours, MUJOCO: found((1e-3, 10.0, 5.0))}
    assert compare(turned)[CENIC] == 0.0
    assert compare(turned)[MUJOCO] == 1.0
    assert compare(turned)["ratio"] == 0.0
    figures = summary({"a": result, "b": turned})
    assert figures["below_both"] == 1
    assert figures["ratio"] == pytest.approx(20.0 / math.sqrt(10.0))
