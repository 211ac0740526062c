"""The gate: whatever is asked for, what leaves keeps the limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contact_stack.fri.gate import Gate, GateConfig

JOINTS = 3
LOWEST, HIGHEST = np.array([-1.0, -2.0, 0.0]), np.array([1.0, 2.0, 3.0])
SPEED = np.array([1.0, 2.0, 0.5])
START = np.array([0.0, -0.5, 1.0])
PERIOD = 0.005


def gate(start: np.ndarray = START, **changes: float) -> Gate:
    made = Gate(LOWEST, HIGHEST, SPEED, GateConfig(**changes))
    made.start(start)
    return made


NUMBER = st.one_of(
    st.floats(-4.0, 4.0),
    st.floats(-1e-3, 1e-3),
    st.sampled_from([np.nan, np.inf, -np.inf, 1e300, 0.0]),
)
"""Added to the last position that left: near, far, and none at all."""
CHANGE = st.lists(NUMBER, min_size=JOINTS, max_size=JOINTS)


@settings(max_examples=300, deadline=None)
@given(
    changes=st.lists(st.one_of(st.none(), CHANGE), max_size=60),
    acceleration=st.floats(0.5, 1000.0),
    jump=st.floats(1e-3, 1.0),
    milliseconds=st.integers(1, 100),
    outages=st.dictionaries(st.integers(0, 60), st.integers(1, 20)),
    commanded=st.one_of(st.none(), CHANGE),
    start=st.lists(st.floats(-3.0, 3.0), min_size=JOINTS, max_size=JOINTS),
)
def test_no_step_is_beyond_a_limit_whatever_is_asked_for(
    changes: list[list[float] | None],
    acceleration: float,
    jump: float,
    milliseconds: int,
    outages: dict[int, int],
    commanded: list[float] | None,
    start: list[float],
) -> None:
    period = 1e-3 * milliseconds
    made = gate(np.array(start), acceleration=acceleration, jump=jump)
    lowest = np.minimum(LOWEST + 0.01, start)
    highest = np.maximum(HIGHEST - 0.01, start)
    before, velocity = np.array(start), np.zeros(JOINTS)
    for k, change in enumerate(changes):
        if k in outages:
            told = None if commanded is None else np.nan_to_num(np.array(commanded))
            made.go_on(outages[k], period, told, before)
            gone = (made.position - before) / period
            # On its way, and no farther than what it would have gone.
            assert (gone * velocity >= -1e-9).all()
            assert (np.abs(gone) <= outages[k] * np.abs(velocity) + 1e-6).all()
            before, velocity = made.position, made.velocity
        with np.errstate(over="ignore", invalid="ignore"):
            wanted = None if change is None else before + np.array(change)
        position = made.step(wanted, period)
        assert np.isfinite(position).all()
        now = (position - before) / period
        assert (np.abs(now) <= SPEED + 1e-6).all()
        assert (np.abs(now - velocity) <= acceleration * period + 1e-6).all()
        assert (position >= lowest - 1e-9).all() and (position <= highest + 1e-9).all()
        before, velocity = position, now


@settings(max_examples=50, deadline=None)
@given(changes=st.lists(CHANGE, max_size=20), acceleration=st.floats(1.0, 200.0))
def test_without_commands_it_comes_to_rest_and_holds(
    changes: list[list[float]], acceleration: float
) -> None:
    made = gate(acceleration=acceleration)
    for change in changes:
        made.step(made.position + np.array(change), PERIOD)
    steps = 2 + int(np.max(SPEED) / (acceleration * PERIOD))
    for _ in range(steps):
        held = made.step(None, PERIOD)
    assert made.at_rest
    assert (made.step(None, PERIOD) == held).all()


def sine(k: int) -> np.ndarray:
    return START + np.array([0.1, -0.2, 0.05]) * (1.0 - np.cos(2.0 * PERIOD * k))


def test_what_keeps_the_limits_passes_as_it_is() -> None:
    made = gate()
    for k in range(1000):
        assert np.abs(made.step(sine(k), PERIOD) - sine(k)).max() < 1e-9
    assert not made.shaped and not made.refused


@pytest.mark.parametrize("missing", [1, 2, 5, 10])
def test_after_commands_that_got_lost_it_catches_up(missing: int) -> None:
    made = gate()
    away = []
    for k in range(600):
        lost = 300 <= k < 300 + missing
        away.append(np.abs(made.step(None if lost else sine(k), PERIOD) - sine(k)).max())
    fastest = 0.4
    assert max(away) < fastest * PERIOD * (missing + 1)
    assert max(away[300 + missing + 30 :]) < 1e-9
    assert not made.refused


def test_a_command_that_stops_at_once_is_followed_without_swinging() -> None:
    made = gate(acceleration=10.0)
    target, speed = START, np.array([0.5, 1.0, 0.25])
    for k in range(30):
        target = target + PERIOD * np.minimum(speed, 9.0 * PERIOD * k)
        made.step(target, PERIOD)
    assert (made.velocity > 0.9 * speed).all()
    ends = np.array([made.step(target, PERIOD) for _ in range(100)])
    beyond = (ends - target) * np.sign(speed)
    assert beyond.min() > -1e-3 and np.abs(ends[-1] - target).max() < 1e-9
    # Once it turns back it does not go beyond the target again.
    turned = int(beyond[:, 0].argmax())
    assert (np.diff(beyond[turned:, 0]) <= 1e-9).all()


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (START + 0.06, "0.06 rad from the last one"),
        (START * np.nan, "nan rad from"),
        (np.append(START, 0.0), "has 4 numbers instead of 3"),
    ],
)
def test_what_is_no_continuation_is_refused_by_name(wanted: np.ndarray, problem: str) -> None:
    made = gate()
    assert (made.step(wanted, PERIOD) == START).all()
    assert made.refused == 1 and problem in made.problem


def test_it_stops_in_front_of_a_limit_and_may_stand_beyond_one() -> None:
    made = gate()
    for _ in range(2000):
        made.step(made.position + np.array([0.01, 0.0, -0.01]), PERIOD)
    assert made.position == pytest.approx([0.99, -0.5, 0.01], abs=1e-3)
    assert (made.position <= [0.99, 1.99, 2.99]).all() and (made.position >= [-1, -2, 0.01]).all()
    beyond = gate(np.array([1.2, 0.0, 1.0]))
    assert (beyond.step(np.array([1.21, 0.0, 1.0]), PERIOD) == [1.2, 0.0, 1.0]).all()
    for _ in range(500):
        beyond.step(beyond.position - np.array([0.002, 0.0, 0.0]), PERIOD)
    assert beyond.position[0] < 0.99


def test_each_parameter_has_an_effect() -> None:
    def fastest(**changes: float) -> float:
        made = gate(**changes)
        steps = np.diff([made.step(made.position + 0.02, PERIOD)[1] for _ in range(30)])
        return float(steps.max() / PERIOD)

    assert fastest() == pytest.approx(2.0)
    assert fastest(speed_share=0.5) == pytest.approx(1.0)
    assert fastest(acceleration=2.0) < 0.31
    assert fastest(jump=0.01) == 0.0
    stays = gate(np.array([0.5, 0.0, 1.0]), margin=0.5)
    assert stays.step(np.array([0.51, 0.0, 1.0]), PERIOD)[0] == 0.5
