"""Half an hour of motion and contact over DDS: nothing grows, nothing faults."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from contact_stack_msgs.action import FollowPoseTrajectory
from fake_graph import STROKE_TIME, fake_graph

pytestmark = [pytest.mark.graph, pytest.mark.verify]

FLOOR = "0.2"
"""Height of the floor: the tool presses on it in the lower third of its way [m]."""
STROKES = 5
GROWTH = 10.0
"""Most memory that an hour may add to a process [MB]."""
LOG_GROWTH = 1.0
"""Most that an hour may add to the logs [MB]."""
WRONG = {"NOT_ARMED", "FORCE_EXCEEDED", "TORQUE_EXCEEDED", "BAD_INPUT", "QP_FAILED"}
"""A state that is stale because the machine was busy is not among them: the arm goes on."""


@pytest.mark.timeout(0)
def test_half_an_hour_over_dds(
    start_process: Callable[..., subprocess.Popen[str]],
    pytestconfig: pytest.Config,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    duration = pytestconfig.getoption("--soak-real")
    rounds = max(4, round(duration / (2 * STROKES * STROKE_TIME)))
    rows = []
    with fake_graph(start_process, "lbr_fri", "--surface", FLOOR) as graph:
        for _ in range(rounds):
            result = graph.client.run(
                FollowPoseTrajectory,
                "follow_pose_trajectory",
                graph.goal(STROKES),
                timeout=10.0 * STROKES * STROKE_TIME,
            )
            assert result.error_string == ""
            logs = sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file())
            rows.append(
                [
                    *(memory(pid) for pid in graph.pids),
                    *(len(os.listdir(f"/proc/{pid}/fd")) for pid in graph.pids),
                    1e-6 * logs,
                ]
            )
        names = {name for _, name in graph.changes}
    hours = 2 * STROKES * STROKE_TIME / 3600.0
    table, first = np.array(rows), rounds // 4
    slopes = np.polyfit(hours * np.arange(first, rounds), table[first:], 1)[0]
    count = len(graph.pids)
    print(
        f"memory {slopes[:count]} MB/h, descriptors {slopes[count:-1]} /h, logs {slopes[-1]} MB/h"
    )
    print(f"statuses: {sorted(names)}")
    assert not names & WRONG
    assert np.ptp(table[first:, count:-1], axis=0).max() == 0.0
    # Minutes do not tell a slope per hour: only a long run is held to it.
    if duration >= 600.0:
        assert slopes[:count].max() < GROWTH
        assert slopes[-1] < LOG_GROWTH


def memory(pid: int) -> float:
    """Return the resident memory of a process [MB]."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
