"""The fixed-rate loop on a clock that only the test moves, and its errors."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np
import pytest

from contact_ros.loop import ErrorRelay, FixedRateLoop, LoopStatistics

MS = 1_000_000


class _ScriptedLoop:
    """A loop of 10 ms whose ticks take the given times."""

    def __init__(self, durations_ms: Iterable[float]) -> None:
        self.now = 0
        self.starts_ms: list[float] = []
        self.delays_ms: list[float] = []
        self.errors: list[BaseException] = []
        self._durations = iter(durations_ms)
        self.loop = FixedRateLoop(
            0.010, self._tick, self.errors.append, clock=lambda: self.now, sleep=self._sleep
        )

    def run(self) -> LoopStatistics:
        self.loop.start()
        self.loop._thread.join()
        return self.loop.statistics()

    def _tick(self) -> None:
        duration = next(self._durations, None)
        if duration is None:
            self.loop.stop()
            return
        self.starts_ms.append(self.now / MS)
        self.delays_ms.append(self.loop.delay / MS)
        self.now += round(duration * MS)

    def _sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1e9)


def test_ticks_start_on_the_grid_whatever_they_take() -> None:
    script = _ScriptedLoop([1, 9, 2, 5])
    statistics = script.run()
    assert script.starts_ms == [0, 10, 20, 30]
    assert statistics.deadline_misses == 0
    assert not script.errors


def test_a_long_tick_is_followed_by_no_burst() -> None:
    script = _ScriptedLoop([1, 47, 1, 1])
    statistics = script.run()
    # The tick of 10 ms ends at 57 ms: one late tick, then back on the grid.
    assert script.starts_ms == [0, 10, 57, 60]
    assert script.delays_ms == [0, 0, 7, 0]
    assert statistics.deadline_misses == 2


def test_a_tick_that_overruns_a_little_is_one_miss() -> None:
    script = _ScriptedLoop([1, 12, 1, 1])
    assert script.run().deadline_misses == 1
    assert script.starts_ms == [0, 10, 22, 30]


def test_statistics_are_percentiles_of_the_tick_durations() -> None:
    statistics = _ScriptedLoop([1] * 98 + [8]).run()
    assert statistics.ticks == 100  # the last one stops the loop
    assert statistics.tick_p50_us == pytest.approx(1000)
    assert 1000 < statistics.tick_p99_us <= 8000


class _MessageLoop:
    """A loop of 10 ms, and messages that arrive at times [ms]; a tick takes 1 ms."""

    def __init__(self, arrivals_ms: Iterable[float], ticks: int) -> None:
        self.now = 0
        self.starts_ms: list[float] = []
        self._arrivals = sorted(round(time * MS) for time in arrivals_ms)
        self._left = ticks
        self._there = False
        self.loop = FixedRateLoop(
            0.010, self._tick, pytest.fail, clock=lambda: self.now,
            sleep=lambda seconds: self._pass(self.now + round(seconds * 1e9)), wait=self._wait,
        )  # fmt: skip
        self.loop.start()
        self.loop._thread.join()

    def _pass(self, end: int) -> None:
        while self._arrivals and self._arrivals[0] <= end:
            self.now = max(self.now, self._arrivals.pop(0))
            self._there = True
        self.now = max(self.now, end)

    def _wait(self, seconds: float) -> bool:
        end = self.now + round(seconds * 1e9)
        if not self._there:
            self._pass(min([end, *self._arrivals[:1]]))
        came, self._there = self._there, False
        return came

    def _tick(self) -> None:
        self.starts_ms.append(self.now / MS)
        self._pass(self.now + MS)
        self._left -= 1
        if self._left == 0:
            self.loop.stop()


def test_a_tick_begins_with_its_message() -> None:
    """Wherever the messages lie, and though their clock is off and they jitter."""
    noise = np.random.default_rng(0).uniform(0.0, 1.0, 400)
    arrivals = 7.0 + 10.002 * np.arange(400) + noise
    starts = np.array(_MessageLoop(arrivals, 300).starts_ms)[60:]
    late = starts[:, None] - arrivals
    late = np.where(late >= -1e-6, late, np.inf).min(axis=1)
    assert late.max() < 0.01


def test_ticks_go_on_without_a_message() -> None:
    arrivals = [7.0 + 10.0 * k for k in range(90) if k not in (50, 51, 60)]
    script = _MessageLoop(arrivals, 80)
    gaps = np.diff(script.starts_ms[30:])
    assert gaps.max() <= 15.0
    assert gaps.min() >= 5.0
    assert script.starts_ms[-1] in arrivals
    assert script.loop.deadline_misses == 0


def test_a_fast_sender_makes_no_faster_loop() -> None:
    starts = _MessageLoop(np.arange(0.0, 10000.0, 3.0), 500).starts_ms
    assert (starts[-1] - starts[100]) / (len(starts) - 101) >= 0.99 * 10.0


def test_an_error_of_a_tick_ends_the_loop_and_is_delivered() -> None:
    errors: list[BaseException] = []
    delivered = threading.Event()

    def tick() -> None:
        raise ZeroDivisionError("in the tick")

    def on_error(error: BaseException) -> None:
        errors.append(error)
        delivered.set()

    loop = FixedRateLoop(0.001, tick, on_error)
    loop.start()
    assert delivered.wait(10)
    loop.stop()
    assert not loop.running
    assert [type(error) for error in errors] == [ZeroDivisionError]


def test_a_stopped_loop_ticks_no_more() -> None:
    ticked = threading.Event()
    loop = FixedRateLoop(0.001, ticked.set, pytest.fail)
    loop.start()
    assert ticked.wait(10)
    loop.stop()
    ticks = loop.statistics().ticks
    assert not loop.running
    assert loop.statistics().ticks == ticks
    loop.stop()


@pytest.mark.graph
@pytest.mark.parametrize("spinning", [True, False])
def test_an_error_of_another_thread_is_raised_in_the_executor(graph, spinning: bool) -> None:
    """Also if the thread fails before the executor runs."""
    relay = ErrorRelay(graph.node("node"))
    error = ZeroDivisionError("in the loop")
    thread = threading.Timer(0.2 if spinning else 0.0, relay, [error])
    thread.start()
    if not spinning:
        thread.join()
    with pytest.raises(ZeroDivisionError, match="in the loop"):
        graph.spin_until(lambda: False)
    thread.join()


def test_long_work_gives_way_to_a_tick_and_to_no_loop_that_has_ended() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def tick() -> None:
        begun.set()
        go_on.wait(10)

    loop = FixedRateLoop(0.001, tick, pytest.fail)
    loop.start()
    assert begun.wait(10)
    waiting = threading.Thread(target=loop.let_tick_run)
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    go_on.set()
    waiting.join(10)
    assert not waiting.is_alive()
    loop.stop()
    loop.let_tick_run()
