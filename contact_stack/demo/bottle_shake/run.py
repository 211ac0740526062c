"""One run of the demo on a graph of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contact_core.scene import Scene
from contact_ros.driver_profile import DriverConfig, driver_profile
from contact_stack.demo.bottle_shake.bottle_node import BottleNode
from contact_stack.demo.bottle_shake.joint_controller import CONTROLLERS
from contact_stack.demo.bottle_shake.task import BottleTask
from contact_stack.demo.bottle_shake.trial import Trial
from contact_stack.demo.run import NAMESPACE
from contact_stack.demo.run_client import run_client
from contact_stack.demo.scene_file import write_scene
from contact_stack.launch import find_launch_file, parse

SCENE = "bottle_shake"
LAUNCH = "client"


@dataclass(frozen=True)
class RunOptions:
    """How the demo is run.

    Attributes:
        controller: Name of the joint controller.
        feedback: Whether forces are used.
        driver: The driver profile.
        engine: What simulates the scene.
        lockstep: Lock-step instead of real time.
        seed: Of all random numbers.
        view: Whether the live page is opened.
    """

    controller: str
    feedback: bool
    driver: str
    engine: str
    lockstep: bool
    seed: int
    view: bool


def scene_for(controller: str, folder: Path) -> Path:
    """Write the scene with the arm in the mode that a joint controller commands.

    Args:
        controller: Name of the joint controller.
        folder: Where the file is written.

    Returns:
        The file.
    """

    def change(values: dict[str, Any]) -> None:
        values["robot"]["control_mode"] = CONTROLLERS[controller]

    return write_scene(SCENE, folder / f"{controller}.yaml", change)


def shake_bottle(
    task: BottleTask,
    options: RunOptions,
    recording: Path,
    on_progress: Callable[[BottleNode], None],
) -> Trial:
    """Start the graph, handle the bottle, stop the graph.

    Args:
        task: What to do.
        options: How.
        recording: MCAP file to write; the scene is written beside it.
        on_progress: Called with the node whenever simulated time has passed.

    Returns:
        The run.

    Raises:
        ContactStackError: If the graph does not start, falls silent, or a node of it ends.
    """
    file = scene_for(options.controller, recording.parent)
    scene = Scene.load(str(file))
    plan = parse(
        find_launch_file(LAUNCH),
        {
            "scene": str(file),
            "engine": options.engine,
            "driver": options.driver,
            "lockstep": str(options.lockstep).lower(),
            "seed": str(options.seed),
            "view": str(options.view).lower(),
            "robot_name": NAMESPACE,
        },
    )
    profile = driver_profile(options.driver, DriverConfig(), scene.config.period)
    node = run_client(
        plan,
        recording,
        lambda recorder: BottleNode(
            scene, task, options.controller, options.feedback,
            profile, recorder, NAMESPACE, options.lockstep,
        ),
        on_progress,
    )  # fmt: skip
    return node.trial
