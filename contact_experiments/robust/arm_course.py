"""Plans for the reference of the arm: how it is felt at the tool, and how it follows."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline

from contact_aware_control.config import ControllerConfig
from contact_aware_control.reference import JointTrajectory
from contact_aware_control.reference.motion import joints_along, tool_pose
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene
from contact_experiments.control.closed_loop import ClosedLoopRun
from contact_experiments.robust.arm_runs import ArmCase, Execution
from contact_stack.demo.contact_tracking.experiments import Experiment
from contact_stack.demo.contact_tracking.statistics import ExperimentData
from robust_planner.contact_model import DriveConfig
from tamsi_sim.robot.plant import cartesian_impedance

ACROSS, UP = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
"""Directions in the frame of the arm's base."""


def felt_along(scene: Scene, direction: np.ndarray) -> tuple[float, DriveConfig]:
    """Return mass [kg] and spring of the arm at its tool.

    Args:
        scene: The scene, with the arm where it starts.
        direction: A unit vector (3) in the frame of its base.
    """
    config = scene.config.robot
    robot, q = Robot.from_description(scene.robot), np.array(config.initial_positions)
    robot.update(q)
    along = direction @ robot.tool_pose().rotation @ robot.tool_jacobian()[:3]
    mass = 1.0 / float(along @ np.linalg.solve(cartesian_impedance(scene).mass_matrix(q), along))
    stiffness = 1.0 / float(along @ (along / np.array(config.stiffness)))
    damping = 2.0 * config.damping_ratio * math.sqrt(stiffness * mass)
    return mass, DriveConfig(stiffness=stiffness, damping=damping)


class CourseExperiment(Experiment):
    """The tool follows the course of a case, with constant orientation."""

    duration: ClassVar = 0.0
    phases: ClassVar = {}
    passes: ClassVar = {}

    def __init__(self, scene: str, case: ArmCase, directions: np.ndarray) -> None:
        """Choose the course.

        Args:
            scene: Where, a file of config/scenes or a path.
            case: How far along each direction the reference is at every knot.
            directions: Unit vectors (m, 3) in the frame of the arm's base.
        """
        super().__init__(scene)
        self._case, self._directions = case, directions
        self.duration = case.time[-1]  # type: ignore[misc]

    def motion(self, robot: Robot, q: np.ndarray) -> JointTrajectory:
        """Return the motion of the joints, see :meth:`Experiment.motion`."""
        start, times = tool_pose(robot, q), np.array(self._case.time)
        course = np.array(self._case.course).reshape(len(times), -1)
        way = (course - course[0]) @ self._directions

        def tool(time: float) -> pin.SE3:
            shift = np.array([np.interp(time, times, values) for values in way.T])
            return pin.SE3(start.rotation, start.translation + shift)

        positions = np.array(joints_along(robot, q, times, tool))
        speed = CubicSpline(times, positions, bc_type="clamped")(times, 1)
        return JointTrajectory(times.tolist(), positions, speed)

    def outcome(self, pose_of: Callable[[str], pin.SE3]) -> dict[str, Any]:
        """There are no objects, see :meth:`Experiment.outcome`."""
        return {}


class Following(Execution):
    """The arm's reference is the plan, with the contact-aware controller and its estimator.

    Attributes:
        directions: Unit vectors (m, 3) of a course in the frame of the arm's base.
    """

    directions: np.ndarray

    @abstractmethod
    def measure(self, case: ArmCase, data: ExperimentData) -> np.ndarray:
        """Return what is judged.

        Args:
            case: What was executed.
            data: What came of it.
        """

    def course(self, case: ArmCase, scene: Path) -> CourseExperiment:
        """Return the motion of a case in the scene of its world."""
        return CourseExperiment(str(scene), case, self.directions)

    def simulate(self, case: ArmCase, scene: Path) -> np.ndarray:
        """Execute a case without a graph, see :meth:`Execution.simulate`."""
        run = ClosedLoopRun(ControllerConfig(), self.course(case, scene))
        return self.measure(case, run.run())

    def robot(self) -> Robot:
        """Return the arm of the scene."""
        return Robot.from_description(Scene.load(self.scene).robot)

    @cached_property
    def start(self) -> list[float]:
        """Where the tool is at the start (3) [m], world frame."""
        q = np.array(Scene.load(self.scene).config.robot.initial_positions)
        place: list[float] = tool_pose(self.robot(), q).translation.tolist()
        return place
