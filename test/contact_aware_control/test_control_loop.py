"""The object a node drives: start, watchdogs, pauses, bad inputs, giving way."""

import math

import numpy as np
import pinocchio as pin
import pytest

from contact_aware_control.config import ControllerConfig
from contact_aware_control.control_loop import ContactReport, ControlLoop
from contact_aware_control.goal import Goal
from contact_aware_control.reference import JointTrajectory, PoseTrajectory
from contact_aware_control.request import Request
from contact_aware_control.status import Mode, Status
from contact_stack.core.config import from_mapping
from contact_stack.core.errors import TrajectoryError

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
TICK = 5_000_000
UP = np.array([0.0, 0.0, 1.0])
WRIST = "lbr_link_6"


class Bench:
    """Drives a control loop against an arm that follows every command exactly."""

    def __init__(self, robot, arm_state, **values):
        """Activate a loop with some parameters."""
        self.loop = ControlLoop(robot, from_mapping(ControllerConfig, values))
        self.loop.supervisor.activate()
        self.make_state = arm_state
        self.now = 0
        self.q = Q.copy()
        self.state = None
        self.report = None

    def tick(self, goal=None, *, contacts=(), state=True, report=True, period=TICK):
        """One tick; without ``state`` or ``report`` no new message arrives."""
        self.now += period
        if state is True:
            self.state = self.make_state(self.now, self.q)
        elif state is not False:
            self.state = state
        if report:
            self.report = ContactReport(self.now, contacts)
        command, status = self.loop.tick(self.now, self.state, self.report, goal)
        if command is not None:
            self.q = command
        return command, status


@pytest.fixture
def bench(robot, arm_state):
    return lambda **values: Bench(robot, arm_state, **values)


def line(target, duration=1.0):
    return Goal(JointTrajectory([0.0, duration], np.array([Q, target])))


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
    run = bench()
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
    run.loop.supervisor.hold()
    for _ in range(100):
        _, held = run.tick(goal)
    assert held.mode is Mode.HOLD
    assert held.reference_time == before.reference_time
    run.loop.supervisor.resume()
    for _ in range(250):
        run.tick(goal)
    np.testing.assert_allclose(run.q, Q + 0.1, atol=2e-3)


def test_stale_state_holds_and_recovers(bench):
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    for _ in range(20):
        run.tick(goal)
    seen = [run.tick(goal, state=False)[1] for _ in range(5)]
    assert [s.mode for s in seen] == [Mode.TRACKING] * 3 + [Mode.HOLD] * 2
    assert seen[-1].status is Status.STATE_STALE
    held = run.q.copy()
    command, _ = run.tick(goal, state=False)
    np.testing.assert_array_equal(command, held)
    assert run.tick(goal)[1].mode is Mode.TRACKING


def test_dead_estimator_makes_it_conservative_within_50_ms(bench):
    run = bench()
    run.tick()
    goal = line(Q + 0.3)
    for _ in range(20):
        run.tick(goal)
    modes = [run.tick(goal, report=False)[1].mode for _ in range(12)]
    assert modes.index(Mode.CONSERVATIVE) == 10
    before = run.q.copy()
    command, status = run.tick(goal, report=False)
    assert status.status is Status.CONTACTS_STALE
    assert 0.0 < np.abs(command - before).max() <= 0.25 * 0.002 + 1e-12


def test_unidentifiable_contact_makes_it_conservative(bench, contact):
    run = bench()
    run.tick()
    report = [contact(8.0 * UP, [0.3, 0.0, 0.6], link="lbr_link_3", identifiable=False)]
    _, status = run.tick(line(Q + 0.1), contacts=report)
    assert (status.mode, status.status) == (Mode.CONSERVATIVE, Status.CONTACT_UNIDENTIFIABLE)


def test_unidentifiable_contact_with_little_force_is_ignored(bench, contact):
    run = bench()
    run.tick()
    report = [contact(3.0 * UP, [0.3, 0.0, 0.6], link="lbr_link_3", identifiable=False)]
    _, status = run.tick(line(Q + 0.1), contacts=report)
    assert status.mode is Mode.TRACKING


def streamed(goal, stamp):
    return Goal(goal.reference, goal.force_limits, refreshed=stamp)


def test_stream_that_stops_is_held_and_goes_on(bench):
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    latest = streamed(goal, run.now + TICK)
    run.tick(latest)
    statuses = [run.tick(latest)[1] for _ in range(25)]
    assert statuses[-1].mode is Mode.HOLD
    assert statuses[-1].status is Status.REFERENCE_STALE
    time = statuses[-1].reference_time
    _, status = run.tick(streamed(goal, run.now + TICK))
    assert status.mode is Mode.TRACKING
    assert status.reference_time > time


@pytest.mark.parametrize(
    "position",
    [np.full(7, np.nan), np.zeros(6), np.array([0.0, np.inf, 0.0, 0.0, 0.0, 0.0, 0.0])],
    ids=["nan", "short", "infinite"],
)
def test_bad_states_are_rejected_then_a_fault(bench, arm_state, position):
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    run.tick(goal)
    for k in range(10):
        before = run.q.copy()
        command, status = run.tick(goal, state=arm_state(run.now + TICK, position))
        assert np.isfinite(command).all()
        assert np.abs(command - before).max() <= 0.002
        assert status.rejected_messages == k + 1
    assert (status.mode, status.status) == (Mode.FAULT, Status.BAD_INPUT)


@pytest.mark.parametrize(
    "bad",
    [
        {"force": [np.nan, 0.0, 8.0]},
        {"point": [0.5, np.inf, 0.5]},
        {"link": "lbr_link_99"},
        {"point": [0.5, 0.5]},
    ],
)
def test_bad_contacts_are_rejected(bench, contact, bad):
    run = bench()
    run.tick()
    report = [contact(**{"force": 8.0 * UP, "point": [0.5, 0.0, 0.5], **bad})]
    command, status = run.tick(line(Q + 0.1), contacts=report)
    assert status.rejected_messages == 1
    assert status.status is Status.BAD_INPUT
    assert np.isfinite(command).all()


def test_clock_jump_is_a_stale_state_not_a_jump_of_the_arm(bench):
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    run.tick(goal)
    before = run.q.copy()
    run.now -= 10 * 10**9
    command, status = run.tick(goal, state=False, report=False)
    assert status.status is Status.STATE_STALE
    np.testing.assert_array_equal(command, before)


def test_late_tick_is_counted_and_said(bench):
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    run.tick(goal)
    _, status = run.tick(goal, period=2 * TICK)
    assert status.status is Status.DEADLINE_MISSED
    assert status.deadline_misses == 1
    assert run.tick(goal)[1].status is Status.OK


def test_held_arm_gives_way_to_a_force_above_the_limit(bench, contact, arm_state):
    """The springs relax towards the measured position, at the relax speed, no further."""
    run = bench()
    run.tick()
    pushed = Q + 0.05
    for _ in range(400):
        report = [contact(20.0 * UP, [0.5, 0.0, 0.5])]
        before = run.q.copy()
        command, status = run.tick(contacts=report, state=arm_state(run.now + TICK, pushed, Q))
        assert np.abs(command - before).max() <= 0.05 * 0.005 + 1e-12
    assert status.mode is Mode.HOLD
    np.testing.assert_allclose(command, pushed)
    for _ in range(10):
        report = [contact(14.0 * UP, [0.5, 0.0, 0.5])]
        command, _ = run.tick(contacts=report, state=arm_state(run.now + TICK, Q, Q))
    np.testing.assert_allclose(command, pushed)


def test_lasting_overload_is_a_latched_fault(bench, contact):
    run = bench()
    run.tick()
    goal = line(Q)
    for _ in range(110):
        _, status = run.tick(goal, contacts=[contact(100.0 * UP, [0.5, 0.0, 0.5])])
    assert (status.mode, status.status) == (Mode.FAULT, Status.FORCE_EXCEEDED)
    assert "reset" in status.remedy


def test_overload_at_an_unknown_place_is_no_fault(bench, contact):
    """Its force is a guess; the conservative mode deals with it."""
    run = bench()
    run.tick()
    goal = line(Q)
    for _ in range(110):
        report = [contact(300.0 * UP, [0.3, 0.0, 0.6], "lbr_link_4", identifiable=False)]
        _, status = run.tick(goal, contacts=report)
    assert (status.mode, status.status) == (Mode.CONSERVATIVE, Status.CONTACT_UNIDENTIFIABLE)


def test_planned_contact_is_no_overload(bench, contact):
    run = bench()
    run.tick()
    goal = Goal(JointTrajectory([0.0], Q[None]), {WRIST: 120.0})
    for _ in range(110):
        _, status = run.tick(goal, contacts=[contact(100.0 * UP, [0.5, 0.0, 0.5])])
    assert status.mode is Mode.TRACKING
    assert status.output.force_limit[0] == 120.0


def test_baseline_knows_no_overload(bench, contact):
    run = bench(controller="greedy")
    run.tick()
    goal = line(Q)
    for _ in range(110):
        _, status = run.tick(goal, contacts=[contact(100.0 * UP, [0.5, 0.0, 0.5])])
    assert status.mode is Mode.TRACKING


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


def test_goal_before_the_first_state_starts_once_there_is_one(bench):
    run = bench()
    goal = line(Q + 0.1)
    run.tick(goal, state=False)
    run.tick(goal)
    _, status = run.tick(goal)
    assert status.mode is Mode.TRACKING


def test_check_refuses_before_the_arm_moves(bench, robot):
    run = bench()
    with pytest.raises(TrajectoryError, match="no joint state"):
        run.loop.check(line(Q))
    run.tick()
    run.loop.check(line(Q))
    with pytest.raises(TrajectoryError, match="starts"):
        run.loop.check(Goal(JointTrajectory([0.0], Q[None] + 0.2)))
    with pytest.raises(TrajectoryError, match="lbr_link_9"):
        run.loop.check(Goal(JointTrajectory([0.0], Q[None]), {"lbr_link_9": 5.0}))
    with pytest.raises(TrajectoryError, match="-5"):
        run.loop.check(Goal(JointTrajectory([0.0], Q[None]), {WRIST: -5.0}))
    robot.update(Q)
    far = robot.tool_pose() * pin.SE3(np.eye(3), np.array([0.1, 0.0, 0.0]))
    with pytest.raises(TrajectoryError, match=r"starts 0\.100 m"):
        run.loop.check(Goal(PoseTrajectory([0.0], [far])))


def test_restart_takes_over_at_the_drivers_command(bench, arm_state):
    """Another loop, or this one after deactivation, continues without a jump."""
    run = bench()
    run.tick()
    goal = line(Q + 0.2)
    for _ in range(50):
        run.tick(goal)
    last = run.q.copy()
    run.loop.deactivate()
    assert run.tick()[0] is None
    run.loop.supervisor.activate()
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
    run = bench(slow_start={"duration": 0.5, "fraction": 0.2}, tracking={"error_rate": 200.0})
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
    run.loop.supervisor.stop()
    run.tick(goal)
    run.loop.supervisor.reset()
    assert steps(1)[0] < 0.25 * 0.002


def test_stops_in_front_of_itself_with_a_reason(bench):
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
        run.loop.check(further)


def test_begins_again_where_the_robot_is_when_it_comes_back(bench):
    """While the robot does not follow it may be moved by hand; commands begin where it is then."""
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    for _ in range(20):
        run.tick(goal)
    run.loop.handle(Request.ROBOT_LEFT)
    command, status = run.tick(goal)
    assert (status.mode, status.status) == (Mode.HOLD, Status.NOT_COMMANDING)
    moved = run.q = command - 0.05
    run.loop.handle(Request.ROBOT_BACK)
    command, status = run.tick(goal)
    np.testing.assert_array_equal(command, moved)
    assert status.mode is Mode.HOLD
    assert run.loop.handle(Request.RESUME)
    command, status = run.tick(goal)
    assert status.mode is Mode.TRACKING
    assert np.abs(command - moved).max() < 0.25 * 0.002
