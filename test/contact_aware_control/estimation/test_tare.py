"""The tare finds bias and noise in free space, and never takes a contact for a bias."""

import numpy as np
import pytest

from contact_aware_control.estimation.config import NoiseConfig, TareConfig
from contact_aware_control.estimation.tare import Tare, TareStatus

PERIOD = 0.005


def feed(tare, mean, noise=0.1, ticks=60, seed=0, touched=False, free=True):
    rng = np.random.default_rng(seed)
    for _ in range(ticks):
        tare.update(mean + noise * rng.standard_normal(7), touched, free, PERIOD)


@pytest.fixture
def tare():
    return Tare(7, TareConfig(), NoiseConfig(smallest=0.05))


def test_bias_and_noise_are_measured(tare):
    assert tare.running
    assert tare.uncertainty > 0.0
    bias = np.linspace(-0.5, 0.5, 7)
    feed(tare, bias, noise=0.2)
    assert tare.status is TareStatus.DONE
    assert tare.uncertainty == 0.0
    np.testing.assert_allclose(tare.bias, bias, atol=5 * 0.2 / np.sqrt(50))
    np.testing.assert_allclose(tare.noise, 0.2, rtol=0.4)


def test_noise_is_never_taken_smaller_than_the_model_error(tare):
    feed(tare, np.zeros(7), noise=0.0)
    np.testing.assert_allclose(tare.noise, 0.05)


@pytest.mark.parametrize(
    ("mean", "noise", "touched", "status"),
    [
        (TareConfig().largest_bias + 0.5, 0.1, False, TareStatus.BIAS),
        (0.2, 1.5, False, TareStatus.VARIATION),
        (0.2, 0.1, True, TareStatus.TOUCHED),
    ],
)
def test_what_is_no_bias_is_refused_and_measured_again(tare, mean, noise, touched, status):
    feed(tare, np.full(7, mean), noise=noise, touched=touched)
    assert tare.status is status
    assert tare.running
    np.testing.assert_array_equal(tare.bias, np.zeros(7))
    feed(tare, np.full(7, 0.3), ticks=120)
    assert tare.status is TareStatus.DONE


def test_drift_is_followed_in_free_space_only_and_not_far(tare):
    feed(tare, np.zeros(7))
    feed(tare, np.full(7, 0.2), ticks=400, touched=True)
    feed(tare, np.full(7, 0.2), ticks=400, free=False)
    np.testing.assert_allclose(tare.bias, 0.0, atol=0.1)
    feed(tare, np.full(7, 0.2), ticks=8000)
    np.testing.assert_allclose(tare.bias, 0.2, atol=0.05)
    at_tare = np.zeros(7)
    feed(tare, np.full(7, 5.0), ticks=8000)
    np.testing.assert_allclose(tare.bias - at_tare, TareConfig().largest_drift, atol=0.1)
