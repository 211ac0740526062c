"""Threads of a node: a loop timed by what arrives or by a clock, messages, and their errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.node import Node

from contact_ros.guarded_node import GuardedNode
from contact_ros.stamps import NANOSECONDS

HISTORY = 4096
"""Number of the latest ticks the statistics are over."""

PATIENCE = 0.1
"""How long a thread waits for a message before it looks whether it is to end [s]."""

BESIDE_PERIOD = 0.02
"""Least time between looks at messages that do not wake a thread [s]."""


@dataclass(frozen=True)
class LoopStatistics:
    """How well a loop keeps its time.

    Attributes:
        ticks: Ticks since the start.
        deadline_misses: Ticks that started more than half a period late, or took longer
            than a period.
        tick_p50_us: Median of the duration of a tick [us], NaN before the first one.
        tick_p99_us: 99th percentile of the duration of a tick [us].
    """

    ticks: int
    deadline_misses: int
    tick_p50_us: float
    tick_p99_us: float


EARLIEST, LATEST = 0.25, 0.3
"""A tick begins when its message arrives, so much of a period about its deadline."""

GIVEN_WAY = 2e-4
"""How long other threads wait before they look again whether a tick has ended [s]."""

PULL = 5e-3
"""By this share of a period at most a deadline follows when messages arrive: clocks differ by
less, and a sender that is too fast makes no faster loop."""


class FixedRateLoop:
    """Call a function at absolute deadlines of the steady clock, or when a message arrives.

    Deadlines lie on a fixed grid. A tick that takes too long makes the loop skip the grid
    points it has passed: there is never a burst of ticks to catch up.

    Where it is to wait for messages, a tick begins with the one that comes about its deadline, and
    the grid follows them slowly, as a phase-locked loop does. If none comes the tick begins
    without it.

    Attributes:
        delay: How long after its deadline the latest tick began [ns].
    """

    def __init__(
        self,
        period: float,
        tick: Callable[[], None],
        on_error: Callable[[BaseException], None],
        *,
        on_start: Callable[[], object] = lambda: None,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        """Prepare the loop; it starts with :meth:`start`.

        Args:
            period: Time between two ticks [s], above zero.
            tick: What to do, called in the loop's thread.
            on_error: Called in the loop's thread with the error of a tick that failed;
                the loop has then ended.
            on_start: Called first in the loop's thread, e.g. to raise its priority.
            clock: A steady clock [ns].
            sleep: Waits a time [s] on that clock.
            wait: Waits for a message, a time [s] at most; says whether one is there.
        """
        self._period = round(period * NANOSECONDS)
        self._tick = tick
        self._on_error = on_error
        self._on_start = on_start
        self._clock = clock
        self._sleep = sleep
        self._wait_for_message = wait
        self._stopping = threading.Event()
        self._ticking = False
        self._thread = threading.Thread(target=self._run, name="fixed-rate loop", daemon=True)
        self.delay = 0
        self._durations = np.zeros(HISTORY, dtype=np.int64)
        self._ticks = 0
        self._misses = 0

    def start(self) -> None:
        """Start ticking, the first time at once. A loop starts only once."""
        self._thread.start()

    def stop(self) -> None:
        """End the loop and wait for its last tick; also called on a loop that has ended."""
        self._stopping.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def let_tick_run(self) -> None:
        """Wait while a tick is due; called now and then by long work in another thread.

        A tick hands the interpreter over at every call that does without it, and may have to wait
        a switch interval to get it back, tens of times.
        """
        while self._ticking and self.running:
            time.sleep(GIVEN_WAY)

    @property
    def running(self) -> bool:
        """True while the loop is ticking."""
        return self._thread.is_alive()

    @property
    def deadline_misses(self) -> int:
        """Ticks so far that started more than half a period late, or took longer than one."""
        return self._misses

    def statistics(self) -> LoopStatistics:
        """Summarise the timing of the latest ticks; may be called from any thread.

        Returns:
            The statistics.
        """
        durations = self._durations[: min(self._ticks, HISTORY)].copy()
        if durations.size == 0:
            return LoopStatistics(0, self._misses, float("nan"), float("nan"))
        p50, p99 = np.percentile(durations, (50, 99)) * 1e-3
        return LoopStatistics(self._ticks, self._misses, float(p50), float(p99))

    def _run(self) -> None:
        try:
            self._on_start()
            deadline = self._clock()
            while not self._stopping.is_set():
                start = self._clock()
                self.delay = start - deadline
                self._ticking = True
                self._tick()
                self._ticking = False
                end = self._clock()
                self._record(end - start)
                deadline = self._wait(self._next_deadline(deadline, end))
        except BaseException as error:
            self._on_error(error)

    def _wait(self, deadline: int) -> int:
        """Wait until the next tick is to begin; return its deadline."""
        if self._wait_for_message is None:
            self._sleep(max(0, deadline - self._clock()) * 1e-9)
            self._ticking = True
            return deadline
        early, late, most = (round(share * self._period) for share in (EARLIEST, LATEST, PULL))
        self._sleep(max(0, deadline - early - self._clock()) * 1e-9)
        self._ticking = True
        came = self._wait_for_message(max(0, deadline + late - self._clock()) * 1e-9)
        return deadline + (min(max(self._clock() - deadline, -most), most) if came else 0)

    def _next_deadline(self, deadline: int, now: int) -> int:
        """Return the first point of the grid after this one that is not a period old."""
        passed = max(1, (now - deadline) // self._period)
        return deadline + passed * self._period

    def _record(self, duration: int) -> None:
        self._durations[self._ticks % HISTORY] = duration
        self._ticks += 1
        if 2 * self.delay > self._period or duration > self._period:
            self._misses += 1


class MessageThread:
    """Handles the messages of some subscriptions in a thread of its own, past the executor."""

    def __init__(
        self,
        node: GuardedNode,
        on_error: Callable[[BaseException], None],
        *subscriptions: Any,
        beside: Sequence[Any] = (),
        on_start: Callable[[], object] = lambda: None,
    ) -> None:
        """Take the subscriptions from the executor.

        Args:
            node: Their node; its other callbacks go on in the executor's thread.
            on_error: Called in this thread with an error that has ended it.
            subscriptions: Their callbacks run in this thread.
            beside: Further ones, whose messages do not wake it: the latest are handled before
                those of the others, every BESIDE_PERIOD.
            on_start: Called first in this thread, e.g. to raise its priority.
        """
        self._node, self._on_error, self._subscriptions = node, on_error, subscriptions
        self._beside, self._on_start = beside, on_start
        node.leave_waiting(*subscriptions, *beside)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="messages", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait for it."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._on_start()
            due = 0.0
            while not self._stopping.is_set():
                self._node.wait_for(PATIENCE, *self._subscriptions)
                if self._beside and time.monotonic() >= due:
                    due = time.monotonic() + BESIDE_PERIOD
                    self._node.take(*self._beside)
                self._node.take(*self._subscriptions)
        except BaseException as error:
            self._on_error(error)


class ErrorRelay:
    """Carry an error from a worker thread to the node's executor, where it is raised.

    An error in a thread would otherwise end that thread and leave the node half alive.
    """

    def __init__(self, node: Node) -> None:
        """Create the relay.

        Args:
            node: The node whose executor raises the errors.
        """
        self._error: BaseException | None = None
        self._wake = node.create_guard_condition(self._raise)

    def __call__(self, error: BaseException) -> None:
        """Hand over an error; may be called from any thread.

        Args:
            error: The error to raise in the executor.
        """
        self._error = error
        self._wake.trigger()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error
