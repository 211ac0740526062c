"""Compile the kernels ahead of time, so that no first tick and no first contact is late."""

from __future__ import annotations

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate, ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_aware_control.estimation.identifiability import ContactProspect
from contact_aware_control.loop_state import LoopInputs
from contact_aware_control.reference import Goal, JointTrajectory, PoseTrajectory
from contact_aware_control.safety.goal_checker import GoalChecker
from contact_core.base.config import from_mapping
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot

ROBOT = "iiwa14_wsg50"
PERIOD_NS = 5_000_000
POINT_SPEED = 0.25  # [m/s]


def precompile() -> None:
    """Compile every kernel of controller and estimator; compiled code is kept on disk."""
    precompile_controller()
    precompile_estimator()


def precompile_controller() -> None:
    """Check a goal, and run ticks in contact; compiled code is kept on disk."""
    description = RobotDescription.load(ROBOT)
    # Every point of the arm has a speed limit beside people alone.
    config = from_mapping(ControllerConfig, {"limits": {"point_speed": POINT_SPEED}})
    robot = Robot.from_description(description)
    q = np.full(robot.n, 0.5)
    joints = Goal(JointTrajectory([0.0, 1.0], np.array([q, q])))
    GoalChecker(robot, config).check(joints, q)
    robot.update(q)
    tool, link = robot.tool_pose(), "lbr_link_6"
    point, force = robot.link_pose(link).translation, np.full(3, 30.0)
    push = ContactEstimate.known(robot, link, point, force)
    torque = robot.torque_of_force(link, point, force)
    for goal in (Goal(PoseTrajectory([0.0, 1.0], [tool, tool])), joints):
        loop = ControlLoop(Robot.from_description(description), config)
        state = loop.start()
        # Until the force, which is filtered, exceeds its limit.
        for tick in range(1, 14):
            now = tick * PERIOD_NS
            arm, report = ArmState(now, q, q, q, torque), ContactReport(now, [push])
            inputs = LoopInputs(now, arm, report, goal if tick > 2 else None)
            state, _, _ = loop.tick(state, inputs)


def precompile_estimator() -> None:
    """Run an estimator through two contacts; compiled code is kept on disk."""
    robot = Robot.from_description(RobotDescription.load(ROBOT))
    config = from_mapping(EstimatorConfig, {"particles": {"count": 100}})
    estimator = ContactEstimator(robot, config)
    q = np.full(robot.n, 0.5)
    robot.update(q)
    torques = [np.zeros(robot.n)]
    for link in ("lbr_link_5", "lbr_link_7"):
        jacobian = robot.point_jacobian(link, robot.link_pose(link).translation)
        torques.append(torques[-1] + jacobian.T @ np.full(3, 100.0))
    # As long as a second contact takes to be believed.
    for tick in range(180):
        torque = torques[tick // 60]
        estimator.update(ArmState.recorded(tick * PERIOD_NS, q, external_torque=torque))
    ContactProspect(robot, config, places=1).at(q)
