"""Chance complementarity constraints: bounds on the mean of a Gaussian function.

With F ~ N(m, s^2), Pr(F >= 0) >= 1 - beta and Pr(z F <= 0) >= 1 - theta become

    z >= 0,    m >= -kappa_beta s,    z (m - kappa_theta s) <= 0

(`chance_constraints`, Sec. 3.3). beta = theta = 0.5 is the strict constraint on the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy import special

from contact_core.base.errors import ConfigError

MIN_RISK_BOUND = 0.5
MAX_RISK_BOUND = 0.999


@dataclass(frozen=True, slots=True)
class ChanceBounds:
    """The tube around zero in which the mean may lie, in standard deviations.

    Attributes:
        kappa_beta: How far the mean may be below zero.
        kappa_theta: How far the mean may be above zero while z > 0.
    """

    kappa_beta: float = 0.0
    kappa_theta: float = 0.0


def normal_quantile(probability: float) -> float:
    """Return kappa_p = sqrt(2) erfinv(2 p - 1), the quantile of N(0, 1).

    Args:
        probability: p, strictly between 0 and 1.

    Returns:
        kappa_p.
    """
    return float(2.0**0.5 * special.erfinv(2.0 * probability - 1.0))


def chance_bounds(beta: float, theta: float) -> ChanceBounds:
    """Turn two risk bounds into bounds on the mean.

    Args:
        beta: Accepted probability that F is negative (leaving the friction cone, or
            penetrating).
        theta: Accepted probability that F is positive while z is (friction inside the
            cone while sliding, or force at a distance).

    Returns:
        The bounds.

    Raises:
        ConfigError: If no mean satisfies both (beta + theta < 1), or if a risk is
            outside [0.5, 0.999], where it would bias the mean away from zero.
    """
    if not beta + theta >= 1.0:
        raise ConfigError(
            f"risk bounds beta = {beta!r} and theta = {theta!r} exclude every contact force "
            "(valid: beta + theta >= 1)"
        )
    for name, risk in (("beta", beta), ("theta", theta)):
        if not MIN_RISK_BOUND <= risk <= MAX_RISK_BOUND:
            raise ConfigError(
                f"risk bound {name} is {risk!r} (valid: >= {MIN_RISK_BOUND}, <= {MAX_RISK_BOUND})"
            )
    return ChanceBounds(normal_quantile(beta), normal_quantile(theta))
