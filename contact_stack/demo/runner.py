"""What a demo is, and how every demo is run.

A demo is a *task* (a scene and what is to be done in it, free of ROS), a *client* (the node that
asks the graph for it and listens, see :class:`ClientNode`) and *figures*. :class:`Demo` names what
the runner needs of it:

- ``runs``: names of the graph runs that are compared, e.g. one per controller, first the one that
  the others are there for;
- ``launch``: launch file and arguments of a run;
- ``client``: the node that joins the graph; its ``data()`` is what a run left, as arrays;
- ``summarise``: the content of ``summary.json``, ``{run: {figure: value}}`` in SI units;
- ``report`` and ``draw``: the same for a person, as a table and as pictures;
- ``verdict``: what is wrong with the runs, and whether the demo counts as failed.

:func:`run_demo` does the rest, the same for all: for each run it starts a graph of its own, records
what the client hears as MCAP, spins the client until it has finished, and stops the graph, also on
Ctrl-C, after a node's failure or when the graph has fallen silent. Then it summarises, draws,
writes and prints, and in a terminal plays the last run again on the page until Ctrl-C.
:attr:`Demo.options` names the options of the command line that a demo takes besides those that all
of them take; others are refused before anything is written.
"""

from __future__ import annotations

import argparse
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar
from urllib.parse import urlsplit

import rclpy
from rclpy.signals import SignalHandlerOptions
from tqdm import tqdm

from contact_core.base.errors import CommunicationError, ContactStackError
from contact_core.base.results import write_json
from contact_core.base.signals import deferred
from contact_core.base.waiting import waiting_for
from contact_core.robot.scene import Scene
from contact_core.robot.scene_config import ENGINES
from contact_ros.driver_profile import PROFILES, DriverConfig, driver_profile
from contact_ros.executor import GuardedExecutor
from contact_stack.demo.client_node import NAMESPACE, ClientNode, Connection
from contact_stack.launch import NodeGraph, find_launch_file, parse, refuse_second_graph
from contact_stack.precompile import compile_once
from contact_stack.recording import McapRecorder
from contact_stack.viewer.browser import PageOpener, is_interactive
from contact_stack.viewer.scene_model import CAST, scene_model_of

EXIT_FAILED = 1
PAGE_PATIENCE = 15.0
"""How long a run waits for the browser to show its page [s]."""
BAR = "{desc:34} {n:.1f} s [{elapsed}]"
BAR_OF_KNOWN_LENGTH = "{desc:34} {bar} {n:.1f}/{total:.1f} s [{elapsed}]"

Data = TypeVar("Data")


@dataclass(frozen=True, eq=False)
class Option:
    """An option of the command line that not every demo takes.

    Attributes:
        flag: What is typed, e.g. ``--engine``.
        default: Its value if it is left out.
        help: What it does.
        settings: Other settings of argparse.
    """

    flag: str
    default: Any
    help: str
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Where argparse puts its value."""
        return self.flag.removeprefix("--").replace("-", "_")


ENGINE = Option(
    "--engine", "tamsi",
    "what simulates the scene: ours (default), or Drake for a second opinion",
    {"choices": ENGINES},
)  # fmt: skip
DRIVER = Option("--driver", "lbr_fri", "driver profile (default lbr_fri)", {"choices": PROFILES})
REALTIME = Option("--realtime", False, "in real time, as on hardware", {"action": "store_true"})


class Demo(ABC, Generic[Data]):
    """A demonstration; see the module for what its parts are.

    Attributes:
        options: The options that it takes besides those of all demos.
        name: Its name on the command line.
        driver: The driver profile.
        engine: What simulates the scene.
        lockstep: Lock-step instead of real time.
        seed: Of all random numbers.
        view: Whether there is a live page.
        browser: Whether it is opened in the browser.
    """

    options: ClassVar[tuple[Option, ...]]

    def __init__(self, args: argparse.Namespace) -> None:
        """Take the options that demos share; a demo takes its own after them.

        Args:
            args: The parsed command line of ``contact-stack demo``, every option with a value.

        Raises:
            ConfigError: By a demo to which the value of an option does not apply.
        """
        self.name: str = args.name
        self.driver: str = args.driver
        self.engine: str = args.engine
        self.lockstep: bool = not args.realtime
        self.seed: int = args.seed
        self.view: bool = args.view
        self.browser: bool = args.browser

    @property
    @abstractmethod
    def runs(self) -> Sequence[str]:
        """Names of the graph runs, as they are reported; also of their recordings.

        The first one is made last.
        """

    @abstractmethod
    def launch(self, run: str, folder: Path) -> tuple[str, Mapping[str, str]]:
        """Return a launch file's name and the arguments that not all demos give it.

        What else the graph needs, e.g. a scene, is written to the folder of the results.
        """

    @abstractmethod
    def client(self, run: str, connection: Connection) -> ClientNode[Data]:
        """Make the node that joins the graph of a run."""

    @abstractmethod
    def summarise(self, runs: Mapping[str, Data]) -> dict[str, Any]:
        """Compute the figures of all runs, as JSON content in SI units."""

    @abstractmethod
    def report(self, summary: Mapping[str, Any]) -> list[str]:
        """Return the lines that a person reads at the end."""

    @abstractmethod
    def draw(self, runs: Mapping[str, Data], folder: Path) -> list[Path]:
        """Draw the pictures, and return their files."""

    @abstractmethod
    def verdict(self, summary: Mapping[str, Any]) -> tuple[list[str], bool]:
        """Return lines on what is wrong, and whether that makes the demo fail."""

    def envelope(self, sim_time: float, wall_time: float) -> dict[str, Any]:
        """Return how a run was made, the same for all demos; simulated and real time in [s]."""
        return {
            "experiment": self.name,
            "driver": self.driver,
            "engine": self.engine,
            "seed": self.seed,
            "lockstep": self.lockstep,
            "sim_time_s": sim_time,
            "wall_time_s": wall_time,
            "real_time_factor": sim_time / wall_time,
        }


def run_demo(demo: Demo[Any], out: Path, copy: Path | str | None = None) -> int:
    """Run a demo.

    Args:
        demo: The demo.
        out: Folder of the results.
        copy: Where else the summaries are written, if anywhere.

    Returns:
        The exit code: 0, or 1 if the demo counts as failed.

    Raises:
        ContactStackError: If a graph does not start or falls silent, a node fails, or the results
            cannot be written; what they are has been printed then.
    """
    with _file_errors(f"the folder {out} cannot be made"):
        out.mkdir(parents=True, exist_ok=True)
    compile_once()
    opener = PageOpener(demo.browser)
    first, *others = demo.runs
    # What is to be seen comes last, and shows the arm of what it is compared with beside it.
    made = {run: run_graph(demo, run, out, opener) for run in others}
    made[first] = run_graph(demo, first, out, opener, others[0] if others else "")
    runs = {run: made[run] for run in demo.runs}
    with waiting_for("sum up"):
        summary = demo.summarise(runs)
    lines, failed = demo.verdict(summary)
    print("\n".join(demo.report(summary)))
    with _file_errors("the results cannot be written"):
        write_json(summary, out / "summary.json", copy)
        with waiting_for("draw"):
            pictures = ", ".join(path.name for path in demo.draw(runs, out))
    print("\n".join([f"results: {out}/summary.json, {pictures}, *.mcap", *lines]))
    if demo.view and is_interactive():
        # What serves a page takes a while to import, and the graph starts without it.
        from contact_stack.viewer.command import PORT, show
        from contact_stack.viewer.recording import beside, load_recording

        film, *compared = [load_recording(out / f"{run}.mcap") for run in demo.runs[:2]]
        film = beside(film, compared[0]) if compared else film
        show(film, urlsplit(opener.address).port or PORT, browser=False)
    return EXIT_FAILED if failed else 0


@contextmanager
def _file_errors(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ContactStackError(f"{what}: {error}") from error


def run_graph(demo: Demo[Data], run: str, out: Path, opener: PageOpener, other: str = "") -> Data:
    """Run a demo's client in a graph of its own, see :func:`run_client`.

    Args:
        demo: The demo.
        run: Name of the run.
        out: Folder of the recording and of the files that the graph reads.
        opener: Opens the live page.
        other: Name of the run whose arm the page shows as well; empty for none.

    Returns:
        What the run left.

    Raises:
        ContactStackError: If the graph does not start, falls silent, a node of it ends, or
            another graph is running in its place.
    """
    with _file_errors(f"what run '{run}' needs cannot be written"):
        file, arguments = demo.launch(run, out)
    common = {
        "driver": demo.driver,
        "lockstep": str(demo.lockstep).lower(),
        "seed": str(demo.seed),
        "view": str(demo.view).lower(),
    }
    if other:
        common["beside"] = str((out / f"{other}.mcap").resolve())
    client = partial(demo.client, run)
    return run_client(file, {**common, **arguments}, client, out / f"{run}.mcap", opener, run)


def run_client(
    file: str,
    arguments: Mapping[str, str],
    client: Callable[[Connection], ClientNode[Data]],
    recording: Path,
    opener: PageOpener | None = None,
    label: str = "",
) -> Data:
    """Start a graph, spin a client until that has finished, stop the graph.

    Args:
        file: Name of the launch file.
        arguments: Its arguments; ``scene``, ``driver``, ``lockstep`` and ``view`` are among them.
        client: Makes the client, once the graph has been started.
        recording: File in which all that the client hears is recorded.
        opener: Opens the live page and shows what the nodes print; None to show nothing.
        label: What a progress bar calls it; empty for no bar.

    Returns:
        What the client has at the end.

    Raises:
        ContactStackError: If the graph does not start, falls silent, a node of it ends, or
            another graph is running in its place.
    """
    plan = parse(find_launch_file(file), {"robot_name": NAMESPACE, **arguments})
    refuse_second_graph(plan)
    with _file_errors(f"{recording} cannot be written"):
        recorder = McapRecorder(recording)
    with recorder, NodeGraph(plan, StringIO() if opener is None else opener) as graph:
        if opener is not None and arguments["view"] == "true" and is_interactive():
            with waiting_for("wait for the browser"):
                opener.wait(PAGE_PATIENCE)
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        try:
            with deferred():
                names = arguments["scene"], arguments.get("robot", "")
                recorder.describe(CAST, scene_model_of(*names).as_metadata())
                scene, driver = Scene.load(*names), arguments["driver"]
                period, joints = scene.config.period, scene.robot.arm_joints
                profile = driver_profile(driver, DriverConfig(), period, joints, NAMESPACE)
                node = client(Connection(recorder, arguments["lockstep"] == "true", profile))
            _spin(node, graph, label)
            node.destroy_node()
        finally:
            with deferred():
                rclpy.try_shutdown()
    return node.data()


def _spin(client: ClientNode[Any], graph: NodeGraph, label: str) -> None:
    """Handle messages until the client has finished, and show how far it is."""
    executor = GuardedExecutor()
    executor.add_node(client)
    heard, changed = (-1, 0.0), time.monotonic()
    total = client.duration
    try:
        bar_format = BAR if total is None else BAR_OF_KNOWN_LENGTH
        # An interrupt inside rclpy would leave half-made objects that complain.
        with (
            tqdm(total=total, bar_format=bar_format, disable=not label) as bar,
            deferred() as signals,
        ):
            while not (client.finished or signals):
                executor.spin_once(timeout_sec=0.1)
                graph.check()
                if (client.stamp, client.silence_limit) != heard:
                    heard, changed = (client.stamp, client.silence_limit), time.monotonic()
                    bar.set_description_str(f"{label}: {client.activity}", refresh=False)
                    bar.update(min(client.progress, total or math.inf) - bar.n)
                elif time.monotonic() - changed > client.silence_limit:
                    raise CommunicationError(
                        f"the graph has been silent for {client.silence_limit:g} s: "
                        f"{client.waiting_for}"
                    )
    finally:
        executor.shutdown()
