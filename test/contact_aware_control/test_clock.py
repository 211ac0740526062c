"""The reference waits for an arm that is held back, and goes on without a jump."""

import dataclasses

import numpy as np
import pytest
from elbow_wall import ElbowWall
from loop_bench import Bench, Q, line

from contact_aware_control.config import ControllerConfig, GovernorConfig
from contact_aware_control.reference import Goal, PoseTrajectory
from contact_aware_control.reference.clock import RATE_TIME, ReferenceClock
from contact_aware_control.safety.status import Status


def test_clock_runs_as_programmed_in_free_space(robot, arm_state):
    run = Bench(robot, arm_state, slow_start={"duration": 0.0})
    run.tick()
    goal = line(Q + 0.1)
    for k in range(150):
        _, status = run.tick(goal)
        assert status.reference_rate == 1.0
        assert status.reference_time == pytest.approx((k + 1) * 0.005)


@pytest.mark.parametrize("kind", ["joint", "tool"])
def test_reference_waits_for_an_arm_that_does_not_move(robot, arm_state, kind):
    """A blocked arm, whose encoders flicker: the command was driven 0.22 rad away before."""
    patient = {"follow_time": 10.0}
    run = Bench(robot, arm_state, slow_start={"duration": 0.0}, plausibility=patient)
    run.tick()
    robot.update(Q)
    start, end = robot.tool_pose(), robot.tool_pose()
    end.translation = end.translation - np.array([0.0, 0.0, 0.4])
    goal = line(Q + 1.0) if kind == "joint" else Goal(PoseTrajectory([0.0, 1.0], [start, end]))
    rates = []
    for k in range(600):
        flickering = Q + 1e-6 * (k % 2)
        _, status = run.tick(goal, state=arm_state(run.now + 5_000_000, flickering, run.q))
        rates.append(status.reference_rate)
    assert status.status in (Status.REFERENCE_SLOWED, Status.LIMIT_REACHED)
    assert status.reference_time < 1.0
    assert rates[-1] < 0.02
    assert np.abs(np.diff(rates)).max() <= 0.05 + 1e-9


def test_rate_depends_on_the_distance_alone_and_not_for_streams(robot):
    tool = robot.tool_pose()
    clock = ReferenceClock(GovernorConfig(joint=0.1), RATE_TIME)
    goal = line(Q)
    rates = [clock.rate(1.0, goal, 0.0, Q + lag, tool) for lag in (0.0, 0.05, 0.075, 0.1, 1.0)]
    np.testing.assert_allclose(rates, [1.0, 1.0, 0.5, 0.0, 0.0], atol=1e-9)
    stream = dataclasses.replace(goal, refreshed=0)
    assert clock.rate(1.0, stream, 0.0, Q + 1.0, tool) == 1.0


def released(config):
    """Press the elbow against a wall for 1.5 s, take the wall away; (speed after, rad/s)."""
    wall = ElbowWall(config)
    wall.press(1.5)
    wall.remove()
    wall.speeds.clear()
    wall.press(1.0)
    return wall


def test_no_jump_after_release():
    """Where the reference had run on, the arm flew after it at several times its speed."""
    programmed = 0.3 / 2.0
    runs_on = dataclasses.replace(ControllerConfig(), governor=GovernorConfig(enabled=False))
    for config in (runs_on, ControllerConfig()):
        assert max(released(config).speeds) < 2.0 * programmed


def test_tool_speed_is_bounded(robot, arm_state):
    """Of whatever is asked for, a stream that jumps included."""
    run = Bench(robot, arm_state, slow_start={"duration": 0.0}, limits={"tool_speed": 0.1})
    run.tick()
    stream = dataclasses.replace(line(Q + np.array([0.0, 0.4, 0, 0, 0, 0, 0]), 0.05), refreshed=0)
    tools = []
    for _ in range(100):
        stream = dataclasses.replace(stream, refreshed=run.now)
        command, status = run.tick(stream)
        robot.update(command)
        tools.append(robot.tool_pose().translation)
    speeds = np.linalg.norm(np.diff(tools, axis=0), axis=1) / 0.005
    assert speeds.max() <= 0.1 * (1 + 1e-3)
    assert speeds.max() > 0.09
    assert status.status is Status.LIMIT_REACHED
