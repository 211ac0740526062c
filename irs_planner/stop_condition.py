"""When planning has to stop early."""

from __future__ import annotations

import time
from threading import Event

from irs_planner.status import PlanStatus


class StopCondition:
    """A time budget and a cancellation flag, cheap enough to ask at every step."""

    def __init__(self, time_budget: float = 0.0, cancel: Event | None = None) -> None:
        """Start the clock.

        Args:
            time_budget: [s], 0 for no limit.
            cancel: Set by another thread to stop planning.
        """
        self._start = time.perf_counter()
        self._time_budget = time_budget
        self._cancel = cancel

    @property
    def elapsed(self) -> float:
        """Time since the clock was started [s]."""
        return time.perf_counter() - self._start

    @property
    def reason(self) -> PlanStatus | None:
        """Why planning has to stop now, None if it may go on."""
        if self._cancel is not None and self._cancel.is_set():
            return PlanStatus.CANCELLED
        if self._time_budget > 0.0 and self.elapsed >= self._time_budget:
            return PlanStatus.TIME_BUDGET
        return None
