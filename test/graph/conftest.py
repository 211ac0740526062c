"""Fixtures that start the graph, each in a ROS domain of its own."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from contact_ros.driver_profile import PROFILES
from contact_stack.launch import NodeGraph, find_launch_file, parse

sys.path.insert(0, str(Path(__file__).parent))
from client import RATE, GraphClient, at_rate, shared_graph

DEFAULT = "lbr_fri"


@pytest.fixture(
    scope="module",
    params=[
        name if name == DEFAULT else pytest.param(name, marks=pytest.mark.verify)
        for name in PROFILES
    ],
)
def driver(request: pytest.FixtureRequest) -> str:
    """The driver profile of the graph: every test of the graph passes in each of them."""
    return str(request.param)


@pytest.fixture
def output() -> io.StringIO:
    """What the nodes of the graph print."""
    return io.StringIO()


@pytest.fixture
def launch(
    ros_domain: int,
    alive: Callable[[int], bool],
    driver: str,
    output: io.StringIO,
    tmp_path: Path,
) -> Iterator[Callable[..., NodeGraph]]:
    """Start ``sim.launch.xml`` with arguments; at the end no process may be left.

    In lock-step, or in real time with so many ticks a second.
    """
    graphs: list[NodeGraph] = []
    with ExitStack() as stack:

        def start(rate: float = RATE, **arguments: str) -> NodeGraph:
            quiet = {"view": "false", "frames": "false", "driver": driver}
            plan = parse(find_launch_file("sim"), {**quiet, **at_rate(rate, tmp_path, arguments)})
            graphs.append(stack.enter_context(NodeGraph(plan, output)))
            return graphs[-1]

        yield start
    for graph in graphs:
        assert not any(alive(pid) for pid in graph.pids)


@pytest.fixture(scope="module")
def held(driver: str) -> Iterator[GraphClient]:
    """One graph for all tests of a file that leave it as they found it, a mug in its gripper.

    They come last: it takes a processor until the end of the file.
    """
    with shared_graph(driver, held_mass="0.1") as client:
        yield client


@pytest.fixture
def client(ros_domain: int) -> Iterator[GraphClient]:
    """A node of the test that listens to the graph."""
    client = GraphClient()
    yield client
    client.close()
