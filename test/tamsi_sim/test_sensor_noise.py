"""The faults of sensors: low-pass, delay, bias, drift and noise."""

import numpy as np
import pytest

from contact_core.base.errors import ConfigError
from tamsi_sim import SensorNoise
from tamsi_sim.simulation.sensor_noise import SensorChannel

PERIOD = 0.005
STEP = np.full(7, 2.0)


def samples(count, seed=0, **faults):
    """Return samples of a step, after one of zeros."""
    channel = SensorChannel(SensorNoise(**faults), 7, PERIOD, seed, "test")
    channel.sample(np.zeros(7))
    return np.array([channel.sample(STEP) for _ in range(count)])


def test_without_faults_values_pass():
    np.testing.assert_array_equal(samples(3), np.full((3, 7), 2.0))


def test_low_pass_has_its_time_constant():
    values = samples(200, cutoff=2.0)[:, 0]
    steps = 1.0 / (2 * np.pi * 2.0) / PERIOD
    assert values[round(steps) - 1] == pytest.approx(2.0 * (1 - np.exp(-1)), rel=0.02)
    assert values[-1] == pytest.approx(2.0, rel=1e-3)


def test_low_pass_and_delay_start_without_a_transient():
    channel = SensorChannel(SensorNoise(cutoff=1.0, delay=0.1), 7, PERIOD, 0, "test")
    for _ in range(50):
        np.testing.assert_array_equal(channel.sample(STEP), STEP)


def test_delay_is_whole_periods():
    np.testing.assert_array_equal(samples(6, delay=0.016)[:, 0], [0, 0, 0, 2, 2, 2])


def test_bias_adds():
    bias = np.arange(7.0)
    np.testing.assert_allclose(samples(1, bias=bias)[0], STEP + bias)
    np.testing.assert_allclose(samples(1, bias=-0.5)[0], STEP - 0.5)


def test_noise_is_white_seeded_and_of_the_stated_size():
    first = samples(5000, noise=0.1, seed=1) - STEP
    assert first.std() == pytest.approx(0.1, rel=0.02)
    assert abs(np.mean(first[1:] * first[:-1])) < 2e-4
    np.testing.assert_array_equal(first, samples(5000, noise=0.1, seed=1) - STEP)
    assert not np.array_equal(first, samples(5000, noise=0.1, seed=2) - STEP)


def test_drift_is_a_random_walk_of_the_stated_size():
    walks = np.array([samples(400, drift=0.3, seed=seed) - STEP for seed in range(60)])
    increments = np.diff(walks, axis=1)
    assert increments.std() == pytest.approx(0.3 * np.sqrt(PERIOD), rel=0.02)
    # After 2.005 s, the sample of zeros included.
    assert walks[:, -1].std() == pytest.approx(0.3 * np.sqrt(2.005), rel=0.12)


def test_drift_and_noise_are_independent():
    quiet, noisy = samples(50, drift=0.3), samples(50, drift=0.3, noise=0.1)
    np.testing.assert_allclose(noisy - quiet, samples(50, noise=0.1) - STEP, atol=1e-12)


@pytest.mark.parametrize("fault", ["cutoff", "delay", "drift", "noise"])
def test_wrong_faults_are_refused(fault):
    for value in (-1.0, np.nan, "x"):
        with pytest.raises(ConfigError, match=f"{fault} must be"):
            SensorNoise(**{fault: value})


def test_wrong_biases_are_refused():
    for bias in ([0.0, np.inf], "x", None):
        with pytest.raises(ConfigError, match="bias must be finite"):
            SensorNoise(bias=bias)
    with pytest.raises(ConfigError, match="bias must be 1 or 7 values"):
        samples(1, bias=[1.0, 2.0])


def test_a_delay_that_fills_the_memory_is_refused():
    with pytest.raises(ConfigError, match="delay must be < 500 s"):
        samples(1, delay=1e9)
