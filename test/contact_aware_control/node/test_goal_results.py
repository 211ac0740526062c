"""What a client is told when contact or a limit holds the arm off its path."""

import dataclasses
import math

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import PoseTrajectoryPoint
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from loop_bench import TICK, Bench
from loop_bench import Q as Q_BENT
from trajectory_msgs.msg import JointTrajectoryPoint

from contact_aware_control.contact import ContactReport
from contact_aware_control.controllers import ControllerOutput
from contact_aware_control.loop_state import LoopStatus
from contact_aware_control.node.goal_server import (
    RunningGoal,
    held_back,
    obstacle,
    stands_still,
)
from contact_aware_control.node.trajectory_goals import GoalProgress, JointGoal, PoseGoal
from contact_aware_control.reference import Goal, JointTrajectory
from contact_aware_control.safety.status import FOLLOWING, LinkState, Mode, Status
from contact_aware_control.safety.supervisor import Pause
from contact_core.base.errors import TrajectoryError
from contact_ros.geometry import BaseFrames, to_pose

NAMES = [f"lbr_A{i}" for i in range(1, 8)]
Result = FollowJointTrajectory.Result


def goal_of(path=0.0, goal=0.0, patience=(0, 0), **tolerance):
    request = FollowJointTrajectory.Goal()
    request.trajectory.joint_names = NAMES
    point = JointTrajectoryPoint(positions=[0.5] * 7, time_from_start=Duration(sec=2))
    request.trajectory.points = [point]
    request.path_tolerance = [JointTolerance(name="lbr_A2", position=path, **tolerance)]
    request.goal_tolerance = [JointTolerance(name="lbr_A2", position=goal)]
    request.goal_time_tolerance = Duration(sec=patience[0], nanosec=patience[1])
    return JointGoal(request, NAMES, np.zeros(7))


def progress(time, offset):
    position = np.full(7, 0.25 * time)
    position[1] += offset
    return GoalProgress(0, position, time, 14.9)


def status_of(reason=Status.OK, force=14.9):
    links = ("lbr_link_6",) if force else ()
    output = ControllerOutput(
        np.zeros(7),
        contact_links=links,
        measured_force=np.full(len(links), force),
        force_limit=np.full(len(links), 15.0),
    )
    return LoopStatus(Mode.TRACKING, reason, 2.0, output, 1, 0, 0)


def test_the_contact_is_named():
    assert held_back(status_of()) == "; in contact: lbr_link_6 with 14.9 N (limit 15 N)"
    assert held_back(status_of(force=0.0)) == ""
    assert "SELF_COLLISION" in held_back(status_of(Status.SELF_COLLISION, 0.0))


def test_path_tolerance_ends_the_goal_with_joint_error_and_contact():
    goal = goal_of(path=0.05)
    assert goal.advance(progress(1.0, 0.04)) is None
    violation = goal.advance(progress(1.0, -0.08))
    result = goal.result(progress(1.0, -0.08), violation, held_back(status_of()))
    assert result.error_code == Result.PATH_TOLERANCE_VIOLATED
    assert "lbr_A2 is 0.080 rad from its path" in result.error_string
    assert "in contact: lbr_link_6" in result.error_string


def test_an_arm_that_did_not_follow_is_no_success():
    """A frozen arm ended as SUCCEEDED before."""
    violation = goal_of().goal_violation(progress(2.0, 0.2))
    assert violation is not None
    assert violation.code == Result.GOAL_TOLERANCE_VIOLATED
    assert "lbr_A2 is 0.200 rad from the goal (tolerance 0.05 rad)" in violation.text
    assert goal_of().goal_violation(progress(2.0, 0.04)) is None
    assert goal_of(goal=0.3).goal_violation(progress(2.0, 0.2)) is None


@pytest.fixture
def frames(description):
    return BaseFrames(description)


def test_of_the_tool_neither(robot, frames):
    start = robot.tool_pose()
    end = PoseTrajectoryPoint(pose=to_pose(start), time_from_start=Duration(sec=1))
    for asked, violated in ((0.0, True), (0.5, False), (-1.0, False)):
        request = FollowPoseTrajectory.Goal(position_tolerance=asked, rotation_tolerance=-1.0)
        request.trajectory.points = [end]
        goal = PoseGoal(request, robot, start, frames)
        moved = Q_BENT + np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        found = goal.goal_violation(GoalProgress(0, moved, 1.0, 0.0))
        assert (found is not None) == violated


@pytest.mark.parametrize(
    ("mode", "status", "pause", "reason"),
    [
        (Mode.FAULT, Status.TORQUE_EXCEEDED, Pause.NONE, "call reset"),
        (Mode.HOLD, Status.NOT_COMMANDING, Pause.NONE, "then call resume"),
        (Mode.HOLD, Status.NOT_ARMED, Pause.NONE, "call resume"),
        (Mode.INACTIVE, Status.OK, Pause.NONE, "INACTIVE: the controller is inactive: activate it"),
        (Mode.HOLD, Status.OK, Pause.ASKED, "call resume"),
        (Mode.HOLD, Status.OK, Pause.NONE, ""),
        (Mode.HOLD, Status.STATE_STALE, Pause.NONE, ""),
        (Mode.TRACKING, Status.LIMIT_REACHED, Pause.NONE, ""),
    ],
)
def test_goals_that_would_wait_for_ever_are_refused(mode, status, pause, reason):
    lost = status in (Status.NOT_COMMANDING, Status.NOT_ARMED, Status.STATE_STALE)
    link = LinkState.LOST if lost else LinkState.ARMED
    said = obstacle(dataclasses.replace(status_of(status), mode=mode, link=link), pause)
    assert reason in said
    assert bool(said) == bool(reason)


@pytest.mark.parametrize("pushed", [False, True])
def test_a_held_arm_follows_goals_whatever_it_gives_way_to(robot, arm_state, contact, pushed):
    """It refused every goal while it was AMBIGUOUS_LOAD, or gave way as fast as it may."""
    bench = Bench(robot, arm_state, slow_start={"duration": 0.0})
    force = contact((0.0, 25.0, 0.0), (0.5, 0.0, 0.6))
    contacts = (dataclasses.replace(force, ambiguous=True),) if pushed else ()
    lacking, found = 0.0 if pushed else -1.0, set()

    def tick(goal=None):
        bench.report = ContactReport(bench.now + TICK, contacts, undeclared_load=lacking)
        return bench.tick(goal, report=False)[1]

    for _ in range(100):
        held = tick()
        assert held.mode is Mode.HOLD
        found.add(held.status)
        assert obstacle(held, Pause.NONE) == ""
        assert not stands_still(held)
    assert Status.AMBIGUOUS_LOAD in found
    begin, along = bench.q, np.eye(7)[0]  # where it is pushed to
    goal = Goal(JointTrajectory([0.0, 1.0], np.array([begin, begin + 0.1 * along])))
    for _ in range(100):
        assert tick(goal).mode in FOLLOWING
    assert np.abs(bench.q - begin).max() > 0.03


def test_a_reference_that_stands_still_is_noticed():
    waiting = dataclasses.replace(status_of(), reference_rate=0.0)
    assert stands_still(waiting)
    assert not stands_still(dataclasses.replace(waiting, reference_rate=1.0))
    held = dataclasses.replace(waiting, mode=Mode.HOLD, link=LinkState.ARMED)
    assert not stands_still(held)
    assert stands_still(dataclasses.replace(held, link=LinkState.LOST))


def test_success_with_unchecked_tolerances_still_tells_where_it_ended():
    goal = goal_of(goal=-1.0)
    result = goal.result(progress(2.0, 0.2), None, held_back(status_of()))
    assert result.error_code == Result.SUCCESSFUL
    assert "ended 0.200 rad from the goal; in contact: lbr_link_6" in result.error_string
    assert goal.result(progress(2.0, 0.0), None, held_back(status_of())).error_string == ""


@pytest.mark.parametrize(
    ("requested", "expected"), [((0, 0), 1.0), ((3, 500_000_000), 3.5), ((-1, 0), math.inf)]
)
def test_patience_follows_the_convention_of_the_action(requested, expected):
    assert goal_of(patience=requested).patience == pytest.approx(expected)


def test_tolerances_that_would_not_be_checked_are_refused():
    with pytest.raises(TrajectoryError, match="only positions are checked"):
        goal_of(velocity=0.1)


@pytest.mark.parametrize("where", ["path", "goal"])
@pytest.mark.parametrize(("asked", "said"), [(math.nan, "NaN"), (-0.5, "-0.5"), (-2.0, "-2")])
def test_a_tolerance_without_a_meaning_is_refused(where, asked, said):
    """They used to count as no limit; the action has -1 for that."""
    with pytest.raises(TrajectoryError, match=rf"lbr_A2' is {said}: 0 asks .* -1 for no limit"):
        goal_of(**{where: asked})


def test_a_time_tolerance_without_a_meaning_is_refused():
    with pytest.raises(TrajectoryError, match=r"goal_time_tolerance is -3.5"):
        goal_of(patience=(-4, 500_000_000))


def test_codes_are_those_of_the_action():
    """Constants are no part of a type's hash."""
    assert [
        Result.SUCCESSFUL,
        Result.INVALID_GOAL,
        Result.INVALID_JOINTS,
        Result.OLD_HEADER_TIMESTAMP,
        Result.PATH_TOLERANCE_VIOLATED,
        Result.GOAL_TOLERANCE_VIOLATED,
    ] == [0, -1, -2, -3, -4, -5]


def verdicts(goal, offset, status, ticks):
    """The codes of a goal's ticks from its end on, 0.25 s each; None where it goes on."""
    running = RunningGoal(None, goal, 0)
    found = [running.advance(progress(2.0, offset), status, 0.25) for _ in range(ticks)]
    return [violation and violation.code for violation in found]


def test_who_comes_late_has_the_time_of_the_goal_whatever_the_path_allows():
    """As with joint_trajectory_controller, whose path ends with the last point."""
    goal = goal_of(path=0.01, patience=(0, 500_000_000))
    late, going = Result.GOAL_TOLERANCE_VIOLATED, dataclasses.replace(status_of(), reference_rate=1)
    assert verdicts(goal, 0.2, going, 4) == [None, None, late, late]
    assert verdicts(goal, 0.04, going, 4) == [None] * 4
    assert goal.reached(progress(2.0, 0.04))
    assert not goal.reached(progress(2.0, 0.2))
    moving = RunningGoal(None, goal, 0).advance(progress(1.9, 0.04), going, 0.25)
    assert moving.code == Result.PATH_TOLERANCE_VIOLATED


@pytest.mark.parametrize(
    ("mode", "code", "reason"),
    [
        (Mode.INACTIVE, Result.INVALID_GOAL, "deactivated"),
        (Mode.FAULT, Result.PATH_TOLERANCE_VIOLATED, "TORQUE_EXCEEDED"),
    ],
)
def test_a_goal_ends_with_the_controller(mode, code, reason):
    """One that was deactivated went on with it when it was activated again."""
    status = dataclasses.replace(status_of(Status.TORQUE_EXCEEDED), mode=mode)
    found = RunningGoal(None, goal_of(), 0).advance(progress(1.0, 0.0), status, 0.25)
    assert found.code == code
    assert reason in found.text


@pytest.mark.parametrize("field", ["position_tolerance", "rotation_tolerance"])
def test_a_tolerance_of_the_tool_that_is_nan_is_refused(robot, frames, field):
    robot.update(Q_BENT)
    start = robot.tool_pose()
    request = FollowPoseTrajectory.Goal(**{field: math.nan})
    request.trajectory.points = [
        PoseTrajectoryPoint(pose=to_pose(start), time_from_start=Duration(sec=1))
    ]
    with pytest.raises(TrajectoryError, match="NaN"):
        PoseGoal(request, robot, start, frames)


def test_a_trajectory_has_to_end_at_rest():
    """It ended with the arm stopped in one tick."""
    request = FollowJointTrajectory.Goal()
    request.trajectory.joint_names = NAMES
    for time, speed in ((1, 0.0), (2, 0.38)):
        point = JointTrajectoryPoint(positions=[0.1 * time] * 7, time_from_start=Duration(sec=time))
        point.velocities = [0.0, speed, 0.0, 0.0, 0.0, 0.0, 0.0]
        request.trajectory.points.append(point)
    with pytest.raises(TrajectoryError, match=r"lbr_A2 moves at 0\.38 rad/s at the last point"):
        JointGoal(request, NAMES, np.zeros(7))
    request.trajectory.points[-1].velocities = [0.0] * 7
    JointGoal(request, NAMES, np.zeros(7))


def test_a_motion_beside_the_arm_has_not_ended_before_the_arm_is_there(robot):
    """One point at time 0, within the tolerance, was a success at once."""
    request = FollowJointTrajectory.Goal()
    request.trajectory.joint_names = NAMES
    request.trajectory.points = [JointTrajectoryPoint(positions=[0.045] * 7)]
    goal = JointGoal(request, NAMES, np.zeros(7))
    running = RunningGoal(None, goal, 0)
    status = status_of(force=0.0)
    for command, ended in ((np.zeros(7), False), (np.full(7, 0.0449), True)):
        progress = GoalProgress(0, command, 0.0, 0.0, command=command)
        assert running.reached(progress, status) is ended
    beside = GoalProgress(0, np.zeros(7), 0.0, 0.0, command=np.zeros(7))
    # Contact may keep it away, and a limit for good.
    assert running.reached(beside, status_of())
    running.overtime = 1.0
    assert running.reached(beside, status)


def test_of_a_tool_beside_the_arm_neither(robot, frames):
    robot.update(Q_BENT)
    end = robot.tool_pose()
    end.translation[2] += 0.02
    request = FollowPoseTrajectory.Goal()
    request.trajectory.points = [PoseTrajectoryPoint(pose=to_pose(end))]
    goal = PoseGoal(request, robot, robot.tool_pose(), frames)
    progress = GoalProgress(0, Q_BENT, 0.0, 0.0, command=Q_BENT)
    assert goal.reached(progress)
    assert not RunningGoal(None, goal, 0).reached(progress, status_of(force=0.0))


@pytest.mark.parametrize("points", [5000, 5001])
def test_so_many_points_are_taken_and_no_more(points):
    request = FollowJointTrajectory.Goal()
    request.trajectory.joint_names = list(reversed(NAMES))
    zero = [0.0] * 7
    for k in range(points):
        moment = Duration(sec=k // 10, nanosec=k % 10 * 100_000_000)
        point = JointTrajectoryPoint(
            positions=[0.1 * i for i in range(7)],
            velocities=zero,
            accelerations=zero,
            effort=zero,
            time_from_start=moment,
        )
        request.trajectory.points.append(point)
    if points > 5000:
        with pytest.raises(TrajectoryError, match="5001 points"):
            JointGoal(request, NAMES, np.zeros(7))
        return
    goal = JointGoal(request, NAMES, np.zeros(7))
    assert goal.goal.reference.duration == pytest.approx(499.9)
    np.testing.assert_allclose(goal.goal.reference.sample(1.0), 0.1 * np.arange(7)[::-1])


def test_a_goal_begins_where_the_arm_has_got_to():
    goal = goal_of()
    goal.begin(np.full(7, 0.2), None)
    np.testing.assert_allclose(goal.goal.reference.sample(0.0), 0.2)
    speed = np.full(7, 0.1)
    goal.begin(np.full(7, 0.3), speed)
    np.testing.assert_allclose(goal.goal.reference.sample(0.0), 0.3)
