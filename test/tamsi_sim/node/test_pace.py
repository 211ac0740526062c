"""Slow motion in lock-step: how long the simulator waits between ticks."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from contact_core.errors import ConfigError
from tamsi_sim.node import simulator
from tamsi_sim.node.simulator import SimulatorConfig, SimulatorNode

PERIOD = 0.005


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only where somebody sleeps, or a test says so."""
    clock = SimpleNamespace(now=100.0)

    def sleep(seconds):
        clock.now += seconds

    monkeypatch.setattr(
        simulator, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep)
    )
    return clock


def node(pace):
    plant = SimpleNamespace(period_ns=round(1e9 * PERIOD))
    return SimpleNamespace(_config=SimpleNamespace(pace=pace), _plant=plant, _due=100.0)


@pytest.mark.parametrize("pace", [0.1, 1.0])
def test_simulated_time_passes_as_fast_as_it_is_told(clock, pace):
    slow = node(pace)
    for _ in range(100):
        clock.now += 0.3 * PERIOD  # what the participants take
        SimulatorNode._keep_pace(slow)
    assert clock.now - 100.0 == pytest.approx(100 * PERIOD / pace)


def test_what_was_late_is_not_caught_up(clock):
    slow = node(1.0)
    clock.now += 10.0
    SimulatorNode._keep_pace(slow)
    assert clock.now == 110.0
    SimulatorNode._keep_pace(slow)
    assert clock.now == pytest.approx(110.0 + PERIOD)


def test_without_a_pace_nobody_waits(clock):
    SimulatorNode._keep_pace(node(0.0))
    assert clock.now == 100.0


def test_in_real_time_there_is_no_other_pace():
    assert SimulatorConfig(lockstep=True, pace=0.5).pace == 0.5
    with pytest.raises(ConfigError, match="pace needs lock-step"):
        SimulatorConfig(pace=0.5)
