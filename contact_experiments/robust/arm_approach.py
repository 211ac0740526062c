"""A table of uncertain height, approached by the simulated arm under contact-aware control.

The plan is the motion of the arm's reference. It takes the arm for a mass on a spring, and knows
nothing of controller and estimator, which are in the loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from contact_aware_control.reference.motion import tool_pose
from contact_core.robot.scene import ROBOT, Scene
from contact_core.robot.surface import combine
from contact_experiments.robust.arm_course import UP, Following, felt_along
from contact_experiments.robust.arm_runs import ArmCase, ArmTask
from contact_stack.demo.contact_tracking.statistics import ExperimentData
from robust_planner.config import ContinuationConfig, PlannerConfig
from robust_planner.examples import Example
from robust_planner.models import guided_tool
from robust_planner.problem import RobustProblem
from robust_planner.risk.failure import FailureConfig
from robust_planner.risk.settings import RiskSettings, ShootingConfig

SCENE = "push_box"
"""A ball on a rod over a table; the box is left out."""
TABLE, BALL = "table", 0.03
"""What is approached, and the radius of the ball [m]."""
WAY = 0.1
"""Of the ball at the start over the table of mean height [m]."""
PRESS = 0.005
"""How far under the mean table the reference ends where nothing is uncertain [m]."""
DURATION = 1.0
"""Of the motion [s]."""


def arm_approach() -> Example:
    """Build the problem, with the arm as it is felt at the tool."""
    scene = Scene.load(SCENE)
    contact = combine(scene.surface_of(ROBOT, "pusher"), scene.surface_of(TABLE, "slab"))
    mass, drive = felt_along(scene, UP)
    problem = RobustProblem(
        name="arm_approach",
        model=guided_tool(
            mass, drive.stiffness, drive.damping, BALL, max_acceleration=4.0, max_speed=0.4
        ),
        start=(BALL + WAY, BALL + WAY, 0.0, 0.0),
        goal=(BALL - PRESS, BALL, 0.0, 0.0),
        duration=DURATION,
        knots=51,
        friction=contact.friction,
        state_weight=(10.0, 10.0, 0.1, 0.1),
        control_weight=(1e-3,),
        stiffness=contact.stiffness,
        dissipation=contact.dissipation,
    )
    return Example(
        name=problem.name,
        description="put a ball down by 0.1 m in 1 s on a table of uncertain height",
        problem=problem,
        robust_problem=problem,
        config=PlannerConfig(continuation=ContinuationConfig(method="relaxation")),
        failure=FailureConfig(impact_speed=0.1, final_gap=0.001),
        search=RiskSettings(impact_step=2e-3, margin=0.1, shooting=ShootingConfig(nodes=26)),
    )


class ApproachExecution(Following):
    """The tool goes down to the table; the box is left out."""

    scene = SCENE
    directions = UP[None]

    def arrange(self, values: dict[str, Any], world: float) -> None:
        """Set the table's height, see :meth:`Execution.arrange`."""
        table = values["objects"][TABLE]
        table["xyz"][2] = self.start[2] - BALL - WAY + world
        values["objects"] = {TABLE: table}

    def measure(self, case: ArmCase, data: ExperimentData) -> np.ndarray:
        """Return how the ball was put down, see :meth:`Following.measure`.

        Returns:
            Largest speed at which it comes to touch the table [m/s], its distance to the table at
            the end [m], and the largest force [N].
        """
        robot, speed = self.robot(), []
        joints = data.joint_position[:, : robot.n]
        for q, v in zip(joints, data.joint_velocity, strict=True):
            tool = tool_pose(robot, q)
            speed.append(-tool.rotation[2] @ robot.tool_jacobian()[:3] @ v)
        gap = tool.translation[2] - self.start[2] + WAY - case.world
        begins = data.in_contact[1:] & ~data.in_contact[:-1]
        impact = np.array(speed)[:-1][begins].max(initial=0.0)
        return np.array([impact, gap, data.force.max()])


def judge_approach(example: Example, measured: np.ndarray) -> tuple[float, bool]:
    """Return the impact speed [m/s], and whether it is too large or the ball is not down.

    Args:
        example: The problem.
        measured: See :meth:`ApproachExecution.measure`.
    """
    impact, gap, _ = measured.tolist()
    failure = example.failure
    return impact, impact > failure.impact_speed or gap > failure.final_gap


APPROACH = ArmTask(
    quantity="height",
    sigma=0.005,
    draws="runs of the arm",
    problem=arm_approach,
    course=lambda motion: motion.position[:, 0],
    execution=ApproachExecution(),
    judge=judge_approach,
    bound=lambda example: example.failure.impact_speed,
    drawn=("impact on the table [mm/s]", 1e3),
    world=("height of the table [mm]", 1e3),
)
"""A ball put down on a table of uncertain height, by the contact-aware controller."""
