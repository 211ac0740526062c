"""Compile the kernels ahead of time, so that no first tick and no first contact is late."""

from __future__ import annotations

import numpy as np

from contact_aware_control.config import ControllerConfig, ReflexConfig
from contact_aware_control.controllers.quasistatic import QuasistaticModel
from contact_aware_control.estimation.config import EstimatorConfig
from contact_aware_control.estimation.estimator import ContactEstimator
from contact_aware_control.reference import Goal, JointTrajectory, PoseTrajectory
from contact_aware_control.safety.command_gate import CommandGate
from contact_aware_control.safety.command_limits import GoalChecker
from contact_aware_control.safety.follow_watch import FollowWatch
from contact_aware_control.safety.reflex import Reflex, ReflexState
from contact_aware_control.safety.state_checks import CheckState, StateChecks
from contact_aware_control.tracking import PoseTracking
from contact_core.base.config import from_mapping
from contact_core.quadratic_program import DualActiveSetSolver, QuadraticProgram
from contact_core.robot.arm_state import ArmState
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot

ROBOT = "iiwa14_wsg50"
PERIOD = 0.005
PERIOD_NS = 5_000_000


def precompile() -> None:
    """Compile every kernel of controller and estimator; compiled code is kept on disk."""
    precompile_controller()
    precompile_estimator()


def precompile_controller() -> None:
    """Do what a tick and the check of a goal do; compiled code is kept on disk."""
    robot = Robot.from_description(RobotDescription.load(ROBOT))
    q = np.full(robot.n, 0.5)
    robot.update(q)
    pose = robot.tool_pose()
    reference = PoseTrajectory([0.0, 1.0], [pose, pose])
    tracking = PoseTracking(robot, reference, q, ControllerConfig())
    hessian, gradient = tracking.objective(q, PERIOD)
    motion = JointTrajectory([0.0, 1.0], np.array([q, q]))
    GoalChecker(robot, ControllerConfig()).check(Goal(motion), q)
    model = QuasistaticModel.at(np.ones(robot.n), np.ones((1, robot.n)), 1e-6)
    problem = QuadraticProgram.from_arrays(
        hessian, gradient, -model.force_map, np.ones(1), -np.ones(robot.n), np.ones(robot.n)
    )
    DualActiveSetSolver().solve(problem)
    gate = CommandGate(robot, ControllerConfig())
    passed = gate.start(q)
    gate.is_reached(q, gate.step_bounds(passed, q))
    gate.judge(passed, 0, q, q)
    state = ArmState(0, q, q, q, q)
    watch = FollowWatch(robot, ControllerConfig())
    watch.check(watch.start(q), state)
    StateChecks(robot, ControllerConfig()).check(CheckState(), state, q)
    reflex = Reflex(robot, ReflexConfig(), np.ones(robot.n), PERIOD)
    reflex.watch(ReflexState(), state, q, None, 0.0, 1.0)


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
        estimator.update(tick * PERIOD_NS, q, torques[tick // 60])
