"""Steady torques are smoothed; jumps pass without delay."""

import numpy as np
import pytest

from contact_aware_control.estimation.torque_balance import JumpingLowPass

NOISE = np.full(7, 0.1)


def test_noise_is_reduced_by_the_first_order_factor():
    low_pass, rng = JumpingLowPass(0.02), np.random.default_rng(0)
    filtered = [
        low_pass.update(0.1 * rng.standard_normal(7), NOISE, 0.005).copy() for _ in range(5000)
    ]
    gain = 1 - np.exp(-0.25)
    assert np.std(filtered) == pytest.approx(0.1 * np.sqrt(gain / (2 - gain)), rel=0.05)


def test_a_jump_passes_at_once_and_a_small_step_does_not():
    low_pass = JumpingLowPass(0.02)
    low_pass.update(np.zeros(7), NOISE, 0.005)
    small = np.full(7, 0.1)
    assert low_pass.update(small, NOISE, 0.005).max() < 0.03
    jump = np.full(7, 2.0)
    np.testing.assert_array_equal(low_pass.update(jump, NOISE, 0.005), jump)


def test_without_time_constant_nothing_is_filtered():
    low_pass = JumpingLowPass(0.0)
    low_pass.update(np.zeros(7), NOISE, 0.005)
    np.testing.assert_array_equal(low_pass.update(np.full(7, 0.1), NOISE, 0.005), np.full(7, 0.1))


def test_it_knows_how_much_noise_is_left():
    low_pass = JumpingLowPass(0.02)
    for _ in range(100):
        low_pass.update(np.zeros(7), NOISE, 0.005)
    gain = 1 - np.exp(-0.25)
    assert low_pass.variance_share == pytest.approx(gain / (2 - gain))
    low_pass.update(np.full(7, 2.0), NOISE, 0.005)
    assert low_pass.variance_share == 1.0
