"""The examples of examples/tamsi_sim run, and say what their docstrings promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "tamsi_sim"

SAID = {
    "01_drop_a_mug": "energy",
    "02_rollouts": "200 of 200 throws simulated",
    "03_linearize": "dx/dpush after 50 ms",
    "04_stick_slip_box": "ie_fn_tals: |r| = 1.307e-02, 2.989e-02",
    "05_choose_an_integrator": "warning: explicit normal forces are unstable",
    "06_allegro_hand": "fingers in contact after the first second: 4 or more",
    "07_push_the_arm": "gave way by 5.0",
    "08_second_physics": "drake:",
    "09_chain_of_balls": "energy 2.53 J, after 4 s 1.2",
    "10_actuators_and_sensors": "shoulder [-52.",
    "11_see_it": "the mugs come to rest at",
}
PICTURES = ("01", "02", "04", "05", "06", "09", "10")


@pytest.mark.parametrize("name", SAID)
def test_example(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert SAID[name] in done.stdout
    pictures = list(tmp_path.rglob("*.png"))
    assert len(pictures) == (name[:2] in PICTURES)


def test_every_example_is_tested() -> None:
    assert sorted(file.stem for file in FOLDER.glob("*.py")) == sorted(SAID)
