"""Rivals are the best explanations away from the estimate, and away from its line of force."""

import numpy as np
import pytest

from contact_aware_control.estimation.likelihood import FrictionPyramids, evaluate
from contact_aware_control.estimation.measurement import Torques
from contact_aware_control.estimation.particles import new_particles, scatter
from contact_aware_control.estimation.place import MIN_DISTANCE, NEAR, Rivals
from contact_aware_control.estimation.surface import (
    new_placement,
    place,
    surface_of_robot,
    to_world,
)

Q = np.array([0.1, 0.6, 0.2, -1.5, 0.1, 1.0, 0.3])
WIDTH = 0.5
FRICTION = FrictionPyramids(usual=WIDTH, largest=WIDTH, surprise=0.0)


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
    sample = torques.alone
    measurement = sample.measured
    scatter(surface, placement, particles, 0, rng)
    evaluate(
        measurement,
        surface,
        placement,
        FRICTION,
        particles.shape,
        particles.point,
        particles.normal,
        particles.point_world,
        particles.force,
        particles.cost,
    )
    rivals = Rivals(surface, FRICTION, 0.03, rng)
    return rivals, placement, particles, sample, point, force


def look(setting, point):
    """Look for rivals of an estimate for a while; return where they are, from there."""
    rivals, placement, particles, sample, _, force = setting
    for _ in range(20):
        rivals.update(placement, particles, sample, point, force, 0.005)
    places = [
        to_world(placement, int(s), *p) for s, p in zip(rivals.shape, rivals.point, strict=True)
    ]
    return np.array(places) - point


def test_a_true_estimate_has_no_likely_rival(setting):
    rivals, *_, point, force = setting
    far, near, off_line = look(setting, point)
    assert np.linalg.norm(far) > MIN_DISTANCE
    assert np.linalg.norm(near) > NEAR
    assert np.linalg.norm(np.cross(off_line, force / np.linalg.norm(force))) > NEAR
    assert rivals.alternative(0.0) < 0.05
    assert np.sqrt(np.linalg.eigvalsh(rivals.spread(point, 0.0))[-1]) < 0.5 * NEAR


def test_the_rival_of_a_wrong_estimate_is_the_contact(setting):
    rivals, *_, point, _ = setting
    wrong = point + np.array([0.0, 0.0, 0.3])
    far, _, _ = look(setting, wrong)
    assert np.linalg.norm(wrong + far - point) < 0.03
    assert rivals.alternative(50.0) > 0.95
    np.testing.assert_allclose(np.diag(rivals.spread(wrong, 50.0)), [0.0, 0.0, 0.18], atol=0.05)
    rivals.reset()
    assert (rivals.shape == -1).all()
