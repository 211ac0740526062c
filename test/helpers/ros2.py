"""The real `ros2`, where it is installed: its launch, and its tools."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

MARK = "CONTACT_STACK_TEST_MARK"
PATIENCE = 120.0
"""How long a tool may take, and a graph to appear or to go [s]."""


def needs_ros2() -> None:
    """Skip a test, and say what was not checked, where there is no `ros2`."""
    if shutil.which("ros2") is None:
        pytest.skip("ros2 is not installed: NOTHING was checked of ros2 launch and ros2cli")


def ros2(*words: str) -> str:
    """Run a tool.

    Returns:
        What it printed; what it complained of if that is nothing.
    """
    done = subprocess.run(
        ["ros2", *words], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, f"ros2 {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout or done.stderr


ROS2 = ("ros2", "launch", "contact_stack", "{}.launch.xml")
OURS = ("contact-stack", "launch", "{}")
ENDS = {
    "interrupted": (ROS2, signal.SIGINT),
    "terminated": (ROS2, signal.SIGTERM),
    "ours terminated": (OURS, signal.SIGTERM),
}
"""How a graph is started and told to end; ours runs the same launch, and guards what it starts."""


class Ros2Launch:
    """The launch of ROS 2 at work, and every process that came of it, whatever its group."""

    def __init__(self, file: str, end: str, output: Path, **arguments: str) -> None:
        """Start it, to be ended in one of the ENDS."""
        command, self._signal = ENDS[end]
        self._mark = uuid.uuid4().hex
        self._output = output
        words = [f"{name}:={value}" for name, value in arguments.items()]
        with output.open("w") as stream:
            self.process = subprocess.Popen(
                [*(word.format(file) for word in command), *words],
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, MARK: self._mark, "ROS_LOG_DIR": str(output.parent / "log")},
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        """What it has printed."""
        return self._output.read_text()

    def left(self) -> list[int]:
        """Return the processes that are alive."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                marked = f"{MARK}={self._mark}".encode() in (process / "environ").read_bytes()
            except OSError:  # it ended while we were looking, or is not ours
                continue
            if marked:
                found.append(int(process.name))
        return found

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait, but not for a launch that has ended."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert self.process.poll() is None, self.output
            assert time.monotonic() < end, self.output
            time.sleep(0.2)

    def stop(self) -> None:
        """Tell the launch alone to stop; nothing of it may be left, nor have failed."""
        self.process.send_signal(self._signal)
        self.process.wait(PATIENCE)
        end = time.monotonic() + PATIENCE
        while self.left() and time.monotonic() < end:
            time.sleep(0.1)
        assert not self.left(), self.output
        assert "Traceback" not in self.output, self.output
        assert "process has died" not in self.output, self.output

    def kill(self) -> None:
        """End what is left."""
        for process in self.left():
            os.kill(process, signal.SIGKILL)
        self.process.wait(PATIENCE)
