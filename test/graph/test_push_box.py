"""Plan by action, push with the commanded positions, look, plan again: the box gets there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from domain_coordinator import domain_id

from contact_stack.ros.driver_profile import PROFILES

pytestmark = [pytest.mark.graph, pytest.mark.verify]

SEEDS = range(5)


def push_box(folder: Path, seed: int, *options: str) -> dict[str, Any]:
    """Run the demo as a user does and return its summary."""
    with domain_id() as domain:
        environment = {
            **os.environ,
            "ROS_DOMAIN_ID": str(domain),
            "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        }
        done = subprocess.run(
            [
                *(sys.executable, "-m", "contact_stack.app.cli", "demo", "push_box"),
                *("--no-view", "--seed", str(seed), "--out", str(folder), *options),
            ],
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
        )
    assert "Traceback" not in done.stderr, done.stderr
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())["push_box"]
    assert done.returncode == (0 if summary["reached"] else 1)
    return summary


@pytest.mark.timeout(3000)
def test_every_driver_gives_the_same_push_bit_by_bit(tmp_path: Path) -> None:
    """A profile changes names and messages, but no bit of a number."""
    hashes = {
        driver: push_box(tmp_path / driver, 0, "--driver", driver, "--attempts", "1")[
            "trajectory_sha256"
        ]
        for driver in PROFILES
    }
    assert len(set(hashes.values())) == 1, hashes


def test_the_box_ends_at_its_goal_in_four_of_five_seeds(tmp_path: Path) -> None:
    summaries = [push_box(tmp_path / str(seed), seed) for seed in SEEDS]
    for summary in summaries:
        assert summary["start_distance_m"] >= 0.15
        assert summary["start_angle_deg"] >= 30.0
    reached = [
        summary["end_distance_m"] <= 0.03 and summary["end_angle_deg"] <= 5.0
        for summary in summaries
    ]
    assert sum(reached) >= 4
    assert (tmp_path / "0" / "push.png").stat().st_size > 10_000
