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
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

import yaml

from contact_core.errors import LaunchError
from contact_core.signals import deferred, interrupts_blocked
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

FORGOTTEN_AFTER = 20
"""How long a killed node is still seen by others, Fast DDS's lease of a participant [s]."""


class NodeGraph:
    """The running nodes of a launch file, as a context manager.

    They start when the block is entered and have ended when it is left, however that
    happens. All methods are for one thread, that of the block.
    """

    def __init__(self, plan: LaunchPlan, output: TextIO | None = None) -> None:
        """Prepare; nothing is started yet.

        Args:
            plan: What to start.
            output: Where the nodes' output goes, each line after the name of its node; by
                default standard output.
        """
        self._plan = plan
        self._output = output or sys.stdout
        self._folder = tempfile.TemporaryDirectory(prefix="contact_stack_launch_")
        self._processes: list[_NodeProcess] = []
        self._ending_labels = {node.label for node in plan.nodes if node.ends_launch}
        # Guards what the threads of the processes change.
        self._changed = threading.Condition()
        self._ended: list[_NodeProcess] = []
        self._failure: _NodeProcess | None = None
        self._stopping = False
        # A lock of its own: a full pipe must not keep the nodes from being stopped.
        self._printing = threading.Lock()

    def __enter__(self) -> Self:
        """Start all nodes.

        Raises:
            LaunchError: If an executable is not installed or cannot be started; nothing
                is running then.
        """
        folder = Path(self._folder.name)
        try:
            # All are looked up before the first starts.
            commands = [(node.label, command_line(node, folder)) for node in self._plan.nodes]
            with deferred():
                for label, command in commands:
                    self._processes.append(_NodeProcess(label, command, self._print, self._end))
        except BaseException as error:
            self.stop()
            if isinstance(error, OSError):
                raise LaunchError(f"cannot start a node: {error}") from error
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop all nodes that still run."""
        self.stop()

    @property
    def pids(self) -> tuple[int, ...]:
        """Ids of the processes that were started; each leads a group of its own."""
        return tuple(process.pid for process in self._processes)

    @property
    def exit_code(self) -> int:
        """Exit code of the first node that failed, 0 if none did, as a shell reports it."""
        if self._failure is None or self._failure.exit_code is None:
            return 0
        code = self._failure.exit_code
        return code if code > 0 else 128 - code

    @property
    def over(self) -> bool:
        """True once a node has failed, all have ended, or one ended that ends the launch."""
        with self._changed:
            return self._is_over()

    def check(self) -> None:
        """Make sure that no node has failed.

        Raises:
            LaunchError: If one has; the text holds the end of its output.
        """
        if self._failure is not None:
            tail = "\n".join(self._failure.tail)
            raise LaunchError(
                f"node '{self._failure.label}' ended with exit code {self.exit_code}; its last "
                f"lines were:\n{tail}"
            )

    def wait(self) -> None:
        """Wait until the launch is :attr:`over`."""
        with self._changed:
            self._changed.wait_for(self._is_over)

    def stop(self) -> None:
        """Stop all nodes: politely first, and after some seconds by force."""
        with deferred():
            self._stopping = True
            for number, patience in STAGES:
                for process in self._processes:
                    process.send(number)
                with self._changed:
                    if self._changed.wait_for(self._all_ended, patience):
                        break
            self._folder.cleanup()

    def _all_ended(self) -> bool:
        return len(self._ended) == len(self._processes)

    def _is_over(self) -> bool:
        ending = any(process.label in self._ending_labels for process in self._ended)
        return self._failure is not None or ending or self._all_ended()

    def _end(self, process: _NodeProcess) -> None:
        with self._changed:
            accepted = STOPPED_CODES if self._stopping else (0,)
            if process.exit_code not in accepted and self._failure is None:
                self._failure = process
            self._ended.append(process)
            self._changed.notify_all()

    def _print(self, label: str, line: str) -> None:
        # Where nobody reads it any more, the nodes must not block on a full pipe.
        with self._printing, suppress(OSError, ValueError):
            self._output.write(f"[{label}] {line}\n")
            self._output.flush()


class _NodeProcess:
    """Start a node, hand on its output line by line, and tell when its whole group has ended.

    Attributes:
        label: What the node is called in messages.
        pid: Id of the process and of its group.
        tail: Its last lines of output.
    """

    def __init__(
        self,
        label: str,
        command: Sequence[str],
        on_line: Callable[[str, str], None],
        on_end: Callable[[_NodeProcess], None],
    ) -> None:
        """Start the process; both functions are called in other threads."""
        self.label = label
        self.tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._on_line = on_line
        self._on_end = on_end
        with interrupts_blocked():
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
        self.pid = self._process.pid
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def exit_code(self) -> int | None:
        """Exit code, negative if a signal ended it; None while it runs."""
        return self._process.returncode

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the whole group; nothing happens if the node has ended."""
        if self.exit_code is None:
            self._signal_group(number)

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            line = line.rstrip("\n")
            self.tail.append(line)
            self._on_line(self.label, line)

    def _watch(self) -> None:
        self._process.wait()
        # Whatever the node has started must not outlive it.
        self._signal_group(signal.SIGKILL)
        self._reader.join()
        self._on_end(self)


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
        LaunchError: If a node of the same name runs in the same namespace.
    """
    names = {f"{node.namespace or ''}/{node.label}" for node in plan.nodes}
    running = sorted(names & _running_nodes())
    if running:
        domain = os.environ.get("ROS_DOMAIN_ID", "0")
        raise LaunchError(
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
