"""The log-barrier step: derivatives, and its limit, the exact step."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from contact_steps import STARTS, contacts, random_steps

from irs_planner.quasi_dynamic import PlanarQuasiDynamics
from irs_planner.scenes import Box, Fixture, load_scene


def barrier_step(model, state, command, width, shared=False):
    """Minimise the barrier objective by damped Newton steps in numpy; return q+."""
    count = Counter(model.body_pairs)
    share = np.repeat([0.5 / count[pair] if shared else 1.0 for pair in model.body_pairs], 2)
    gap, _, normal, tangent = contacts(model, state)
    friction, h = model.friction[:, np.newaxis], model.time_step
    spring = model.spring_model(state)
    rays = np.stack((normal + friction * tangent, normal - friction * tangent), axis=1)
    rays, bound = rays.reshape(-1, len(state)), np.repeat(gap, 2) / h
    pull = spring.stiffness * (command - state[list(model.commanded_states)])
    b = -h * np.concatenate((spring.load, pull))
    weight = np.mean(spring.stiffness * width**2) * share
    v = np.zeros(len(state))
    assert (bound > 0).all()
    for _ in range(100):
        slack = rays @ v + bound
        gradient = spring.hessian @ v + b - rays.T @ (weight / slack)
        hessian = spring.hessian + (rays.T * weight / slack**2) @ rays
        step = -np.linalg.solve(hessian, gradient)
        length = 1.0
        while (rays @ (v + length * step) + bound <= 0).any():
            length *= 0.5
        decrement = np.sqrt(-gradient @ step / weight.min())
        v += min(length, 1.0 / (1.0 + decrement)) * step
    return state + h * v


@pytest.mark.parametrize("shared", [False, True])
def test_input_jacobian_against_finite_differences(shared):
    model = PlanarQuasiDynamics(load_scene("box_pushing"))
    width, step = np.full(2, 0.05), 1e-5
    for z in (-0.25, -0.12):
        state, command = np.array([0.0, 0.5, 0.1, 0.1, z]), np.array([0.15, z + 0.1])
        at = state[np.newaxis], command[np.newaxis]
        found = model.barrier_jacobians(*at, width, shared).input[0]
        for k, d in enumerate(step * np.eye(2)):
            ahead, behind = (
                barrier_step(model, state, command + s * d, width, shared) for s in (1, -1)
            )
            np.testing.assert_allclose(found[:, k], (ahead - behind) / (2 * step), atol=1e-6)


@pytest.mark.parametrize("shared", [False, True])
def test_barriers_of_several_points_against_finite_differences(shared):
    """Box and floor may touch at four points, box and hand at one."""
    model = PlanarQuasiDynamics(load_scene("box_pivoting"))
    assert sorted(Counter(model.body_pairs).values()) == [1, 1, 4]
    width, step = np.full(2, 0.05), 1e-5
    state, command = np.array([0.0, 0.52, 0.0, -0.62, 0.5]), np.array([-0.5, 0.5])
    found = model.barrier_jacobians(state[np.newaxis], command[np.newaxis], width, shared).input[0]
    for k, d in enumerate(step * np.eye(2)):
        ahead, behind = (
            barrier_step(model, state, command + s * d, width, shared) for s in (1, -1)
        )
        np.testing.assert_allclose(found[:, k], (ahead - behind) / (2 * step), atol=1e-5)


@pytest.mark.parametrize("many", [1, 20])
def test_what_is_far_away_weakens_no_barrier(many):
    scene = load_scene("box_pivoting")
    state, command = np.array([[0.0, 0.52, 0.0, -0.62, 0.5]]), np.array([[-0.5, 0.5]])
    far = tuple(
        Fixture(f"far{i}", 0.5, (Box(size=(1.0, 1.0), center=(1e4 + 5.0 * i, 5e3)),))
        for i in range(many)
    )
    slopes = [
        PlanarQuasiDynamics(replace(scene, fixtures=scene.fixtures + more))
        .barrier_jacobians(state, command, np.full(2, 0.05), shared=True)
        .input
        for more in ((), far)
    ]
    np.testing.assert_allclose(*slopes, atol=5e-3)


def test_robot_feels_the_object_at_a_distance():
    model = PlanarQuasiDynamics(load_scene("box_pushing"))
    state = np.array([STARTS["box_pushing"]])
    exact = model.jacobians(state, state[:, 3:]).input
    smooth = model.barrier_jacobians(state, state[:, 3:], np.full(2, 0.1)).input
    assert not exact[0, 1].any()
    assert smooth[0, 1, 1] > 1e-3


@pytest.mark.parametrize("name", ["box_pushing", "planar_hand"])
def test_vanishing_width_gives_the_exact_derivatives(name):
    model, states, commands = random_steps(name, 40, state_noise=0.01)
    exact = model.jacobians(states, commands)
    smooth = model.barrier_jacobians(states, commands, np.full(model.input_size, 1e-7))
    difference = np.abs(smooth.input - exact.input).max(axis=(1, 2))
    # Weakly active contacts converge last.
    assert np.mean(difference < 1e-3) > 0.9
