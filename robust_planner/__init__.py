"""Contact-implicit trajectory optimisation under contact uncertainty: ``chance_constraints``.

Start with :func:`make_example` and :func:`plan`, or with :func:`answer` for the reference and the
robust plan in one; :func:`plan_with_risk` makes a plan that fails at most as often as is accepted.
Nothing in this package but its node needs ROS.
"""

from contact_core.base.lazy import needs
from contact_core.base.planning import PlanStatus, StopCondition

with needs("robust"):
    import casadi as _casadi  # noqa: F401
from robust_planner.config import (
    ContinuationConfig,
    ExpectedResidualConfig,
    NonlinearSolverConfig,
    PlannerConfig,
    RiskConfig,
    UncertaintyConfig,
)
from robust_planner.contact_model import (
    BodyPoint,
    ContactModel,
    CoordinateLimits,
    DriveConfig,
    PlanningProblemError,
    build_model,
)
from robust_planner.drives import driven
from robust_planner.evaluation.execution import final_errors, impacts, predicted_spread
from robust_planner.evaluation.time_stepping import simulate_plan, simulate_worlds
from robust_planner.evaluation.violation import highest_force, violation_rate
from robust_planner.examples import EXAMPLES, Example, make_example
from robust_planner.obstacles import Obstacle
from robust_planner.planner import RobustAnswer, RobustRequest, answer, plan
from robust_planner.problem import RobustProblem
from robust_planner.problem_file import find_problem, load_problem
from robust_planner.report import mean_foot_height
from robust_planner.result import RobustPlan, StageProgress, StageRecord
from robust_planner.risk.failure import FailureConfig, FailureRate
from robust_planner.risk.judging import failure_rate, true_rate
from robust_planner.risk.risk_planner import RiskPlan, plan_example, plan_with_risk
from robust_planner.risk.settings import RiskSettings, ShootingConfig
from robust_planner.risk.worlds import Normal, Samples, Uniform, Worlds, draw_worlds, quantities
from robust_planner.solver import SolverMissingError
from robust_planner.trajectory import ContactTrajectory, contact_schedule
from robust_planner.urdf_model import load_urdf

__all__ = [
    "EXAMPLES",
    "BodyPoint",
    "ContactModel",
    "ContactTrajectory",
    "ContinuationConfig",
    "CoordinateLimits",
    "DriveConfig",
    "Example",
    "ExpectedResidualConfig",
    "FailureConfig",
    "FailureRate",
    "NonlinearSolverConfig",
    "Normal",
    "Obstacle",
    "PlanStatus",
    "PlannerConfig",
    "PlanningProblemError",
    "RiskConfig",
    "RiskPlan",
    "RiskSettings",
    "RobustAnswer",
    "RobustPlan",
    "RobustProblem",
    "RobustRequest",
    "Samples",
    "ShootingConfig",
    "SolverMissingError",
    "StageProgress",
    "StageRecord",
    "StopCondition",
    "UncertaintyConfig",
    "Uniform",
    "Worlds",
    "answer",
    "build_model",
    "contact_schedule",
    "draw_worlds",
    "driven",
    "failure_rate",
    "final_errors",
    "find_problem",
    "highest_force",
    "impacts",
    "load_problem",
    "load_urdf",
    "make_example",
    "mean_foot_height",
    "plan",
    "plan_example",
    "plan_with_risk",
    "predicted_spread",
    "quantities",
    "simulate_plan",
    "simulate_worlds",
    "true_rate",
    "violation_rate",
]
