"""Warming compiles what a tick needs, so the first tick compiles nothing."""

import numpy as np

from contact_aware_control import quasistatic, warm
from contact_aware_control.config import ControllerConfig
from contact_aware_control.control_loop import ContactReport, ControlLoop
from contact_aware_control.goal import Goal
from contact_aware_control.reference import PoseTrajectory
from contact_aware_control.status import Mode
from contact_aware_control.tracking import pose_tracking
from contact_stack.core.quadratic_program import solve_dual_active_set

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])


def test_every_kernel_of_a_tick_is_compiled(robot, contact, arm_state):
    """Whether earlier tests compiled it already does not matter: no signature is added."""
    kernels = (quasistatic._assemble, pose_tracking._quadratic, solve_dual_active_set)
    warm.compile_kernels()
    before = [len(kernel.signatures) for kernel in kernels]
    robot.update(Q)
    pose = robot.tool_pose()
    loop = ControlLoop(robot, ControllerConfig())
    loop.supervisor.activate()
    goal = Goal(PoseTrajectory([0.0, 1.0], [pose, pose]))
    report = [contact([0.0, 0.0, 8.0], [0.5, 0.0, 0.5])]
    for now in (1, 2):
        _, status = loop.tick(now, arm_state(now, Q), ContactReport(now, report), goal)
    assert status.mode is Mode.TRACKING
    assert [len(kernel.signatures) for kernel in kernels] == before
