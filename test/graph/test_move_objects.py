"""Things are moved to their goals by the real nodes, in real time."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from contact_stack_msgs.action import MoveObjects
from own_scenes import PLACE, write_scene
from planning_client import PlanningClient

from contact_stack import cli
from contact_stack.launch import NodeGraph, find_launch_file, parse

pytestmark = [pytest.mark.graph, pytest.mark.verify, pytest.mark.timeout(900)]


@pytest.fixture
def scene(tmp_path: Path, launch, driver: str) -> Iterator[Path]:
    """A scene of one's own, simulated, with the planners beside it."""
    path = write_scene(tmp_path, "can")
    launch(scene=str(path))
    with NodeGraph(parse(find_launch_file("planners"), {"driver": driver}), io.StringIO()):
        with PlanningClient(MoveObjects, "move_objects") as client:
            client.plan()  # nothing: it waits until the server is up
        yield path


def test_a_scene_and_a_goal_are_enough(scene: Path, tmp_path: Path) -> None:
    file = tmp_path / "moved.json"
    goal = {"thing/x": PLACE[0] + 0.06, "thing/y": PLACE[1] + 0.08}
    words = [f"{name}={value}" for name, value in goal.items()]
    assert cli.main(["move", str(scene), "--goal", *words, "--json", str(file)]) == 0
    moved = json.loads(file.read_text())
    assert moved["status"] == "SUCCEEDED"
    assert max(abs(moved["error"][name]) for name in goal) <= 0.02


def test_ctrl_c_stops_the_arm(scene: Path) -> None:
    far = f"thing/y={PLACE[1] + 0.3}"
    words = ["move", str(scene), "--goal", far, "--json"]
    child = subprocess.Popen(
        [sys.executable, "-m", "contact_stack.cli", *words],
        stdout=subprocess.PIPE, text=True, env=os.environ,
    )  # fmt: skip
    time.sleep(6.0)
    child.send_signal(signal.SIGINT)
    assert '"status": "CANCELED"' in child.communicate(timeout=30.0)[0]
    assert child.returncode == 1
