"""Where the planned controls end up when friction differs from the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robust_planner.evaluation.time_stepping import Simulation, TimeStepping
from robust_planner.problem import PlanningProblem
from robust_planner.trajectory import Trajectory


@dataclass(frozen=True)
class FinalErrors:
    """Final minus goal position along the first coordinate, over several frictions.

    Attributes:
        friction: mu of each simulation (n).
        errors: Final position - goal (n) [m].
        simulations: The simulations.
    """

    friction: tuple[float, ...]
    errors: np.ndarray
    simulations: tuple[Simulation, ...]

    @property
    def mean(self) -> float:
        """Mean error [m]."""
        return float(self.errors.mean())

    @property
    def range(self) -> float:
        """Largest minus smallest error [m]."""
        return float(np.ptp(self.errors))


def final_errors(
    trajectory: Trajectory, problem: PlanningProblem, friction: tuple[float, ...]
) -> FinalErrors:
    """Simulate a plan's controls open-loop (`chance_constraints`, Sec. 4.1).

    Args:
        trajectory: The plan.
        problem: Its model, start and goal.
        friction: mu of each simulation, at least one.

    Returns:
        The errors.
    """
    start = np.array(problem.start)
    simulations = tuple(
        TimeStepping(problem.model, mu).simulate(start, trajectory.control, trajectory.time)
        for mu in friction
    )
    errors = np.array([run.position[-1, 0] - problem.goal[0] for run in simulations])
    return FinalErrors(friction, errors, simulations)
