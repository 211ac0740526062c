"""Keeps a plan within its wall-clock budget, lets it be cancelled, reports progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum


class StopReason(Enum):
    """Why a solve has to end before it has converged."""

    BUDGET = "budget"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the planner is; what an action server sends as feedback.

    Attributes:
        stage: Name of the stage, e.g. ``"penalty 2/7"``.
        relaxation: s of the stage.
        penalty: rho of the stage.
        residual_weight: alpha of the stage.
        iterations: Solver iterations of the stage so far.
        residual: Largest violated constraint of the program at the best iterate so far.
        elapsed: Wall-clock time since the plan was requested [s].
        finished: Whether the stage has ended.
    """

    stage: str
    relaxation: float
    penalty: float
    residual_weight: float
    iterations: int
    residual: float
    elapsed: float
    finished: bool


class Monitor:
    """Asked by the solvers at every iteration whether to go on.

    The limits of the solvers count processor time, which is no help to a person who
    waits: this one counts wall-clock time.
    """

    def __init__(
        self,
        budget: float,
        on_progress: Callable[[Progress], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """Start the clock.

        Args:
            budget: Wall-clock time that may pass [s].
            on_progress: Called when a stage starts and ends and now and then in between.
            cancelled: Returns True once nobody wants the plan any more.
        """
        self._start = time.monotonic()
        self._budget = budget
        self._on_progress = on_progress
        self._cancelled = cancelled

    @property
    def elapsed(self) -> float:
        """Wall-clock time since the start [s]."""
        return time.monotonic() - self._start

    def stop_reason(self) -> StopReason | None:
        """Return why the solver has to stop, or None if it may go on."""
        if self._cancelled is not None and self._cancelled():
            return StopReason.CANCELLED
        return StopReason.BUDGET if self.elapsed >= self._budget else None

    def report(self, progress: Progress) -> None:
        """Pass progress on to whoever is interested."""
        if self._on_progress is not None:
            self._on_progress(progress)
