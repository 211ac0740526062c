"""The tare averages bias and noise in free space, and never takes a contact for a bias."""

import numpy as np
import pytest

from contact_aware_control.estimation.config import NoiseConfig, TareConfig
from contact_aware_control.estimation.tare import Tare, TareStatus

PERIOD = 0.005


def feed(tare, mean, noise=0.1, ticks=60, seed=0, touched=False):
    """Return what the tare finds, if it does."""
    rng = np.random.default_rng(seed)
    for _ in range(ticks):
        found = tare.update(mean + noise * rng.standard_normal(7), touched, PERIOD)
        if found is not None:
            return found
    return None


@pytest.fixture
def tare():
    return Tare(np.full(7, 0.1), TareConfig(), NoiseConfig(smallest=0.05))


def test_bias_and_noise_are_measured(tare):
    assert tare.running
    assert not tare.measured
    bias = np.linspace(-0.5, 0.5, 7)
    found = feed(tare, bias, noise=0.2)
    assert tare.status is TareStatus.DONE
    assert tare.measured
    np.testing.assert_allclose(found, bias, atol=5 * 0.2 / np.sqrt(50))
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
    assert feed(tare, np.full(7, mean), noise=noise, touched=touched) is None
    assert tare.status is status
    assert tare.running
    assert feed(tare, np.full(7, 0.3), ticks=120) is not None
    assert tare.status is TareStatus.DONE
