"""Run a demo as a user does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from own_domain import own_domain

PATIENCE = 30.0
"""How long a demo may take to stop its nodes [s]."""


def run_demo(name: str, folder: Path, *options: str, timeout: float = 300.0) -> dict[str, Any]:
    """Run a demo that succeeds, and return its summaries; the arguments are those below."""
    code, summaries = try_demo(name, folder, *options, timeout=timeout)
    assert code == 0
    return summaries


def try_demo(name: str, folder: Path, *options: str, timeout: float) -> tuple[int, dict[str, Any]]:
    """Run a demo in a ROS domain of its own.

    Whatever ends the test ends the demo by Ctrl-C, so that it stops its nodes.

    Args:
        name: The demo.
        folder: Where its results go.
        options: Of the command line.
        timeout: How long it may take [s].

    Returns:
        Its exit code, 0 or 1, and its summaries.
    """
    command = [
        *(sys.executable, "-m", "contact_stack.cli", "demo", name),
        *("--no-view", "--out", str(folder), *options),
    ]
    with own_domain() as environment:
        pipe, environment = subprocess.PIPE, os.environ | environment
        demo = subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)
        try:
            output, errors = demo.communicate(timeout=timeout)
        except BaseException:
            demo.send_signal(signal.SIGINT)
            demo.communicate(timeout=PATIENCE)
            raise
    assert "Traceback" not in errors, errors
    assert demo.returncode in (0, 1), output + errors
    return demo.returncode, json.loads((folder / "summary.json").read_text())
