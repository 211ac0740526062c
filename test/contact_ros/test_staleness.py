"""Ages of signals, on a clock of the test's own."""

import math

import pytest

from contact_ros.staleness import AgeMonitor


def test_a_signal_that_never_arrived_is_stale() -> None:
    monitor = AgeMonitor(limit=1.0, clock=lambda: 0)
    assert math.isinf(monitor.age)
    assert monitor.stale


def test_a_signal_is_stale_only_beyond_its_limit_and_fresh_again_on_arrival() -> None:
    now = [5_000_000_000]
    monitor = AgeMonitor(limit=0.015, clock=lambda: now[0])
    monitor.arrived()
    now[0] += 15_000_000
    assert monitor.age == pytest.approx(0.015)
    assert not monitor.stale
    now[0] += 1_000_000
    assert monitor.stale
    monitor.arrived()
    assert not monitor.stale
