"""Where the planned controls end up when friction and height differ from the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robust_planner.evaluation.time_stepping import Simulation, Simulator, simulate_plan
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
