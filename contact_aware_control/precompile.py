"""Compile the controller's kernels ahead of time, so that the first tick is not late."""

from __future__ import annotations

import numpy as np

from contact_aware_control.config import TrackingConfig
from contact_aware_control.controllers.quasistatic import QuasistaticModel
from contact_aware_control.reference import PoseTrajectory
from contact_aware_control.tracking.pose_tracking import PoseTracking
from contact_core.description import RobotDescription
from contact_core.quadratic_program import DualActiveSetSolver, QuadraticProgram
from contact_core.robot import Robot

PERIOD = 0.005


def precompile() -> None:
    """Do what a tick does, with the arrays it gets; compiled code is kept on disk."""
    robot = Robot.from_description(RobotDescription.load("iiwa14_wsg50"))
    q = np.full(robot.n, 0.5)
    robot.update(q)
    pose = robot.tool_pose()
    reference = PoseTrajectory([0.0, 1.0], [pose, pose])
    tracking = PoseTracking(robot, reference, q, TrackingConfig(), PERIOD)
    hessian, gradient = tracking.objective(q, PERIOD)
    model = QuasistaticModel.at(np.ones(robot.n), np.ones((1, robot.n)), 1e-6)
    problem = QuadraticProgram.from_arrays(
        hessian, gradient, -model.force_map, np.ones(1), -np.ones(robot.n), np.ones(robot.n)
    )
    DualActiveSetSolver().solve(problem)
