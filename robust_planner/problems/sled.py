"""A heavy tool that an arm holds through a vertical slot and slides over a table."""

from __future__ import annotations

from robust_planner.config import (
    ContinuationConfig,
    ExpectedResidualConfig,
    PlannerConfig,
    UncertaintyConfig,
)
from robust_planner.model.sliding_block import sliding_block
from robust_planner.problem import RobustProblem
from robust_planner.problems.example import Example

MEAN_FRICTION = 0.4
FRICTION_SIGMA = 0.08
HEIGHT_ERROR = 0.005  # of the table [m]


def sled(carried_mass: float = 0.0) -> Example:
    """Build the example.

    Args:
        carried_mass: Inertia of the arm along the motion [kg]; 0 if the force acts on the
            tool alone.

    Returns:
        The example. The slot carries no vertical load, so the arm is a horizontal force.
    """
    height = 0.05
    problem = RobustProblem(
        name="sled",
        model=sliding_block(
            mass=1.5, half_height=height, max_force=60.0, max_speed=1.5, carried_mass=carried_mass
        ),
        start=(0.0, height, 0.0, 0.0),
        goal=(0.35, height, 0.0, 0.0),
        duration=1.0,
        knots=101,
        friction=MEAN_FRICTION,
        state_weight=(1.0, 1.0, 1.0, 1.0),
        control_weight=(0.02,),
    )
    return Example(
        name="sled",
        description="slide a gripped 1.5 kg tool 0.35 m in 1 s over a table of uncertain friction",
        problem=problem,
        robust_problem=problem,
        config=PlannerConfig(
            uncertainty=UncertaintyConfig(kind="friction", sigma=FRICTION_SIGMA),
            expected_residual=ExpectedResidualConfig(weight=10.0, slip_scale=125.0),
            # The running cost is about 1: much larger penalties freeze the contact sequence.
            continuation=ContinuationConfig(penalties=(1.0, 10.0, 100.0)),
        ),
        test_friction=tuple(
            MEAN_FRICTION + FRICTION_SIGMA * deviation for deviation in (-2.0, -2 / 3, 2 / 3, 2.0)
        ),
        test_height=(-HEIGHT_ERROR, 0.0, HEIGHT_ERROR),
    )
