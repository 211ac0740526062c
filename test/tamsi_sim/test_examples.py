"""The examples of examples/tamsi_sim run, and say what their docstrings promise."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
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
ALONE = "01_drop_a_mug"
"""Runs in a process of its own; the others share this one, and what it has imported."""
PICTURES = ("01", "02", "04", "05", "06", "09", "10")


def check(name: str, said: str, folder: Path) -> None:
    """It said what it promises, and left its picture, if any, in a folder."""
    assert SAID[name] in said
    pictures = list(folder.glob("out/*.png"))
    assert len(pictures) == (name[:2] in PICTURES)


@pytest.mark.parametrize("name", [name for name in SAID if name != ALONE])
def test_example(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    plt.close("all")
    check(name, capsys.readouterr().out, tmp_path)


def test_an_example_needs_nothing_that_the_tests_bring(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / f"{ALONE}.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    check(ALONE, done.stdout, tmp_path)


def test_every_example_is_tested() -> None:
    assert sorted(file.stem for file in FOLDER.glob("*.py")) == sorted(SAID)
