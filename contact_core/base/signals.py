"""The signals that ask a process to end, kept from interrupting what is not ready for them."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MAX_WAIT = 0.1
"""How long the main thread may sleep at one go [s].

It alone answers signals, but the system may hand one to any thread, as it does with the second of
two that come together; the main thread is then not woken.
"""


def stop_signals() -> tuple[signal.Signals, ...]:
    """Return SIGINT, SIGTERM and, unless it is ignored as under ``nohup``, SIGHUP."""
    hang_up = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if hang_up else ()))


def end_with_parent() -> None:
    """Let this process get SIGTERM once the thread that has started it is gone, however it went.

    Linux alone knows that; elsewhere nothing happens.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)


_SET_PARENT_DEATH_SIGNAL = 1


@contextmanager
def deferred() -> Iterator[list[int]]:
    """Deliver :func:`stop_signals` only at the end of the block.

    Signals arrive in the main thread; in others this does nothing.

    Yields:
        The signals that have arrived so far, for blocks that can end early.
    """
    arrived: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield arrived
        return
    handlers = {
        number: signal.signal(number, lambda number, frame: arrived.append(number))
        for number in stop_signals()
    }
    try:
        yield arrived
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
