"""The bottle on the real graph: grasped, shaken and placed by force, tamsi Sec. VI-C."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from demos import run_demo

pytestmark = [pytest.mark.graph, pytest.mark.verify, pytest.mark.timeout(1800)]

sys.path.insert(0, str(Path(__file__).parents[1] / "contact_stack"))


def shake_bottle(folder: Path, *words: str) -> dict[str, Any]:
    """Run the demo as a user does and return its summaries."""
    return run_demo("bottle_shake", folder, *words, timeout=1200.0)


def check_placed(summary: dict[str, Any]) -> None:
    assert summary["felt"]["verdict"] == "PLACED"
    assert summary["placed"]
    assert summary["peak_acceleration_m_s2"] >= 5.0
    assert summary["slip_m"] <= 5e-3
    assert summary["place_error_m"] <= 0.01
    assert summary["tilt_rad"] <= 0.02
    # The grip is what the load needs, not simply strong.
    assert summary["grip"]["enough_share_of_time"] == 1.0
    assert summary["grip"]["max_N"] <= 3.0 * summary["grip"]["needed_max_N"]


@pytest.mark.parametrize("controller", ["impedance", "inverse_dynamics"])
def test_force_feedback_decides_over_the_bottle(controller: str, tmp_path: Path) -> None:
    """With feedback it is shaken and placed; without, the same motion loses it.

    And the graph does exactly what the plant does: nothing depends on when messages arrive.
    """
    from bottle_shake_plant import run_on_plant

    from contact_core.robot.scene import Scene
    from contact_stack.demo.bottle_shake.record import Bottle, summarize_bottle
    from contact_stack.demo.bottle_shake.task import BottleTask

    summaries = shake_bottle(tmp_path, "--joint-controller", controller)
    check_placed(summaries["on"])
    assert not summaries["off"]["placed"]
    assert summaries["off"]["lost_at_s"] is not None
    task, bottle = BottleTask(), Bottle.of(Scene.load("bottle_shake"))
    for name, feedback in (("on", True), ("off", False)):
        direct = summarize_bottle(run_on_plant(controller, feedback), task, bottle)
        assert summaries[name]["trajectory_sha256"] == direct["trajectory_sha256"]
        assert (tmp_path / f"feedback_{name}.mcap").stat().st_size > 100_000
    assert (tmp_path / "bottle.png").stat().st_size > 50_000


@pytest.mark.parametrize("driver", ["kuka_drivers", "ros2_control"])
def test_other_drivers(driver: str, tmp_path: Path) -> None:
    summaries = shake_bottle(tmp_path, "--feedback", "on", "--driver", driver)
    check_placed(summaries["on"])


def test_drakes_physics_agree(tmp_path: Path) -> None:
    """The same on another engine; its friction and contact are not ours."""
    summaries = shake_bottle(tmp_path, "--feedback", "on", "--engine", "drake")
    check_placed(summaries["on"])
