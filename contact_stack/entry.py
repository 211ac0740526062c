"""Where the command ``contact-stack`` begins: it can be interrupted before it is loaded."""

from __future__ import annotations

import os
import signal
from types import FrameType


def main() -> int:
    """Run the command line, see :func:`contact_stack.cli.main`, and return its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    from contact_stack.cli import main as run

    return run()


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once, without a word: nothing has begun."""
    os._exit(128 + number)
