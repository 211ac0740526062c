"""Complementarity pairs 0 <= F _|_ z >= 0 and the three ways to impose them."""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi
import numpy as np

from robust_planner.chance_constraint import ChanceBounds


@dataclass(frozen=True)
class Pair:
    """One family of pairs, element by element; z >= 0 is a bound of the variables.

    Attributes:
        z: The multiplier (n).
        function: F (n).
    """

    z: casadi.SX
    function: casadi.SX


@dataclass
class KnotConstraints:
    """Inequalities lower <= g(w) <= upper and costs collected at one knot."""

    expressions: list[casadi.SX] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    cost: casadi.SX = field(default_factory=lambda: casadi.SX(0))

    def at_least_zero(self, expression: casadi.SX) -> None:
        """Require expression >= 0, element by element."""
        self._add(expression, 0.0, np.inf)

    def at_most_zero(self, expression: casadi.SX) -> None:
        """Require expression <= 0, element by element."""
        self._add(expression, -np.inf, 0.0)

    def _add(self, expression: casadi.SX, lower: float, upper: float) -> None:
        self.expressions.append(expression)
        self.lower += [lower] * expression.numel()
        self.upper += [upper] * expression.numel()


def relax(constraints: KnotConstraints, pair: Pair, relaxation: casadi.SX) -> None:
    """Impose F >= 0, F z <= s; strict for s = 0 (`chance_constraints`, Sec. 3.1).

    Args:
        constraints: Collects the constraints.
        pair: The pair.
        relaxation: s, in the product of the pair's units.
    """
    constraints.at_least_zero(pair.function)
    constraints.at_most_zero(pair.z * pair.function - relaxation)


def penalise(constraints: KnotConstraints, pair: Pair, penalty: casadi.SX) -> None:
    """Impose F >= 0 and add the exact penalty rho z' F (`chance_constraints`, Sec. 3.1).

    Args:
        constraints: Collects the constraint and the cost.
        pair: The pair.
        penalty: rho.
    """
    constraints.at_least_zero(pair.function)
    constraints.cost += penalty * casadi.dot(pair.z, pair.function)


def bound_chance(
    constraints: KnotConstraints,
    pair: Pair,
    deviation: casadi.SX,
    bounds: ChanceBounds,
    relaxation: casadi.SX,
) -> None:
    """Impose m >= -kappa_beta s and z (m - kappa_theta s) <= 0 (Sec. 3.3).

    Args:
        constraints: Collects the constraints.
        pair: The pair, with the mean m as its function.
        deviation: Standard deviation of the function, one for all or one per element.
        bounds: kappa_beta and kappa_theta.
        relaxation: Added to the right-hand side of the product.
    """
    mean = pair.function
    constraints.at_least_zero(mean + bounds.kappa_beta * deviation)
    constraints.at_most_zero(pair.z * (mean - bounds.kappa_theta * deviation) - relaxation)
