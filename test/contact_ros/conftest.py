"""Fixtures of the tests that run nodes in the process of the test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

PATIENCE = 20.0


class _Graph:
    """Some nodes in one single-threaded executor."""

    def __init__(self) -> None:
        self._executor = SingleThreadedExecutor()
        self._nodes: list[Node] = []

    def node(self, name: str, *args: str) -> Node:
        """Create a node; ``args`` are its arguments after ``--ros-args``."""
        cli_args = ["--ros-args", *args] if args else None
        node = rclpy.create_node(name, cli_args=cli_args, start_parameter_services=False)
        self._nodes.append(node)
        self._executor.add_node(node)
        return node

    def spin_until(self, condition: Callable[[], bool]) -> None:
        """Run callbacks until the condition holds; give up after a long while."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "the nodes never got there"
            self._executor.spin_once(timeout_sec=0.05)

    def close(self) -> None:
        self._executor.shutdown()
        for node in self._nodes:
            node.destroy_node()


@pytest.fixture
def graph(ros_domain: int) -> Iterator[_Graph]:
    rclpy.init()
    graph = _Graph()
    yield graph
    graph.close()
    rclpy.shutdown()
