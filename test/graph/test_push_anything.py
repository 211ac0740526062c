"""A shape is pushed to its goal in closed loop, on the graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from demos import run_demo

pytestmark = [pytest.mark.graph, pytest.mark.verify, pytest.mark.timeout(1800)]

NAME = "push_anything"


def test_it_arrives_and_every_driver_gives_the_same_bits(tmp_path: Path) -> None:
    summaries = [
        run_demo(NAME, tmp_path / driver, "--driver", driver, timeout=900.0)[NAME]
        for driver in ("lbr_fri", "ros2_control")
    ]
    for summary in summaries:
        assert summary["reached"]
        assert summary["force_p99_N"] <= 15.0
    assert summaries[0]["trajectory_sha256"] == summaries[1]["trajectory_sha256"]
    assert (tmp_path / "lbr_fri" / "push.png").stat().st_size > 10_000


@pytest.mark.parametrize("shape", ["wedge", "disc"])
def test_it_arrives_in_real_time(shape: str, tmp_path: Path) -> None:
    """Searching takes time now, while the arm waits."""
    summary = run_demo(NAME, tmp_path, "--realtime", "--shape", shape, timeout=900.0)[NAME]
    assert summary["reached"]
