"""The smooth examples: Jacobians, and the physics they stand for."""

import numpy as np
import pytest

from irs_planner.smooth_dynamics import GRAVITY, INERTIA, MASS, Bicycle, Pendulum, Quadrotor

SYSTEMS = [Pendulum(), Bicycle(), Quadrotor()]


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: type(s).__name__)
def test_jacobians_against_finite_differences(system):
    rng = np.random.default_rng(0)
    x = 0.5 * rng.normal(size=system.state_size)
    u = rng.normal(size=system.input_size)
    a, b = system.jacobians(x[np.newaxis], u[np.newaxis])
    step = 1e-6
    for k, d in enumerate(step * np.eye(len(x))):
        expected = (system.step(x + d, u) - system.step(x - d, u)) / (2 * step)
        np.testing.assert_allclose(a[0, :, k], expected, atol=2e-6)
    for k, d in enumerate(step * np.eye(len(u))):
        expected = (system.step(x, u + d) - system.step(x, u - d)) / (2 * step)
        np.testing.assert_allclose(b[0, :, k], expected, atol=2e-6)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: type(s).__name__)
def test_rollout_is_step_after_step_and_names_fit(system):
    inputs = np.full((3, system.input_size), 0.2)
    states = system.rollout(np.zeros(system.state_size), inputs)
    np.testing.assert_array_equal(states[2], system.step(states[1], inputs[1]))
    assert len(system.state_names) == system.state_size


def test_pendulum_conserves_energy_on_average():
    """Semi-implicit Euler is symplectic: the energy error stays bounded by the time step."""
    states = Pendulum(0.01).rollout(np.array([1.0, 0.0]), np.zeros((5000, 1)))
    energy = 0.5 * states[:, 1] ** 2 - np.cos(states[:, 0])
    assert np.abs(energy - energy[0]).max() < 0.01


def test_bicycle_drives_a_circle():
    """Radius = wheel base / tan(steering)."""
    steering = 0.3
    start = np.array([0.0, 0.0, 0.0, 1.0, steering])
    states = Bicycle(1e-3).rollout(start, np.zeros((3000, 2)))
    center = np.array([0.0, 1.0 / np.tan(steering)])
    radius = np.linalg.norm(states[:, :2] - center, axis=1)
    np.testing.assert_allclose(radius, center[1], rtol=2e-3)


def test_quadrotor_hovers_and_climbs():
    hover = np.full(4, MASS * GRAVITY / 4)
    system = Quadrotor()
    np.testing.assert_allclose(system.step(np.zeros(12), hover), np.zeros(12), atol=1e-14)
    assert system.step(np.zeros(12), 1.1 * hover)[8] == pytest.approx(0.1 * GRAVITY * 0.05)


def test_quadrotor_conserves_angular_momentum_in_the_world_without_thrust():
    def momentum(state):
        (sr, sp, sy), (cr, cp, cy) = np.sin(state[3:6]), np.cos(state[3:6])
        roll = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
        pitch = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
        yaw = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
        to_rates = np.array([[1, 0, -sp], [0, cr, sr * cp], [0, -sr, cr * cp]])
        return yaw @ pitch @ roll @ (np.array(INERTIA) * (to_rates @ state[9:]))

    start = np.array([0, 0, 0, 0.3, -0.4, 0.5, 0, 0, 0, 1.0, 0.7, -0.5])
    states = Quadrotor(1e-5).rollout(start, np.zeros((1000, 4)))
    np.testing.assert_allclose(momentum(states[-1]), momentum(start), rtol=1e-4)


@pytest.mark.filterwarnings("error")
def test_a_motion_that_diverges_says_so_in_its_states_alone():
    start = np.zeros(12)
    start[9:] = 1e200
    assert not np.isfinite(Quadrotor().rollout(start, np.zeros((20, 4)))).all()
