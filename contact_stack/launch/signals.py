"""Keep Ctrl-C from interrupting a process that is not ready for it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Let processes started in the block begin with SIGINT blocked.

    A Python process would otherwise print a traceback when it is interrupted while it is
    still importing. Our nodes unblock the signal once they can handle it.

    Yields:
        Nothing.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
