"""Weights, resampling, motion on the surface, and modes."""

import numpy as np
import pytest

from contact_aware_control.estimation.modes import (
    MAX_MODES,
    find_modes,
    main_shape,
    mode_covariances,
)
from contact_aware_control.estimation.particles import move, new_particles, resample, scatter, weigh
from contact_aware_control.estimation.surface import new_placement, place, surface_of_robot
from contact_core.multibody.collision.signed_distance import signed_distance

Q = np.array([0.1, 0.6, 0.2, -1.5, 0.1, 1.0, 0.3])


def test_weights_are_normalised_likelihoods():
    particles = new_particles(200)
    particles.cost[:] = np.random.default_rng(0).uniform(0.0, 3.0, 200)
    effective = weigh(particles, 0.05)
    expected = np.exp(-particles.cost / 2)
    expected /= expected.sum()
    np.testing.assert_allclose(particles.weight, expected)
    assert effective == pytest.approx(1.0 / np.sum(expected**2))


def test_a_sharp_likelihood_is_flattened_to_the_wanted_share():
    particles = new_particles(500)
    particles.cost[:] = np.random.default_rng(0).uniform(0.0, 1e5, 500)
    effective = weigh(particles, 0.1)
    assert 50 <= effective < 75
    assert particles.weight.argmax() == particles.cost.argmin()


def test_systematic_resampling_copies_in_proportion_to_the_weights():
    count = 100
    particles, resampled = new_particles(count), new_particles(count)
    particles.shape[:] = np.arange(count)
    weights = np.random.default_rng(0).random(count)
    particles.weight[:] = weights / weights.sum()
    resample(particles, resampled, np.random.default_rng(1))
    copies = np.bincount(resampled.shape, minlength=count)
    assert np.all(np.abs(copies - count * particles.weight) < 1.0)
    np.testing.assert_allclose(resampled.weight, 1.0 / count)


def test_moved_particles_stay_on_the_surface_and_change_links(robot):
    surface, _ = surface_of_robot(robot)
    placement = new_placement(surface)
    robot.update(Q)
    place(surface, robot.joint_rotations, robot.joint_origins, placement)
    rng = np.random.default_rng(0)
    particles = new_particles(500)
    scatter(surface, placement, particles, 0, rng)
    before = particles.shape.copy()
    first = particles.point[:2].copy()
    for _ in range(5):
        move(surface, placement, particles, 2, 0.01, 0.0, rng)
    np.testing.assert_array_equal(particles.point[:2], first)
    assert 10 < np.sum(before != particles.shape) < 250
    for s, point, normal in zip(particles.shape, particles.point, particles.normal, strict=True):
        distance = signed_distance(surface.kind[s], surface.size[s], *point)[0]
        assert distance == pytest.approx(0.0, abs=1e-9)
        assert np.linalg.norm(normal) == pytest.approx(1.0)


def two_clusters(share):
    """Clusters of 2 cm on two shapes, 30 cm apart; a share of the weight on the second."""
    rng = np.random.default_rng(0)
    particles = new_particles(400)
    second = np.arange(400) >= 200
    particles.point_world[:] = 0.01 * rng.standard_normal((400, 3))
    particles.point_world[second, 0] += 0.3
    particles.shape[:] = second
    particles.weight[:] = np.where(second, share, 1.0 - share) / 200
    return particles


def test_modes_are_found_with_their_weights():
    particles = two_clusters(0.3)
    centers, weights = np.zeros((MAX_MODES, 3)), np.zeros(MAX_MODES)
    members = np.zeros(400, dtype=np.int64)
    assert find_modes(particles, 0.06, 0.05, centers, weights, members) == 2
    np.testing.assert_allclose(weights[:2], [0.7, 0.3], atol=0.01)
    np.testing.assert_allclose(centers[:2], [[0, 0, 0], [0.3, 0, 0]], atol=0.005)
    body, share = np.array([0, 1]), np.zeros(2)
    assert main_shape(particles, members, 0, body, -1, 1.5, share) == 0
    assert main_shape(particles, members, 1, body, -1, 1.5, share) == 1
    # Lighter than the smallest mode asked for.
    assert find_modes(particles, 0.06, 0.4, centers, weights, members) == 1


def test_a_heavier_link_takes_over_only_beyond_the_switch_ratio():
    particles = two_clusters(0.55)
    members = np.zeros(400, dtype=np.int64)
    body, share = np.array([0, 1]), np.zeros(2)
    assert main_shape(particles, members, 0, body, -1, 1.5, share) == 1
    assert main_shape(particles, members, 0, body, 0, 1.5, share) == 0
    assert main_shape(particles, members, 0, body, 0, 1.1, share) == 1


def test_covariances_against_numpy():
    particles = two_clusters(0.3)
    particles.force[:] = np.random.default_rng(1).standard_normal((400, 3))
    members = (particles.shape > 0).astype(np.int64)
    point, force = np.array([0.01, 0.0, 0.0]), np.array([0.0, 0.1, 0.0])
    of_point, of_force = np.zeros((3, 3)), np.zeros((3, 3))
    spread = mode_covariances(particles, members, 0, point, force, of_point, of_force)
    deviations = particles.point_world[:200] - point
    np.testing.assert_allclose(of_point, deviations.T @ deviations / 200, atol=1e-12)
    deviations = particles.force[:200] - force
    np.testing.assert_allclose(of_force, deviations.T @ deviations / 200, atol=1e-12)
    squares = np.sum((particles.point_world - point) ** 2, axis=1)
    assert spread == pytest.approx(np.sqrt(particles.weight @ squares))
