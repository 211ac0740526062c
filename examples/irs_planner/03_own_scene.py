"""Describe a scene of your own and plan in it: a slider pushes a disc along a groove."""

import numpy as np

from irs_planner import (
    Bounds,
    Circle,
    IrsProblem,
    PlanarLink,
    PlanarObject,
    PlanarQuasiDynamics,
    PlanarRobot,
    PlanarScene,
    PlannerSettings,
    QuadraticCost,
    VarianceSchedule,
    plan,
)

disc = PlanarObject("disc", 1.0, 0.01, 0.5, (Circle(0.1),))
slider = PlanarLink("slider", "prismatic_y", 500.0, shapes=(Circle(0.05),))
scene = PlanarScene((0.0, 0.0), (disc,), (PlanarRobot("robot", 0.5, links=(slider,)),))

cost = QuadraticCost(np.array([10.0, 0, 0, 0]), np.array([100.0, 0, 0, 0]), np.array([10.0]))
problem = IrsProblem(
    dynamics=PlanarQuasiDynamics(scene),
    initial_state=np.array([0.0, 0.0, 0.0, -0.3]),
    reference=np.tile([0.4, 0.0, 0.0, 0.0], (31, 1)),
    initial_inputs=np.full((30, 1), -0.3),
    cost=cost,
    bounds=Bounds(increment=np.array([0.1])),
    schedule=VarianceSchedule(input_std=(0.2,)),
    reported_cost=cost,
    tolerance=np.array([0.02, np.inf, np.inf, np.inf]),
)
result = plan(problem, PlannerSettings(mode="first"))
print(result.message)
print(f"the disc ends {1e3 * result.final_error[0]:.1f} mm from its goal")
