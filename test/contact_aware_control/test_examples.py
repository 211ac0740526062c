"""The examples of examples/contact_aware_control run as their docstrings say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "contact_aware_control"


def test_examples_are_short_and_numbered() -> None:
    files = sorted(FOLDER.glob("*.py"))
    assert [file.name[:2] for file in files] == [f"{i:02d}" for i in range(1, len(files) + 1)]
    assert all(len(file.read_text().splitlines()) <= 40 for file in files)


def test_the_controller_presses_a_wall_with_its_force_limit(tmp_path: Path) -> None:
    (file,) = FOLDER.glob("01_*.py")
    done = subprocess.run(
        [sys.executable, file],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
    said = re.fullmatch(r"TRACKING: (\S+) N at the wall, limit 15 N\n", done.stdout)
    assert said is not None, done.stdout
    assert abs(float(said[1]) - 15.0) <= 0.2
    assert (tmp_path / "out" / "wall.png").stat().st_size > 1000
