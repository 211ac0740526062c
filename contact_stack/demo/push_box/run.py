"""One run of the demo on a graph of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from contact_stack.demo.push_box.push_node import NAME, PushNode
from contact_stack.demo.push_box.task import PushTask
from contact_stack.demo.run_client import run_client
from contact_stack.launch import find_launch_file, parse

NAMESPACE = "lbr"


def run_push(
    task: PushTask,
    attempts: int,
    mode: str,
    driver: str,
    seed: int,
    lockstep: bool,
    view: bool,
    recording: Path,
    on_progress: Callable[[PushNode], None],
) -> PushNode:
    """Start the graph, push the box, stop the graph.

    Args:
        task: Where the box has to go.
        attempts: Largest number of plans.
        mode: How gradients are made.
        driver: The driver profile.
        seed: Of all random numbers.
        lockstep: Lock-step instead of real time.
        view: Whether the live page is opened.
        recording: MCAP file to write.
        on_progress: Called with the node whenever simulated time has passed.

    Returns:
        The node, with all it has heard.

    Raises:
        ContactStackError: If the graph does not start, a node ends, or a goal fails.
    """
    plan = parse(
        find_launch_file("push_box"),
        {
            "robot": task.model.scene.scene.config.robot.description,
            "scene": task.model.scene.config.scene,
            "driver": driver,
            "lockstep": str(lockstep).lower(),
            "client": NAME if lockstep else "",
            "seed": str(seed),
            "view": str(view).lower(),
            "robot_name": NAMESPACE,
        },
    )
    return run_client(
        plan,
        recording,
        lambda recorder: PushNode(task, attempts, mode, seed, recorder, NAMESPACE, lockstep),
        on_progress,
    )
