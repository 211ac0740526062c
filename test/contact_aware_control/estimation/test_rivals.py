"""Rivals are the best explanations away from the estimate, and away from its line of force."""

import numpy as np
import pytest

from contact_aware_control.estimation.likelihood import FrictionPyramids, evaluate
from contact_aware_control.estimation.measurement import Torques
from contact_aware_control.estimation.particles import new_particles, scatter
from contact_aware_control.estimation.place import REGION, Rivals
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
    rivals = Rivals(surface, FRICTION, 0.03, rng)
    shape = int(particles.shape[np.argmin(np.linalg.norm(particles.point_world - point, axis=1))])
    return rivals, placement, particles, measurement, shape, point, force


def location(rivals, placement, which):
    return np.array(to_world(placement, int(rivals.shape[which]), *rivals.point[which]))


def test_a_true_estimate_has_no_rival_off_its_line(setting):
    rivals, placement, particles, measurement, shape, point, force = setting
    for _ in range(20):
        place_cost, line_cost = rivals.update(
            placement, particles, measurement, shape, point, force
        )
    away, off_line = (location(rivals, placement, which) - point for which in (0, 1))
    assert np.linalg.norm(away) > REGION
    along = force / np.linalg.norm(force)
    joints = rivals._surface.joints[rivals.shape]
    assert joints[1] != 7 or np.linalg.norm(np.cross(off_line, along)) > REGION
    assert 9.0 < place_cost <= line_cost


def test_the_rival_of_a_wrong_estimate_is_the_contact(setting):
    rivals, placement, particles, measurement, shape, point, force = setting
    wrong = point + np.array([0.0, 0.0, 0.3])
    for _ in range(20):
        costs = rivals.update(placement, particles, measurement, shape, wrong, force)
    assert np.linalg.norm(location(rivals, placement, 1) - point) < 0.03
    assert max(costs) < 1.0
    rivals.reset()
    assert (rivals.shape == -1).all()
