"""The benchmark of the whole graph in real time measures what it says."""

import json
import math
import subprocess
import sys

import pytest

pytestmark = pytest.mark.graph


def test_a_short_run_measures_every_phase(tmp_path, ros_domain):
    figures = tmp_path / "graph.json"
    command = [sys.executable, "-m", "contact_stack.cli", "bench", "graph", "--seconds", "1"]
    done = subprocess.run(
        [*command, "--json", figures],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    found = json.loads(figures.read_text())
    assert [phase["name"] for phase in found["phases"]] == [
        "at rest",
        "in contact",
        "a goal of 100 poses",
    ]
    for phase in found["phases"]:
        assert phase["ticks"] > 100
        assert 0.0 <= phase["missed"] <= 1.0
        assert 0.0 < phase["age_p50"] <= phase["age_p99"] < 1.0
        assert 0.0 < phase["listener_p50"] < 1.0
        assert {"tamsi_sim", "contact_estimator", "contact_aware_controller"} <= set(
            phase["processors"]
        )
        assert math.isclose(phase["used"], sum(phase["processors"].values()))
    assert 0.0 < found["accepted_after"] < 10.0
