"""A flight record, replayed, gives the same statuses and the same commands."""

import pickle

import numpy as np
import pytest

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate
from contact_aware_control.control_loop import ContactReport, ControlLoop
from contact_aware_control.controllers.registry import CONTROLLERS
from contact_aware_control.goal import Goal
from contact_aware_control.incident_log import FlightRecorder, replay
from contact_aware_control.incident_log.file import load, save
from contact_aware_control.incident_log.snapshot import load_plain, restore, take
from contact_aware_control.reference import JointTrajectory, PoseTrajectory
from contact_aware_control.safety.request import Request
from contact_aware_control.safety.status import Mode, Status
from contact_core.config import from_mapping
from contact_core.errors import ConfigError, ModelError
from contact_core.robot import Robot

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
TICK = 5_000_000
UP = np.array([0.0, 0.0, 1.0])


class Flight:
    """A recorded loop whose inputs are made up."""

    def __init__(self, robot, description, arm_state, contact, duration=1.0, **values):
        self.loop = ControlLoop(robot, from_mapping(ControllerConfig, values))
        self.recorder = FlightRecorder(self.loop, description, duration)
        self.make_state, self.make_contact = arm_state, contact
        self.rng = np.random.default_rng(1)
        self.now, self.q, self.began = 0, Q.copy(), []
        self.ask(Request.ACTIVATE)

    def ask(self, request):
        self.recorder.note(request)
        self.loop.handle(request)

    def fly(self, ticks, goal=None, force=0.0, state=True, spoil=False):
        for _ in range(ticks):
            self.now += TICK
            if state:
                noisy = self.q + self.rng.normal(scale=1e-4, size=7)
                self.state = self.make_state(self.now, noisy[:6] if spoil else noisy)
            contacts = (self.make_contact(force * UP, [0.5, 0.0, 0.5]),) if force else ()
            report = ContactReport(self.now, contacts)
            command, status = self.loop.tick(self.now, self.state, report, goal)
            self.began.append(
                self.recorder.tick(self.now, self.state, report, goal, command, status)
            )
            self.recorder.roll()
            self.q = command if command is not None else self.q
        return status


@pytest.fixture
def flight(robot, description, arm_state, contact):
    return lambda **values: Flight(robot, description, arm_state, contact, **values)


def pose_goal(robot):
    robot.update(Q)
    start = robot.tool_pose()
    end = start.copy()
    end.translation[2] -= 0.1
    return Goal(PoseTrajectory([0.0, 2.0], [start, end]), {"lbr_link_6": 12.0})


def eventful(run, robot):
    """Contacts, an outage, requests, bad input; longer than the recorder's memory."""
    run.fly(50)
    goal = pose_goal(robot)
    run.fly(100, goal)
    run.fly(60, goal, force=18.0)
    run.fly(10, goal, state=False)
    run.ask(Request.HOLD)
    run.fly(40, goal, force=10.0)
    run.ask(Request.RESUME)
    run.fly(120, goal, force=6.0)
    other = Goal(JointTrajectory([0.0, 1.0], np.array([run.q, run.q + 0.05])))
    run.fly(150, other)
    run.fly(3, other, spoil=True)
    run.fly(60, other, force=14.0)
    run.ask(Request.STOP)
    return run.fly(20, other)


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_replay_of_a_file_gives_the_same_bits(flight, robot, tmp_path, controller):
    run = flight(controller=controller)
    run.fly(1)
    run = flight(controller=controller)
    assert eventful(run, robot).mode is Mode.FAULT
    save(run.recorder.record("test"), tmp_path / "a.npz")
    record = load(tmp_path / "a.npz")
    assert record.reason == "test"
    ticks = list(replay(record))
    assert 200 <= len(ticks) <= 300
    assert ticks[-1].status is Status.STOPPED
    assert {t.mode for t in ticks} >= {Mode.TRACKING, Mode.FAULT}
    assert max(t.command_difference for t in ticks) == 0.0
    assert all(t.agrees(0.0) for t in ticks)


def test_replay_from_the_very_start(flight, robot, tmp_path):
    run = flight(duration=100.0)
    eventful(run, robot)
    save(run.recorder.record(""), tmp_path / "a.npz")
    ticks = list(replay(load(tmp_path / "a.npz")))
    assert ticks[0].recorded.requests == (Request.ACTIVATE,)
    assert len(ticks) == len(run.began)
    assert all(t.agrees(0.0) for t in ticks)


def test_replay_shows_a_difference(flight, robot):
    """Another force limit, another command: the comparison can fail."""
    run = flight(duration=100.0)
    eventful(run, robot)
    record = run.recorder.record("")
    changed = from_mapping(ControllerConfig, {"force": {"limit": 8.0}, "limits": {"step": 0.001}})
    loop = ControlLoop(robot, changed)
    snapshot, known = take(loop)
    object.__setattr__(record, "snapshot", snapshot)
    object.__setattr__(record, "known", known)
    object.__setattr__(record, "config", changed)
    assert not all(t.agrees(1e-9) for t in replay(record))


def test_memory_is_bounded(flight):
    run = flight(duration=1.0)
    run.fly(1000)
    assert 200 <= len(run.recorder.record("").ticks) <= 301


def test_only_the_first_bad_tick_is_reported(flight, robot):
    """What flickers is reported once; a fault always."""
    run = flight(duration=0.1)
    goal = pose_goal(robot)
    run.fly(20, goal)
    run.fly(10, goal, state=False)
    assert run.began.count(True) == 1
    run.fly(10, goal)
    run.fly(10, goal, state=False)
    assert run.began.count(True) == 1
    run.fly(30, goal)
    run.fly(10, goal, state=False)
    assert run.began.count(True) == 2
    run.ask(Request.STOP)
    run.fly(10, goal)
    assert run.began.count(True) == 3


def test_snapshot_of_a_flight_continues_as_the_original(flight, robot, description):
    """Also for a robot object of its own."""
    run = flight()
    goal = pose_goal(robot)
    run.fly(80, goal, force=16.0)
    data, known = take(run.loop)
    twin = restore(data, known, Robot.from_description(description), run.loop.config)
    for k in range(30):
        state = run.make_state(run.now + k * TICK, run.q)
        report = ContactReport(run.now + k * TICK, (run.make_contact(15.0 * UP, [0.5, 0, 0.5]),))
        a, _ = run.loop.tick(state.stamp, state, report, goal)
        b, _ = twin.tick(state.stamp, state, report, goal)
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 broken"])
def test_files_that_are_no_records(tmp_path, content):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"a\.npz"):
        load(path)
    with pytest.raises(ConfigError, match="cannot read"):
        load(tmp_path / "missing.npz")


@pytest.mark.parametrize(
    "evil", [print, np.load, ContactEstimate.__init__, "contact_core.description.share"]
)
def test_records_cannot_run_code(evil):
    class Attack:
        def __reduce__(self):
            if isinstance(evil, str):
                from contact_core.description import share

                return share, ("config",)
            return evil, ("x",)

    with pytest.raises(ModelError, match="cannot be restored"):
        load_plain(pickle.dumps(Attack()))
