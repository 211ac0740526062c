"""The sled on the real graph, in lock-step: plans executed by the arm as wrenches."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from own_domain import own_domain

from contact_core.base.errors import CommunicationError
from contact_core.robot.arm_state import ArmState, CommandMode
from contact_experiments.robust.arm_runs import SLIDE, ArmCase
from contact_stack import cli
from contact_stack.demo import command
from contact_stack.demo.runner import run_graph
from contact_stack.demo.sled.demo import SledPlans, SlideSled
from contact_stack.demo.sled.node import SCENE, rest_pose
from contact_stack.viewer.browser import PageOpener
from robust_planner.trajectory import ContactTrajectory

FRICTION = 0.3
PUSH = 25.0
PERIOD = 0.005


def short_push() -> ContactTrajectory:
    """A constant push for 0.1 s."""
    count = 11
    empty = np.zeros((count, 1))
    return ContactTrajectory(
        time=np.linspace(0.0, 0.1, count),
        position=empty,
        velocity=empty,
        control=np.full((count, 1), PUSH),
        normal_force=empty,
        tangent_force=np.zeros((count, 1, 2)),
        slip=empty,
        limit_force=empty,
    )


@pytest.mark.graph
def test_the_graph_does_what_the_plant_does(ros_domain: int, tmp_path: Path) -> None:
    """Wrenches over the wire move the sled exactly as wrenches given to the plant."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    demo = command.make_demo(parser.parse_args([SCENE, "--no-view"]))
    assert isinstance(demo, SlideSled)
    plan, example = SimpleNamespace(trajectory=short_push()), SimpleNamespace
    demo.planned = SledPlans(example(test_friction=(FRICTION,)), 0.0, {"run": plan})
    run = run_graph(demo, demo.runs[0], tmp_path, PageOpener(browser=False))
    case = ArmCase("run", tuple(plan.trajectory.time), (PUSH,) * 11, FRICTION)
    np.testing.assert_array_equal(run.distance, SLIDE.execution.run(case))
    assert run.distance[-1] > 5e-3
    np.testing.assert_allclose(run.time, np.arange(21) * PERIOD, atol=1e-9)
    assert (tmp_path / "run_0.300.mcap").stat().st_size > 10_000


def test_a_position_controlled_arm_is_refused() -> None:
    """About 1 mm/N of stiffness along the motion would hide what friction does."""
    wrench = ArmState(1, *[np.arange(7.0)] * 4, command_mode=CommandMode.WRENCH)
    np.testing.assert_array_equal(rest_pose(wrench), np.arange(7.0))
    with pytest.raises(CommunicationError, match="takes no wrench: set Cartesian impedance"):
        rest_pose(dataclasses.replace(wrench, command_mode=CommandMode.POSITION))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--driver", "ros2_control"], "--driver is 'ros2_control' (valid: lbr_fri)"),
        (["--realtime"], "slide_sled takes no --realtime (valid: --driver)"),
        (["--controller", "qp"], "slide_sled takes no --controller (valid: --driver)"),
    ],
)
def test_options_of_other_demos_are_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["demo", "slide_sled", *words, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def run_demo(folder: Path) -> dict[str, Any]:
    """Run the demo as a user does."""
    with own_domain() as environment:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "contact_stack.cli", "demo", "slide_sled"),
                *("--no-view", "--out", str(folder)),
            ],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=500,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    summary: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return summary


@pytest.mark.graph
@pytest.mark.verify
def test_robust_plan_halves_the_range_with_the_arm_in_the_loop(tmp_path: Path) -> None:
    """mu = 0.4 +- 0.16; and once more, for the same figures to the last bit."""
    summary, again = run_demo(tmp_path / "first"), run_demo(tmp_path / "second")
    plans = summary["plans"]
    assert [plan["status"] for plan in plans.values()] == ["SUCCEEDED", "SUCCEEDED"]
    assert summary["range_ratio"] <= 0.5
    for name, plan in plans.items():
        assert plan["max_control"] <= 60.0 + 1e-9
        assert plan["max_speed"] <= 1.5 + 1e-9
        assert plan["arm"]["max_speed"] <= 1.5
        # The arm does about what time stepping predicts for the sled and its inertia alone.
        assert plan["arm"]["range"] == pytest.approx(plan["final_error"]["range"], rel=0.2)
        hashes = again["plans"][name]["arm"]["trajectory_sha256"]
        assert hashes == plan["arm"]["trajectory_sha256"]
    assert (tmp_path / "first" / "slides.png").stat().st_size > 50_000
