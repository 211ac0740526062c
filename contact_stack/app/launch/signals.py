"""Keep signals from interrupting what must not be left half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def deferred() -> Iterator[None]:
    """Deliver SIGINT and SIGTERM only at the end of the block.

    Signals arrive in the main thread; in others this does nothing.

    Yields:
        Nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    handlers = {
        number: signal.signal(number, lambda number, frame: arrived.append(number))
        for number in STOP_SIGNALS
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[0])


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
