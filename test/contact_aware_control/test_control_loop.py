"""The object a node drives: start, following goals, pauses, limits."""

import math
from dataclasses import replace

import numpy as np
import pytest
from loop_bench import TICK, UP, Bench, Q, line

from contact_aware_control.reference import Goal, JointTrajectory
from contact_aware_control.safety.goal_checker import GoalChecker
from contact_aware_control.safety.status import Mode, Request, Status
from contact_core.base.errors import TrajectoryError
from contact_core.robot.arm_state import RobotCondition


@pytest.fixture
def bench(robot, arm_state):
    return lambda **values: Bench(robot, arm_state, **values)


def test_waits_for_the_first_state(bench):
    run = bench()
    command, status = run.tick(state=False)
    assert command is None
    assert (status.mode, status.status) == (Mode.INACTIVE, Status.WAITING_FOR_STATE)
    command, status = run.tick()
    np.testing.assert_array_equal(command, Q)
    assert (status.mode, status.status) == (Mode.HOLD, Status.OK)


def test_starts_from_the_drivers_command_not_from_the_measured_position(bench, arm_state):
    """Under load they differ, and starting at the measured one makes the arm sag."""
    run = bench()
    command, _ = run.tick(state=arm_state(TICK, Q, Q + 0.02))
    np.testing.assert_allclose(command, Q + 0.02)


def test_start_command_is_bounded_to_the_measured_position(bench, arm_state):
    run = bench(**{"safety": {"float_force": 1000.0}})
    command, _ = run.tick(state=arm_state(TICK, Q, Q + 0.5))
    np.testing.assert_allclose(command, Q + 0.1)


def test_start_without_a_known_command_is_the_measured_position(bench, arm_state):
    run = bench()
    command, _ = run.tick(state=arm_state(TICK, Q, np.full(7, np.nan)))
    np.testing.assert_array_equal(command, Q)


def test_follows_a_goal_and_counts_its_time(bench):
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    for _ in range(300):
        _, status = run.tick(goal)
    assert (status.mode, status.status) == (Mode.TRACKING, Status.OK)
    assert status.reference_time == pytest.approx(1.5)
    np.testing.assert_allclose(run.q, Q + 0.1, atol=2e-3)
    assert status.output.position_error < 5e-3


def test_without_goal_the_command_is_held(bench):
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    for _ in range(50):
        run.tick(goal)
    for _ in range(20):
        command, status = run.tick(None)
    held = run.q.copy()
    for _ in range(20):
        command, status = run.tick(None)
    np.testing.assert_array_equal(command, held)
    assert status.mode is Mode.HOLD
    assert math.isnan(status.output.position_error)


def test_hold_pauses_the_reference(bench):
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    for _ in range(50):
        _, before = run.tick(goal)
    run.ask(Request.HOLD)
    for _ in range(100):
        _, held = run.tick(goal)
    assert held.mode is Mode.HOLD
    assert held.reference_time == before.reference_time
    run.ask(Request.RESUME)
    for _ in range(250):
        run.tick(goal)
    np.testing.assert_allclose(run.q, Q + 0.1, atol=2e-3)


def test_limit_is_said(bench, robot):
    target = Q.copy()
    target[5] = robot.position_limits[1, 5]
    run = bench()
    run.tick()
    goal = line(target, duration=4.0)
    for _ in range(1000):
        _, status = run.tick(goal)
    assert status.status is Status.LIMIT_REACHED
    assert run.q[5] <= robot.position_limits[1, 5] - 0.03


def test_new_goal_starts_at_its_beginning(bench):
    run = bench()
    run.tick()
    for _ in range(50):
        run.tick(line(Q))
    _, status = run.tick(line(Q))
    assert status.reference_time == pytest.approx(0.005)


@pytest.mark.parametrize("controller", ["qp", "qp_frictionless", "greedy", "null_space"])
def test_a_reference_that_begins_elsewhere_is_joined_without_swinging(bench, controller):
    run = bench(controller=controller)
    for _ in range(250):
        run.tick()
    beside = Goal(JointTrajectory([0.0, 1.0], np.array([Q + 0.005, Q + 0.005])))
    commands = [run.tick(beside)[0] for _ in range(400)]
    np.testing.assert_allclose(commands[-50:], np.tile(Q + 0.005, (50, 1)), atol=1e-3)


def test_goal_before_the_first_state_starts_once_there_is_one(bench):
    run = bench()
    goal = line(Q + 0.1)
    run.tick(goal, state=False)
    run.tick(goal)
    _, status = run.tick(goal)
    assert status.mode is Mode.TRACKING


def test_restart_takes_over_at_the_drivers_command(bench, arm_state):
    """Another loop, or this one after deactivation, continues without a jump."""
    run = bench()
    run.tick()
    goal = line(Q + 0.2)
    for _ in range(50):
        run.tick(goal)
    last = run.q.copy()
    run.ask(Request.DEACTIVATE)
    assert run.tick()[0] is None
    run.ask(Request.ACTIVATE)
    command, status = run.tick(state=arm_state(run.now + TICK, last - 0.01, last))
    np.testing.assert_allclose(command, last)
    assert status.mode is Mode.HOLD


def test_same_inputs_give_the_same_bits(bench, contact, robot, arm_state):
    def run_once():
        run = bench()
        run.tick()
        goal = line(Q + 0.1)
        rng = np.random.default_rng(0)
        for _ in range(200):
            run.tick(goal, contacts=[contact(rng.uniform(0.0, 20.0) * UP, [0.5, 0.0, 0.5])])
        return run.q.tobytes()

    assert run_once() == run_once()


def test_starts_slowly_and_after_a_fault_again(bench):
    """The largest step grows linearly to dq_max."""
    run = bench(
        slow_start={"duration": 0.5, "fraction": 0.2},
        tracking={"error_rate": 200.0},
        transition={"acceleration": 100.0, "jerk": 2e4},
        limits={"tool_speed": 10.0},
    )
    goal = Goal(JointTrajectory([0.0], (Q + 1.0)[None]))

    def steps(ticks):
        before, sizes = run.q.copy(), []
        for _ in range(ticks):
            run.tick(goal)
            sizes.append(np.abs(run.q - before).max())
            before = run.q.copy()
        return np.array(sizes)

    run.tick()
    first = steps(120)
    expected = 0.002 * np.minimum(1.0, 0.2 + 0.8 * np.arange(2, 122) * 0.005 / 0.5)
    np.testing.assert_allclose(first, expected, rtol=1e-6)
    run.ask(Request.STOP)
    run.tick(goal)
    run.ask(Request.RESET)
    assert steps(1)[0] < 0.25 * 0.002


def test_stops_in_front_of_itself_with_a_reason(bench, robot):
    run = bench(self_collision={"distance": 0.04})
    run.q = np.array([0.0, 0.5, 0.0, -1.8, 0.0, 1.8, 0.0])
    run.tick()
    target = np.array([0.0, 0.5, 0.0, -2.05, 0.0, 2.05, 0.0])
    goal = Goal(JointTrajectory([0.0, 1.0], np.array([run.q, target])))
    for _ in range(600):
        _, status = run.tick(goal)
    assert status.status is Status.SELF_COLLISION
    assert status.remedy
    further = Goal(JointTrajectory([0.0, 1.0], np.array([run.q, target])))
    with pytest.raises(TrajectoryError, match="closer than"):
        GoalChecker(robot, run.loop.config).check(further, run.q)


def test_begins_again_where_the_robot_is_when_it_comes_back(bench, arm_state):
    """While the robot does not follow it may be moved by hand; commands begin where it is then."""
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    for _ in range(20):
        run.tick(goal)
    left = replace(arm_state(run.now + TICK, run.q), condition=RobotCondition(commanding=False))
    command, status = run.tick(goal, state=left)
    assert command is None
    assert (status.mode, status.status) == (Mode.HOLD, Status.NOT_COMMANDING)
    assert not run.ask(Request.RESUME)
    moved = run.q - 0.05
    # The first state after the jump is none to begin with, the next one is.
    for expected in (Status.STATE_IMPLAUSIBLE, Status.NOT_ARMED):
        command, status = run.tick(goal, state=arm_state(run.now + TICK, moved))
        assert command is None
        assert (status.mode, status.status) == (Mode.HOLD, expected)
    assert run.ask(Request.RESUME)
    command, status = run.tick(goal, state=arm_state(run.now + TICK, moved))
    assert status.mode is Mode.TRACKING
    assert np.abs(command - moved).max() < 0.25 * 0.002
