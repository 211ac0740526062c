"""A one-legged hopper over ground of uncertain height (`chance_constraints`, Sec. 4.2)."""

from __future__ import annotations

import dataclasses
import math

from robust_planner.config import (
    ContinuationConfig,
    ExpectedResidualConfig,
    NonlinearSolverConfig,
    PlannerConfig,
    UncertaintyConfig,
)
from robust_planner.model.hopper import hopper as hopper_model
from robust_planner.problem import RobustProblem
from robust_planner.problems.example import Example

BASE_HEIGHT = 1.5  # of the base over the heel [m]


def hopper() -> Example:
    """Build the example.

    Returns:
        The example. The paper states mu = 0.5; its robust runs were made with mu = 1.
    """
    bend = math.acos(BASE_HEIGHT / 2.0)
    leg = (bend, -2.0 * bend, math.pi / 2.0 + bend)  # foot flat, below the base
    rest = (0.0,) * 5
    problem = RobustProblem(
        name="hopper",
        model=hopper_model(),
        start=(0.0, BASE_HEIGHT, *leg, *rest),
        goal=(4.0, BASE_HEIGHT, *leg, *rest),
        duration=3.0,
        knots=101,
        friction=0.5,
        state_weight=(0.5, 5.0, 5.0, 50.0, 50.0, 0.5, 0.5, 0.5, 0.5, 0.5),
        control_weight=(0.005,) * 3,
    )
    return Example(
        name="hopper",
        description="hop 4 m in 3 s over ground of uncertain height",
        problem=problem,
        robust_problem=dataclasses.replace(problem, friction=1.0),
        config=PlannerConfig(
            uncertainty=UncertaintyConfig(kind="distance", sigma=0.05),
            expected_residual=ExpectedResidualConfig(weight=1e3, distance_scale=10.0),
            continuation=ContinuationConfig(
                penalties=(1.0, 10.0),
                robust_method="penalty",
                scaffold_theta=0.6,
                chance_fractions=(0.0, 1e-5, 1e-4, 3e-4),
                weight_fractions=(1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0),
            ),
            solver=NonlinearSolverConfig(tolerance=1e-6, bound_relaxation=1e-9, warm_start=True),
        ),
    )
