"""Penalty contact with Stribeck friction, Fig. 8."""

import numpy as np
import pytest
from scipy.integrate import dblquad

from contact_core.base.seeds import generator
from contact_experiments.irs.contact_examples import PenaltyContact


def test_normal_force_is_a_one_sided_spring():
    force = PenaltyContact(stiffness=10.0).normal_force(np.array([-0.2, 0.0, 0.3]))
    np.testing.assert_allclose(force, [2.0, 0.0, 0.0])


def test_friction_jumps_down_at_the_stick_slip_threshold():
    contact = PenaltyContact()
    below, above = contact.friction_force(np.full(2, -0.01), np.array([0.0999, 0.1001]))
    assert below == pytest.approx(0.8 * 10.0, rel=2e-3)
    assert above == pytest.approx(0.5 * 10.0)
    backward = contact.friction_force(np.array(-0.01), np.array(-0.2))
    assert backward == pytest.approx(-5.0)


def test_bundled_friction_against_quadrature_and_acts_at_a_distance():
    contact, std = PenaltyContact(), np.array([0.005, 0.05])
    noise = std * generator(0, "test").standard_normal((400_000, 2))

    def density(w, s):
        return np.exp(-0.5 * (w / s) ** 2) / (s * np.sqrt(2 * np.pi))

    for distance, speed in ((-0.01, 0.1), (0.003, 0.05)):
        expected, _ = dblquad(
            lambda v, w, d=distance, s=speed: (
                contact.friction_force(np.array(d + w), np.array(s + v))
                * density(w, std[0])
                * density(v, std[1])
            ),
            -0.025,
            0.025,
            -0.25,
            0.25,
            epsabs=1e-4,
        )
        found = contact.bundled_friction_force(np.array(distance), np.array(speed), noise)
        assert found == pytest.approx(expected, abs=0.02)
    assert contact.bundled_friction_force(np.array(0.003), np.array(0.05), noise) > 0.1
