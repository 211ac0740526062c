"""The external-torque signal: gain one, low-pass, delay, bias and noise."""

import numpy as np
import pytest

from contact_core.scene_config import TorqueSensorConfig
from tamsi_sim.robot.sensing import TorqueSensor

STEP = np.full(7, 2.0)


def samples(count, seed=0, **settings):
    sensor = TorqueSensor(TorqueSensorConfig(**settings), 0.005, seed)
    return np.array([sensor.sample(STEP) for _ in range(count)])


def test_without_faults_the_torque_passes():
    np.testing.assert_array_equal(samples(3, cutoff=0.0, noise=0.0), np.full((3, 7), 2.0))


def test_low_pass_has_its_time_constant():
    values = samples(200, cutoff=2.0, noise=0.0)[:, 0]
    steps = 1.0 / (2 * np.pi * 2.0) / 0.005
    assert values[round(steps) - 1] == pytest.approx(2.0 * (1 - np.exp(-1)), rel=0.02)
    assert values[-1] == pytest.approx(2.0, rel=1e-3)


def test_delay_is_whole_periods():
    values = samples(6, cutoff=0.0, noise=0.0, delay=0.015)[:, 0]
    np.testing.assert_array_equal(values, [0, 0, 0, 2, 2, 2])


def test_bias_adds():
    bias = tuple(float(i) for i in range(7))
    np.testing.assert_allclose(samples(1, cutoff=0.0, noise=0.0, bias=bias)[0], STEP + bias)


def test_noise_is_white_seeded_and_of_the_stated_size():
    first = samples(5000, cutoff=0.0, noise=0.1, seed=1) - STEP
    assert first.std() == pytest.approx(0.1, rel=0.02)
    assert abs(np.mean(first[1:] * first[:-1])) < 2e-4
    np.testing.assert_array_equal(first, samples(5000, cutoff=0.0, noise=0.1, seed=1) - STEP)
    assert not np.array_equal(first, samples(5000, cutoff=0.0, noise=0.1, seed=2) - STEP)
