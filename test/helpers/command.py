"""The command `contact-stack` as a process of its own."""

from __future__ import annotations

import ctypes
import signal
import sys
from pathlib import Path

WITHOUT_LAUNCH_ROS = (
    *(sys.executable, "-c"),
    "import sys; sys.modules['launch_ros'] = None; "
    "from contact_stack.cli import main; sys.exit(main())",
)
"""Where launch_ros is installed the command leaves launch files to it, which says other things."""


def signal_another_thread(pid: int, number: signal.Signals) -> None:
    """Send a signal to a thread that is not the main one, as the system may with any."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        fields = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
        blocked = int(fields["SigBlk"], 16) & 1 << number - 1
        if int(task.name) != pid and not blocked:
            assert ctypes.CDLL(None).tgkill(pid, int(task.name), number) == 0
            return
    raise AssertionError(f"no other thread of process {pid} takes {number.name}")
