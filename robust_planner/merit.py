"""Merit score: how infeasible a plan is under the mean contact parameters."""

from __future__ import annotations

import numpy as np

from robust_planner.problem import RobustProblem
from robust_planner.trajectory import ContactTrajectory


def merit(trajectory: ContactTrajectory, problem: RobustProblem, kind: str) -> float:
    """Evaluate (1/K) sum (F z)^2 + min(0, F)^2 + min(0, z)^2, eq. (4).

    Args:
        trajectory: The plan.
        problem: The problem, for the mean friction and the terrain.
        kind: The pair that is scored: ``"distance"`` for (1d), otherwise the friction
            cone (1f).

    Returns:
        The score, zero for a feasible plan.
    """
    if kind == "distance":
        function, z = trajectory.distance(problem.model), trajectory.normal_force
    else:
        function, z = trajectory.friction_cone(problem.friction), trajectory.slip
    function, z = function[1:], z[1:]
    score = (function * z) ** 2 + np.minimum(0.0, function) ** 2 + np.minimum(0.0, z) ** 2
    return float(score.sum(axis=1).mean())
