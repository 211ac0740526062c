"""Fixtures that start the graph, each in a ROS domain of its own."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from contact_ros.driver_profile import PROFILES
from contact_stack.launch import NodeGraph, find_launch_file, parse

sys.path.insert(0, str(Path(__file__).parent))
from client import RATE, GraphClient, at_rate, shared_graph
from faults import settle

DEFAULT = "lbr_fri"

GRAPHS = pytest.StashKey[list[NodeGraph]]()
"""Those that a test has started itself."""

LAST = 6000
"""So many characters of what the nodes print are shown where a test fails."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show with a test that fails what its nodes do and print, and when each topic was heard."""
    report = yield
    if report.when == "call" and report.failed:
        values = getattr(item, "funcargs", {}).values()
        clients = [value for value in values if isinstance(value, GraphClient)]
        pids = [pid for graph in item.stash.get(GRAPHS, []) for pid in graph.pids]
        for pid in [*pids, *(pid for client in clients for pid in client.pids.values())]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGUSR1)
        time.sleep(1.0)
        outputs = [value for value in values if isinstance(value, io.StringIO)]
        for output in [*outputs, *(client.output for client in clients)]:
            report.sections.append(("the nodes' output", output.getvalue()[-LAST:]))
        for client in clients:
            now = time.monotonic()
            ages = [
                f"{topic}: {len(heard)} messages, the last {now - heard[-1][0]:.1f} s ago"
                for topic, heard in client.heard.items()
                if heard
            ]
            report.sections.append(("heard", "\n".join(ages)))
    return report


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
    request: pytest.FixtureRequest,
    ros_domain: int,
    alive: Callable[[int], bool],
    driver: str,
    output: io.StringIO,
    tmp_path: Path,
) -> Iterator[Callable[..., NodeGraph]]:
    """Start ``sim.launch.xml`` with arguments; at the end no process may be left.

    It makes so many ticks a second, of real or, in lock-step, of simulated time.
    """
    graphs = request.node.stash[GRAPHS] = []
    with ExitStack() as stack:

        def start(rate: float = RATE, **arguments: str) -> NodeGraph:
            quiet = {"view": "false", "frames": "false", "driver": driver}
            plan = parse(find_launch_file("sim"), {**quiet, **at_rate(rate, tmp_path, arguments)})
            graphs.append(stack.enter_context(NodeGraph(plan, output)))
            return graphs[-1]

        yield start
    for graph in graphs:
        assert not any(alive(pid) for pid in graph.pids)


@pytest.fixture
def held(request: pytest.FixtureRequest, driver: str) -> GraphClient:
    """One graph for all tests that leave it running, a mug in its gripper.

    They come one after the other, for it takes a processor until the last of them.
    """
    stash = request.config.stash
    shared = stash.get(HELD, None)
    if shared is not None and shared.driver == driver and shared.client.runs():
        # What an earlier test has spoilt, as one that fails may, is started anew.
        with suppress(TimeoutError, AssertionError):
            settle(shared.client)
            return shared.client
    _end_held(request.config)
    stack = ExitStack()
    client = stack.enter_context(shared_graph(driver, held_mass="0.1"))
    stash[HELD] = _Held(driver, client, stack)
    return client


@dataclass(frozen=True)
class _Held:
    """A graph that tests share, and what ends it."""

    driver: str
    client: GraphClient
    stack: ExitStack


HELD = pytest.StashKey[_Held]()


def _end_held(config: pytest.Config) -> None:
    if HELD in config.stash:
        shared = config.stash[HELD]
        del config.stash[HELD]
        shared.stack.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """End the graph that tests share where the next one does not."""
    try:
        return (yield)
    finally:
        if nextitem is None or "held" not in getattr(nextitem, "fixturenames", ()):
            _end_held(item.config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End it where the run was interrupted."""
    _end_held(config)


@pytest.fixture
def client(ros_domain: int) -> Iterator[GraphClient]:
    """A node of the test that listens to the graph."""
    client = GraphClient()
    yield client
    client.close()
