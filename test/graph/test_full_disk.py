"""A demo whose disk is full goes on to its end, and says what could not be written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from contact_stack.recording import recover

pytestmark = [pytest.mark.graph, pytest.mark.verify]

SMALL_DISK = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
SCRIPT = 'mount -t tmpfs -o size=200k none "$1" && "$2" -m contact_stack.cli demo mug_placement '
SCRIPT += '--controller qp --no-view --out "$1"; code=$?; cp "$1"/*.mcap "$3"; exit $code'


def test_a_full_disk_ends_no_demo(
    start_process: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    kept.mkdir()
    probe = subprocess.run([*SMALL_DISK, 'mount -t tmpfs none "$1"', "sh", disk], check=False)
    if probe.returncode != 0:
        pytest.skip("mounting is not permitted")
    demo = start_process(*SMALL_DISK, SCRIPT, "sh", disk, sys.executable, kept)
    output, errors = demo.communicate(timeout=300)
    assert demo.returncode == 2, errors
    assert "Traceback" not in output + errors
    assert f"the recording {disk}/qp.mcap stops: No space left on device" in output + errors
    assert "real-time factor" in output
    assert "the results cannot be written: " in errors
    assert recover(kept / "qp.mcap", kept / "copy.mcap") > 100
