"""The object a node drives: watchdogs, bad inputs, giving way, latched faults."""

from dataclasses import replace

import numpy as np
import pytest
from loop_bench import TICK, UP, WRIST, Bench, Q, line

from contact_aware_control.controllers import ControllerOutput
from contact_aware_control.reference import Goal, JointTrajectory
from contact_aware_control.safety.status import Mode, Request, Status


@pytest.fixture
def bench(robot, arm_state):
    return lambda **values: Bench(robot, arm_state, **values)


def test_stale_state_holds_and_recovers(bench):
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    for _ in range(20):
        run.tick(goal)
    seen = [run.tick(goal, state=False)[1] for _ in range(5)]
    assert [s.mode for s in seen] == [Mode.TRACKING] * 3 + [Mode.HOLD] * 2
    assert seen[-1].status is Status.STATE_STALE
    # Nobody can tell what a command would do; the robot keeps the last one.
    assert run.tick(goal, state=False)[0] is None
    held = run.q.copy()
    command, status = run.tick(goal)
    assert status.mode is Mode.TRACKING
    assert np.abs(command - held).max() <= 0.002


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
    statuses = [run.tick(latest)[1] for _ in range(55)]
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
        # Without a state for three periods, nothing is sent.
        assert (command is None) == (k >= 3)
        if command is not None:
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
    run.now -= 10 * 10**9
    command, status = run.tick(goal, state=False, report=False)
    assert status.status is Status.STATE_STALE
    assert command is None


def test_late_tick_is_counted_and_said(bench):
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    run.tick(goal)
    _, status = run.tick(goal, period=2 * TICK)
    assert status.status is Status.DEADLINE_MISSED
    assert status.deadline_misses == 1
    assert run.tick(goal)[1].status is Status.OK


def test_held_arm_gives_way_to_a_hand_that_moves_it(bench, contact, arm_state, robot):
    """A hand takes the wrist away at 0.2 m/s, and back: the command goes along, and stays there."""
    run = bench()
    run.tick()
    robot.update(Q)
    point = robot.link_pose(WRIST).translation
    row = robot.torque_of_force(WRIST, point, UP)
    softness = 1.0 / run.loop.robot.stiffness
    compliance = row @ (softness * row)
    forces = []
    for k in range(400):
        held = Q + softness * row / compliance * min(0.001 * k, 0.03)
        force = row @ (held - run.q) / compliance
        before = run.q.copy()
        command, status = run.tick(
            contacts=[contact(force * UP, point)], state=arm_state(run.now + TICK, held, run.q)
        )
        assert (np.abs(command - before) <= 0.8 * 0.005 * run.fastest + 1e-12).all()
        forces.append(force)
    assert status.mode is Mode.HOLD
    assert max(forces) < 60.0
    assert 0.0 < forces[-1] < 15.5
    stays = run.q.copy()
    for _ in range(50):
        command, _ = run.tick(state=arm_state(run.now + TICK, stays, stays))
    np.testing.assert_array_equal(command, stays)


def test_failing_qp_holds_then_gives_way_and_pauses_the_reference(
    bench, contact, arm_state, monkeypatch
):
    """Never a partial solution: what the failed solver left is not sent."""
    run = bench()
    run.tick()
    goal = line(Q + 0.1)
    _, before = run.tick(goal)

    def fail(state, inputs):
        return state, ControllerOutput(command=inputs.command + 1.0, status=Status.QP_FAILED)

    monkeypatch.setattr(run.loop._controller, "step", fail)
    held = run.q.copy()
    command, status = run.tick(goal)
    assert status.status is Status.QP_FAILED
    assert status.remedy
    assert status.reference_time == before.reference_time
    np.testing.assert_array_equal(command, held)
    for k in range(10):
        last = run.q.copy()
        report = [contact(20.0 * UP, [0.5, 0.0, 0.5])]
        state = arm_state(run.now + TICK, held - 0.005 * (k + 1), last)
        command, status = run.tick(goal, contacts=report, state=state)
        change = command - last
        assert (change < 0.0).all()
        assert (np.abs(change) <= 0.8 * 0.005 * run.fastest + 1e-12).all()


def test_a_controller_that_stood_still_does_not_go_on_by_itself(bench):
    """Frozen for 3 s, and all that it hears afterwards is sound; what is short is nothing."""
    run = bench()
    run.tick()
    goal = line(Q + 0.3)
    for _ in range(20):
        run.tick(goal)
    assert run.tick(goal, period=500_000_000)[1].mode is Mode.TRACKING
    command, status = run.tick(goal, period=3_000_000_000)
    assert command is None
    assert (status.status, status.detail) == (
        Status.STATE_STALE, "no tick of the controller for 3.0 s"
    )  # fmt: skip
    for _ in range(100):
        command, status = run.tick(goal)
    assert command is None
    assert status.status is Status.NOT_ARMED
    assert run.ask(Request.RESUME)
    for _ in range(100):
        command, status = run.tick(goal)
    assert status.mode is Mode.TRACKING


def test_ordinary_ticks_are_no_outage_where_none_is_recovered_from(bench):
    run = bench(safety={"recovery_window": 0.0})
    run.tick()
    goal = line(Q + 0.3)
    for _ in range(20):
        _, status = run.tick(goal)
    assert status.mode is Mode.TRACKING
    assert run.tick(goal, period=2 * TICK)[1].mode is Mode.TRACKING
    assert run.tick(goal, period=10 * TICK)[1].status is Status.STATE_STALE


def test_a_force_that_nobody_measures_any_more_is_no_overload(bench, contact):
    """One report of 100 N, then a dead estimator."""
    run = bench()
    run.tick()
    goal = line(Q)
    run.tick(goal, contacts=[contact(100.0 * UP, [0.5, 0.0, 0.5])])
    for _ in range(220):
        _, status = run.tick(goal, report=False)
    assert (status.mode, status.status) == (Mode.CONSERVATIVE, Status.CONTACTS_STALE)


def test_force_limits_of_a_goal_end_with_an_activation(bench, contact):
    """What 60 N were planned for yields at the usual limit after the next activation."""
    run = bench()
    run.tick()
    goal = replace(line(Q), force_limits={WRIST: 60.0})
    for _ in range(5):
        run.tick(goal)
    assert run.ask(Request.DEACTIVATE)
    assert run.ask(Request.ACTIVATE)
    for _ in range(60):
        run.tick()
    held = run.q.copy()
    for _ in range(60):
        _, status = run.tick(contacts=[contact(30.0 * UP, [0.5, 0.0, 0.5])])
    assert status.mode is Mode.HOLD
    assert np.abs(run.q - held).max() > 0.01


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
