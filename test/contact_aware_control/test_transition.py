"""Start, preempt, cancel, hold and resume: bounded accelerations and jerks, no jumps."""

import numpy as np
import pytest
from loop_bench import Bench, Q

from contact_aware_control.compliant_move import CompliantMove
from contact_aware_control.reference import Goal, JointTrajectory, PoseTrajectory
from contact_aware_control.safety.joint_bounds import JointBounds
from contact_aware_control.safety.status import Request
from contact_aware_control.safety.transition import DONE, Transition
from contact_aware_control.targets import PoseTarget, StreamConfig, StreamedTargets

ACCELERATION, JERK = 10.0, 500.0
PERIOD = 0.005


@pytest.fixture
def bench(robot, arm_state):
    return Bench(robot, arm_state, slow_start={"duration": 0.0})


def steady(start, speed, duration=4.0):
    """A straight line, which begins and ends at full speed."""
    return Goal(JointTrajectory([0.0, duration], np.array([start, start + speed * duration])))


def moves(bench, goal, ticks):
    return [bench.tick(goal)[0] for _ in range(ticks)]


def assert_smooth(commands):
    """Within the bounds at every tick, from rest to rest or wherever it begins."""
    velocity = np.diff(commands, axis=0) / PERIOD
    acceleration = np.diff(velocity, axis=0) / PERIOD
    assert np.abs(acceleration).max() <= ACCELERATION * (1 + 1e-6)
    assert np.abs(np.diff(acceleration, axis=0)).max() / PERIOD <= JERK * (1 + 1e-6)
    return velocity


def test_start_of_a_line_is_smooth(bench):
    """80 rad/s^2 before: straight lines begin at full speed."""
    commands = [Q] * 3 + moves(bench, None, 1)
    velocity = assert_smooth(commands + moves(bench, steady(Q, 0.15), 100))
    np.testing.assert_allclose(velocity[-1], 0.15, rtol=0.05)


def test_preempt_is_smooth(bench):
    commands = [Q] * 3 + moves(bench, None, 1)
    commands += moves(bench, steady(Q, 0.15), 100)
    commands += moves(bench, steady(bench.q, -0.15), 150)
    velocity = assert_smooth(commands)
    assert velocity[100].max() > 0.14
    np.testing.assert_allclose(velocity[-1], -0.15, rtol=0.05)


@pytest.mark.parametrize("how", ["cancel", "hold"])
def test_cancel_and_hold_come_to_rest_smoothly_and_resume_goes_on(bench, how):
    commands = [Q] * 3 + moves(bench, None, 1)
    goal = steady(Q, 0.15)
    commands += moves(bench, goal, 100)
    if how == "hold":
        bench.ask(Request.HOLD)
    commands += moves(bench, goal if how == "hold" else None, 30)
    np.testing.assert_array_equal(commands[-1], commands[-2])
    if how == "hold":
        bench.ask(Request.RESUME)
        commands += moves(bench, goal, 100)
    assert_smooth(commands)


@pytest.mark.parametrize(("acceleration", "jerk"), [(1e-9, 500.0), (10.0, 1e-9), (0.1, 1.0)])
def test_however_little_is_allowed_there_is_a_command(acceleration, jerk):
    """Ruckig knows no motion that takes hours, nor some others: the controller ended."""
    velocity = np.linspace(-0.5, 0.5, 7)
    transition = Transition(7, JointBounds(np.full(7, 0.01), acceleration, jerk), PERIOD)
    state, change = transition.step(DONE, True, velocity, np.zeros(7))
    for _ in range(3):
        assert np.abs(change / PERIOD - velocity).max() <= acceleration * PERIOD * (1 + 1e-6)
        velocity = change / PERIOD
        state, change = transition.step(state, False, velocity, np.zeros(7))


@pytest.mark.parametrize("back", [0.0, -0.2])
def test_a_stream_after_a_tool_that_forces_lead_is_smooth(bench, robot, back):
    """Both are streams of poses: the second one was taken for the next target of the first."""
    config = bench.loop.config
    targets = StreamedTargets(robot, config, StreamConfig())
    upwards = np.array([0.0, 0.0, 0.2])
    move = CompliantMove(
        robot, Q, np.eye(3), np.zeros(3), np.zeros(3), upwards, 0.2, 3.0, targets.tool_bounds,
        config.period, 0.0,
    )  # fmt: skip
    commands, goal = [Q] * 3 + moves(bench, None, 1), Goal(move.reference)
    for tick in range(230):
        if tick >= 130:
            twist = np.array([0.0, 0.0, back, 0.0, 0.0, 0.0])
            targets.put(PoseTarget(PERIOD * tick, None, twist), bench.now)
            goal = targets.goal(bench.loop_state, bench.now)
        command, status = bench.tick(goal)
        commands.append(command)
        reference = move.step(status.reference_time, command, command, np.zeros(7))
        goal = Goal(reference, refreshed=bench.now)
    velocity = assert_smooth(commands)
    assert np.abs(velocity[132]).max() > 0.1


def test_preempt_of_a_tool_motion_is_smooth(bench, robot):
    robot.update(Q)
    start = robot.tool_pose()
    up, down = start.copy(), start.copy()
    up.translation = start.translation + np.array([0.0, 0.0, 0.1])
    down.translation = start.translation - np.array([0.0, 0.1, 0.0])
    commands = [Q] * 3 + moves(bench, None, 1)
    commands += moves(bench, Goal(PoseTrajectory([0.0, 1.0], [start, up])), 100)
    robot.update(bench.q)
    here = robot.tool_pose()
    assert_smooth(commands + moves(bench, Goal(PoseTrajectory([0.0, 1.0], [here, down])), 200))
