"""Says what a person waits for, once that takes long; ends it early, with what there is."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from tqdm import tqdm

from contact_core.base.signals import MAX_WAIT

Result = TypeVar("Result")

LONG = 2.0
"""From when on a wait is shown [s]."""


@contextmanager
def waiting_for(what: str) -> Iterator[None]:
    """Show on standard error what is waited for, and for how long already, until the block ends.

    Args:
        what: What is done, e.g. ``"load the libraries"``.
    """
    over = threading.Event()
    with tqdm(bar_format=f"{what}: {{elapsed}}", delay=LONG, leave=False) as bar:

        def show() -> None:
            while not over.wait(1.0):
                bar.update()

        clock = threading.Thread(target=show, daemon=True)
        clock.start()
        try:
            yield
        finally:
            over.set()
            # Whoever is interrupted while drawing a bar keeps the lock of all bars.
            clock.join(MAX_WAIT)


def until_interrupted(
    work: Callable[[Callable[[], bool]], Result],
) -> tuple[Result, KeyboardInterrupt | None]:
    """Do something in a thread of its own until it is done, or somebody has had enough.

    Args:
        work: Gets what says whether it is to end early, with what it has.

    Returns:
        Its result, and the Ctrl-C that ended it early.

    Raises:
        KeyboardInterrupt: At a second Ctrl-C, or another signal: nobody waits for a result then.
    """
    interrupted, first = threading.Event(), None
    with ThreadPoolExecutor(max_workers=1) as worker:
        try:
            done = worker.submit(work, interrupted.is_set)
            while True:
                try:
                    if wait([done], MAX_WAIT).done:
                        return done.result(), first
                except KeyboardInterrupt as interrupt:
                    number = (interrupt.args or (signal.SIGINT,))[0]
                    if first is not None or number != signal.SIGINT:
                        raise
                    first = interrupt
                    interrupted.set()
        finally:
            interrupted.set()
