"""A block pushed 5 m over ground of uncertain friction (`chance_constraints`, Sec. 4.1)."""

from __future__ import annotations

import dataclasses

from robust_planner.config import ExpectedResidualConfig, PlannerConfig, UncertaintyConfig
from robust_planner.model.sliding_block import sliding_block
from robust_planner.problem import RobustProblem
from robust_planner.problems.example import Example


def block() -> Example:
    """Build the example.

    Returns:
        The example. The paper states R = 10; its robust runs were made with R = 100.
    """
    problem = RobustProblem(
        name="block",
        model=sliding_block(mass=1.0, half_height=0.5),
        start=(0.0, 0.5, 0.0, 0.0),
        goal=(5.0, 0.5, 0.0, 0.0),
        duration=1.0,
        knots=101,
        friction=0.5,
        state_weight=(1.0, 1.0, 1.0, 1.0),
        control_weight=(10.0,),
    )
    return Example(
        name="block",
        description="slide a 1 kg block 5 m in 1 s over ground of uncertain friction",
        problem=problem,
        robust_problem=dataclasses.replace(problem, control_weight=(100.0,)),
        config=PlannerConfig(
            uncertainty=UncertaintyConfig(kind="friction", sigma=0.1),
            expected_residual=ExpectedResidualConfig(weight=5e4, slip_scale=10.0),
        ),
        test_friction=(0.3, 0.43, 0.57, 0.7),
        test_height=(-0.01, 0.0, 0.01),
    )
