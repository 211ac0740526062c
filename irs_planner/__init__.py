"""Planning through contact with bundled gradients.

H. J. T. Suh, T. Pang and R. Tedrake, "Bundled Gradients through Contact via Randomized
Smoothing" (2022), cited as ``bundled_gradients``. Start with :func:`plan`, or with
:func:`plan_globally` if the robot has to let go and push elsewhere; :class:`ClosedLoop` carries
that out and looks at what comes of it. Nothing in this package but its node needs ROS.
"""

from contact_core.base.planning import PlanStatus, StopCondition
from irs_planner.batch import PlanTask, example_task, multi_start, plan_all, run_task
from irs_planner.closed_loop import ClosedLoop, Phase
from irs_planner.dynamics import ContactDynamics, Dynamics, Jacobians
from irs_planner.examples import build_problem, example_names, load_example
from irs_planner.global_plan import plan_globally
from irs_planner.irs_lqr import plan
from irs_planner.problem import (
    Bounds,
    IrsProblem,
    PlannerSettings,
    QuadraticCost,
    VarianceSchedule,
)
from irs_planner.quasi_dynamic import PlanarQuasiDynamics, SpatialQuasiDynamics
from irs_planner.result import IrsPlan, IterationReport, Segment
from irs_planner.scene_problems import scene_problem
from irs_planner.scenes import (
    Box,
    Circle,
    Fixture,
    HalfPlane,
    PlanarLink,
    PlanarObject,
    PlanarRobot,
    PlanarScene,
    Polygon,
    load_scene,
    load_spatial_scene,
)
from irs_planner.search import SearchReport, SearchSettings
from irs_planner.smoothing import (
    SMOOTHING_MODES,
    Perturbations,
    SmoothingMode,
    first_order_bundle,
    first_order_jacobians,
    zero_order_bundle,
    zero_order_jacobians,
)

__all__ = [
    "SMOOTHING_MODES",
    "Bounds",
    "Box",
    "Circle",
    "ClosedLoop",
    "ContactDynamics",
    "Dynamics",
    "Fixture",
    "HalfPlane",
    "IrsPlan",
    "IrsProblem",
    "IterationReport",
    "Jacobians",
    "Perturbations",
    "Phase",
    "PlanStatus",
    "PlanTask",
    "PlanarLink",
    "PlanarObject",
    "PlanarQuasiDynamics",
    "PlanarRobot",
    "PlanarScene",
    "PlannerSettings",
    "Polygon",
    "QuadraticCost",
    "SearchReport",
    "SearchSettings",
    "Segment",
    "SmoothingMode",
    "SpatialQuasiDynamics",
    "StopCondition",
    "VarianceSchedule",
    "build_problem",
    "example_names",
    "example_task",
    "first_order_bundle",
    "first_order_jacobians",
    "load_example",
    "load_scene",
    "load_spatial_scene",
    "multi_start",
    "plan",
    "plan_all",
    "plan_globally",
    "run_task",
    "scene_problem",
    "zero_order_bundle",
    "zero_order_jacobians",
]
