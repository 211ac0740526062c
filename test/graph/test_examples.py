"""The examples of examples/graph run as their docstrings say; all examples are short."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from client import FULL_RATE

from contact_stack.launch import NodeGraph, find_launch_file, parse

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FOLDER = EXAMPLES / "graph"


def on_the_graph(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that starts a graph, which takes a while."""
    marked: Callable[..., None] = pytest.mark.graph(pytest.mark.verify(test))
    return marked


def example(name: str) -> str:
    """Run an example and return what it prints."""
    (file,) = FOLDER.glob(f"{name}_*.py")
    done = subprocess.run(
        [sys.executable, file], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("folder", sorted(EXAMPLES.iterdir()), ids=lambda folder: folder.name)
def test_examples_are_numbered_and_short(folder: Path) -> None:
    files = sorted(folder.glob("*.py"))
    assert [file.name[:2] for file in files] == [f"{i:02d}" for i in range(1, len(files) + 1)]
    assert all(len(file.read_text().splitlines()) <= 40 for file in files)


@on_the_graph
@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_examples_on_the_simulator(launch: Callable[..., NodeGraph], driver: str) -> None:
    """One graph for all of them."""
    launch(held_mass="0.1")
    assert "mm from the last corner" in example("01")
    assert "the arm is free" in example("04")
    assert "tared" in example("05")
    assert "the controller says OK" in example("08")
    assert "holds something 78 mm wide" in example("06")  # the mug, a little squeezed


@on_the_graph
@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_examples_that_touch(launch: Callable[..., NodeGraph], client: Any, driver: str) -> None:
    launch(rate=FULL_RATE, scene="push_box")
    client.wait_until_ready(gripper=False)
    touched = example("09")
    assert touched.startswith("touched ")
    assert example("10").startswith("wiped 120 mm")


@on_the_graph
@pytest.mark.parametrize("driver", ["lbr_fri"], indirect=True)
def test_the_example_that_inserts(
    launch: Callable[..., NodeGraph], client: Any, driver: str
) -> None:
    launch(scene="insert_dowel", lockstep="true")
    client.wait_until_ready(gripper=False)
    assert example("13").startswith("20 mm deep")


@on_the_graph
def test_examples_on_the_planners(ros_domain: int) -> None:
    with NodeGraph(parse(find_launch_file("planners"), {}), io.StringIO()):
        planned = example("02")
        assert "cost:" in planned
        assert "pushes box with up to" in planned
        assert example("03").startswith("SUCCEEDED")


@on_the_graph
def test_a_plan_is_followed_left_and_made_again(ros_domain: int) -> None:
    plan = parse(find_launch_file("push_box"), {"view": "false"})
    with NodeGraph(plan, io.StringIO()):
        before, first, left, _, second, ended = example("12").splitlines()
    assert before == "the box is at 0.56, -0.09"
    assert first.startswith("first plan: ")
    assert "INVALID_GOAL" not in first + second
    assert left.startswith(f"its motion ended with state {GoalStatus.STATUS_CANCELED}")
    assert second.startswith("second plan: ")
    assert ended.startswith("its motion ended with state ")


@on_the_graph
def test_a_lock_step_test_gives_the_same_figure_every_time(ros_domain: int) -> None:
    first = example("07")
    assert "after 100 ticks of 5 ms the elbow is at -1.6" in first
    assert example("07") == first
