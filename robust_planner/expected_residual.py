"""Expected squared residual of a complementarity pair whose function is Gaussian.

For 0 <= z _|_ F >= 0 with F ~ N(m, s^2) and the residual min(z, F), eq. (2) of
`chance_constraints` has the closed form

    E = z^2 Phi(-d) + (m^2 + s^2) Phi(d) - s (z + m) pdf(d),    d = (z - m) / s.

One definition serves NumPy arrays and CasADi symbols.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import casadi
import numpy as np
from scipy import special


class Operations(NamedTuple):
    """The elementary functions the closed form needs, for one kind of number."""

    exp: Callable[[Any], Any]
    erf: Callable[[Any], Any]
    minimum: Callable[[Any, Any], Any]
    maximum: Callable[[Any, Any], Any]
    where: Callable[[Any, Any, Any], Any]


NUMPY = Operations(np.exp, special.erf, np.minimum, np.maximum, np.where)
CASADI = Operations(casadi.exp, casadi.erf, casadi.fmin, casadi.fmax, casadi.if_else)

# Below this ratio of s to the other arguments F is a number, not a distribution.
DETERMINISTIC_RATIO = 1e-12
# Where 1 + erf starts to lose digits that the lower tail needs.
TAIL_START = 4.0
# Terms of the continued fraction: 1e-12 relative at TAIL_START.
TAIL_TERMS = 20
# pdf(38) is the smallest normal number: beyond it every tail is zero.
TAIL_END = 38.0


def expected_squared_residual(z: Any, mean: Any, deviation: Any, ops: Operations = NUMPY) -> Any:
    """Evaluate E[min(z, F)^2], finite for every finite argument.

    Args:
        z: z, the deterministic half of the pair, any shape.
        mean: m, mean of F, in the unit of ``z``.
        deviation: s >= 0, standard deviation of F, in the unit of ``z``; zero gives
            min(z, m)^2.
        ops: ``NUMPY`` or ``CASADI``.

    Returns:
        The expectation, same shape, in the unit of ``z`` squared.
    """
    deterministic, s = _split(z, mean, deviation, ops)
    lower, upper, density = _gaussian((z - mean) / s, ops)
    gaussian = z**2 * upper + (mean**2 + s**2) * lower - s * (z + mean) * density
    return ops.where(deterministic, ops.minimum(z, mean) ** 2, gaussian)


def _split(z: Any, mean: Any, deviation: Any, ops: Operations) -> tuple[Any, Any]:
    """Return whether F is deterministic and a deviation that can be divided by."""
    scale = 1.0 + ops.maximum(z, -z) + ops.maximum(mean, -mean)
    smallest = DETERMINISTIC_RATIO * scale
    return deviation < smallest, ops.maximum(deviation, smallest)


def _gaussian(d: Any, ops: Operations) -> tuple[Any, Any, Any]:
    """Return Phi(d), Phi(-d) and the standard normal density at d.

    The lower tail keeps its relative accuracy: where z = 0 it is all that is left of E.
    The upper tail only needs the absolute accuracy of 1 - erf, because E holds
    (m^2 + s^2) >= z^2 / (2 + 2 d^2) beside it.
    """
    d = ops.minimum(ops.maximum(d, -TAIL_END), TAIL_END)
    density = ops.exp(-0.5 * d**2) / math.sqrt(2.0 * math.pi)
    erf = ops.erf(d / math.sqrt(2.0))
    tail = density * _mills_ratio(ops.maximum(-d, TAIL_START))
    lower = ops.where(d < -TAIL_START, tail, 0.5 * (1.0 + erf))
    return lower, 0.5 * (1.0 - erf), density


def _mills_ratio(t: Any) -> Any:
    """Return Phi(-t) / pdf(t) for t >= TAIL_START by Laplace's continued fraction."""
    denominator = t
    for term in range(TAIL_TERMS, 0, -1):
        denominator = t + term / denominator
    return 1.0 / denominator
