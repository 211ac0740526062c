"""SIGTERM, SIGHUP and Ctrl-C end every process soon, without a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from client import GraphClient
from contact_stack_msgs.msg import ControllerStatus
from faults import mode

pytestmark = pytest.mark.graph

CLI = (sys.executable, "-m", "contact_stack.cli")

SOON = 20.0
"""Five seconds, and what a busy machine adds [s]."""


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGTERM, 143, id="TERM"),
        pytest.param(signal.SIGINT, 130, id="INT", marks=pytest.mark.verify),
        pytest.param(signal.SIGHUP, 129, id="HUP", marks=pytest.mark.verify),
    ],
)
def test_demo(
    start_process: Callable[..., subprocess.Popen[str]],
    client: GraphClient,
    tmp_path: Path,
    number: signal.Signals,
    code: int,
) -> None:
    process = start_process(*CLI, "demo", "mug_placement", "--no-view", "--out", tmp_path)
    client.spin_until(lambda: client.latest("controller_status"), 60.0)
    client.spin_until(lambda: mode(client) == ControllerStatus.TRACKING, 60.0)
    process.send_signal(number)
    output, errors = process.communicate(timeout=SOON)
    assert process.returncode == code
    assert "Traceback" not in output + errors


@pytest.mark.verify  # fast ones of the launcher send it signals without a graph
@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGTERM, id="TERM"), pytest.param(signal.SIGINT, id="INT")],
)
def test_launch(
    start_process: Callable[..., subprocess.Popen[str]],
    client: GraphClient,
    number: signal.Signals,
) -> None:
    process = start_process(*CLI, "launch", "sim", "view:=false")
    client.wait_until_ready()
    process.send_signal(number)
    output, errors = process.communicate(timeout=SOON)
    assert process.returncode == 0, output + errors
    assert "Traceback" not in output + errors


@pytest.mark.verify
def test_a_killed_demo_leaves_nothing_behind(
    start_process: Callable[..., subprocess.Popen[str]],
    alive: Callable[[int], bool],
    tmp_path: Path,
) -> None:
    process = start_process(*CLI, "demo", "mug_placement", "--no-view", "--out", tmp_path)
    wait_for_children(process.pid, 4)
    time.sleep(3.0)
    groups = [int(pid) for pid in children(process.pid)]
    process.kill()
    end = time.monotonic() + SOON
    while any(alive(group) for group in groups):
        assert time.monotonic() < end
        time.sleep(0.05)


def children(pid: int) -> list[str]:
    """Return the children that the main thread of a process has started."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def wait_for_children(pid: int, count: int) -> None:
    """Wait until a process has started some children; they lead groups of their own."""
    end = time.monotonic() + 30.0
    while len(children(pid)) < count:
        assert time.monotonic() < end
        time.sleep(0.05)
