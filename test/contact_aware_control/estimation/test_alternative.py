"""The alternative is the best explanation elsewhere, and its probability follows the evidence."""

import numpy as np
import pytest

from contact_aware_control.estimation.likelihood import FrictionPyramids, evaluate
from contact_aware_control.estimation.measurement import Torques
from contact_aware_control.estimation.particles import new_particles, scatter
from contact_aware_control.estimation.place import Alternative
from contact_aware_control.estimation.surface import (
    new_placement,
    place,
    surface_of_robot,
    to_world,
)

Q = np.array([0.1, 0.6, 0.2, -1.5, 0.1, 1.0, 0.3])
WIDTH = 0.5
FRICTION = FrictionPyramids(usual=WIDTH, largest=WIDTH, surprise=0.0)
DISTANCE = 0.08


@pytest.fixture
def setting(robot, touch):
    """A contact on link 7 and particles all over the robot, evaluated."""
    rng = np.random.default_rng(0)
    robot.update(Q)
    point, force = touch(rng, "lbr_link_7", force=20.0)
    torque = robot.point_jacobian("lbr_link_7", point).T @ force
    surface, _ = surface_of_robot(robot)
    placement = new_placement(surface)
    place(surface, robot.joint_rotations, robot.joint_origins, placement)
    particles = new_particles(500)
    torques = Torques(torque, torque, 0.01 * np.eye(7), robot.joint_origins, robot.joint_axes)
    measurement = torques.alone.measured
    scatter(surface, placement, particles, 0, rng)
    evaluate(
        measurement,
        placement,
        surface.joints,
        FRICTION,
        particles.shape,
        particles.point,
        particles.normal,
        particles.point_world,
        particles.force,
        particles.cost,
    )
    alternative = Alternative(surface, FRICTION, 0.03, rng)
    return alternative, placement, particles, measurement, point


def location(alternative, placement):
    return np.array(to_world(placement, alternative.shape, *alternative.point))


def test_a_true_estimate_has_no_likely_alternative(setting):
    alternative, placement, particles, measurement, point = setting
    for _ in range(20):
        probability = alternative.update(placement, particles, measurement, point, 0.0, 0.005)
    assert np.linalg.norm(location(alternative, placement) - point) > DISTANCE
    assert probability < 0.05


def test_the_alternative_of_a_wrong_estimate_finds_the_contact(setting):
    alternative, placement, particles, measurement, point = setting
    wrong = point + np.array([0.0, 0.0, 0.3])
    for _ in range(20):
        probability = alternative.update(placement, particles, measurement, wrong, 50.0, 0.005)
    assert np.linalg.norm(location(alternative, placement) - point) < 0.03
    assert probability > 0.95
    alternative.reset()
    assert alternative.shape == -1
