"""Says what a person waits for, once that takes long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

from contact_core.base.signals import MAX_WAIT

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
