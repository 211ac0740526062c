"""E[min(z, F)^2] for Gaussian F: closed form against quadrature and finite differences."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
from scipy import special

from robust_planner.expected_residual import CASADI, expected_squared_residual

Z = (0.0, 1e-8, 1e-2, 0.3, 1.0, 100.0, 1e4)
SIGMA = np.logspace(-6, 1, 8)


def means(z: float, s: float) -> np.ndarray:
    """Means around both kinks, in the tails of the distribution, and far away."""
    tails = s * np.linspace(-36.0, 36.0, 19)
    return np.concatenate([[0.0, z, -z, 1e3, -1e3], z + tails, tails])


def quadrature(z: float, m: float, s: float) -> float:
    """Integrate min(z, m + s x)^2 over x ~ N(0, 1), panel by panel where it is not zero."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    kink = np.clip((z - m) / s, -38.0, 38.0)
    low = -38.0 if kink > -6.0 else kink - 12.0
    edges = np.linspace(low, kink, 41)
    half, centre = 0.5 * np.diff(edges), 0.5 * (edges[1:] + edges[:-1])
    x = centre[:, None] + half[:, None] * nodes
    inner = (m + s * x) ** 2 * np.exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi)
    return float(half @ (inner @ weights)) + z**2 * 0.5 * special.erfc((z - m) / s / np.sqrt(2.0))


@pytest.mark.parametrize("s", SIGMA)
def test_closed_form_is_the_integral(s: float) -> None:
    for z in Z:
        for m in means(z, s):
            expected = quadrature(z, m, s)
            if expected > 1e-290:  # below, doubles have fewer digits
                assert expected_squared_residual(z, m, s) == pytest.approx(expected, rel=1e-8)


def test_without_uncertainty_it_is_the_deterministic_residual() -> None:
    z, m = np.meshgrid([0.0, 0.5, 2.0], [-1.0, 0.0, 1.0])
    np.testing.assert_array_equal(expected_squared_residual(z, m, 0.0), np.minimum(z, m) ** 2)


def test_large_multiplier_leaves_the_second_moment() -> None:
    assert expected_squared_residual(1e4, 0.3, 1e-6) == pytest.approx(0.3**2 + 1e-12, rel=1e-14)


def exact_gradient(z: float, m: float, s: float) -> np.ndarray:
    """The derivative acts inside: 2 E[z; F > z], 2 E[F; F < z] and 2 E[F (F - m) / s; F < z]."""
    kink = (z - m) / s
    above, density = 0.5 * special.erfc(kink / np.sqrt(2.0)), np.exp(-0.5 * kink**2)
    below, density = 0.5 * special.erfc(-kink / np.sqrt(2.0)), density / np.sqrt(2.0 * np.pi)
    by_mean, by_deviation = m * below - s * density, s * below - z * density
    return 2.0 * np.array([z * above, by_mean, by_deviation])


def casadi_form() -> casadi.Function:
    w = casadi.SX.sym("w", 3)
    value = expected_squared_residual(w[0], w[1], w[2], CASADI)
    hessian, gradient = casadi.hessian(value, w)
    return casadi.Function("erm", [w], [value, gradient, hessian])


def test_gradient_against_finite_differences() -> None:
    rng = np.random.default_rng(1)
    s = 10.0 ** rng.uniform(-3, 1, 300)
    z = np.abs(rng.normal(size=300)) * 3.0
    m = z + s * rng.uniform(-4, 4, 300)
    arguments = np.stack([z, m, s])
    gradient = np.asarray(casadi_form().map(300)(arguments)[1]).reshape(3, 300)
    for axis in range(3):
        step = np.zeros((3, 300))
        step[axis] = 1e-3 * s  # the scale on which E bends
        ahead, behind, far, back = (
            expected_squared_residual(*(arguments + factor * step)) for factor in (1, -1, 2, -2)
        )
        numeric = (8.0 * (ahead - behind) - (far - back)) / (12.0 * 1e-3 * s)
        scale = 1.0 + np.abs(z) + np.abs(m)
        np.testing.assert_allclose(gradient[axis] / scale, numeric / scale, atol=1e-6)


def test_casadi_form_its_gradient_and_hessian_are_the_same_and_finite_everywhere() -> None:
    function = casadi_form()
    for s in (0.0, 1e-300, 1e-14, *SIGMA):
        for z in Z:
            for m in means(z, s):
                answers = [np.asarray(item).ravel() for item in function([z, m, s])]
                assert all(np.all(np.isfinite(answer)) for answer in answers), (z, m, s)
                assert answers[0][0] == pytest.approx(expected_squared_residual(z, m, s), rel=1e-10)
                if s >= 1e-6:
                    exact = exact_gradient(z, m, s)
                    error = np.abs(answers[1] - exact).max()
                    assert error <= 1e-6 * max(np.abs(exact).max(), 1e-12)


def test_deterministic_gradient_follows_the_smaller_argument() -> None:
    for z, by_z, by_mean in ((1.0, 2.0, 0.0), (3.0, 0.0, 4.0)):
        gradient = np.asarray(casadi_form()([z, 2.0, 0.0])[1]).ravel()
        np.testing.assert_allclose(gradient, [by_z, by_mean, 0.0], atol=1e-9)
