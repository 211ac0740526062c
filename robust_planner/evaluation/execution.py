"""A plan executed open-loop: final errors, their spread, and impacts, off the mean contact."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robust_planner.evaluation.time_stepping import (
    ComplementarityError,
    Simulator,
    SteppedMotion,
    simulate_plan,
)
from robust_planner.evaluation.violation import MIN_FORCE
from robust_planner.problem import RobustProblem
from robust_planner.trajectory import ContactTrajectory


@dataclass(frozen=True)
class FinalErrors:
    """Final minus goal position along the first coordinate, over several worlds.

    Attributes:
        friction: mu of each simulation (n).
        height: Height of the ground in each simulation (n) [m].
        errors: Final position - goal (n) [m].
        simulations: The simulations.
    """

    friction: tuple[float, ...]
    height: tuple[float, ...]
    errors: np.ndarray
    simulations: tuple[SteppedMotion, ...]

    @property
    def mean(self) -> float:
        """Mean error [m]."""
        return float(self.errors.mean())

    @property
    def range(self) -> float:
        """Largest minus smallest error [m]."""
        return float(np.ptp(self.errors))


def final_errors(
    trajectory: ContactTrajectory,
    problem: RobustProblem,
    friction: tuple[float, ...],
    height: tuple[float, ...] = (0.0,),
    simulate: Simulator = simulate_plan,
) -> FinalErrors:
    """Simulate a plan's controls open-loop (`chance_constraints`, Sec. 4.1).

    Args:
        trajectory: The plan.
        problem: Its model, start and goal.
        friction: Values of mu, at least one.
        height: Heights of the ground [m], at least one; each is combined with each mu.
        simulate: The simulator.

    Returns:
        The errors, height by height.
    """
    worlds = [(mu, level) for level in height for mu in friction]
    simulations = tuple(simulate(trajectory, problem, *world) for world in worlds)
    errors = np.array([run.position[-1, 0] - problem.goal[0] for run in simulations])
    frictions, heights = zip(*worlds, strict=True)
    return FinalErrors(frictions, heights, errors, simulations)


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


@dataclass(frozen=True)
class Impacts:
    """Vertical speed at touch-down, over several heights of the ground.

    Attributes:
        height: Height of the ground in each simulation (n) [m].
        speeds: Downward speed just before the first contact (n) [m/s]; NaN without contact.
        simulations: The simulations.
    """

    height: tuple[float, ...]
    speeds: np.ndarray
    simulations: tuple[SteppedMotion, ...]

    @property
    def mean(self) -> float:
        """Mean speed [m/s]."""
        return float(self.speeds.mean())

    @property
    def range(self) -> float:
        """Largest minus smallest speed [m/s]."""
        return float(np.ptp(self.speeds))

    @property
    def largest(self) -> float:
        """Largest speed [m/s]."""
        return float(self.speeds.max())


def impacts(
    trajectory: ContactTrajectory,
    problem: RobustProblem,
    height: tuple[float, ...],
    simulate: Simulator = simulate_plan,
) -> Impacts:
    """Simulate a plan's controls open-loop over ground of several heights.

    Args:
        trajectory: The plan.
        problem: Its model, start and mean friction.
        height: Height of the ground in each simulation, at least one [m].
        simulate: The simulator.

    Returns:
        The impacts.
    """
    runs = tuple(simulate(trajectory, problem, problem.friction, level) for level in height)
    vertical = problem.model.dimension - 1
    return Impacts(height, np.array([_impact_speed(run, vertical) for run in runs]), runs)


def touchdown(run: SteppedMotion) -> int | None:
    """Return the last sample before the first contact, None if there is none."""
    acting = np.flatnonzero(run.normal_force.sum(axis=1) > MIN_FORCE)
    return int(acting[0]) - 1 if acting.size else None


def _impact_speed(run: SteppedMotion, vertical: int) -> float:
    sample = touchdown(run)
    return math.nan if sample is None else float(-run.velocity[sample, vertical])
