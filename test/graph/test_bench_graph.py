"""The benchmark of the whole graph in real time measures what it says."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from contact_experiments.bench.graph import commands_after

pytestmark = pytest.mark.graph


@pytest.mark.verify
def test_looks_are_measured_while_a_box_is_moved(tmp_path, ros_domain):
    figures = tmp_path / "looks.json"
    command = [sys.executable, "-m", "contact_stack.cli", "bench", "looks", "--seconds", "8"]
    done = subprocess.run(
        [*command, "--json", figures], capture_output=True, text=True, timeout=300
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    found = json.loads(figures.read_text())
    everything, *phases = found["phases"]
    assert everything["looks"] == sum(phase["looks"] for phase in phases) > 0
    for phase in found["phases"]:
        assert 0.0 < phase["p50"] <= phase["p99"] <= phase["longest"]
    assert math.isclose(sum(phase["share"] for phase in phases), 1.0)
    assert "looking for a place" in [phase["phase"] for phase in phases]


@pytest.mark.verify
def test_nothing_that_is_asked_for_keeps_a_stop_waiting(tmp_path, ros_domain):
    """A stop waited for the check of a goal, up to five seconds."""
    figures = tmp_path / "stops.json"
    command = [sys.executable, "-m", "contact_stack.cli", "bench", "stops", "--samples", "50"]
    done = subprocess.run(
        [*command, "--json", figures], capture_output=True, text=True, timeout=1500
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    found = json.loads(figures.read_text())
    assert found["asked"] > 0
    assert [kind["kind"] for kind in found["kinds"]] == ["stop", "external_stop", "hold", "cancel"]
    for kind in found["kinds"]:
        assert kind["samples"] == 50
        assert kind["p99"] <= 0.01


@pytest.mark.verify
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
        assert 0.0 < phase["command_p50"] <= phase["command_p99"] <= phase["command_max"] < 1.0
        assert 0.0 <= phase["jitter_p99"] < 1.0
        assert {"tamsi_sim", "contact_estimator", "contact_aware_controller"} <= set(
            phase["processors"]
        )
        assert math.isclose(phase["used"], sum(phase["processors"].values()))
    assert 0.0 < found["accepted_after"] < 10.0


def test_a_command_counts_from_the_last_state_before_it():
    after = commands_after(np.array([10, 15, 20]), np.array([9, 11, 15, 19, 31]))
    assert after.tolist() == [1, 0, 4, 11]
