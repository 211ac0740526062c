"""A pin put into a slot of uncertain place by the simulated arm under contact-aware control.

The plan is the motion of the arm's reference across the slot and down. It takes the arm for masses
on springs, and knows nothing of controller and estimator, which are in the loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from contact_aware_control.reference.motion import tool_pose
from contact_core.robot.scene import ROBOT, Scene
from contact_core.robot.surface import combine
from contact_experiments.robust.arm_course import ACROSS, UP, Following, felt_along
from contact_experiments.robust.arm_runs import ArmCase, ArmTask
from contact_stack.demo.contact_tracking.statistics import ExperimentData
from robust_planner.config import ContinuationConfig, PlannerConfig
from robust_planner.examples import Example
from robust_planner.models import guided_pin
from robust_planner.obstacles import Obstacle
from robust_planner.problem import RobustProblem
from robust_planner.risk.failure import FailureConfig
from robust_planner.risk.settings import ExplorationConfig, RiskSettings, ShootingConfig

SCENE = "insert_peg"
"""A pin over a slot between two blocks on a table."""
SLOT, TABLE = ("left", "right"), "table"
NOSE, HALF_SLOT = 0.004, 0.005
"""Radius of the pin's nose, and half of the slot's width [m]."""
HALF_WIDTH, DEPTH = 0.03, 0.012
"""Of a block across the slot, and how deep that is [m]."""
WAY = 0.03
"""Of the nose at the start over the bottom of the slot [m]."""
PRESS = 0.004
"""How far under the bottom the reference ends where nothing is uncertain [m]."""
DURATION = 3.0
"""Of the motion [s]."""
MAX_SPEED = 0.2
"""Of pin and reference [m/s]."""
DIRECTIONS = {"x": ACROSS, "z": UP}
"""Of the planner's axes: across the slot, and up."""


def arm_insertion() -> Example:
    """Build the problem, with the arm as it is felt at the nose."""
    scene = Scene.load(SCENE)
    contact = combine(scene.surface_of(ROBOT, "peg"), scene.surface_of("left", "jaw"))
    felt = {axis: felt_along(scene, direction) for axis, direction in DIRECTIONS.items()}
    inner, outer = HALF_SLOT, HALF_SLOT + 2.0 * HALF_WIDTH
    blocks = {
        name: [[side * x, z] for x, z in ((inner, 0), (outer, 0), (outer, DEPTH), (inner, DEPTH))]
        for name, side in zip(SLOT, (1, -1), strict=True)
    }
    model = guided_pin(
        {axis: mass for axis, (mass, _) in felt.items()},
        {axis: drive for axis, (_, drive) in felt.items()},
        NOSE,
        [Obstacle("slot", blocks)],
        MAX_SPEED,
    )
    start = {"x": 0.0, "z": NOSE + WAY, "x.reference": 0.0, "z.reference": NOSE + WAY}
    goal = {"x": 0.0, "z": NOSE, "x.reference": 0.0, "z.reference": NOSE - PRESS}
    still = (0.0,) * 4
    problem = RobustProblem(
        name="arm_insertion",
        model=model,
        start=(*(start[name] for name in model.position_names), *still),
        goal=(*(goal[name] for name in model.position_names), *still),
        duration=DURATION,
        knots=61,
        friction=contact.friction,
        state_weight=(1e3, 1e3, 1e3, 1e3, 50.0, 50.0, 50.0, 50.0),
        control_weight=(1.0, 1.0),
        stiffness=contact.stiffness,
        dissipation=contact.dissipation,
    )
    return Example(
        name=problem.name,
        description="put a pin of 8 mm into a slot of 10 mm whose place is uncertain, in 3 s",
        problem=problem,
        robust_problem=problem,
        config=PlannerConfig(continuation=ContinuationConfig(method="relaxation")),
        failure=FailureConfig(final_gap=0.001, contact_force=30.0),
        search=RiskSettings(
            worlds=12,
            impact_step=1e-2,
            margin=0.1,
            checks=4000,
            shooting=ShootingConfig(nodes=16, iterations=8),
            exploration=ExplorationConfig(generations=12, population=40),
        ),
    )


class Insertion(Following):
    """The nose goes across the slot and down."""

    scene = SCENE
    directions = np.stack(list(DIRECTIONS.values()))

    def arrange(self, values: dict[str, Any], world: float) -> None:
        """Set the places of table and slot, see :meth:`Execution.arrange`."""
        objects = values["objects"]
        for name in (TABLE, *SLOT):
            objects[name]["xyz"][2] = self.start[2] - NOSE - WAY
        for name, side in zip(SLOT, (1.0, -1.0), strict=True):
            objects[name]["xyz"][1] = self.start[1] + side * (HALF_SLOT + HALF_WIDTH) + world

    def measure(self, case: ArmCase, data: ExperimentData) -> np.ndarray:
        """Return whether the pin is in the slot, see :meth:`Following.measure`.

        Returns:
            Distance of the nose to the bottom of the slot at the end [m], and the largest force,
            mean over a time step of the plan [N].
        """
        robot = self.robot()
        height = tool_pose(robot, data.joint_position[-1, : robot.n]).translation[2]
        window = round((case.time[1] - case.time[0]) / data.period)
        force = np.convolve(data.force, np.full(window, 1.0 / window), "valid")
        return np.array([height - self.start[2] + WAY, force.max()])


def judge_insertion(example: Example, measured: np.ndarray) -> tuple[float, bool]:
    """Return how far the nose is from the bottom [m], and whether that or a force is too much.

    Args:
        example: The problem.
        measured: See :meth:`Insertion.measure`.
    """
    gap, force = measured.tolist()
    failure = example.failure
    return gap, gap > failure.final_gap or force > failure.contact_force


INSERTION = ArmTask(
    quantity="slot.x",
    sigma=0.005,
    draws="insertions of the arm",
    problem=arm_insertion,
    # Of z, x and their references, for the arm is felt to be heavier along z.
    course=lambda motion: motion.position[:, [3, 2]],
    execution=Insertion(),
    judge=judge_insertion,
    bound=lambda example: example.failure.final_gap,
    drawn=("nose over the bottom of the slot [mm]", 1e3),
    world=("place of the slot [mm]", 1e3),
)
"""A pin put into a slot of uncertain place, by the contact-aware controller."""
