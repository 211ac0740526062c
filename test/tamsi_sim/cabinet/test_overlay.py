"""How answers move the robot's command."""

from __future__ import annotations

import numpy as np
import pytest

from tamsi_sim.cabinet.invented import BRAKING, EXTRAPOLATED, MAX_LAG
from tamsi_sim.cabinet.overlay import OverlayMotion

SPEED = np.array([1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0])
PERIOD = 0.005


def motion(multiplier: int = 1) -> OverlayMotion:
    return OverlayMotion(np.zeros(7), np.full(7, -1.0), np.full(7, 1.0), SPEED, PERIOD, multiplier)


@pytest.mark.parametrize("multiplier", [1, 2, 3])
def test_is_where_it_was_told_when_the_next_answer_is_due(multiplier: int) -> None:
    moved = motion(multiplier)
    for k in range(1, 20):
        target = 0.002 * k * np.arange(-3.0, 4.0) / 3.0
        assert not moved.follow(target)
        steps = []
        for _ in range(multiplier):
            before = moved.position
            moved.advance()
            steps.append(moved.position - before)
        np.testing.assert_allclose(moved.position, target, atol=1e-15)
        np.testing.assert_allclose(
            steps, np.mean(steps, axis=0)[None].repeat(multiplier, 0), atol=1e-15
        )
        assert moved.tracking == 1.0
    np.testing.assert_array_equal(moved.interpolator, np.zeros(7))


def test_the_fastest_motion_of_the_data_sheet_is_followed_exactly() -> None:
    moved = motion()
    for k in range(1, 100):
        assert not moved.follow(k * PERIOD * SPEED)
        moved.advance()
        assert moved.tracking == 1.0
        if k * PERIOD * 2.0 > 0.9:
            break
    np.testing.assert_allclose(moved.position, k * PERIOD * SPEED, rtol=1e-5)


def test_what_is_too_fast_is_followed_in_its_direction_and_shows() -> None:
    moved = motion()
    wanted = np.array([0.02, -0.01, 0.0, 0.0, 0.0, 0.0, 0.01])
    assert not moved.follow(wanted)
    assert moved.tracking == pytest.approx(0.25, rel=1e-4)
    moved.advance()
    np.testing.assert_allclose(moved.position, wanted / 4.0, rtol=1e-4)
    assert np.all(np.abs(moved.position) <= 1.0001 * SPEED * PERIOD)


@pytest.mark.parametrize("multiplier", [1, 3])
def test_a_jump_ends_the_motion(multiplier: int) -> None:
    reach = multiplier * PERIOD
    inside, beyond = motion(multiplier), motion(multiplier)
    assert not inside.follow([reach + MAX_LAG - 1e-3, *6 * [0.0]])
    assert "too fast" in beyond.follow([reach + MAX_LAG + 1e-3, *6 * [0.0]])


def test_a_command_beyond_the_range_of_a_joint_ends_the_motion() -> None:
    moved = motion()
    for joint in range(7):
        for side in (-1.0, 1.0):
            assert "range" in moved.follow(side * 1.001 * np.eye(7)[joint])
    moved.advance()
    np.testing.assert_array_equal(moved.position, np.zeros(7))


def test_missing_answers_are_extrapolated_then_it_brakes() -> None:
    moved = motion()
    for k in range(1, 6):
        moved.follow(0.004 * k * np.eye(7)[0])
        moved.advance()
    for k in range(6, 6 + EXTRAPOLATED):
        moved.miss()
        moved.advance()
        assert moved.position[0] == pytest.approx(0.004 * k)
    speed = [0.004 / PERIOD]
    while speed[-1] > 0.0:
        before = moved.position[0]
        moved.miss()
        moved.advance()
        speed.append((moved.position[0] - before) / PERIOD)
    np.testing.assert_allclose(np.diff(speed)[:-1] / PERIOD, -BRAKING)
    assert len(speed) == pytest.approx(0.8 / BRAKING / PERIOD, abs=2)
    still = moved.position
    moved.advance()
    np.testing.assert_array_equal(moved.position, still)


def test_one_lost_answer_does_not_change_an_even_motion() -> None:
    moved = motion()
    for k in range(1, 40):
        if k % 5:
            moved.follow(0.002 * k * np.ones(7))
        else:
            moved.miss()
        moved.advance()
        np.testing.assert_allclose(moved.position, 0.002 * k)


def test_extrapolation_stays_within_the_range() -> None:
    moved = motion()
    moved.hold(0.999 * np.ones(7))
    moved.follow(np.ones(7))
    for _ in range(10):
        moved.advance()
    np.testing.assert_array_equal(moved.position, np.ones(7))


def test_brakes_until_it_is_held_again() -> None:
    moved = motion()
    moved.follow(0.004 * np.ones(7))
    moved.advance()
    moved.brake()
    for _ in range(100):
        moved.advance()
    stopped = moved.position
    assert stopped[0] == pytest.approx(0.004 + 0.5 * 0.8**2 / BRAKING, abs=0.004)
    moved.hold(np.zeros(7))
    moved.follow(0.004 * np.ones(7))
    moved.advance()
    np.testing.assert_allclose(moved.position, 0.004)
