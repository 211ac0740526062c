"""A heavy tool that an arm puts down on a table of uncertain height."""

from __future__ import annotations

from robust_planner.config import (
    ContinuationConfig,
    ExpectedResidualConfig,
    PlannerConfig,
    RiskConfig,
    UncertaintyConfig,
)
from robust_planner.model.lowered_tool import lowered_tool
from robust_planner.problem import RobustProblem
from robust_planner.problems.example import Example

HEIGHT_SIGMA = 0.005  # of the table [m]
STIFFNESS = 2e4  # of the contact: what an error in height costs in force [N/m]


def table_approach() -> Example:
    """Build the example.

    Returns:
        The example. The distance scale is the stiffness of the contact, so that forces near
        the table cost as much as they can do harm; the risk bound lets them act where the
        highest tables would be, 2.6 sigma up.
    """
    height = 0.05
    problem = RobustProblem(
        name="table_approach",
        model=lowered_tool(mass=1.5, half_height=height, max_force=60.0, max_speed=1.5),
        start=(0.0, height + 0.1, 0.0, 0.0),
        goal=(0.0, height, 0.0, 0.0),
        duration=0.5,
        knots=51,
        friction=0.4,
        state_weight=(1.0, 1.0, 1.0, 1.0),
        control_weight=(0.02,),
    )
    return Example(
        name="table_approach",
        description="put a 1.5 kg tool down by 0.1 m in 0.5 s on a table of uncertain height",
        problem=problem,
        robust_problem=problem,
        config=PlannerConfig(
            uncertainty=UncertaintyConfig(kind="distance", sigma=HEIGHT_SIGMA),
            expected_residual=ExpectedResidualConfig(weight=5e-3, distance_scale=STIFFNESS),
            risk=RiskConfig(enabled=True, beta=0.5, theta=0.995),
            continuation=ContinuationConfig(method="relaxation", weight_fractions=(1.0,)),
        ),
        test_height=tuple(HEIGHT_SIGMA * deviation for deviation in (-2.0, -2 / 3, 2 / 3, 2.0)),
    )
