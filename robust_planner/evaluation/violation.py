"""How often the planned contact forces are impossible in the true world.

A risk bound speaks about one pair at one knot of the optimisation. What matters is the
plan: the share of true frictions (or terrain heights) for which its forces leave the true
friction cone, or act at a distance from the true terrain, at any knot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from contact_core.base.seeds import generator
from robust_planner.config import PlannerConfig
from robust_planner.problem import RobustProblem
from robust_planner.trajectory import ContactTrajectory

# Smaller forces do not act [N].
MIN_FORCE = 1e-3
# Tolerance of the checks: solver accuracy is no violation [-] and [m].
FRICTION_TOLERANCE = 1e-6
DISTANCE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class ViolationRate:
    """Sampled and predicted probability that a plan is impossible.

    Attributes:
        sampled: Share of the samples for which it is.
        predicted: The same from the Gaussian distribution function.
        samples: Number of samples.
        declared: The risk bound of the plan, per knot; None if it was made without.
    """

    sampled: float
    predicted: float
    samples: int
    declared: float | None


def violation_rate(
    trajectory: ContactTrajectory,
    problem: RobustProblem,
    config: PlannerConfig,
    samples: int = 10_000,
    seed: int = 0,
) -> ViolationRate | None:
    """Sample the true friction or terrain height.

    Args:
        trajectory: The plan.
        problem: Its model and mean friction.
        config: What is uncertain.
        samples: Number of samples.
        seed: Of the samples.

    Returns:
        The rate, or None if nothing is uncertain.
    """
    kind, sigma = config.uncertainty.kind, config.uncertainty.sigma
    if kind == "none" or sigma == 0.0:
        return None
    draws = sigma * generator(seed, "contact violation").standard_normal(samples)
    if kind == "friction":
        # Forces are possible for every mu above the steepest planned force.
        needed = steepest_force(trajectory) - FRICTION_TOLERANCE
        impossible = problem.friction + draws < needed
        predicted = _normal_cdf((needed - problem.friction) / sigma)
    else:
        # Forces are possible where the terrain reaches up to the highest of them.
        needed = highest_force(trajectory, problem) - DISTANCE_TOLERANCE
        impossible = draws < needed
        predicted = _normal_cdf(needed / sigma)
    return ViolationRate(
        sampled=float(np.mean(impossible)),
        predicted=predicted,
        samples=samples,
        declared=declared_risk(config),
    )


def declared_risk(config: PlannerConfig) -> float | None:
    """Return the risk bound that speaks of what :func:`violation_rate` counts.

    Args:
        config: The parameters of a plan.

    Returns:
        beta for friction, theta for distance; None if the plan is made without risk bounds.
    """
    if not (config.robust and config.risk.enabled):
        return None
    return config.risk.beta if config.uncertainty.kind == "friction" else config.risk.theta


def steepest_force(trajectory: ContactTrajectory) -> float:
    """Return the largest ratio of friction to normal force over all knots.

    Args:
        trajectory: The plan.

    Returns:
        The friction coefficient the plan needs; inf if there is friction without normal
        force.
    """
    tangent = trajectory.tangent_force.sum(axis=2)
    normal = trajectory.normal_force
    acting = tangent > MIN_FORCE
    if not np.any(acting):
        return 0.0
    with np.errstate(divide="ignore"):
        return float(np.max(tangent[acting] / normal[acting]))


def highest_force(trajectory: ContactTrajectory, problem: RobustProblem) -> float:
    """Return the largest height over the mean terrain at which a normal force acts.

    Args:
        trajectory: The plan.
        problem: Its model.

    Returns:
        The height [m]; -inf if no force acts.
    """
    acting = trajectory.normal_force > MIN_FORCE
    return float(np.max(trajectory.distance(problem.model)[acting], initial=-np.inf))


def _normal_cdf(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2.0))
