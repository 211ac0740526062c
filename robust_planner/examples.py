"""The named problems: sliding block and hopper of chance_constraints, sled and table approach."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from contact_core.base.registry import Registry
from robust_planner.config import (
    ContinuationConfig,
    ExpectedResidualConfig,
    NonlinearSolverConfig,
    PlannerConfig,
    RiskConfig,
    UncertaintyConfig,
)
from robust_planner.models import hopper as hopper_model
from robust_planner.models import lowered_tool, sliding_block
from robust_planner.problem import RobustProblem
from robust_planner.risk.failure import FailureConfig
from robust_planner.risk.settings import RiskSettings
from robust_planner.risk.worlds import Normal, Uncertain


@dataclass(frozen=True)
class Example:
    """A named problem with the settings it is known to work with.

    Attributes:
        name: What a person types.
        description: One sentence.
        problem: The problem planned under certainty.
        robust_problem: The problem planned under uncertainty; the published robust runs
            use other weights than the reference.
        config: Settings; its uncertainty is the one the example is about.
        test_friction: mu of the simulations that judge the plan; empty if it cannot be
            executed without feedback, or if friction does not matter.
        test_height: Heights of the ground in these simulations [m]; without
            ``test_friction``, those at which the impact is judged.
        uncertain: What differs from world to world where a risk is asked for.
        failure: What counts as a failure then.
        search: How a plan that fails that rarely is searched for.
    """

    name: str
    description: str
    problem: RobustProblem
    robust_problem: RobustProblem
    config: PlannerConfig
    test_friction: tuple[float, ...] = ()
    test_height: tuple[float, ...] = ()
    uncertain: Uncertain = field(default_factory=dict)
    failure: FailureConfig = field(default_factory=FailureConfig)
    search: RiskSettings = field(default_factory=RiskSettings)


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
            solver=NonlinearSolverConfig(barrier="probing"),
        ),
        test_friction=(0.3, 0.43, 0.57, 0.7),
        test_height=(-0.01, 0.0, 0.01),
        uncertain={"friction": Normal(0.5, 0.1)},
        failure=FailureConfig(goal_tolerance=(0.25, 0.0, 0.0, 0.0)),
    )


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
        uncertain={"friction": Normal(MEAN_FRICTION, FRICTION_SIGMA)},
        failure=FailureConfig(goal_tolerance=(0.09, 0.0, 0.0, 0.0)),
    )


HEIGHT_SIGMA = 0.005  # of the table [m]
STIFFNESS = 2e4  # of the contact: what an error in height costs in force [N/m]
DISSIPATION = 5.0  # of the contact: more than half of the speed comes back [s/m]


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
        stiffness=STIFFNESS,
        dissipation=DISSIPATION,
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
        uncertain={"height": Normal(0.0, HEIGHT_SIGMA)},
        failure=FailureConfig(impact_speed=0.2, final_gap=0.002),
    )


EXAMPLES: Registry[Callable[[], Example]] = Registry(
    "problem",
    {"block": block, "hopper": hopper, "sled": sled, "table_approach": table_approach},
)
"""Name -> function that builds the problem with its settings."""


def make_example(name: str) -> Example:
    """Build a named problem.

    Args:
        name: One of ``EXAMPLES``.

    Returns:
        The problem with its settings.

    Raises:
        ConfigError: If there is no problem of that name.
    """
    return EXAMPLES[name]()
