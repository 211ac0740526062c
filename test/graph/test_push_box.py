"""Plan by action, push with the commanded positions, look, plan again: the box gets there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from demos import try_demo

from contact_ros.driver_profile import PROFILES

pytestmark = [pytest.mark.graph, pytest.mark.verify]

NAME = "push_box"
SEEDS = range(5)


def push_box(folder: Path, seed: int, *options: str) -> dict[str, Any]:
    """Run the demo as a user does and return its summary."""
    code, summaries = try_demo(NAME, folder, "--seed", str(seed), *options, timeout=900.0)
    summary: dict[str, Any] = summaries[NAME]
    assert code == (0 if summary["reached"] else 1)
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


@pytest.mark.timeout(3000)
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
