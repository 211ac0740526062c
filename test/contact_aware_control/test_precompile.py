"""Warming compiles what a tick needs, so the first tick compiles nothing."""

import json
import subprocess
import sys
from pathlib import Path


def test_the_first_ticks_compile_nothing():
    """With pose and joint tracking, in contact."""
    script = Path(__file__).with_name("first_tick.py")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == []
