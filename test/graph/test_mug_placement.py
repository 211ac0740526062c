"""The experiments on the real graph, in lock-step; the mug placement above all.

contact_aware_control, Fig. 5 and 6: the contact-aware controller keeps the contact force
near its limit and tracks better than a greedy one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from demos import run_demo

from contact_ros.driver_profile import PROFILES

pytestmark = pytest.mark.graph

LIMIT = 15.0
LINK = "lbr_link_6"


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep the processors busy."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def check_qp(qp: dict[str, Any]) -> None:
    contact, estimator = qp["contact"], qp["estimator"]
    assert qp["failures"] == []
    assert contact["force_post_impact_p50_N"] <= 1.15 * LIMIT
    assert contact["force_post_impact_p99_N"] <= 2.5 * LIMIT
    for figures in qp["passes"].values():
        assert next(iter(figures["link_fraction"])) == LINK
    assert estimator["location_error_p50_m"] <= 0.02
    assert estimator["link_correct_fraction"] >= 0.8
    assert estimator["rate_hz"] >= 199.0
    assert qp["mug"]["on_cart"]
    assert qp["mug"]["tilt_rad"] < 0.15


def check_against_greedy(qp: dict[str, Any], greedy: dict[str, Any]) -> None:
    median = "force_post_impact_p50_N"
    assert greedy["contact"][median] >= 4.0 * qp["contact"][median]
    rms = "position_rms_contact_m"
    assert qp["tracking"][rms] <= 0.5 * greedy["tracking"][rms]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_demo("mug_placement", tmp_path_factory.mktemp("both"))


def test_contact_force_and_estimate(tmp_path: Path) -> None:
    check_qp(run_demo("mug_placement", tmp_path, "--controller", "qp")["qp"])


@pytest.mark.verify
def test_controller_against_greedy_baseline(both: dict[str, Any]) -> None:
    check_against_greedy(both["qp"], both["greedy"])


@pytest.mark.verify
def test_same_seed_gives_the_same_trajectory_under_load_and_through_another_driver(
    both: dict[str, Any], tmp_path: Path
) -> None:
    """A profile changes names and messages, but no bit of a number."""
    options = ("--controller", "qp", "--driver", "kuka_drivers")
    with busy(processes=2):
        again = run_demo("mug_placement", tmp_path, *options)
    assert again["qp"]["trajectory_sha256"] == both["qp"]["trajectory_sha256"]


@pytest.mark.verify
def test_other_seed_and_driver(both: dict[str, Any], tmp_path: Path) -> None:
    json_file = tmp_path / "copy.json"
    options = ("--controller", "qp", "--seed", "1", "--driver", "ros2_control")
    other = run_demo("mug_placement", tmp_path, *options, "--json", str(json_file))
    check_qp(other["qp"])
    assert other["qp"]["trajectory_sha256"] != both["qp"]["trajectory_sha256"]
    assert json.loads(json_file.read_text()) == other
    for name in ("force.png", "tracking.png", "qp.mcap"):
        assert (tmp_path / name).stat().st_size > 10_000


@pytest.mark.verify
def test_mug_moving_follows_a_joint_trajectory(tmp_path: Path) -> None:
    """Through follow_joint_trajectory: the wrist slides over the table and leaves its side."""
    qp = run_demo("mug_moving", tmp_path, "--controller", "qp")["qp"]
    assert qp["failures"] == []
    assert qp["contact"]["segments"] <= 3
    assert qp["contact"]["force_post_impact_p50_N"] <= 1.1 * LIMIT
    assert qp["contact"]["force_post_impact_p99_N"] <= 1.8 * LIMIT
    assert next(iter(qp["contact"]["link_fraction"])) == LINK
    assert qp["release"]["joint_speed_max_rad_s"] <= 0.35
    assert qp["mug"]["on_cart"] is None
    assert qp["mug"]["tilt_rad"] < 0.15
    for picture in ("force.png", "tracking.png", "release.png"):
        assert (tmp_path / picture).stat().st_size > 10_000


@pytest.mark.verify
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", ["mug_placement", "mug_moving", "two_contacts"])
def test_every_experiment_is_the_same_through_every_driver(name: str, tmp_path: Path) -> None:
    hashes = {}
    for driver in PROFILES:
        options = ("--controller", "qp", "--driver", driver)
        run = run_demo(name, tmp_path / driver, *options, timeout=900.0)["qp"]
        hashes[driver] = run["trajectory_sha256"]
    assert len(set(hashes.values())) == 1, hashes


@pytest.mark.verify
@pytest.mark.parametrize("name", ["mug_moving", "two_contacts"])
def test_every_controller_on_the_other_experiments(name: str, tmp_path: Path) -> None:
    """Baselines may fail to stay in contact; the contact-aware controller may not."""
    summaries = run_demo(name, tmp_path, "--controller", "all", timeout=600.0)
    assert set(summaries) > {"qp", "qp_frictionless", "null_space", "greedy"}
    assert summaries["qp"]["failures"] == []


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(5))
def test_every_seed(seed: int, tmp_path: Path) -> None:
    summaries = run_demo("mug_placement", tmp_path, "--seed", str(seed))
    check_qp(summaries["qp"])
    check_against_greedy(summaries["qp"], summaries["greedy"])


@pytest.mark.verify
@pytest.mark.timeout(1000)
def test_a_second_physics_tells_the_same(tmp_path: Path) -> None:
    """The placement on Drake's plant: the controller was not tuned to our simulator."""
    summaries = run_demo("mug_placement", tmp_path, "--engine", "drake", timeout=900.0)
    check_qp(summaries["qp"])
    check_against_greedy(summaries["qp"], summaries["greedy"])


@pytest.mark.verify
def test_real_time_keeps_up(tmp_path: Path) -> None:
    qp = run_demo("mug_placement", tmp_path, "--controller", "qp", "--realtime")["qp"]
    assert qp["real_time_factor"] >= 0.95
    assert qp["loop"]["deadline_misses"] is not None
