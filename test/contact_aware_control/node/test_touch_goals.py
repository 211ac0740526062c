"""Goals that touch are judged by what is felt while they are followed, and by nothing else."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from contact_stack_msgs.action import CompliantMove, GuardedMove, Insert, Wipe
from geometry_msgs.msg import Vector3
from loop_bench import Q

from contact_aware_control.config import ControllerConfig
from contact_aware_control.contact import ContactEstimate, ContactReport
from contact_aware_control.controllers import ControllerOutput
from contact_aware_control.loop_state import LoopStatus
from contact_aware_control.node.config import GoalConfig
from contact_aware_control.node.goal_server import RunningGoal
from contact_aware_control.node.touch_goals import (
    CompliantGoal,
    GuardedGoal,
    InsertGoal,
    TouchContext,
    WipeGoal,
)
from contact_aware_control.node.trajectory_goals import GoalProgress
from contact_aware_control.safety.goal_checker import GoalChecker
from contact_aware_control.safety.status import FOLLOWING, LinkState, Mode, Status
from contact_aware_control.targets import StreamConfig, StreamedTargets
from contact_core.base.errors import TrajectoryError
from contact_ros.geometry import BaseFrames
from contact_ros.validation import MessageError

PERIOD = 0.005
UP, DOWN = Vector3(z=1.0), Vector3(z=-1.0)
UPWARD = np.array([0.0, 0.0, 1.0])


def guarded(**changes):
    return GuardedMove.Goal(
        **{"direction": UP, "speed": 0.02, "distance": 0.02, "force": 60.0, **changes}
    )


class Watched:
    """A goal that an arm at one place is asked to reach; tick by tick it is judged."""

    def __init__(self, robot, description, kind, request):
        bounds = StreamedTargets(robot, ControllerConfig(), StreamConfig()).tool_bounds
        names = tuple(f"lbr_A{i}" for i in range(1, 8))
        context = TouchContext(robot, BaseFrames(description), names, bounds, PERIOD, GoalConfig())
        self.robot, self.goal = robot, kind(request, context, Q)
        self.running = RunningGoal(None, self.goal, 0)
        self.time = self.now = 0.0
        self.reference = self.goal.goal.reference

    def tick(self, felt=0.0, q=Q, mode=Mode.TRACKING, report=lambda stamp: None):
        """A tick at q with a force downwards [N], None: it is not known; return how it ended."""
        followed = mode in FOLLOWING
        self.now += PERIOD
        if self.goal.goal.reference is not self.reference:
            self.reference, self.time = self.goal.goal.reference, 0.0
        self.time += PERIOD if followed else 0.0
        stamp = round(1e9 * self.now)
        report = report(stamp)
        if report is None and felt is not None:
            self.robot.update(q)
            force = np.array([0.0, 0.0, -felt])
            place = self.robot.tool_pose().translation
            torque = self.robot.torque_of_force(self.robot.tool_link, place, force)
            report = ContactReport(stamp, (), torque)
        output, link = ControllerOutput(q), LinkState.ARMED
        status = LoopStatus(mode, Status.OK, self.time, output, 1, 0, 0, link, "", followed)
        progress = GoalProgress(stamp, q, self.time, 0.0, report, q, followed)
        violation = self.running.advance(progress, status, PERIOD)
        if violation is not None:
            return violation
        if self.running.reached(progress, status):
            return self.goal.shortfall() or "SUCCEEDED"
        return None

    def run(self, duration, *state, **more):
        """Tick for so long [s]; return how it ended, None if it has not."""
        for _ in range(round(duration / PERIOD)):
            if (end := self.tick(*state, **more)) is not None:
                return end
        return None


@pytest.fixture
def watched(robot, description):
    return lambda kind, request: Watched(robot, description, kind, request)


@pytest.mark.parametrize("must_touch", [False, True])
def test_a_guarded_move_that_gets_nowhere_is_held_back(watched, must_touch):
    """It came to rest after 0.3 of 20 mm, and was a success."""
    found = watched(GuardedGoal, guarded(must_touch=must_touch)).run(5.0, 15.0)
    assert found.code == GuardedMove.Result.GOAL_TOLERANCE_VIOLATED
    assert "holds it back: it has come 0.000 m of 0.02 m, and 15.0 N push back" in found.text


@pytest.mark.parametrize("must_touch", [False, True])
def test_what_a_wrist_meets_is_told_and_is_no_touch_of_the_hand(watched, robot, must_touch):
    """The table was said to be 14 cm above where it was."""
    watch = watched(GuardedGoal, guarded(force=10.0, must_touch=must_touch))
    robot.update(Q)
    link, force = "lbr_link_6", np.array([0.0, 0.0, -60.0])
    place = robot.link_pose(link).translation.copy()
    torque = robot.torque_of_force(link, place, force)
    wide = np.eye(3)
    met = ContactEstimate(
        1, link, 6, place, np.zeros(3), UPWARD, force, wide, wide, 0.5, 500.0, 0.01, True, 0.1, ()
    )
    end = None
    while end is None:
        end = watch.tick(report=lambda stamp: ContactReport(stamp, (met,), torque))
    if must_touch:
        assert end.code == GuardedMove.Result.NOT_TOUCHED
        assert end.text == "the arm met something with lbr_link_6, not with its hand, after 0.000 m"
    else:
        assert end == "SUCCEEDED"
    result = watch.goal.result(None, None, "")
    assert (result.touched, result.link) == (True, link)
    assert np.isnan(result.surface.z)
    assert result.contact.z == pytest.approx(place[2])


@pytest.mark.parametrize(("along", "link"), [(0.05, "lbr_link_7"), (0.19, "")])
def test_a_place_that_may_be_far_along_the_force_is_not_told(watched, robot, contact, along, link):
    """The tip's touch was told as one 11 cm above it, of a standard deviation of 19 cm."""
    watch = watched(GuardedGoal, guarded(force=10.0))
    robot.update(Q)
    force = np.array([0.0, 0.0, -15.0])
    place = robot.link_pose("lbr_link_7").translation.copy()
    torque = robot.torque_of_force("lbr_link_7", place, force)
    spread = np.diag([0.01, 0.01, along]) ** 2
    met = dataclasses.replace(contact(force, place, "lbr_link_7"), point_covariance=spread)
    end = None
    while end is None:
        end = watch.tick(report=lambda stamp: ContactReport(stamp, (met,), torque))
    result = watch.goal.result(None, None, "")
    assert (result.touched, result.link) == (True, link)
    assert np.isnan(result.contact.z) == (not link)


def test_a_guarded_move_ends_where_it_has_come_all_but_a_little(watched, robot):
    """What drags bends the springs of the arm."""
    watch = watched(GuardedGoal, guarded())
    assert watch.tick() is None
    robot.update(Q)
    way = robot.tool_pose().rotation.T @ [0.0, 0.0, 0.0165]
    q = Q + np.linalg.pinv(robot.tool_jacobian()[:3]) @ way
    assert watch.run(5.0, 8.0, q=q) == "SUCCEEDED"
    assert 0.015 < watch.goal.feedback(None).distance < 0.018


def test_a_guarded_move_that_is_held_on_request_waits(watched):
    """A hand that pushed the held arm was what it had touched."""
    watch = watched(GuardedGoal, guarded())
    assert watch.run(0.5) is None
    assert watch.run(5.0, 80.0, mode=Mode.HOLD) is None
    assert watch.run(0.5) is None
    assert watch.run(0.5, 80.0) == "SUCCEEDED"


def test_who_is_held_at_the_end_of_its_way_has_its_patience_left(watched):
    watch = watched(GuardedGoal, guarded())
    assert watch.run(1.5, 15.0) is None
    assert watch.run(5.0, 15.0, mode=Mode.HOLD) is None
    assert watch.run(0.3, 15.0) is None
    assert watch.run(1.0, 15.0).code == GuardedMove.Result.GOAL_TOLERANCE_VIOLATED


def compliant(**changes):
    return CompliantMove.Goal(
        **{"compliance": UP, "force": Vector3(z=-10.0), "duration": 2.0, **changes}
    )


def insert(**changes):
    asked = {"diameter": 0.02, "radius": 0.01, "depth": 0.01, "speed": 0.03, "distance": 0.05}
    return Insert.Goal(**{"direction": DOWN, "force": 15.0, **asked, **changes})


def wipe(**changes):
    asked = {"path": [Vector3(y=0.03)], "speed": 0.03, "distance": 0.05, "lift": 0.01}
    return Wipe.Goal(**{"direction": DOWN, "force": 8.0, **asked, **changes})


OTHERS = [(CompliantGoal, compliant), (InsertGoal, insert), (WipeGoal, wipe)]


def test_a_peg_ends_near_the_tool(watched):
    far = insert()
    far.tip.z = 3.0
    with pytest.raises(MessageError, match="tip"):
        watched(InsertGoal, far)


@pytest.mark.parametrize("hole", [{"diameter": 3.0}, {"radius": 3.0}, {"depth": 3.0}])
def test_a_hole_is_one_for_a_hand(watched, hole):
    """A peg of 3 m leaned until the arm could go no farther."""
    with pytest.raises(MessageError, match=next(iter(hole))):
        watched(InsertGoal, insert(**hole))


@pytest.mark.parametrize(
    ("kind", "request_"),
    [
        (WipeGoal, wipe(lift=1.0)),
        (WipeGoal, wipe(path=[Vector3(y=0.03), Vector3(x=-2.0)])),
        (InsertGoal, insert(radius=0.2, tip=Vector3(x=0.5))),
    ],
)
def test_what_comes_after_the_touch_has_to_be_within_reach_as_well(watched, robot, kind, request_):
    checker = GoalChecker(robot, ControllerConfig())
    checker.check(watched(kind, wipe() if kind is WipeGoal else insert()).goal.goal, Q)
    with pytest.raises(TrajectoryError, match=r"later, at -?\d\.\d+ .* m: "):
        checker.check(watched(kind, request_).goal.goal, Q)


@pytest.mark.parametrize(("kind", "request_"), OTHERS)
def test_the_others_wait_as_well(watched, kind, request_):
    watch = watched(kind, request_())
    assert watch.run(0.3) is None
    before = watch.goal.goal.reference.sample(0.0)
    assert watch.run(5.0, 80.0, mode=Mode.HOLD) is None
    shift = watch.goal.goal.reference.sample(0.0).translation - before.translation
    assert np.linalg.norm(shift) < 2e-3


@pytest.mark.parametrize(("kind", "request_"), [(GuardedGoal, guarded), *OTHERS])
def test_who_does_not_know_what_is_felt_waits_and_gives_up(watched, kind, request_):
    """Judged by the last report, however old, it pressed on and succeeded."""
    watch = watched(kind, request_())
    assert watch.run(0.3) is None
    assert watch.run(1.9, None) is None
    assert watch.run(0.1) is None
    assert watch.run(1.0, None) is None
    rests = watch.goal.goal.reference.sample(watch.time).translation
    assert watch.run(0.9, None) is None
    waits = watch.goal.goal.reference.sample(watch.time).translation
    np.testing.assert_allclose(waits, rests, atol=1e-6)
    assert watch.run(2.0, None, mode=Mode.HOLD) is None
    found = watch.run(2.1, None)
    assert found.code == watch.goal.codes["late"]
    assert found.text == "what it feels is unknown for 2 s"


def test_a_guarded_move_goes_the_rest_of_its_way_once_it_feels_again(watched, robot):
    """It is nowhere judged by a force that has been."""
    watch, ends = watched(GuardedGoal, guarded(distance=0.05)), []
    begin = watch.reference.sample(0.0).translation
    robot.update(q := Q.copy())

    def follow(duration, felt=0.0):
        nonlocal q
        for _ in range(round(duration / PERIOD)):
            ends.append(watch.tick(felt, q))
            robot.update(q)
            way = watch.reference.sample(watch.time).translation - robot.tool_pose().translation
            turned = robot.tool_pose().rotation.T @ way
            q = q + np.linalg.pinv(robot.tool_jacobian()[:3]) @ turned
            robot.update(q)
        return robot.tool_pose().translation - begin

    assert follow(1.0)[2] == pytest.approx(0.018, abs=3e-3)
    stood = follow(1.5, None)[2]
    assert stood < 0.022
    assert follow(2.0)[2] == pytest.approx(0.05, abs=1e-4)
    assert ends[-1] == "SUCCEEDED"
    assert set(ends[: ends.index("SUCCEEDED")]) == {None}
