"""One run of the demo on a graph of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from contact_stack.app.demo.push_box.push_node import NAME, PushNode
from contact_stack.app.demo.push_box.task import PushTask
from contact_stack.app.launch.command import find_launch_file
from contact_stack.app.launch.parser import parse
from contact_stack.app.launch.runner import NodeGraph
from contact_stack.app.recording.mcap_recorder import McapRecorder
from contact_stack.core.errors import CommunicationError
from contact_stack.core.signals import deferred

NAMESPACE = "lbr"
SILENCE_LIMIT = 60.0
"""A graph in which nothing has happened for this long has failed [s]."""
PLANNING_LIMIT = 600.0
"""A planner that has not answered for this long has failed [s]."""


def run_push(
    task: PushTask,
    attempts: int,
    mode: str,
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
            "lockstep": str(lockstep).lower(),
            "client": NAME if lockstep else "",
            "seed": str(seed),
            "view": str(view).lower(),
            "robot_name": NAMESPACE,
        },
    )
    with NodeGraph(plan) as graph, McapRecorder(recording) as recorder:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        try:
            with deferred():
                node = PushNode(task, attempts, mode, seed, recorder, NAMESPACE, lockstep)
            _spin(node, graph, on_progress)
            node.destroy_node()
        finally:
            with deferred():
                rclpy.try_shutdown()
    return node


def _spin(node: PushNode, graph: NodeGraph, on_progress: Callable[[PushNode], None]) -> None:
    """Handle messages until the demo is over."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    progress, changed = (-1, False), time.monotonic()
    try:
        while not node.finished:
            # An interrupt inside rclpy would leave half-made objects that complain.
            with deferred():
                executor.spin_once(timeout_sec=0.1)
            graph.check()
            if (node.stamp, node.planning) != progress:
                progress, changed = (node.stamp, node.planning), time.monotonic()
                on_progress(node)
            limit = PLANNING_LIMIT if node.planning else SILENCE_LIMIT
            if time.monotonic() - changed > limit:
                raise CommunicationError(
                    f"the graph has been silent for {limit:g} s: {node.waiting_for}"
                )
    finally:
        executor.shutdown()
