"""Run the nodes of a launch file, each in a process group of its own, and guarantee their end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from io import TextIOBase
from pathlib import Path
from typing import Any, Self, TextIO

import yaml

from contact_core.base.errors import LaunchError, SecondGraphError
from contact_core.base.signals import MAX_WAIT, deferred, interrupts_blocked
from contact_core.base.waiting import waiting_for
from contact_stack.launch.guard import MARK, guarded
from contact_stack.launch.parser import LaunchPlan, NodeAction
from contact_stack.launch.substitutions import ament_prefixes

OWN_PACKAGE = "contact_stack"

STAGES = ((signal.SIGINT, 2.0), (signal.SIGTERM, 1.5), (signal.SIGKILL, 1.0))
"""How nodes are stopped: signal, and the time they then have to end [s]; < 5 s in all."""

STOPPED_CODES = (0, -signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Exit codes that are no failure of a node that was told to stop."""

TAIL_LINES = 40
"""How much of a node's output is kept for a report of its death."""

DISCOVERY_TIME = 1.0
"""How long nodes that run already have to show themselves [s]."""

STEADY_AFTER = 10.0
"""A node that has run for so long did not die of its start [s]."""

RESTARTS = 5
"""How often in a row a node that dies of its start is restarted, after twice the time each."""

REFUSED = 2
"""Exit code of a node that refuses what it was given: it would refuse that again."""

FORGOTTEN_AFTER = 20
"""How long a killed node is still seen by others, Fast DDS's lease of a participant [s]."""


class NodeGraph:
    """The running nodes of a launch file, as a context manager.

    They start when the block is entered and have ended when it is left, however that happens, also
    if this process is killed. A node that may be restarted is, by :meth:`wait` and :meth:`check`,
    later each time it dies soon after its start, and after some such deaths in a row no more. One
    that refuses at its first start what it was given ends the launch. All methods are for one
    thread, that of the block.
    """

    def __init__(self, plan: LaunchPlan, output: TextIO | TextIOBase | None = None) -> None:
        """Prepare; nothing is started yet.

        Args:
            plan: What to start.
            output: Where the nodes' output goes, each line after the name of its node; by
                default standard output.
        """
        self._plan = plan
        self._output = sys.stdout if output is None else output
        self._resources = ExitStack()
        self._nodes: list[_SupervisedNode] = []
        self._pids: list[int] = []
        # Guards what the threads of the processes change.
        self._changed = threading.Condition()
        self._failure: _SupervisedNode | None = None
        self._stopping = False
        # A lock of its own: a full pipe must not keep the nodes from being stopped.
        self._printing = threading.Lock()

    def __enter__(self) -> Self:
        """Start all nodes.

        Raises:
            LaunchError: If an executable is not installed or cannot be started; nothing
                is running then.
        """
        try:
            folder = self._resources.enter_context(
                tempfile.TemporaryDirectory(prefix="contact_stack_launch_")
            )
            # All are looked up before the first starts.
            nodes = [(node, command_line(node, Path(folder))) for node in self._plan.nodes]
            with deferred():
                self._mark = self._resources.enter_context(guarded())
                for node, command in nodes:
                    self._nodes.append(_SupervisedNode(node, command))
                    self._start(self._nodes[-1])
        except BaseException as error:
            self.stop()
            if isinstance(error, OSError):
                raise LaunchError(f"cannot start a node: {error}") from error
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Stop all nodes that still run."""
        self.stop()

    @property
    def pids(self) -> tuple[int, ...]:
        """Ids of all processes that were started; each led a group of its own."""
        return tuple(self._pids)

    @property
    def exit_code(self) -> int:
        """Exit code of the first node that failed, 0 if none did, as a shell reports it."""
        return 0 if self._failure is None else self._failure.exit_code

    @property
    def over(self) -> bool:
        """True once a critical node has failed, all have ended, or one that ends the launch."""
        with self._changed:
            return self._is_over()

    def check(self) -> None:
        """Restart what is due, and make sure that no node has failed.

        Raises:
            LaunchError: If one has; the text holds the end of its output.
        """
        with self._changed:
            self._restart()
        if self._failure is not None:
            tail = "\n".join(self._failure.tail)
            raise LaunchError(
                f"node '{self._failure.label}' ended with exit code {self.exit_code}; its last "
                f"lines were:\n{tail}"
            )

    def wait(self) -> None:
        """Wait until the launch is :attr:`over`."""
        with self._changed:
            while not self._is_over():
                self._restart()
                self._changed.wait(MAX_WAIT)

    def stop(self) -> None:
        """Stop all nodes: politely first, and after some seconds by force."""
        with deferred(), waiting_for("stop the nodes"):
            self._stopping = True
            for number, patience in STAGES:
                for node in self._nodes:
                    node.send(number)
                with self._changed:
                    if self._changed.wait_for(self._none_runs, patience):
                        break
            self._resources.close()

    def _start(self, node: _SupervisedNode) -> None:
        node.start(self._mark, self._print, self._end)
        self._pids.append(node.pid)

    def _restart(self) -> None:
        for node in self._nodes:
            if node.due is not None and time.monotonic() >= node.due:
                with deferred():
                    self._start(node)

    def _none_runs(self) -> bool:
        return not any(node.running for node in self._nodes)

    def _is_over(self) -> bool:
        ended = [node for node in self._nodes if not node.running and node.due is None]
        ending = any(node.action.ends_launch for node in ended)
        return self._failure is not None or ending or len(ended) == len(self._nodes)

    def _end(self, node: _SupervisedNode) -> None:
        with self._changed:
            node.running = False
            fate = "" if self._stopping else node.bury()
            accepted = STOPPED_CODES if self._stopping else (0,)
            failed = node.returncode not in accepted and node.due is None
            # Without a node that may stay away a launch goes on, unless it was the last.
            optional = node.action.respawn_delay is not None and not self._stopping
            away = optional and not node.refused and self._others()
            if failed and self._failure is None and not away:
                self._failure = node
            self._changed.notify_all()
        if fate:
            self._print("launch", fate)

    def _others(self) -> bool:
        """Return True if another node runs or will."""
        return any(other.running or other.due is not None for other in self._nodes)

    def _print(self, label: str, line: str) -> None:
        # Where nobody reads it any more, the nodes must not block on a full pipe.
        with self._printing, suppress(OSError, ValueError):
            self._output.write(f"[{label}] {line}\n")
            self._output.flush()


def exit_code(returncode: int) -> int:
    """Return how a process ended as a shell reports it.

    Args:
        returncode: An exit code, or a signal as a negative number.
    """
    return returncode if returncode >= 0 else 128 - returncode


class _SupervisedNode:
    """A node: its process now, its output line by line, and what follows from its death.

    Attributes:
        action: What the launch file says of it.
        tail: Its last lines of output.
        pid: Id of its latest process and of the group that leads.
        returncode: How that ended: an exit code, or a signal as a negative number.
        running: Whether anything of its group may run.
        refused: Whether it has refused what it was given, at its first start.
        due: When it is to be restarted, on the steady clock [s]; None if it is not.
    """

    def __init__(self, action: NodeAction, command: Sequence[str]) -> None:
        """Prepare; nothing is started yet."""
        self.action = action
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        self.pid = 0
        self.returncode = 0
        self.running = self.refused = False
        self.due: float | None = None
        self._command = command
        self._started = 0.0
        self._quick_deaths = 0

    @property
    def label(self) -> str:
        """What the node is called in messages."""
        return self.action.label

    @property
    def exit_code(self) -> int:
        """How it ended, as a shell reports it."""
        return exit_code(self.returncode)

    def start(
        self,
        mark: str,
        on_line: Callable[[str, str], None],
        on_end: Callable[[_SupervisedNode], None],
    ) -> None:
        """Start a process; both functions are called in other threads."""
        self.due = None
        with interrupts_blocked():
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**os.environ, **self.action.environment, "PYTHONUNBUFFERED": "1", MARK: mark},
                start_new_session=True,
            )
        self.pid, self.running, self._started = process.pid, True, time.monotonic()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                line = line.rstrip("\n")
                self.tail.append(line)
                on_line(self.label, line)

        def watch() -> None:
            self.returncode = process.wait()
            # Whatever the node has started must not outlive it.
            self.send(signal.SIGKILL)
            reader.join()
            on_end(self)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        threading.Thread(target=watch, daemon=True).start()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the whole group; nothing happens if the node has ended."""
        if self.running:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def bury(self) -> str:
        """Note a death nobody asked for; return what a person should read of it, if anything."""
        if self.action.respawn_delay is None:
            number = self.exit_code - 128  # a node that ends by itself says why
            names = {each.value: each.name for each in signal.Signals}
            return f"{self.label} was ended by {names[number]}" if number in names else ""
        quick = time.monotonic() - self._started < STEADY_AFTER
        self.refused = quick and not self._quick_deaths and self.exit_code == REFUSED
        if self.refused:
            return ""  # it says why
        self._quick_deaths = self._quick_deaths + 1 if quick else 1
        died = f"{self.label} ended with exit code {self.exit_code}"
        if self._quick_deaths > RESTARTS:
            return f"{died}, again: it is not restarted any more, the others go on"
        delay = self.action.respawn_delay * 2.0 ** (self._quick_deaths - 1)
        self.due = time.monotonic() + delay
        return f"{died}: restarted in {delay:g} s"


def command_line(node: NodeAction, folder: Path | None = None) -> list[str]:
    """Build the command line of one node, that which ``ros2 launch`` would run.

    Args:
        node: The node.
        folder: Where parameter values are written to files, which keep their types exactly;
            None to write them into the command line, for a person to read.

    Returns:
        The command line.

    Raises:
        LaunchError: If the executable is not installed.
    """
    command = [_executable(node), *node.arguments, "--ros-args"]
    if node.name:
        command += ["-r", f"__node:={node.name}"]
    if node.namespace:
        command += ["-r", f"__ns:={node.namespace}"]
    for parameters in node.parameters:
        if isinstance(parameters, Path):
            command += ["--params-file", str(parameters)]
        elif folder is not None:
            command += ["--params-file", _write_values(node, parameters, folder)]
        else:
            for name, value in parameters.items():
                text = yaml.safe_dump(value, default_flow_style=True).removesuffix("\n...\n")
                command += ["-p", f"{name}:={text.strip()}"]
    for source, target in node.remappings:
        command += ["-r", f"{source}:={target}"]
    return command


def _executable(node: NodeAction) -> str:
    """Find it where ament installs executables, or, for our own, where pip does."""
    places = [prefix / "lib" / node.package for prefix in ament_prefixes()]
    if node.package == OWN_PACKAGE:
        places.append(Path(sys.executable).parent)
    for place in places:
        path = place / node.executable
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise LaunchError(
        f"package '{node.package}' has no executable '{node.executable}' in any of: "
        f"{', '.join(map(str, places))}"
    )


def _write_values(node: NodeAction, values: dict[str, Any], folder: Path) -> str:
    # As specific as `ros2 launch` writes them, which decides what overrides what.
    key = f"{node.namespace}/{node.name}" if node.name and node.namespace else "/**"
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", dir=folder, delete=False) as file:
        yaml.safe_dump({key: {"ros__parameters": values}}, file)
    return file.name


def refuse_second_graph(plan: LaunchPlan) -> None:
    """Make sure that no node of a plan runs already.

    Two simulators, or two controllers, on the same topics would corrupt each other without
    a word: every node would hear both.

    Args:
        plan: What is about to be started.

    Raises:
        SecondGraphError: If a node of the same name runs in the same namespace.
    """
    names = {f"{node.namespace or ''}/{node.label}" for node in plan.nodes}
    running = sorted(names & _running_nodes())
    if running:
        domain = os.environ.get("ROS_DOMAIN_ID", "0")
        raise SecondGraphError(
            f"'{running[0]}' already runs in ROS domain {domain}: stop that graph, or give this "
            "one another ROS_DOMAIN_ID or robot_name (a node that was killed is forgotten after "
            f"{FORGOTTEN_AFTER} s)"
        )


def _running_nodes() -> set[str]:
    """Return the full names of the nodes others run."""
    # Takes a while to import, and `--dry-run` and `--show-args` do without ROS.
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node

    context = Context()
    context.init(args=[])
    node = Node("launch", context=context, start_parameter_services=False, enable_rosout=False)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        end = time.monotonic() + DISCOVERY_TIME
        while (left := end - time.monotonic()) > 0.0:
            executor.spin_once(timeout_sec=left)
        found = node.get_node_names_and_namespaces()
        return {f"{namespace.rstrip('/')}/{name}" for name, namespace in found}
    finally:
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()
