"""The closed form over the friction pyramid agrees with non-negative least squares."""

import numpy as np
import pytest
from scipy.optimize import nnls

from contact_aware_control.estimation.likelihood import cone_least_squares


def solve(jacobian, torque, friction):
    a = jacobian.T @ jacobian
    b = jacobian.T @ torque
    minimum, *force = cone_least_squares(
        a[0, 0], a[0, 1], a[0, 2], a[1, 1], a[1, 2], a[2, 2], *b, friction
    )
    return minimum, np.array(force)


@pytest.mark.parametrize("rank", [1, 2, 3, 7])
def test_cost_and_feasibility_against_nnls(rank):
    rng = np.random.default_rng(rank)
    friction = 0.5
    rays = np.array([[friction, 0, -friction, 0], [0, friction, 0, -friction], [1, 1, 1, 1.0]])
    for _ in range(500):
        jacobian = np.zeros((7, 3))
        jacobian[:rank] = rng.standard_normal((rank, 3))
        torque = rng.standard_normal(7)
        minimum, force = solve(jacobian, torque, friction)
        residual = nnls(jacobian @ rays, torque)[1]
        assert 0.5 * torque @ torque + minimum == pytest.approx(0.5 * residual**2, abs=1e-9)
        assert abs(force[0]) + abs(force[1]) <= friction * force[2] + 1e-12
        reached = 0.5 * np.sum((torque - jacobian @ force) ** 2)
        assert reached == pytest.approx(0.5 * torque @ torque + minimum, abs=1e-9)


@pytest.mark.parametrize(
    "force",
    [(0.1, -0.2, 1.0), (0.3, 0.2, 1.0), (0.0, -0.5, 1.0), (0.0, 0.0, 0.0)],
    ids=["interior", "face", "edge", "zero"],
)
def test_a_force_of_the_pyramid_is_recovered(force):
    jacobian = np.random.default_rng(0).standard_normal((7, 3))
    _, found = solve(jacobian, jacobian @ np.array(force), 0.5)
    np.testing.assert_allclose(found, force, atol=1e-10)


def test_a_pulling_force_gives_zero():
    minimum, force = solve(np.eye(3), np.array([0.0, 0.0, -1.0]), 0.5)
    assert minimum == 0.0
    np.testing.assert_array_equal(force, np.zeros(3))
