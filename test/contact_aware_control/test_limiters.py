"""The limiters: whatever is wanted, what they leave of it is sound, and says why."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from loop_bench import TICK, WRIST, Bench, Q, line

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate
from contact_aware_control.controllers import ControllerOutput
from contact_aware_control.limiters import EXPLAINED_BETTER, better_reason
from contact_aware_control.loop_state import Purpose
from contact_aware_control.safety.status import FOLLOWING, Request, Status


@pytest.mark.parametrize("size", [1e-4, 1e-2, 1.0])
def test_what_the_limiters_leave_passes_the_gate(robot, arm_state, monkeypatch, size):
    """Of a controller that wants anything, however far; hold and resume in between."""
    run, rng = Bench(robot, arm_state, slow_start={"duration": 0.2}), np.random.default_rng(0)

    def wild(state, inputs):
        return state, ControllerOutput(inputs.command + rng.normal(scale=size, size=7))

    monkeypatch.setattr(run.loop._controller, "step", wild)
    run.tick()
    goal, moved = line(Q + 0.1), 0.0
    for k in range(400):
        if k % 100 == 60:
            assert run.ask(Request.HOLD)
        if k % 100 == 90:
            assert run.ask(Request.RESUME)
        before = run.q
        _, status = run.tick(goal)
        assert status.status is not Status.COMMAND_REFUSED, status.detail
        moved = max(moved, np.abs(run.q - before).max())
    assert moved > 0.1 * min(size, 0.01)


def test_a_limit_that_is_reached_is_the_loops_status_not_the_controllers(
    robot, arm_state, monkeypatch
):
    run, goal = Bench(robot, arm_state, limits={"tool_speed": 0.01}), line(Q)
    run.tick()

    def far(state, inputs):
        return state, ControllerOutput(inputs.command + 1.0)

    monkeypatch.setattr(run.loop._controller, "step", far)
    statuses = [run.tick(goal)[1] for _ in range(40)]
    assert statuses[-1].mode in FOLLOWING
    assert Status.LIMIT_REACHED in {status.status for status in statuses}
    assert all(status.output.status is Status.OK for status in statuses)


def test_every_purpose_has_its_limiters_and_space_comes_after_the_joints(robot, arm_state):
    """The share that space leaves of a step keeps the step within the joints' bounds."""
    limiters = Bench(robot, arm_state).loop._limiters
    assert set(limiters) == set(Purpose)
    order = ["TransitionLimiter", "StepLimiter", "SpaceLimiter", "DeviationLimiter"]
    for purpose in (Purpose.FOLLOW, Purpose.REACT, Purpose.REST):
        names = [type(limiter).__name__ for limiter in limiters[purpose]]
        assert names == [name for name in order if name in names]
        assert {"StepLimiter", "SpaceLimiter"} <= set(names)


def test_the_first_reason_stays_unless_a_later_one_explains_it():
    for known, found in itertools.product(Status, repeat=2):
        better = known is Status.OK or known in EXPLAINED_BETTER.get(found, ())
        assert better_reason(known, found) is (found if better else known)
    assert better_reason(Status.LIMIT_REACHED, Status.WORKSPACE) is Status.WORKSPACE
    assert better_reason(Status.WORKSPACE, Status.LIMIT_REACHED) is Status.WORKSPACE
    assert better_reason(Status.BAD_INPUT, Status.AMBIGUOUS_LOAD) is Status.BAD_INPUT
    unidentifiable, ambiguous = Status.CONTACT_UNIDENTIFIABLE, Status.AMBIGUOUS_LOAD
    assert better_reason(unidentifiable, ambiguous) is ambiguous
    assert better_reason(Status.OK, Status.OK) is Status.OK


def test_an_arm_at_its_deviation_bound_may_float_as_fast_as_it_may_yield(robot, arm_state):
    """Pushed with far more than the estimator finds; once its commands were refused for that."""
    run, goal, speeds = Bench(robot, arm_state, slow_start={"duration": 0.0}), line(Q), []
    for k in range(450):
        robot.update(run.q)
        place = robot.link_pose(WRIST).translation
        push = np.array([0.0, min(0.4 * k, 150.0), 0.0])
        found = push if k < 150 else 0.1 * push
        report = replace(ContactEstimate.known(robot, WRIST, place, found), ambiguous=True)
        q = run.q + robot.torque_of_force(WRIST, place, push) / robot.stiffness
        state = arm_state(run.now + TICK, q, run.q)
        _, status = run.tick(goal if k > 2 else None, contacts=[report], state=state)
        assert status.status is not Status.COMMAND_REFUSED, status.detail
        speeds.append(np.abs(run.loop_state.gate.velocity).max())
    assert status.mode in FOLLOWING
    assert max(speeds) > ControllerConfig().limits.step / 0.005
