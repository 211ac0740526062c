"""One plan executed with one friction, on a graph of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contact_stack.demo.run import NAMESPACE, PERIOD
from contact_stack.demo.run_client import run_client
from contact_stack.demo.scene_file import write_scene
from contact_stack.demo.sled.sled_node import ALONG, SledNode
from contact_stack.launch.command import find_launch_file
from contact_stack.launch.parser import parse
from robust_planner.trajectory import ContactTrajectory

SCENE = "slide_sled"
LAUNCH = "client"
SLIDING = "sliding"
"""The surface of sled and table."""


@dataclass(frozen=True)
class Slide:
    """What a run left.

    Attributes:
        friction: mu of sled and table.
        time: (n) from the start of the plan [s].
        distance: (n) that the sled has slid along the motion [m].
        sha256: Hash of the arm's joint positions of every tick.
        wall_time: Real time the run took [s].
    """

    friction: float
    time: np.ndarray
    distance: np.ndarray
    sha256: str
    wall_time: float

    @property
    def speed(self) -> np.ndarray:
        """Speed of the sled between the samples (n - 1) [m/s]."""
        return np.diff(self.distance) / np.diff(self.time)


def slide(
    trajectory: ContactTrajectory,
    friction: float,
    seed: int,
    view: bool,
    recording: Path,
    on_progress: Callable[[float], None],
) -> Slide:
    """Start the graph, execute the plan, stop the graph.

    Args:
        trajectory: The plan.
        friction: mu of sled and table.
        seed: Of the sensor noise.
        view: Whether the live page is opened.
        recording: MCAP file to write; the scene with this friction is written beside it.
        on_progress: Called with the simulated time since the first tick [s].

    Returns:
        The run.

    Raises:
        ContactStackError: If the graph does not start, or a node ends.
    """
    arguments = {
        "scene": str(_write_scene(friction, recording.parent)),
        "seed": str(seed),
        "view": str(view).lower(),
        "robot_name": NAMESPACE,
    }
    plan = parse(find_launch_file(LAUNCH), arguments)
    node = run_client(
        plan,
        recording,
        lambda recorder: SledNode(
            trajectory.time, trajectory.control[:, 0], PERIOD, recorder, NAMESPACE
        ),
        lambda node: on_progress(node.progress),
    )
    position = np.array(node.positions)[:, ALONG]
    return Slide(
        friction=friction,
        time=np.array(node.times),
        distance=position - position[0],
        sha256=hashlib.sha256(np.array(node.joints).tobytes()).hexdigest(),
        wall_time=node.wall_time,
    )


def _write_scene(friction: float, folder: Path) -> Path:
    """Write the scene with another friction."""

    def change(values: dict[str, Any]) -> None:
        values["surfaces"][SLIDING]["friction"] = friction

    return write_scene(SCENE, folder / f"mu_{friction:.3f}.yaml", change)
