"""Slow motion in lock-step: how long the simulator waits between ticks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from contact_core.base.errors import ConfigError
from tamsi_sim.node import simulator
from tamsi_sim.node.simulator import SimulatorConfig, SimulatorNode

PERIOD = 0.005


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only where a node waits by its timer, or a test says so."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(simulator, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


class Timer:
    """Goes off at once, and lets the time pass."""

    def __init__(self, clock, go_on):
        self.timer_period_ns = 0
        self._clock, self._go_on = clock, go_on

    def reset(self):
        # Such a sum of floats may be just below what is due.
        self._clock.now += 1e-9 * self.timer_period_ns + 1e-12
        self._go_on()

    def cancel(self):
        pass


class Node:
    """As much of the simulator as waits."""

    _keep_pace = SimulatorNode._keep_pace
    _go_on_when_due = SimulatorNode._go_on_when_due

    def __init__(self, clock, pace):
        self._config = SimpleNamespace(pace=pace)
        self._plant = SimpleNamespace(period_ns=round(1e9 * PERIOD))
        self._due = 100.0
        self._pace_timer = Timer(clock, self._go_on_when_due)
        self.ticks = 0

    def _proceed(self):
        self.ticks += 1


@pytest.mark.parametrize("pace", [0.1, 1.0])
def test_simulated_time_passes_as_fast_as_it_is_told(clock, pace):
    slow = Node(clock, pace)
    for _ in range(100):
        clock.now += 0.3 * PERIOD  # what the participants take
        slow._keep_pace()
    assert slow.ticks == 100
    assert clock.now - 100.0 == pytest.approx(100 * PERIOD / pace)


def test_what_was_late_is_not_caught_up(clock):
    slow = Node(clock, 1.0)
    clock.now += 10.0
    slow._keep_pace()
    assert clock.now == 110.0
    slow._keep_pace()
    assert clock.now == pytest.approx(110.0 + PERIOD)


def test_without_a_pace_nobody_waits(clock):
    node = Node(clock, 0.0)
    node._keep_pace()
    assert node.ticks == 1
    assert clock.now == 100.0


def test_in_real_time_there_is_no_other_pace():
    assert SimulatorConfig(lockstep=True, pace=0.5).pace == 0.5
    with pytest.raises(ConfigError, match="pace needs lock-step"):
        SimulatorConfig(pace=0.5)
