"""An incident record, replayed, gives the same statuses and the same commands."""

import dataclasses
import json
import pickle
import typing
from enum import Enum

import numpy as np
import pytest

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate, ContactReport
from contact_aware_control.control_loop import ControlLoop
from contact_aware_control.controllers import CONTROLLERS
from contact_aware_control.incident_log import IncidentLog, load, replay, save
from contact_aware_control.incident_log.file import DATA, ENUMS, MOTIONS, VERSION
from contact_aware_control.incident_log.log import TickRecord
from contact_aware_control.loop_state import LoopInputs, LoopState
from contact_aware_control.reference import Goal, JointTrajectory, PoseTrajectory
from contact_aware_control.reference.base import Reference
from contact_aware_control.safety.status import Mode, Request, Status
from contact_aware_control.targets import JointTarget, PoseTarget, StreamConfig, StreamedTargets
from contact_core.base.config import from_mapping
from contact_core.base.errors import ConfigError, ContactStackError, ModelError
from contact_core.robot.robot import Robot

Q = np.array([0.1, 0.6, -0.1, -1.5, 0.1, 1.0, 0.0])
TICK = 5_000_000
UP = np.array([0.0, 0.0, 1.0])


class Logged:
    """A control loop with an incident log; its inputs are made up."""

    def __init__(self, robot, description, arm_state, contact, duration=1.0, **values):
        config = from_mapping(ControllerConfig, values)
        self.loop = ControlLoop(robot, config)
        self.loop_state = LoopState()
        self.log = IncidentLog(config, description, self.loop_state, duration)
        self.make_state, self.make_contact = arm_state, contact
        self.rng = np.random.default_rng(1)
        self.now, self.q, self.began = 0, Q.copy(), []
        self.ask(Request.ACTIVATE)

    def ask(self, request):
        self.log.note(request)
        self.loop_state, _ = self.loop.handle(self.loop_state, request)

    def run(self, ticks, goal=None, force=0.0, state=True, spoil=False):
        for _ in range(ticks):
            self.now += TICK
            if state:
                noisy = self.q + self.rng.normal(scale=1e-4, size=7)
                self.state = self.make_state(self.now, noisy[:6] if spoil else noisy)
            contacts = (self.make_contact(force * UP, [0.5, 0.0, 0.5]),) if force else ()
            inputs = LoopInputs(self.now, self.state, ContactReport(self.now, contacts), goal)
            self.loop_state, command, status = self.loop.tick(self.loop_state, inputs)
            self.began.append(self.log.tick(inputs, self.loop_state, command, status))
            self.q = command.position if command is not None else self.q
        return status


@pytest.fixture
def logged(robot, description, arm_state, contact):
    return lambda **values: Logged(robot, description, arm_state, contact, **values)


def pose_goal(robot):
    robot.update(Q)
    start = robot.tool_pose()
    end = start.copy()
    end.translation[2] -= 0.1
    return Goal(PoseTrajectory([0.0, 2.0], [start, end]), {"lbr_link_6": 12.0})


def eventful(run, robot):
    """Contacts, an outage, requests, bad input; longer than the log."""
    run.run(50)
    goal = pose_goal(robot)
    run.run(100, goal)
    run.run(60, goal, force=18.0)
    run.run(10, goal, state=False)
    run.ask(Request.HOLD)
    run.run(40, goal, force=10.0)
    run.ask(Request.RESUME)
    run.run(120, goal, force=6.0)
    other = Goal(JointTrajectory([0.0, 1.0], np.array([run.q, run.q + 0.05])))
    run.run(150, other)
    run.run(3, other, spoil=True)
    run.run(60, other, force=14.0)
    run.ask(Request.STOP)
    return run.run(20, other)


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_replay_of_a_file_gives_the_same_bits(logged, robot, tmp_path, controller):
    run = logged(controller=controller)
    run.run(1)
    run = logged(controller=controller)
    assert eventful(run, robot).mode is Mode.FAULT
    save(run.log.record("test"), tmp_path / "a.npz")
    record = load(tmp_path / "a.npz")
    assert record.reason == "test"
    ticks = list(replay(record))
    assert 200 <= len(ticks) <= 300
    assert ticks[-1].status is Status.STOPPED
    assert {t.mode for t in ticks} >= {Mode.TRACKING, Mode.FAULT}
    assert max(t.command_difference for t in ticks) == 0.0
    assert all(t.agrees(0.0) for t in ticks)


def test_replay_that_begins_in_contact_gives_the_same_bits(logged, robot, tmp_path):
    """What the file remembers of forces counts from its first tick on."""
    run = logged(duration=0.1)
    run.run(50)
    goal = pose_goal(robot)
    for k in range(100):
        run.run(1, goal, force=12.0 + 0.03 * k)
    save(run.log.record(""), tmp_path / "a.npz")
    record = load(tmp_path / "a.npz")
    assert record.state.controller.contacts.memories[0].bias != 0.0
    assert all(t.agrees(0.0) for t in replay(record))


def test_parameters_change_between_two_ticks_and_the_record_begins_anew(logged, robot, tmp_path):
    """The loop goes on from what it remembers; a lower limit makes it give way at once."""
    run = logged(duration=0.5, slow_start={"duration": 0.0})
    run.run(50)
    goal = pose_goal(robot)
    run.run(100, goal, force=12.0)
    held = run.q.copy()
    config = from_mapping(
        ControllerConfig, {"slow_start": {"duration": 0.0}, "force": {"limit": 8.0}}
    )
    run.loop = ControlLoop(run.loop.robot, config)
    run.log.restart(config, run.loop_state)
    run.run(1, goal, force=12.0)
    assert 0.0 < np.abs(run.q - held).max() < 0.002
    assert run.loop_state.reference_time > 0.4
    run.run(30, goal, force=12.0)
    save(run.log.record(""), tmp_path / "a.npz")
    record = load(tmp_path / "a.npz")
    assert record.config.force.limit == 8.0
    ticks = list(replay(record))
    assert len(ticks) == 31
    assert all(t.agrees(0.0) for t in ticks)


def test_replay_of_streams_gives_the_same_bits(logged, robot, tmp_path):
    run = logged(duration=0.5)
    run.run(50)
    targets = StreamedTargets(robot, ControllerConfig(), StreamConfig())
    robot.update(run.q)
    pose = robot.tool_pose().copy()
    for k in range(300):
        stamp = 0.005 * k
        if k % 7 == 0 and k < 150:
            targets.put(JointTarget(stamp, Q + 0.05 * stamp), run.now)
        elif k % 7 == 0:
            pose.translation[2] += 1e-3
            targets.put(PoseTarget(stamp, pose.copy()), run.now)
        run.run(1, targets.goal(run.loop_state, run.now), force=12.0)
    save(run.log.record(""), tmp_path / "a.npz")
    ticks = list(replay(load(tmp_path / "a.npz")))
    assert {t.mode for t in ticks} == {Mode.TRACKING}
    assert all(t.agrees(0.0) for t in ticks)


def test_replay_from_the_very_start(logged, robot, tmp_path):
    run = logged(duration=100.0)
    eventful(run, robot)
    save(run.log.record(""), tmp_path / "a.npz")
    ticks = list(replay(load(tmp_path / "a.npz")))
    assert ticks[0].recorded.requests == ((Request.ACTIVATE, ""),)
    assert len(ticks) == len(run.began)
    assert all(t.agrees(0.0) for t in ticks)


def test_replay_shows_a_difference(logged, robot):
    """Another force limit, another command: the comparison can fail."""
    run = logged(duration=100.0)
    eventful(run, robot)
    record = run.log.record("")
    changed = from_mapping(ControllerConfig, {"force": {"limit": 8.0}, "limits": {"step": 0.001}})
    other = dataclasses.replace(record, config=changed)
    assert all(t.agrees(0.0) for t in replay(record))
    assert not all(t.agrees(1e-9) for t in replay(other))


def test_memory_is_bounded(logged):
    run = logged(duration=1.0)
    run.run(1000)
    assert 200 <= len(run.log.record("").ticks) <= 301


def test_only_the_first_bad_tick_is_reported(logged, robot):
    """What flickers is reported once; a fault always."""
    run = logged(duration=0.1)
    goal = pose_goal(robot)
    run.run(20, goal)
    run.run(10, goal, state=False)
    assert run.began.count(True) == 1
    run.run(10, goal)
    run.run(10, goal, state=False)
    assert run.began.count(True) == 1
    run.run(30, goal)
    run.run(10, goal, state=False)
    assert run.began.count(True) == 2
    run.ask(Request.STOP)
    run.run(10, goal)
    assert run.began.count(True) == 3


@pytest.mark.parametrize("controller", CONTROLLERS)
def test_a_tick_is_a_function(logged, robot, description, controller):
    """Twice the same arguments, in whatever order: the same bits; also for another loop."""
    run = logged(controller=controller, duration=100.0)
    eventful(run, robot)
    record = run.log.record("")
    twin = ControlLoop(Robot.from_description(description), run.loop.config)
    state, before = record.state, []
    for tick in record.ticks:
        for request, _ in tick.requests:
            state, _ = run.loop.handle(state, request)
        before.append((state, tick))
        state, _, _ = run.loop.tick(state, tick.inputs)
    for state, tick in before[::-7]:
        for loop in (run.loop, twin):
            _, command, status = loop.tick(state, tick.inputs)
            assert (status.mode, status.status) == (tick.mode, tick.status)
            sent = None if command is None else command.position
            np.testing.assert_array_equal(sent, tick.command)


def plain(value):
    """Return a state as nested tuples and bytes, to be compared."""
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if dataclasses.is_dataclass(value):
        return tuple(plain(getattr(value, f.name)) for f in dataclasses.fields(value))
    return repr(value) if isinstance(value, float) else value


def test_a_tick_does_not_change_its_arguments(logged, robot):
    run = logged()
    goal = pose_goal(robot)
    run.run(80, goal, force=16.0)
    before, last = run.loop_state, run.loop_state.last
    inputs = LoopInputs(run.now + TICK, last.arm, last.report, goal)
    said = plain(before)
    first, _, _ = run.loop.tick(before, inputs)
    second, _, _ = run.loop.tick(before, inputs)
    assert plain(before) == said
    assert plain(first) == plain(second) != said


def test_a_read_state_continues_as_the_original(logged, robot, description, tmp_path):
    """Also for a robot object of its own."""
    run = logged(duration=0.005)
    goal = pose_goal(robot)
    run.run(80, goal, force=16.0)
    save(run.log.record(""), tmp_path / "a.npz")
    read = load(tmp_path / "a.npz")
    twin = ControlLoop(Robot.from_description(description), read.config)
    state = read.state
    for tick in read.ticks:
        state, _, _ = twin.tick(state, tick.inputs)
    goal_read = read.ticks[0].inputs.goal
    assert plain(state.controller.contacts) == plain(run.loop_state.controller.contacts)
    for k in range(1, 30):
        now = run.now + k * TICK
        arm = run.make_state(now, run.q + 1e-6 * k)
        report = ContactReport(now, (run.make_contact(15.0 * UP, [0.5, 0, 0.5]),))
        run.loop_state, a, _ = run.loop.tick(run.loop_state, LoopInputs(now, arm, report, goal))
        state, b, _ = twin.tick(state, LoopInputs(now, arm, report, goal_read))
        np.testing.assert_array_equal(a.position, b.position)


def test_ways_that_a_goal_was_checked_for_are_not_written(logged, robot, tmp_path):
    """A skill's goal has them, and generators cannot be written."""
    run = logged()
    run.run(5)
    ways = [(pose for pose in [robot.tool_pose()])]
    run.run(20, dataclasses.replace(pose_goal(robot), later=ways))
    save(run.log.record("test"), tmp_path / "a.npz")
    ticks = list(replay(load(tmp_path / "a.npz")))
    assert ticks and all(t.agrees(0.0) for t in ticks)


def test_a_reference_of_ones_own_is_refused_when_written(logged, robot, tmp_path):
    class Own(JointTrajectory):
        pass

    run = logged()
    run.run(5)
    run.run(5, Goal(Own([0.0], run.q[None])))
    with pytest.raises(ModelError, match=r"Own.*JointTrajectory"):
        save(run.log.record(""), tmp_path / "a.npz")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 broken"])
def test_files_that_are_no_records(tmp_path, content):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"a\.npz"):
        load(path)
    with pytest.raises(ConfigError, match="cannot read"):
        load(tmp_path / "missing.npz")


def rewritten(path, **changes):
    """Write an archive anew with other entries."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for name, change in changes.items():
        text = change(arrays[name].tobytes().decode())
        arrays[name] = np.frombuffer(text.encode(), dtype=np.uint8)
    np.savez(path, **arrays)


@pytest.mark.parametrize("version", [1, 5, VERSION - 1, "new"])
def test_versions_that_cannot_be_read_are_named(logged, tmp_path, version):
    run = logged()
    run.run(5)
    path = tmp_path / "a.npz"
    save(run.log.record(""), path)
    rewritten(path, header=lambda text: json.dumps({**json.loads(text), "version": version}))
    with pytest.raises(ContactStackError, match=rf"version {version} .*valid: {VERSION}"):
        load(path)


def test_a_field_that_an_older_file_lacks_gets_its_default(logged, tmp_path):
    """So that a later version, which remembers more, still reads this one's files."""
    run = logged()
    run.run(50)
    path = tmp_path / "a.npz"
    save(run.log.record(""), path)

    def without(text):
        lines = [json.loads(line) for line in text.splitlines()]
        for line in lines:
            if line["kind"] == "SupervisorState":
                assert line.pop("overload") == 0.0
        return "\n".join(map(json.dumps, lines))

    rewritten(path, objects=without)
    assert all(tick.agrees(0.0) for tick in replay(load(path)))


def test_the_old_format_is_refused_by_its_version(tmp_path):
    path = tmp_path / "a.npz"
    header = np.frombuffer(json.dumps({"format": 1}).encode(), dtype=np.uint8)
    np.savez(path, header=header)
    with pytest.raises(ContactStackError, match=rf"version 1 .*valid: {VERSION}"):
        load(path)


@pytest.mark.parametrize("kind", ["print", "Robot", "builtins.print", "ContactEstimate.__init__"])
def test_records_make_objects_of_the_listed_kinds_only(logged, tmp_path, kind):
    run = logged()
    run.run(5)
    path = tmp_path / "a.npz"
    save(run.log.record(""), path)
    rewritten(path, objects=lambda text: json.dumps({"kind": kind, "x": 1}) + "\n" + text)
    with pytest.raises(ConfigError, match="no incident record"):
        load(path)


@pytest.mark.parametrize("evil", [print, np.load, ContactEstimate.__init__])
def test_records_cannot_run_code(tmp_path, evil):
    """A pickled object in the archive is not even looked at."""

    class Attack:
        def __reduce__(self):
            return evil, ("x",)

    path = tmp_path / "a.npz"
    np.savez(path, header=np.array([pickle.dumps(Attack())], dtype=object))
    with pytest.raises(ConfigError, match="no incident record"):
        load(path)


def classes_in(annotation: object) -> set[type]:
    """Return the classes of ours that an annotation names, and those in their fields."""
    found: set[type] = set()
    waiting = [annotation]
    while waiting:
        item = waiting.pop()
        waiting += typing.get_args(item)
        if isinstance(item, type) and item.__module__.startswith("contact_") and item not in found:
            found.add(item)
            kinds = item.__subclasses__() if issubclass(item, Reference) else []
            fields = () if issubclass(item, Enum) else typing.get_type_hints(item).values()
            waiting += [*kinds, *(fields if dataclasses.is_dataclass(item) else ())]
    return found


def test_everything_that_a_loop_remembers_or_is_told_can_be_written() -> None:
    """Whoever adds a class learns it here, and not when a robot has had its first incident."""
    written = {*DATA.values(), *ENUMS.values(), *(kind for kind, _ in MOTIONS.values())}
    needed = classes_in(LoopState) | classes_in(TickRecord)
    missing = {
        kind.__name__ for kind in needed - written if not getattr(kind, "__abstractmethods__", ())
    }
    assert len(needed) > 30
    assert not missing
