"""How hard a plan hits the ground when its height differs from the mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robust_planner.evaluation.time_stepping import Simulation, Simulator, simulate_plan
from robust_planner.problem import RobustProblem
from robust_planner.trajectory import ContactTrajectory

# Smaller forces are no contact [N].
SMALLEST_FORCE = 1e-3


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
    simulations: tuple[Simulation, ...]

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


def touchdown(run: Simulation) -> int | None:
    """Return the last sample before the first contact, None if there is none."""
    acting = np.flatnonzero(run.normal_force.sum(axis=1) > SMALLEST_FORCE)
    return int(acting[0]) - 1 if acting.size else None


def _impact_speed(run: Simulation, vertical: int) -> float:
    sample = touchdown(run)
    return math.nan if sample is None else float(-run.velocity[sample, vertical])
