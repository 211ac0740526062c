"""Fixtures of all tests that use ROS."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture
def ros_domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A ROS domain of this test's own, reaching no other machine."""
    from domain_coordinator import domain_id

    with domain_id() as domain:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
        monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
        yield domain


def _group_members(group: int) -> list[int]:
    """Return the processes of a group that are alive; zombies are not."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # it ended while we were looking
            continue
        if int(process_group) == group and state not in "ZX":
            members.append(int(stat.parent.name))
    return members


@pytest.fixture
def alive() -> Callable[[int], bool]:
    """Tell whether anything is left of a process group."""
    return lambda group: bool(_group_members(group))


@pytest.fixture
def start_process(ros_domain: int) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start processes in groups of their own; whatever is left at the end is an error."""
    started: list[subprocess.Popen[str]] = []

    def start(*command: str | Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    left = {p.args[0]: _group_members(p.pid) for p in started if _group_members(p.pid)}
    for process in started:
        if _group_members(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert not left, f"processes left behind: {left}"
