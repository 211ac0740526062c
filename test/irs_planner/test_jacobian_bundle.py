"""Jacobian bundles: Monte Carlo against closed forms, least squares on linear systems."""

import numpy as np
import pytest
from scipy.special import ndtr

from contact_core.base.errors import ConfigError
from contact_core.base.seeds import generator
from contact_experiments.irs.contact_examples import normal_contact
from irs_planner.dynamics import Dynamics, Jacobians
from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes import load_scene
from irs_planner.smooth_dynamics import Pendulum
from irs_planner.smoothing import draw_perturbations, linearize


class LinearSystem(Dynamics):
    """x+ = A x + B u; it cannot be evaluated where the input is too large."""

    def __init__(self, limit=np.inf):
        self.matrix = generator(0, "linear system").normal(size=(3, 5))
        self.limit = limit

    state_size = 3
    input_size = 2
    state_names = ("a", "b", "c")

    def step_batch(self, states, inputs):
        result = np.hstack((states, inputs)) @ self.matrix.T
        result[np.abs(inputs).max(axis=1) > self.limit] = np.nan
        return result

    def jacobians(self, states, inputs):
        tiled = np.tile(self.matrix, (len(states), 1, 1))
        tiled[np.abs(inputs).max(axis=1) > self.limit] = np.nan
        return Jacobians(tiled[:, :, :3], tiled[:, :, 3:])


def bundle(system, mode, states, inputs, samples, state_std, input_std, seed=0, workers=1):
    noise = draw_perturbations(
        generator(seed, "bundle"), len(states), samples, np.array(state_std), np.array(input_std)
    )
    return linearize(system, mode, states, inputs, noise, workers)


@pytest.mark.parametrize("mode", ["exact", "first", "zero"])
@pytest.mark.parametrize("limit", [np.inf, 1.0])
def test_every_mode_is_exact_on_a_linear_system(mode, limit):
    """Also if some samples fail: they are left out."""
    system = LinearSystem(limit)
    states, inputs = np.ones((4, 3)), np.full((4, 2), 0.5)
    result = bundle(system, mode, states, inputs, 50, [0.1, 1.0, 10.0], [0.5, 0.3])
    # The regularisation of the fit is 1e-9 of 50 samples of unit variance.
    np.testing.assert_allclose(result.state, np.tile(system.matrix[:, :3], (4, 1, 1)), atol=1e-7)
    np.testing.assert_allclose(result.input, np.tile(system.matrix[:, 3:], (4, 1, 1)), atol=1e-7)


def test_first_order_bundle_of_normal_contact_against_its_closed_form():
    """B of (20b) times the probability of contact, for a robot at some distance."""
    system, std, distance = normal_contact(mass=1.0, stiffness=100.0, time_step=0.1), 0.1, 0.15
    states, inputs = np.array([[0.0, -distance]]), np.array([[-distance]])
    expected = 0.5 * ndtr(-distance / std)  # c = 1
    first = bundle(system, "first", states, inputs, 400_000, [0.0, 0.0], [std])
    zero = bundle(system, "zero", states, inputs, 400_000, [0.0, 0.0], [std])
    assert first.input[0, 0, 0] == pytest.approx(expected, abs=2e-3)
    assert zero.input[0, 0, 0] == pytest.approx(expected, abs=2e-3)
    assert not bundle(system, "exact", states, inputs, 0, [0.0, 0.0], [std]).input[0, 0, 0]


def test_first_and_zero_order_agree_on_the_hand_with_many_samples():
    """Contact forces are continuous here, so both converge to the same bundle (Lemma 3)."""
    system = PlanarQuasiDynamics(load_scene("planar_hand"))
    state = np.array([[0.0, 0.35, 0.0, -np.pi / 4, -np.pi / 4, np.pi / 4, np.pi / 4]])
    inputs, zeros, std = state[:, 3:], np.zeros(7), np.full(4, 0.1)
    first = bundle(system, "first", state, inputs, 40_000, zeros, std).input
    zero = bundle(system, "zero", state, inputs, 40_000, zeros, std).input
    np.testing.assert_allclose(first, zero, atol=2e-2)
    hundred = [bundle(system, "first", state, inputs, 100, zeros, std, s).input for s in range(40)]
    # N = 100 is unbiased: the mean of 40 such estimates is ten times closer than one.
    np.testing.assert_allclose(np.mean(hundred, axis=0), first, atol=3e-2)


def test_zero_order_without_state_samples_keeps_the_exact_state_jacobian():
    system = PlanarQuasiDynamics(load_scene("box_pushing"))
    states = np.array([[0.0, 0.5, 0.0, 0.0, -0.05]])
    arguments = (states, states[:, 3:] + 0.1, 100, np.zeros(5), np.full(2, 0.1))
    exact = bundle(system, "exact", *arguments)
    zero = bundle(system, "zero", *arguments)
    np.testing.assert_array_equal(zero.state, exact.state)
    assert np.abs(zero.input - exact.input).max() > 1e-3


@pytest.mark.parametrize("mode", ["exact", "first", "zero", "log_barrier"])
def test_the_number_of_workers_changes_no_bit(mode):
    system = PlanarQuasiDynamics(load_scene("box_pushing"))
    states = np.tile([0.0, 0.5, 0.0, 0.0, -0.12], (7, 1))
    inputs = states[:, 3:] + np.linspace(-0.1, 0.1, 7)[:, np.newaxis]
    one, two = (
        bundle(system, mode, states, inputs, 50, np.zeros(5), np.full(2, 0.1), workers=workers)
        for workers in (1, 2)
    )
    np.testing.assert_array_equal(one.state, two.state)
    np.testing.assert_array_equal(one.input, two.input)


def test_log_barrier_needs_contact():
    with pytest.raises(ConfigError, match=r"not available for Pendulum \(valid: exact, first"):
        bundle(Pendulum(), "log_barrier", np.zeros((1, 2)), np.zeros((1, 1)), 0, [0, 0], [1])
