"""The contact model: derivatives by finite differences, limits, combination rules."""

import numpy as np
import pytest

from contact_core.robot.surface import Surface, combine
from tamsi_sim.arrays.settings import FrictionLaw
from tamsi_sim.scheme.contact import friction_coefficient, normal_force

STICTION = 1e-4


def friction(law, velocity, soft=0.0, mu=0.7):
    """Return the friction force for a unit normal force."""
    g, _ = friction_coefficient(int(law), mu, *velocity, STICTION, soft)
    return -g * np.asarray(velocity)


@pytest.mark.parametrize("law", FrictionLaw)
@pytest.mark.parametrize("soft", [0.0, 1e-6])
@pytest.mark.parametrize("speed", [1e-6, 0.4, 0.99, 1.01, 30.0])
def test_friction_gradient_is_the_derivative(law, soft, speed):
    velocity = speed * STICTION * np.array([0.6, -0.8])
    g, bend = friction_coefficient(int(law), 0.7, *velocity, STICTION, soft)
    ours = -(g * np.eye(2) + bend * np.outer(velocity, velocity))
    step = 1e-4 * min(speed, 1.0) * STICTION
    numeric = np.array(
        [
            (friction(law, velocity + step * e, soft) - friction(law, velocity - step * e, soft))
            / (2 * step)
            for e in np.eye(2)
        ]
    ).T
    np.testing.assert_allclose(ours, numeric, rtol=1e-4, atol=1e-4 * g)


@pytest.mark.parametrize("law", FrictionLaw)
def test_friction_saturates_at_mu_and_opposes_slip(law):
    force = friction(law, [3.0, 4.0])
    np.testing.assert_allclose(force, [-0.42, -0.56])
    assert np.all(friction(law, [0.0, 0.0]) == 0.0)


@pytest.mark.parametrize(
    ("law", "expected"), [(FrictionLaw.LINEAR, 0.35), (FrictionLaw.QUADRATIC, 0.525)]
)
def test_the_two_laws_inside_stiction(law, expected):
    # (7) at s = 1/2 is mu / 2; mu s (2 - s) is 3/4 mu.
    assert np.linalg.norm(friction(law, [0.5 * STICTION, 0.0])) == pytest.approx(expected)


@pytest.mark.parametrize("separation", [-0.5, -1e-3, 0.0, 1e-3, 0.02])
def test_normal_force_slope_is_the_derivative(separation):
    arguments = (3.0, 1e4, 5.0)
    _, slope = normal_force(*arguments, separation, 1e-3)
    step = 1e-6
    numeric = (
        normal_force(*arguments, separation + step, 1e-3)[0]
        - normal_force(*arguments, separation - step, 1e-3)[0]
    ) / (2 * step)
    assert slope == pytest.approx(numeric, rel=1e-6)


def test_normal_force_never_pulls():
    for separation in np.linspace(-1.0, 2.0, 50):
        force, slope = normal_force(2.0, 1e4, 5.0, separation, 1e-3)
        assert force >= 0.0
        assert slope <= 0.0
    assert normal_force(2.0, 1e4, 5.0, 1.0, 1e-3) == (0.0, 0.0)


def test_surfaces_combine_in_series_and_by_harmonic_mean():
    stiffness, dissipation, friction_coefficient_, *_ = combine(
        Surface(3e4, 1.0, 0.3), Surface(1e4, 5.0, 0.6)
    )
    assert stiffness == pytest.approx(7500.0)
    assert dissipation == pytest.approx(0.25 * 1.0 + 0.75 * 5.0)
    assert friction_coefficient_ == pytest.approx(0.4)
    assert combine(Surface(1.0, 0.0, 0.0), Surface(1.0, 0.0, 0.0))[:3] == (0.5, 0.0, 0.0)
