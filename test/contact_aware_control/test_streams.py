"""Streamed targets: smooth whatever the rate, jitter and loss; stopped when they stop."""

import numpy as np
import pinocchio as pin
import pytest
from loop_bench import TICK, Bench, Q, line
from ruckig import RuckigError, Synchronization

from contact_aware_control.config import ControllerConfig, StartTolerance
from contact_aware_control.reference import JointStream, PoseStream, stream
from contact_aware_control.reference.stream import bounds_of
from contact_aware_control.safety.status import Mode, Status
from contact_aware_control.targets import JointTarget, PoseTarget, StreamConfig, StreamedTargets
from contact_core.base.config import from_mapping
from contact_core.base.errors import TrajectoryError

CONFIG = StreamConfig()
PERIOD = 1e-9 * TICK


class Streaming:
    """A bench whose goal comes from a sender; without contacts the arm is where it is commanded."""

    def __init__(self, robot, arm_state, **values):
        self.robot = robot
        self.bench = Bench(robot, arm_state, slow_start={"duration": 0.0}, **values)
        self.targets = StreamedTargets(robot, ControllerConfig(), CONFIG)
        self.bench.tick()
        self.start = self.bench.now
        self.statuses, self.commands, self.wanted = [], [self.bench.q], []

    def run(self, sends, duration):
        """Send what `sends` gives for each stamp [s] from the start; see :func:`arrivals`."""
        waiting = list(sends)
        end = self.bench.now + round(duration * 1e9)
        while self.bench.now < end:
            now = self.bench.now + TICK
            while waiting and self.start + waiting[0][0] * 1e9 <= now:
                _, target = waiting.pop(0)
                self.targets.put(target, now)
            goal = self.targets.goal(self.bench.loop_state, now)
            _, status = self.bench.tick(goal)
            self.statuses.append(status)
            self.commands.append(self.bench.q)

    def tool(self):
        poses = []
        for q in self.commands:
            self.robot.update(q)
            poses.append(self.robot.tool_pose().translation.copy())
        return np.array(poses)

    def velocity(self):
        return np.diff(self.tool(), axis=0) / PERIOD


def arrivals(make, rate, duration, jitter=0.0, loss=0.0, seed=0):
    """Return (time of arrival, target) of a sender; `make(stamp)` makes the target."""
    rng = np.random.default_rng(seed)
    sent = np.arange(0.0, duration, 1.0 / rate)
    kept = sent[rng.random(len(sent)) >= loss]
    late = jitter / rate * rng.random(len(kept))
    return sorted(((t + d, make(t)) for t, d in zip(kept, late, strict=True)), key=lambda s: s[0])


@pytest.fixture
def streaming(robot, arm_state):
    return lambda **values: Streaming(robot, arm_state, **values)


@pytest.fixture
def circle(robot):
    """A tool pose that starts at rest, then goes round in 4 s with a radius of 4 cm, turning."""
    robot.update(Q)
    start = robot.tool_pose().copy()

    def make(stamp):
        angle = 2.0 * np.pi / 4.0 * (stamp if stamp > 1.0 else stamp**2 * (2.0 - stamp))
        shift = 0.04 * np.array([1.0 - np.cos(angle), np.sin(angle), 0.0])
        turn = pin.exp3(np.array([0.0, 0.1 * np.sin(angle), 0.1 * (1.0 - np.cos(angle))]))
        return PoseTarget(stamp, pin.SE3(start.rotation @ turn, start.translation + shift))

    return make


@pytest.mark.parametrize(
    ("rate", "jitter", "loss"), [(10.0, 0.0, 0.0), (30.0, 0.2, 0.2), (1000.0, 0.0, 0.0)]
)
def test_poses_are_followed_without_jerks(streaming, circle, rate, jitter, loss):
    run = streaming()
    run.run(arrivals(circle, rate, 6.0, jitter, loss), 5.8)
    assert {status.mode for status in run.statuses[10:]} == {Mode.TRACKING}
    acceleration = np.diff(run.velocity(), axis=0) / PERIOD
    assert np.linalg.norm(acceleration, axis=1).max() <= 1.05 * CONFIG.acceleration
    # The sender's acceleration is 0.1 m/s^2; what jitter and loss add is not felt.
    assert np.percentile(np.linalg.norm(acceleration[300:], axis=1), 50) < 0.4
    late = 1.0 / rate + 0.06
    wanted = [circle(max(0.0, PERIOD * k - late)).place.translation for k in range(len(run.tool()))]
    error = np.linalg.norm(run.tool() - np.array(wanted), axis=1)
    assert error[200:].max() < 0.015
    # It does not stop at each target.
    assert np.linalg.norm(run.velocity()[300:], axis=1).min() > 0.03


def test_a_stream_that_ends_is_stopped_within_its_time_out(streaming, circle):
    run = streaming()
    run.run(arrivals(circle, 30.0, 3.0), 3.5)
    timeout = run.bench.loop.config.safety.reference_timeout
    stopped = np.linalg.norm(run.velocity(), axis=1) < 1e-6
    last = max(np.flatnonzero(~stopped)) * PERIOD
    assert last < 3.0 + timeout + 0.05
    assert (run.statuses[-1].mode, run.statuses[-1].status) == (Mode.HOLD, Status.REFERENCE_STALE)
    acceleration = np.diff(run.velocity(), axis=0) / PERIOD
    braking = run.bench.loop.config.transition.acceleration
    assert np.abs(acceleration).max() < braking


def test_after_a_pause_it_goes_on_from_where_the_arm_is(streaming, circle):
    run = streaming()
    sends = arrivals(circle, 30.0, 5.0)
    run.run([s for s in sends if not 2.0 < s[0] < 2.6], 4.9)
    assert Mode.HOLD in {status.mode for status in run.statuses}
    assert run.statuses[-1].mode is Mode.TRACKING
    velocity = run.velocity()
    acceleration = np.linalg.norm(np.diff(velocity, axis=0), axis=1) / PERIOD
    assert acceleration[round(2.7 / PERIOD) :].max() <= 1.05 * CONFIG.acceleration


@pytest.mark.parametrize("in_tool", [False, True])
def test_a_twist_moves_the_tool_as_fast_as_it_says(streaming, robot, in_tool):
    run = streaming()
    twist = np.array([0.05, 0.0, 0.0, 0.0, 0.0, 0.2])
    run.run(arrivals(lambda t: PoseTarget(t, None, twist, in_tool), 50.0, 2.0), 1.9)
    robot.update(Q)
    first = robot.tool_pose().copy()
    robot.update(run.commands[-1])
    pose = robot.tool_pose()
    before, after = first.rotation, pose.rotation
    turn = pin.log3(before.T @ after if in_tool else after @ before.T)
    assert turn[2] == pytest.approx(0.2 * 1.85, abs=0.05)
    velocity = run.velocity()[-1]
    expected = pose.rotation @ twist[:3] if in_tool else twist[:3]
    np.testing.assert_allclose(velocity, expected, atol=0.006)


def test_joints_are_followed_and_velocities_of_joints(streaming):
    run = streaming()
    turn = np.array([0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0])
    run.run(arrivals(lambda t: JointTarget(t, Q + 0.5 * min(t, 1.0) * turn), 30.0, 2.0), 1.9)
    np.testing.assert_allclose(run.commands[-1], Q + 0.5 * turn, atol=1e-3)
    run.start = run.bench.now
    run.run(arrivals(lambda t: JointTarget(t, None, turn), 30.0, 1.0), 0.9)
    speed = (run.commands[-1] - run.commands[-2]) / PERIOD
    np.testing.assert_allclose(speed, turn, atol=0.02)


@pytest.mark.parametrize(
    "stamp",
    [lambda t: 1e-3 * t, lambda t: 0.1 * (t // 0.1) + 1e-4 * (t % 0.1 > 0.04)],
    ids=["a clock that is slow", "in pairs"],
)
def test_wrong_stamps_make_no_haste(streaming, stamp):
    run = streaming()
    turn = np.array([0.0, 0.0, 0.02, 0.0, 0.0, 0.0, 0.0])
    sends = arrivals(lambda t: JointTarget(stamp(t), Q + t * turn), 20.0, 2.0)
    run.run(sends, 3.0)
    moved = np.array(run.commands)[:, 2] - Q[2]
    assert np.abs(np.diff(moved)).max() / PERIOD < 0.06
    assert moved.max() < 2.0 * turn[2] + 0.01


def test_a_jump_of_the_target_is_approached_within_bounds(streaming, robot):
    run = streaming()
    far = Q + np.array([0.5, -0.2, 0.1, 0.3, 0.0, 0.0, 0.0])
    run.run(arrivals(lambda t: JointTarget(t, far), 30.0, 6.0), 5.9)
    np.testing.assert_allclose(run.commands[-1], far, atol=1e-3)
    velocity = np.diff(np.array(run.commands), axis=0) / PERIOD
    acceleration = np.diff(velocity, axis=0) / PERIOD
    assert np.abs(velocity).max() <= 1.01 * CONFIG.joint_speed
    assert np.abs(acceleration).max() <= 1.05 * CONFIG.joint_acceleration


def test_contacts_are_remembered_from_target_to_target(streaming, contact):
    """A new goal forgets them; 200 targets a second would leave the arm without any memory."""
    run = streaming()
    up = np.array([0.0, 0.0, 1.0])
    for k in range(60):
        now = run.bench.now + TICK
        run.targets.put(JointTarget(PERIOD * k, Q + 1e-4 * k), now)
        goal = run.targets.goal(run.bench.loop_state, now)
        assert goal is not None
        run.bench.tick(goal, contacts=[contact((10.0 + 0.05 * k) * up, [0.5, 0.0, 0.5])])
    memories = run.bench.loop_state.controller.contacts.memories
    assert memories[0].bias != 0.0


def test_a_trajectory_ends_a_stream_and_a_stream_begins_anew(streaming):
    run = streaming()
    run.run(arrivals(lambda t: JointTarget(t, Q + 0.05), 30.0, 0.5), 0.4)
    run.targets.drop()
    goal = line(run.bench.q)
    _, status = run.bench.tick(goal)
    assert status.mode is Mode.TRACKING
    assert run.targets.goal(run.bench.loop_state, run.bench.now) is None


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (JointTarget(0.0, np.zeros(6)), "6 numbers .valid: 7."),
        (JointTarget(0.0, np.full(7, np.nan)), "not finite"),
        (JointTarget(0.0), "a place or a velocity"),
        (PoseTarget(0.0, None, np.full(6, np.inf)), "not finite"),
        (PoseTarget(0.0, None, np.zeros(3)), "3 numbers .valid: 6."),
        # Degrees for radians, of places and of speeds; millimetres for metres.
        (JointTarget(0.0, np.degrees(Q)), r"lbr_A4 .* at -85\.944 rad .valid: -2\.094 \.\.\."),
        (JointTarget(0.0, Q, np.full(7, 10.0)), r"lbr_A4 would move at 10.000 rad/s .valid: <= 1"),
        (PoseTarget(0.0, None, np.array([0, 0, 0, 0, 0, 10.0])), r"turns at 10.000 rad/s .valid"),
        (PoseTarget(0.0, None, np.array([0, 0, 20.0, 0, 0, 0])), r"moves at 20.000 m/s .valid"),
        (PoseTarget(0.0, pin.SE3(np.eye(3), np.array([3.0, 0, 0.5]))), r"reach: 3\.003 m from its"),
    ],
)
def test_what_is_no_target_is_refused(streaming, target, said):
    run = streaming()
    with pytest.raises(TrajectoryError, match=said):
        run.targets.put(target, run.bench.now)
    assert run.targets.goal(run.bench.loop_state, run.bench.now) is None


def test_a_target_outside_the_workspace_is_refused(robot):
    config = from_mapping(ControllerConfig, {"workspace": {"highest": [0.6, 1.0, 1.0]}})
    targets = StreamedTargets(robot, config, CONFIG)
    with pytest.raises(TrajectoryError, match=r"0\.100 m outside the workspace"):
        targets.put(PoseTarget(0.0, pin.SE3(np.eye(3), np.array([0.7, 0.0, 0.5]))), 0)


def test_the_end_of_the_reach_is_approached_smoothly(streaming):
    """The command swung from bound to bound there, by up to 0.8 rad/s from tick to tick."""
    run = streaming()
    ahead = np.array([0.13, 0.0, 0.0, 0.0, 0.0, 0.0])
    run.run(arrivals(lambda t: PoseTarget(t, None, ahead), 30.0, 8.0), 7.9)
    speed = np.diff(np.array(run.commands), axis=0) / PERIOD
    assert np.abs(np.diff(speed, axis=0)).max() <= 10.0 * PERIOD
    last = run.statuses[-1]
    assert (last.mode, last.status) == (Mode.TRACKING, Status.REFERENCE_SLOWED)
    assert "reach" in last.remedy


def test_motions_join_in_position_velocity_and_acceleration():
    """At random moments of random turns; finite differences before and after."""
    pin.seed(3)
    rng = np.random.default_rng(3)
    bounds = bounds_of(6, (1.0, 4.0, 80.0))
    h = 1e-5
    for _ in range(20):
        pose = pin.SE3(pin.exp3(rng.uniform(-1.0, 1.0, 3)), rng.uniform(-1.0, 1.0, 3))
        stream = PoseStream.at_rest(pin.SE3.Identity(), bounds)
        stream = stream.towards(0.0, pose, rng.uniform(-0.2, 0.2, 6))
        time = rng.uniform(0.1, 1.5)
        after = stream.towards(time, pin.SE3.Random(), np.zeros(6))
        ends = [stream.sample(time - k * h) for k in range(3)]
        begins = [after.sample(k * h) for k in range(3)]
        np.testing.assert_allclose(ends[0].homogeneous, begins[0].homogeneous, atol=1e-12)
        before_it, after_it = (
            [pin.log6(a.actInv(b)).vector / h for a, b in pairs]
            for pairs in (
                [(ends[2], ends[1]), (ends[1], ends[0])],
                [(begins[0], begins[1]), (begins[1], begins[2])],
            )
        )
        np.testing.assert_allclose(before_it[1], after_it[0], atol=2e-4)
        jump = (after_it[1] - after_it[0]) / h - (before_it[1] - before_it[0]) / h
        assert np.abs(jump).max() < 0.05


def test_where_coordinates_cannot_arrive_together_they_arrive_one_by_one(monkeypatch):
    """Ruckig fails so once in some hundred thousand motions, which must not end a move."""

    class Failing(stream.Ruckig):
        def calculate(self, wanted, motion):
            if wanted.synchronization != Synchronization.No:
                raise RuckigError("error in step 2")
            return super().calculate(wanted, motion)

    monkeypatch.setattr(stream, "Ruckig", Failing)
    bounds = bounds_of(2, (1.0, 5.0, 50.0))
    there = np.array([0.1, 0.4])
    motion = JointStream.at_rest(np.zeros(2), bounds).towards(0.0, there, np.zeros(2))
    np.testing.assert_allclose(motion.sample(motion.duration), there, atol=1e-9)
    assert motion.sample(0.5 * motion.duration)[0] == pytest.approx(0.1, abs=1e-3)


def test_a_stream_needs_the_arms_joints(robot):
    stream = JointStream.at_rest(np.zeros(6), bounds_of(6, (1.0, 1.0, 1.0)))
    with pytest.raises(TrajectoryError, match="6 joints, the arm has 7"):
        stream.check(robot, np.zeros(7), StartTolerance())
