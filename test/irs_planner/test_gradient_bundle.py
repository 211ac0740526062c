"""Examples 1 to 3: bundles converge to closed forms, except where Theorem 1 forbids it."""

import numpy as np
import pytest

from contact_core.base.seeds import generator
from contact_experiments.irs.smoothing_figures import Heaviside, ManyMinima, Vee
from irs_planner.smoothing import first_order_bundle, reconstruct, zero_order_bundle

POINTS = np.linspace(-1.0, 1.0, 41)
SIGMA = 0.2
NOISE = SIGMA * generator(0, "test").standard_normal(200_000)


@pytest.mark.parametrize("example", [ManyMinima(), Heaviside(), Vee()], ids=lambda e: type(e))
def test_bundled_objective_and_zero_order_bundle_converge(example):
    sampled = example.value(POINTS[:, np.newaxis] + NOISE).mean(axis=1)
    np.testing.assert_allclose(sampled, example.bundled(POINTS, SIGMA), atol=6e-3)
    np.testing.assert_allclose(
        zero_order_bundle(example.value, POINTS, NOISE),
        example.bundled_gradient(POINTS, SIGMA),
        atol=3e-2,
    )


@pytest.mark.parametrize("example", [ManyMinima(), Heaviside(), Vee()], ids=lambda e: type(e))
def test_lemma_1_gradient_of_the_bundled_objective(example):
    step = 1e-6
    slope = (example.bundled(POINTS + step, SIGMA) - example.bundled(POINTS - step, SIGMA)) / (
        2 * step
    )
    np.testing.assert_allclose(example.bundled_gradient(POINTS, SIGMA), slope, atol=1e-8)


@pytest.mark.parametrize("example", [ManyMinima(), Vee()], ids=lambda e: type(e))
def test_first_order_bundle_converges_without_jumps(example):
    np.testing.assert_allclose(
        first_order_bundle(example.gradient, POINTS, NOISE),
        example.bundled_gradient(POINTS, SIGMA),
        atol=1.5e-2,
    )


def test_smoothing_removes_the_local_minima_of_example_1():
    example = ManyMinima()
    assert np.count_nonzero(np.diff(np.sign(example.gradient(np.linspace(-1, 1, 999))))) > 5
    slopes = example.bundled_gradient(np.linspace(-1, 1, 999), SIGMA)
    assert np.count_nonzero(np.diff(np.sign(slopes))) == 1


def test_theorem_1_first_order_misses_a_jump_by_its_height_times_density():
    example = Heaviside()
    first = first_order_bundle(example.gradient, POINTS, NOISE)
    assert not first.any()
    density = np.exp(-0.5 * (POINTS / SIGMA) ** 2) / (SIGMA * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(example.bundled_gradient(POINTS, SIGMA) - first, density)


def test_example_3_few_samples_quantise_the_first_order_bundle_only():
    example, noise = Vee(), NOISE[:10]
    first = first_order_bundle(example.gradient, POINTS, noise)
    assert set(np.round(first * 10).astype(int)) <= set(range(-10, 11, 2))
    np.testing.assert_allclose(first * 5, np.round(first * 5), atol=1e-12)
    zero = zero_order_bundle(example.value, POINTS, noise)
    assert len(np.unique(np.round(zero, 9))) > len(np.unique(np.round(first, 9)))


def test_reconstruction_integrates_slopes():
    x = np.linspace(0.0, 1.0, 1001)
    np.testing.assert_allclose(reconstruct(x, 2 * x, 3.0), 3.0 + x**2, atol=1e-6)
