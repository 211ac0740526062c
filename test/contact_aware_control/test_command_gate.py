"""The gate: what passes, what does not and why, and what is sent instead."""

import coal
import numpy as np
import pinocchio as pin
import pytest
from loop_bench import TICK, UP, Bench, Q, line

from contact_aware_control.config import ControllerConfig
from contact_aware_control.controllers import ControllerOutput
from contact_aware_control.loop_state import Purpose
from contact_aware_control.safety.command_gate import CommandGate
from contact_aware_control.safety.joint_bounds import Bound
from contact_aware_control.safety.status import Mode, Request, Status
from contact_core.base.config import from_mapping
from contact_core.multibody.collision.shapes import shape_to_coal
from contact_core.robot.arm_state import SoundCommand

STEP, PERIOD = 0.002, 0.005


class Sending:
    """A gate together with what it remembers."""

    def __init__(self, robot, start=Q, **values):
        self.gate = CommandGate(robot, from_mapping(ControllerConfig, values))
        self.state = self.gate.start(start.copy())
        self.now = 0

    def send(self, wanted, measured=None, bound=Bound.TRACKING, period=TICK):
        """Ask for a command; return what was sent and why it was not the same."""
        self.now += period
        measured = self.state.command if measured is None else measured
        self.state, passed, refusal = self.gate.judge(self.state, self.now, wanted, measured, bound)
        assert isinstance(passed, SoundCommand)
        return passed.position, refusal

    def moving(self, speed=0.4, ticks=5):
        """Move every joint at a speed."""
        for _ in range(ticks):
            assert not self.send(self.state.command + speed * PERIOD)[1]
        return self


@pytest.fixture
def sending(robot):
    return lambda **values: Sending(robot, **values)


def only(joint, value):
    """All zeros but one."""
    return np.where(np.arange(7) == joint, value, 0.0)


def test_a_sound_command_passes_to_the_bit(sending):
    run = sending()
    wanted = Q + 0.0015
    command, refusal = run.send(wanted)
    assert refusal == ""
    assert command.tobytes() == wanted.tobytes()
    wanted += 1.0
    np.testing.assert_array_equal(command, Q + 0.0015)


@pytest.mark.parametrize(
    ("wanted", "measured", "rule"),
    [
        (Q + only(2, np.nan), Q, "finite: lbr_A3 would be nan"),
        (Q + only(2, np.inf), Q, "finite: lbr_A3 would be inf"),
        (Q[:6], Q, "size: (6,)"),
        (Q + only(1, 85.9), Q, "position limit: lbr_A2"),
        (Q + only(0, -0.0021), Q, "speed: lbr_A1 would be at 0.42 rad/s, limit 0.4"),
        (Q + only(4, 0.001), Q - 0.3, "distance to the measured joint: lbr_A5"),
        (Q + only(4, 0.001), np.full(7, np.nan), "distance to the measured joint: lbr_A5"),
    ],
)
def test_each_rule_holds_and_names_the_numbers(sending, wanted, measured, rule):
    run = sending()
    command, refusal = run.send(wanted, measured)
    assert refusal.startswith(rule)
    np.testing.assert_array_equal(command, Q)


def test_time_goes_on_or_nothing_moves(sending):
    run = sending().moving(ticks=1)
    for period in (0, -TICK):
        held, refusal = run.send(run.state.command + 0.001, period=period)
        assert refusal.startswith("time:")
    assert np.abs(held - Q).max() < 2 * STEP


def test_acceleration_and_jerk_are_bounded(sending):
    fast = {"limits": {"acceleration": 30.0, "jerk": 2000.0}}
    run = sending(**fast)
    assert run.send(Q + only(0, 0.0004))[1].startswith("jerk: lbr_A1 would be at 3200")
    run = sending(**fast)
    for k in range(1, 4):
        assert not run.send(run.state.command + 10.0 * k * (k + 1) / 2 * PERIOD**2)[1]
    # The speed has grown to 0.3 rad/s with 30 rad/s^2 in the last tick.
    assert run.send(run.state.command + (0.3 + 0.16) * PERIOD)[1].startswith("speed")
    free = sending(limits={"acceleration": 30.0, "jerk": 1e7})
    assert free.send(Q + 31.0 * PERIOD**2)[1].startswith("acceleration: lbr_A1 would be at 31 ")


def test_to_stop_at_once_is_always_sound(sending):
    run = sending(limits={"acceleration": 80.0}).moving()
    held = run.state.command
    command, refusal = run.send(held.copy(), measured=held - 1.0)
    assert refusal == ""
    np.testing.assert_array_equal(command, held)


def test_what_is_refused_in_motion_brakes_along_the_motion(sending):
    run = sending(limits={"braking": 20.0}).moving()
    steps = []
    for _ in range(10):
        before = run.state.command
        command, refusal = run.send(np.full(7, np.nan))
        assert refusal
        steps.append(command - before)
    expected = np.maximum(0.0, 0.4 - 20.0 * PERIOD * np.arange(1, 11)) * PERIOD
    np.testing.assert_allclose(steps, np.tile(expected[:, None], 7), atol=1e-12)
    assert run.state.refused == 10


def test_braking_does_not_cross_a_limit(sending, robot):
    """Where even that is not sound the arm is held."""
    near = Q.copy()
    near[5] = robot.position_limits[1, 5] - 0.03 - 5.5 * STEP
    run = sending(start=near, limits={"braking": 1.0}).moving()
    held = run.state.command
    command, refusal = run.send(np.full(7, np.nan))
    assert refusal
    np.testing.assert_array_equal(command, held)


def test_one_beyond_a_limit_may_come_back_but_not_go_further(sending, robot):
    beyond = Q.copy()
    beyond[5] = robot.position_limits[1, 5] + 0.02
    run = sending(start=beyond)
    assert "position" in run.send(beyond + only(5, 0.001), beyond)[1]
    assert not run.send(beyond - only(5, 0.001), beyond)[1]
    bent = sending()
    pushed = Q - 0.4
    assert "distance" in bent.send(Q + 0.001, pushed)[1]
    assert not bent.send(Q - 0.001, pushed)[1]


def test_giving_way_may_be_faster_and_a_baseline_is_free(sending, robot):
    fast = only(0, 0.0024)
    assert sending().send(Q + fast)[1].startswith("speed")
    assert not sending().send(Q + fast, bound=Bound.YIELDING)[1]
    too_fast = sending().send(Q + only(0, 0.006), bound=Bound.YIELDING)[1]
    assert too_fast.startswith("speed")
    assert f"limit {0.8 * robot.velocity_limits[0]:.4g}" in too_fast
    assert not sending().send(Q + only(0, 0.1), bound=Bound.NONE)[1]


@pytest.mark.parametrize("bound", Bound)
def test_room_is_what_passes(sending, bound):
    """At its corners a command passes, beyond them it does not."""
    run = sending(limits={"acceleration": 30.0, "jerk": 4000.0})
    rng = np.random.default_rng(2)
    for _ in range(200):
        lower, upper = run.gate.step_bounds(run.state, run.state.command, bound)
        assert (lower <= 0.0).all() and (upper >= 0.0).all()
        if bound is Bound.NONE:
            assert (np.abs([lower, upper]) > 0.01).all()
            return
        joint = rng.integers(7)
        wanted = run.state.command + only(joint, upper[joint] + 1e-7)
        _, _, refusal = run.gate.judge(run.state, run.now + TICK, wanted, wanted, bound)
        assert refusal
        change = np.where(rng.uniform(size=7) < 0.5, lower, upper) * rng.choice([0.3, 1.0])
        wanted = run.state.command + np.clip(change, -0.01, 0.01)
        assert not run.send(np.clip(wanted, Q - 0.2, Q + 0.2), wanted, bound)[1]


def test_a_controller_gone_wrong_is_held_then_latched(robot, arm_state, monkeypatch):
    """85.9 rad were sent once, from joint positions in degrees."""
    run = Bench(robot, arm_state)
    goal = line(Q + 0.1)
    for _ in range(40):
        run.tick(goal)

    def wild(state, inputs):
        return state, ControllerOutput(command=inputs.command + 85.9)

    monkeypatch.setattr(run.loop._controller, "step", wild)
    monkeypatch.setattr(run.loop, "_limiters", dict.fromkeys(Purpose, ()))
    before = run.q.copy()
    for _ in range(10):
        _, status = run.tick(goal)
        assert np.abs(run.q - before).max() < 0.01
        assert status.status is Status.COMMAND_REFUSED
        assert "position limit: lbr_A1" in status.detail
    _, status = run.tick(goal)
    assert (status.mode, status.status) == (Mode.FAULT, Status.COMMAND_REFUSED)
    assert "10 refused commands in a row" in status.detail
    monkeypatch.undo()
    assert run.ask(Request.RESET)
    assert run.tick(goal)[1].mode is Mode.TRACKING


@pytest.mark.parametrize("rate", [50.0, 200.0, 1000.0])
def test_the_controller_is_never_refused(robot, arm_state, contact, rate):
    """Its own limits lie within the gate's, in contact and at any rate."""
    run = Bench(robot, arm_state, rate=rate, slow_start={"duration": 0.0})
    rng = np.random.default_rng(0)
    period = round(1e9 / rate)
    run.tick(period=period)
    goal = line(Q + 0.4)
    for k in range(400):
        force = 30.0 * rng.uniform() if k % 60 > 20 else 0.0
        touch = [contact(force * UP, [0.5, 0.0, 0.5])] if force else []
        _, status = run.tick(goal if k % 90 < 80 else None, contacts=touch, period=period)
        assert status.status is not Status.COMMAND_REFUSED, status.detail


def surface_points(robot, rng):
    """Return random points of the collision shapes: frames of their links, places there."""
    points = []
    for shape in robot.collision_shapes:
        frame = robot.model.getFrameId(shape.body, pin.FrameType.BODY)
        for _ in range(30):
            direction = rng.normal(size=3)
            geometry = shape_to_coal(shape.shape)
            a, b, _ = shape.shape.size
            match geometry:
                case coal.Sphere():
                    place = a * direction / np.linalg.norm(direction)
                case coal.Capsule() | coal.Cylinder():
                    radial = direction[:2] / np.linalg.norm(direction[:2])
                    place = np.array([*(a * radial), rng.uniform(-b, b)])
                case coal.Box():
                    place = rng.uniform(-1.0, 1.0, 3) * shape.shape.size
                case _:
                    share = rng.dirichlet(np.ones(len(shape.shape.mesh.vertices)))
                    place = share @ shape.shape.mesh.vertices
            points.append((frame, shape.placement.act(place)))
    return points


def test_no_point_of_the_arm_is_faster_than_the_gate_lets_it_be(robot):
    """Measured with Pinocchio at points of its surface, however the joints are to move."""
    rng = np.random.default_rng(3)
    model, data, points = robot.model, robot.model.createData(), surface_points(robot, rng)

    def places(q):
        pin.framesForwardKinematics(model, data, q)
        return np.array([data.oMf[frame].act(place) for frame, place in points])

    fastest = []
    for _ in range(100):
        start = 0.8 * rng.uniform(*robot.position_limits)
        values = {"limits": {"point_speed": 0.25}, "reflex": {"held_reach": 0.0}}
        run = Sending(robot, start, **values)
        change = rng.uniform(-1.0, 1.0, 7) * rng.choice([0.01, 1.0], 7)
        sent, refusal = run.send(start + 0.03 * change, bound=Bound.NONE)
        assert not refusal
        moved = np.linalg.norm(places(sent) - places(start), axis=1).max() / PERIOD
        asked = np.linalg.norm(places(start + 0.03 * change) - places(start), axis=1).max() / PERIOD
        assert moved < 0.25 * 1.02
        if asked < 0.2:
            np.testing.assert_array_equal(sent, start + 0.03 * change)
        fastest.append(moved)
    assert np.median(fastest) > 0.2


def test_what_is_slowed_goes_the_same_way_and_says_so(robot, arm_state):
    bench = Bench(robot, arm_state, limits={"point_speed": 0.05})
    goal, statuses = line(Q + 0.3), set()
    for _ in range(1000):
        before = bench.q
        sent, status = bench.tick(goal)
        statuses.add(status.status)
        change = sent - before
        assert (change >= 0.0).all()
        assert np.ptp(change) < 1e-5
    assert {Status.LIMIT_REACHED, Status.REFERENCE_SLOWED} & statuses
    assert status.mode is Mode.TRACKING
    assert Status.AMBIGUOUS_LOAD not in statuses
