"""The driver misbehaves on request, and only then."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tamsi_sim.node.driver_faults import DriverFaults, DriverFaultsConfig, GuardLimits

LIMITS = GuardLimits(np.full(7, -2.0), np.full(7, 2.0), np.full(7, 1.5), tuple("abcdefg"))
STILL = np.zeros(7)
MILLISECOND = 1_000_000


def driver(log: Callable[[str], object] = print, **values: object) -> DriverFaults:
    return DriverFaults(DriverFaultsConfig(**values), LIMITS, log)  # type: ignore[arg-type]


def at(joint: int, value: float) -> np.ndarray:
    vector = np.zeros(7)
    vector[joint] = value
    return vector


def test_a_good_driver_passes_everything_on() -> None:
    faults = driver()
    assert all(faults.publishes(k, STILL) and faults.accepts(STILL) for k in range(10))
    assert not faults.name


@pytest.mark.parametrize("value", [2.01, -2.01])
def test_a_command_beyond_a_limit_ends_the_driver_until_it_is_restarted(value: float) -> None:
    logged: list[str] = []
    faults = driver(logged.append)
    assert not faults.accepts(at(3, value))
    assert not faults.accepts(STILL)
    assert not faults.publishes(0, STILL)
    assert f"d was commanded to {value:.3f} rad" in faults.name
    assert logged == [faults.name]
    faults.restart(0)
    assert faults.accepts(STILL)
    assert not faults.publishes(1999 * MILLISECOND, STILL)
    assert faults.publishes(2000 * MILLISECOND, STILL)


def test_too_fast_a_motion_ends_the_driver() -> None:
    logged: list[str] = []
    faults = driver(logged.append)
    assert not any(faults.publishes(k, at(2, -1.6)) for k in range(2))
    assert logged == [faults.name]
    assert "c moved at 1.60 rad/s" in faults.name


def test_without_the_guard_nothing_trips() -> None:
    faults = driver(command_guard=False)
    assert faults.accepts(at(0, 9.0))
    assert faults.publishes(0, at(0, 9.0))


def test_outside_its_commanding_state_the_robot_takes_no_command_but_reports_states() -> None:
    faults = driver()
    faults.commanding = False
    assert not faults.accepts(STILL)
    assert faults.publishes(0, STILL)
    assert "commanding state" in faults.name


def test_a_late_state_is_late_once() -> None:
    faults = driver(late=0.05)
    faults.delay(1000 * MILLISECOND)
    published = [faults.publishes(t * MILLISECOND, STILL) for t in range(1000, 1100, 5)]
    assert published == [False] * 10 + [True] * 10


def test_a_driver_of_100_hz_leaves_out_every_second_state() -> None:
    faults = driver(state_every=2)
    assert [faults.publishes(k, STILL) for k in range(6)] == [False, True] * 3
