"""The likelihood kernel agrees with Jacobians of the robot and a general solver."""

import numpy as np
import pytest
from scipy.optimize import nnls

from contact_aware_control.estimation.likelihood import (
    EDGE_SURPRISE,
    FrictionPyramids,
    best_force,
    evaluate,
    tangents,
)
from contact_aware_control.estimation.measurement import Torques
from contact_aware_control.estimation.particles import new_particles, scatter
from contact_aware_control.estimation.surface import (
    edge_normal,
    new_placement,
    place,
    surface_of_robot,
)

WIDTH = 0.5
FRICTION = FrictionPyramids(usual=WIDTH, largest=WIDTH, surprise=0.0)


def test_cost_and_force_against_numpy_and_nnls(robot):
    rng = np.random.default_rng(0)
    surface, links = surface_of_robot(robot)
    placement = new_placement(surface)
    particles = new_particles(100)
    deviation = rng.uniform(0.1, 0.5, 7)
    compared = 0
    for q in rng.uniform(-1.5, 1.5, (5, 7)):
        robot.update(q)
        place(surface, robot.joint_rotations, robot.joint_origins, placement)
        torque = 5 * rng.standard_normal(7)
        scatter(surface, placement, particles, 0, rng)
        evaluate(
            Torques(
                torque, torque, np.diag(deviation**2), robot.joint_origins, robot.joint_axes
            ).alone.measured,
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
        for i, s in enumerate(particles.shape):
            point = particles.point_world[i]
            jacobian = robot.point_jacobian(links[s], point)
            is_edge, *round_normal = edge_normal(surface, s, *particles.point[i])
            fits = []
            for normal in (particles.normal[i], np.array(round_normal))[: 1 + is_edge]:
                inward = -placement.rotation[s] @ normal
                t1, t2 = np.reshape(tangents(*inward), (2, 3))
                rays = np.array([inward + WIDTH * t for t in (t1, t2, -t1, -t2)]).T
                weighted = (jacobian.T @ rays) / deviation[:, None]
                weights, residual = nnls(weighted, torque / deviation)
                fits.append((residual**2 + EDGE_SURPRISE * len(fits), weights, len(fits)))
            cost, weights, at_edge = min(fits, key=lambda fit: fit[0])
            # The axes of joints 1-3 meet: on link 3 the Jacobian is singular, and NNLS may
            # balance rounding errors with forces of 1e15 N.
            if weights.max() < 1e6:
                assert particles.cost[i] == pytest.approx(cost, rel=1e-6, abs=1e-6)
                compared += 1
                remaining = (torque - jacobian.T @ particles.force[i]) / deviation
                left = cost - EDGE_SURPRISE * at_edge
                assert remaining @ remaining == pytest.approx(left, rel=1e-6, abs=1e-6)
    assert compared > 450


def test_tangentss_are_right_handed():
    for normal in np.random.default_rng(0).standard_normal((100, 3)):
        n = normal / np.linalg.norm(normal)
        frame = np.array([*np.reshape(tangents(*n), (2, 3)), n])
        np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(frame) > 0.0


def test_the_true_contact_explains_its_torque(robot, touch):
    rng = np.random.default_rng(0)
    robot.update(np.array([0.1, 0.6, 0.2, -1.5, 0.1, 1.0, 0.3]))
    point, force = touch(rng, "lbr_link_6", friction=0.0)
    torque = robot.point_jacobian("lbr_link_6", point).T @ force
    torques = Torques(torque, torque, 0.01 * np.eye(7), robot.joint_origins, robot.joint_axes)
    measurement = torques.alone.measured
    inward = force / np.linalg.norm(force)
    cost, *found = best_force(measurement, 6, *point, *inward, FRICTION)
    assert cost == pytest.approx(0.0, abs=1e-6)
    np.testing.assert_allclose(found, force, rtol=1e-6)
