"""What changes while the arm moves: the controller, and the posture."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from touch_bench import TouchBench

from contact_aware_control.config import ControllerConfig
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.reference import Goal, JointTrajectory, PoseStream
from contact_aware_control.safety.goal_checker import GoalChecker
from contact_aware_control.safety.status import Mode
from contact_core.base.errors import TrajectoryError
from contact_core.robot.robot import Robot
from contact_core.robot.scene import Scene


def test_controllers_take_over_from_each_other_in_motion():
    bench = TouchBench()
    robot = Robot.from_description(Scene.load("mug_placement").robot)
    start = bench.loop_state.command
    end = start + np.array([0.8, -0.2, 0.0, 0.3, 0.0, 0.2, 0.0])
    goal = Goal(JointTrajectory.from_start(start, [6.0], [end]))
    order = ("qp", "impedance", "qp_frictionless", "greedy", "qp")
    for tick in range(1400):
        if tick % 240 == 0 and tick < 1200:
            config = dataclasses.replace(bench.config, controller=order[tick // 240])
            bench.loop = ControlLoop(robot, config)
        _, _, status = bench.tick(goal)
        assert status.mode in (Mode.TRACKING, Mode.CONSERVATIVE)
    speeds = np.abs(np.diff(bench.commands[1:], axis=0)).max() / bench.config.period
    assert bench.acceleration() <= bench.config.limits.acceleration + 1e-9
    assert speeds <= 1.01 * bench.config.limits.step / bench.config.period
    np.testing.assert_allclose(bench.loop_state.command, end, atol=5e-3)


def test_the_arm_takes_a_posture_while_the_tool_rests():
    bench = TouchBench()
    command = bench.loop_state.command
    posture = command + np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    bench.arm.update(command)
    rests = PoseStream.at_rest(bench.arm.tool_pose(), bench.bounds)
    goal, start, away = Goal(rests, posture=posture), bench.tool(), []
    for _ in range(1000):
        bench.tick(goal)
        away.append(np.linalg.norm(bench.tool() - start))
    elbow = (bench.loop_state.command - command)[2]
    assert elbow > 0.2
    assert max(away) < 5e-3
    assert bench.acceleration() <= bench.config.limits.acceleration + 1e-9


@pytest.mark.parametrize(
    ("posture", "said"),
    [(np.zeros(6), "7"), (np.full(7, 9.0), "lbr_A1"), (np.full(7, np.nan), "A1")],
)
def test_a_posture_that_is_none_is_refused(robot, posture, said):
    checker, q = GoalChecker(robot, ControllerConfig()), np.zeros(7)
    with pytest.raises(TrajectoryError, match=said):
        checker.check(Goal(JointTrajectory.from_start(q, [1.0], [q]), posture=posture), q)
