"""How far the final position of a plan spreads because friction is uncertain."""

from __future__ import annotations

import math

import numpy as np

from robust_planner.evaluation.final_error import final_errors
from robust_planner.evaluation.lemke import ComplementarityError
from robust_planner.problem import RobustProblem
from robust_planner.trajectory import ContactTrajectory

NODES = 7
"""Of the quadrature: exact for final positions that are polynomials of mu up to degree 13."""


def predicted_spread(trajectory: ContactTrajectory, problem: RobustProblem, sigma: float) -> float:
    """Integrate the open-loop final position over mu ~ N(mean, sigma^2).

    Args:
        trajectory: The plan.
        problem: Its model, start and mean friction.
        sigma: Standard deviation of the friction coefficient [-].

    Returns:
        Standard deviation of the first coordinate at the end [m]; NaN if the plan cannot
        be simulated with one of the frictions.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    # The Gaussian allows negative friction, the world does not.
    friction = np.maximum(problem.friction + sigma * nodes, 0.0)
    try:
        errors = final_errors(trajectory, problem, tuple(friction.tolist())).errors
    except ComplementarityError:
        return math.nan
    weights = weights / weights.sum()
    mean = weights @ errors
    return float(np.sqrt(weights @ (errors - mean) ** 2))
