"""A table of uncertain height, approached by the simulated arm under contact-aware control.

The plan is the motion of the arm's reference. It takes the arm for a mass on a spring, and knows
nothing of controller and estimator, which are in the loop.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline

from contact_aware_control.config import ControllerConfig
from contact_aware_control.reference import JointTrajectory
from contact_core.robot import Robot
from contact_core.scene import ROBOT, Scene
from contact_core.surface import combine
from contact_experiments.control.closed_loop import ClosedLoopRun
from contact_experiments.control.experiments import Experiment
from contact_experiments.control.motion import joints_along, tool_pose
from contact_experiments.robust.arm_runs import ArmCase, ArmTask
from robust_planner.config import ContinuationConfig, PlannerConfig
from robust_planner.examples import Example
from robust_planner.models import guided_tool
from robust_planner.problem import RobustProblem
from robust_planner.risk.failure import FailureConfig
from robust_planner.risk.settings import RiskSettings, ShootingConfig
from tamsi_sim.robot.plant import cartesian_impedance

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
    problem = RobustProblem(
        name="arm_approach",
        model=guided_tool(*felt_vertically(scene), BALL, max_acceleration=4.0, max_speed=0.4),
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


def felt_vertically(scene: Scene) -> tuple[float, float, float]:
    """Return mass [kg], stiffness [N/m] and damping [N s/m] of the arm at its tool, vertically.

    Args:
        scene: The scene, with the arm where it starts.
    """
    config = scene.config.robot
    robot, q = Robot.from_description(scene.robot), np.array(config.initial_positions)
    robot.update(q)
    up = robot.tool_pose().rotation[2] @ robot.tool_jacobian()[:3]
    mass = 1.0 / float(up @ np.linalg.solve(cartesian_impedance(scene).mass_matrix(q), up))
    stiffness = 1.0 / float(up @ (up / np.array(config.stiffness)))
    return mass, stiffness, 2.0 * config.damping_ratio * math.sqrt(stiffness * mass)


class Lowering(Experiment):
    """The tool goes down by the course of a case, with constant orientation."""

    scene = SCENE
    duration: ClassVar = DURATION
    phases: ClassVar = {}
    passes: ClassVar = {}

    def __init__(self, case: ArmCase) -> None:
        """Choose the course.

        Args:
            case: Height of the reference at every knot.
        """
        super().__init__()
        self._case = case

    def motion(self, robot: Robot, q: np.ndarray) -> JointTrajectory:
        """Return the motion of the joints, see :meth:`Experiment.motion`."""
        start, course = tool_pose(robot, q), np.array(self._case.course)
        times = np.array(self._case.time)

        def tool(time: float) -> pin.SE3:
            down = float(np.interp(time, times, course - course[0]))
            return pin.SE3(start.rotation, start.translation + np.array([0.0, 0.0, down]))

        positions = np.array(joints_along(robot, q, times, tool))
        speed = CubicSpline(times, positions, bc_type="clamped")(times, 1)
        return JointTrajectory(times.tolist(), positions, speed)

    def outcome(self, pose_of: Callable[[str], pin.SE3]) -> dict[str, Any]:
        """There are no objects, see :meth:`Experiment.outcome`."""
        return {}


def run_approach(case: ArmCase) -> np.ndarray:
    """Let the arm follow the reference of a plan, with controller and estimator in the loop.

    Args:
        case: What over a table how far off.

    Returns:
        Largest speed at which the ball comes to touch the table [m/s], its distance to the table
        at the end [m], and the largest force [N].
    """
    scene = Scene.load(SCENE)
    robot = Robot.from_description(scene.robot)
    start = tool_pose(robot, np.array(scene.config.robot.initial_positions)).translation
    x, y, _ = scene.objects[TABLE].xyz
    top = float(start[2]) - BALL - WAY + case.world
    table = dataclasses.replace(scene.objects[TABLE], xyz=(x, y, top))
    scene = dataclasses.replace(scene, objects={TABLE: table})
    data = ClosedLoopRun(ControllerConfig(), Lowering(case), scene=scene).run()
    gap, speed = [], []
    for q, v in zip(
        data.joint_position[:, : len(scene.robot.arm_joints)], data.joint_velocity, strict=True
    ):
        tool = tool_pose(robot, q)
        gap.append(tool.translation[2] - BALL - top)
        speed.append(-tool.rotation[2] @ robot.tool_jacobian()[:3] @ v)
    begins = data.in_contact[1:] & ~data.in_contact[:-1]
    impact = np.array(speed)[:-1][begins].max(initial=0.0)
    return np.array([impact, gap[-1], data.force.max()])


def judge_approach(example: Example, measured: np.ndarray) -> tuple[float, bool]:
    """Return the impact speed [m/s], and whether it is too large or the ball is not down.

    Args:
        example: The problem.
        measured: See :func:`run_approach`.
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
    run=run_approach,
    judge=judge_approach,
    bound=lambda example: example.failure.impact_speed,
    drawn=("impact on the table [mm/s]", 1e3),
    world=("height of the table [mm]", 1e3),
)
"""A ball put down on a table of uncertain height, by the contact-aware controller."""
