"""One node in a process group of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from contact_stack.launch.signals import interrupts_blocked

TAIL_LINES = 40
"""How much of its output is kept for a report of its death."""


class NodeProcess:
    """Start a node, hand on its output line by line, and tell when it has ended.

    Attributes:
        label: What the node is called in messages.
    """

    def __init__(
        self,
        label: str,
        command: Sequence[str],
        on_line: Callable[[str, str], None],
        on_end: Callable[[NodeProcess], None],
    ) -> None:
        """Start the process.

        Args:
            label: What the node is called in messages.
            command: Its command line.
            on_line: Called with the label and each line of output, in another thread.
            on_end: Called when the whole process group has ended, in another thread.
        """
        self.label = label
        self._on_line = on_line
        self._on_end = on_end
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
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
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._reader.start()
        self._watcher.start()

    @property
    def pid(self) -> int:
        """Id of the process and of its group."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Exit code, negative if a signal ended it; None while it runs."""
        return self._process.returncode

    @property
    def tail(self) -> str:
        """Its last lines of output."""
        return "\n".join(self._tail)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the whole group; nothing happens if it has ended.

        Args:
            number: The signal.
        """
        if self.exit_code is None:
            self._signal_group(number)

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            line = line.rstrip("\n")
            self._tail.append(line)
            self._on_line(self.label, line)

    def _watch(self) -> None:
        self._process.wait()
        # Whatever the node has started must not outlive it.
        self._signal_group(signal.SIGKILL)
        self._reader.join()
        self._on_end(self)
