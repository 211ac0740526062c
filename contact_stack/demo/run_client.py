"""How the node of a demo is run on a graph of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from contact_core.errors import CommunicationError
from contact_core.signals import deferred
from contact_stack.demo.client_node import ClientNode
from contact_stack.launch import LaunchPlan, NodeGraph, refuse_second_graph
from contact_stack.recording import McapRecorder

Client = TypeVar("Client", bound=ClientNode)


def run_client(
    plan: LaunchPlan,
    recording: Path,
    make_node: Callable[[McapRecorder], Client],
    on_progress: Callable[[Client], None],
) -> Client:
    """Start a graph, run a node on it until it has finished, stop the graph.

    Args:
        plan: What the graph consists of.
        recording: MCAP file to write.
        make_node: Makes the node, given where it records what it hears.
        on_progress: Called with the node whenever something has happened.

    Returns:
        The node, with all it has heard.

    Raises:
        ContactStackError: If the graph does not start, falls silent, a node of it ends, or
            another graph is running in its place.
    """
    refuse_second_graph(plan)
    with NodeGraph(plan) as graph, McapRecorder(recording) as recorder:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        try:
            with deferred():
                node = make_node(recorder)
            _spin(node, graph, on_progress)
            node.destroy_node()
        finally:
            with deferred():
                rclpy.try_shutdown()
    return node


def _spin(node: Client, graph: NodeGraph, on_progress: Callable[[Client], None]) -> None:
    """Handle messages until the node has finished."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    progress, changed = (-1, 0.0), time.monotonic()
    try:
        while not node.finished:
            # An interrupt inside rclpy would leave half-made objects that complain.
            with deferred():
                executor.spin_once(timeout_sec=0.1)
            graph.check()
            if (node.stamp, node.silence_limit) != progress:
                progress, changed = (node.stamp, node.silence_limit), time.monotonic()
                on_progress(node)
            elif time.monotonic() - changed > node.silence_limit:
                raise CommunicationError(
                    f"the graph has been silent for {node.silence_limit:g} s: {node.waiting_for}"
                )
    finally:
        executor.shutdown()
