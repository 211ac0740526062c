"""Ages of incoming signals, by their arrival on the steady clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class AgeMonitor:
    """Tell how long ago a signal last arrived.

    Ages are counted by arrival, not by the sender's stamp: the sender's clock may differ.
    """

    def __init__(self, limit: float, clock: Callable[[], int] = time.monotonic_ns) -> None:
        """Start with a signal that has never arrived.

        Args:
            limit: Age above which the signal is stale [s].
            clock: A steady clock [ns].
        """
        self._limit = round(limit * 1e9)
        self._clock = clock
        self._last: int | None = None

    def arrived(self) -> None:
        """Note that the signal has just arrived."""
        self._last = self._clock()

    @property
    def age(self) -> float:
        """Time since the last arrival [s], infinite before the first one."""
        if self._last is None:
            return math.inf
        return (self._clock() - self._last) * 1e-9

    @property
    def stale(self) -> bool:
        """True if the signal is older than the limit, or has never arrived."""
        return self._last is None or self._clock() - self._last > self._limit
