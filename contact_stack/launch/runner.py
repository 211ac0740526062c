"""Run the nodes of a launch file and guarantee their end."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from contact_core.errors import LaunchError
from contact_core.signals import deferred
from contact_stack.launch.command_line import ValueFiles, command_line
from contact_stack.launch.node_process import NodeProcess
from contact_stack.launch.plan import LaunchPlan

STAGES = ((signal.SIGINT, 2.0), (signal.SIGTERM, 1.5), (signal.SIGKILL, 1.0))
"""How nodes are stopped: signal, and the time they then have to end [s]; < 5 s in all."""

STOPPED_CODES = (0, -signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Exit codes that are no failure of a node that was told to stop."""


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
        self._processes: list[NodeProcess] = []
        self._ending_labels = {node.label for node in plan.nodes if node.ends_launch}
        # Guards what the threads of the processes change.
        self._changed = threading.Condition()
        self._ended: list[NodeProcess] = []
        self._failure: NodeProcess | None = None
        self._stopping = False
        # A lock of its own: a full pipe must not keep the nodes from being stopped.
        self._printing = threading.Lock()

    def __enter__(self) -> Self:
        """Start all nodes.

        Raises:
            LaunchError: If an executable is not installed or cannot be started; nothing
                is running then.
        """
        values = ValueFiles(Path(self._folder.name))
        try:
            # All are looked up before the first starts.
            commands = [(node.label, command_line(node, values)) for node in self._plan.nodes]
            with deferred():
                for label, command in commands:
                    self._processes.append(NodeProcess(label, command, self._print, self._end))
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
            raise LaunchError(
                f"node '{self._failure.label}' ended with exit code {self.exit_code}; its last "
                f"lines were:\n{self._failure.tail}"
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
                if self._wait_for_all(patience):
                    break
            self._folder.cleanup()

    def _wait_for_all(self, patience: float) -> bool:
        with self._changed:
            return self._changed.wait_for(self._all_ended, patience)

    def _all_ended(self) -> bool:
        return len(self._ended) == len(self._processes)

    def _is_over(self) -> bool:
        ending = any(process.label in self._ending_labels for process in self._ended)
        return self._failure is not None or ending or self._all_ended()

    def _end(self, process: NodeProcess) -> None:
        with self._changed:
            accepted = STOPPED_CODES if self._stopping else (0,)
            if process.exit_code not in accepted and self._failure is None:
                self._failure = process
            self._ended.append(process)
            self._changed.notify_all()

    def _print(self, label: str, line: str) -> None:
        with self._printing:
            try:
                self._output.write(f"[{label}] {line}\n")
                self._output.flush()
            except (OSError, ValueError):
                # Nobody reads it any more; the nodes must not block on a full pipe.
                pass
