"""Planning through contact with bundled gradients.

H. J. T. Suh, T. Pang and R. Tedrake, "Bundled Gradients through Contact via Randomized
Smoothing" (2022), cited as ``bundled_gradients``. Start with :func:`plan` and
:func:`load_example`; nothing in this package needs ROS.
"""

from contact_core.planning import PlanStatus
from irs_planner.batch import PlanTask, example_task, multi_start, plan_all
from irs_planner.examples import build_problem, example_names, load_example
from irs_planner.irs_lqr import plan
from irs_planner.problem import Bounds, IrsProblem, QuadraticCost
from irs_planner.result import IrsPlan, IterationReport
from irs_planner.settings import PlannerSettings
from irs_planner.smoothing import GradientMode
from irs_planner.variance_schedule import VarianceSchedule

__all__ = [
    "Bounds",
    "GradientMode",
    "IrsPlan",
    "IrsProblem",
    "IterationReport",
    "PlanStatus",
    "PlanTask",
    "PlannerSettings",
    "QuadraticCost",
    "VarianceSchedule",
    "build_problem",
    "example_names",
    "example_task",
    "load_example",
    "multi_start",
    "plan",
    "plan_all",
]
