"""SIGTERM and Ctrl-C end every process within five seconds, without a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.graph

CLI = (sys.executable, "-m", "contact_stack.cli")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"]
)
def test_demo(
    start_process: Callable[..., subprocess.Popen[str]],
    alive: Callable[[int], bool],
    tmp_path: Path,
    number: signal.Signals,
    code: int,
) -> None:
    process = start_process(*CLI, "demo", "mug_placement", "--no-view", "--out", tmp_path)
    wait_for_children(process.pid, 3)
    time.sleep(6.0)
    process.send_signal(number)
    start = time.monotonic()
    output, errors = process.communicate(timeout=10)
    assert time.monotonic() - start < 5.0
    assert process.returncode == code
    assert "Traceback" not in output + errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_launch(
    start_process: Callable[..., subprocess.Popen[str]], number: signal.Signals
) -> None:
    process = start_process(*CLI, "launch", "sim", "view:=false")
    wait_for_children(process.pid, 3)
    time.sleep(5.0)
    process.send_signal(number)
    start = time.monotonic()
    output, errors = process.communicate(timeout=10)
    assert time.monotonic() - start < 5.0
    assert process.returncode == 0, output + errors
    assert "Traceback" not in output + errors


def wait_for_children(pid: int, count: int) -> None:
    """Wait until a process has started some children; they lead groups of their own."""
    end = time.monotonic() + 30.0
    while len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()) < count:
        assert time.monotonic() < end
        time.sleep(0.05)
