"""The examples of examples/contact_aware_control run as their docstrings say."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from contact_core import Robot, RobotDescription

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "contact_aware_control"


def test_examples_are_short_and_numbered() -> None:
    files = sorted(FOLDER.glob("*.py"))
    assert [file.name[:2] for file in files] == [f"{i:02d}" for i in range(1, len(files) + 1)]
    assert all(len(file.read_text().splitlines()) <= 40 for file in files)


@pytest.fixture
def run_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Run an example within this process, and return what it says."""

    def run(number: int, folder: Path, *words: object) -> str:
        (file,) = FOLDER.glob(f"{number:02d}_*.py")
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", [file.name, *map(str, words)])
        runpy.run_path(str(file), run_name="__main__")
        return capsys.readouterr().out

    return run


def run_alone(number: int, folder: Path, *words: object) -> str:
    """Run an example in a process of its own, which has nothing of the tests."""
    (file,) = FOLDER.glob(f"{number:02d}_*.py")
    done = subprocess.run(
        [sys.executable, file, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env={**os.environ, "MPLBACKEND": "Agg"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_controller_presses_a_wall_with_its_force_limit(
    tmp_path: Path, run_here: Callable[..., str]
) -> None:
    out = run_here(1, tmp_path)
    said = re.fullmatch(r"TRACKING: (\S+) N at the wall, limit 15 N\n", out)
    assert said is not None, out
    assert abs(float(said[1]) - 15.0) <= 0.2
    assert (tmp_path / "out" / "wall.png").stat().st_size > 1000


def test_a_recording_without_a_contact_says_so(tmp_path: Path) -> None:
    robot = Robot.from_description(RobotDescription.load("iiwa14_wsg50"))
    q = np.array(RobotDescription.load("iiwa14_wsg50").joints.home)
    lines = [[time, *q, *robot.gravity_torque(q)] for time in np.arange(0.0, 0.5, 0.01)]
    np.savetxt(tmp_path / "r.csv", lines, delimiter=",", header="title")
    said = run_alone(2, tmp_path, tmp_path / "r.csv")
    assert said == "no contact\ntare: bias known; 0 lines left out\n"


@pytest.mark.parametrize("arm", ["nope", "broken.yaml"])
def test_an_arm_that_cannot_be_read_is_an_error_of_the_command_line(
    tmp_path: Path,
    run_here: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    arm: str,
) -> None:
    (tmp_path / "broken.yaml").write_text("- no\n- robot\n")
    with pytest.raises(SystemExit):
        run_here(2, tmp_path, "r.csv", "--arm", arm)
    said = capsys.readouterr().err.splitlines()[-1]
    assert "error: " in said and arm in said


@pytest.mark.parametrize(
    ("arm", "link", "point", "force"),
    [
        ("iiwa14_wsg50", "lbr_link_6", (0.07, 0.025, 0.005), (-18.0, 8.0, 3.0)),
        ("fr3", "fr3_link6", (0.132, 0.015, 0.0), (-17.0, 0.0, 10.5)),
    ],
)
def test_a_contact_is_found_in_a_recording_of_pinocchio(
    tmp_path: Path,
    run_here: Callable[..., str],
    arm: str,
    link: str,
    point: tuple[float, ...],
    force: tuple[float, ...],
) -> None:
    """The arm moves from the first line on; after a second it is touched."""
    description = RobotDescription.load(arm)
    robot, draw = Robot.from_description(description), np.random.default_rng(0)
    model, data, lines = robot.model, robot.model.createData(), []
    for time in np.arange(0.0, 2.5, 0.005):
        q = np.array(description.joints.home) + 0.1 * np.sin(time)
        v, a = np.full(7, 0.1 * np.cos(time)), np.full(7, -0.1 * np.sin(time))
        robot.update(q)
        pose = robot.link_pose(link)
        pressed = np.clip((time - 1.0) / 0.05, 0.0, 1.0) * (pose.rotation @ force)
        contact = robot.torque_of_force(link, pose.act(np.array(point)), pressed)
        torque = pin.rnea(model, data, q, v, a) - contact + 0.05 * draw.standard_normal(7)
        lines.append([time, *q, *torque])
    file = tmp_path / "recording.csv"
    np.savetxt(file, lines, delimiter=",", header="time and 2 n columns")
    out = run_here(2, tmp_path, file, "--arm", arm)
    said = re.fullmatch(
        r"contact 1: (\S+) N on (\S+) at \[(.*)\] m, until 2.50 s; gives way by (\S+) rad a tick\n"
        r"tare: bias known; 0 lines left out\n",
        out,
    )
    assert said is not None, out
    assert abs(float(said[1]) - 20.0) < 1.0
    assert said[2] == link
    assert np.linalg.norm(np.array(said[3].split(), float) - pose.act(np.array(point))) < 0.02
    assert float(said[4]) > 0.0
