"""What cannot be followed is refused before the arm moves."""

import math
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from loop_bench import WRIST, Q, line

from contact_aware_control.config import ControllerConfig
from contact_aware_control.reference import Goal, JointTrajectory, PoseStream, PoseTrajectory
from contact_aware_control.reference.stream import bounds_of
from contact_aware_control.safety.goal_checker import GoalChecker
from contact_core.base.config import from_mapping
from contact_core.base.errors import TrajectoryError
from contact_core.robot.description import RobotDescription
from contact_core.robot.robot import Robot


def test_a_goal_has_to_start_at_the_command_with_sound_force_limits(robot):
    checker = GoalChecker(robot, ControllerConfig())
    checker.check(line(Q), Q)
    with pytest.raises(TrajectoryError, match="starts"):
        checker.check(Goal(JointTrajectory([0.0], Q[None] + 0.2)), Q)
    with pytest.raises(TrajectoryError, match="lbr_link_9"):
        checker.check(Goal(JointTrajectory([0.0], Q[None]), {"lbr_link_9": 5.0}), Q)
    with pytest.raises(TrajectoryError, match="-5"):
        checker.check(Goal(JointTrajectory([0.0], Q[None]), {WRIST: -5.0}), Q)
    robot.update(Q)
    far = robot.tool_pose() * pin.SE3(np.eye(3), np.array([0.1, 0.0, 0.0]))
    with pytest.raises(TrajectoryError, match=r"starts 0\.100 m"):
        checker.check(Goal(PoseTrajectory([0.0], [far])), Q)


def test_a_stroke_that_leaves_the_reach_is_refused(robot):
    """As of guarded and compliant moves; the end alone, or the middle, is enough."""
    checker, bounds = GoalChecker(robot, ControllerConfig()), bounds_of(6, (0.25, 2.0, 40.0))
    robot.update(Q)
    start = robot.tool_pose()

    def stroke(way):
        return Goal(PoseStream.straight(start, np.array(way), 0.1, bounds))

    checker.check(stroke([0.0, 0.0, -0.1]), Q)
    with pytest.raises(TrajectoryError, match=r"after \d\.\d+ m: .* \(it stays \d\.\d+ m"):
        checker.check(stroke([1.0, 0.0, 0.0]), Q)
    # Through the arm's own foot, to a place within reach.
    way = np.array([-2.0 * start.translation[0], -2.0 * start.translation[1], 0.0])
    assert math.hypot(*way[:2]) < 1.4
    with pytest.raises(TrajectoryError, match="after "):
        checker.check(stroke(way), Q)


def five_joints(tilt):
    """An UR5e without its last joint, whose axis is now the fifth; and q with it tilted [rad]."""
    whole = RobotDescription.load("ur5e")
    per_joint = ("home", "stiffness", "spring_torque", "effective_armature", "torque_noise")
    joints = replace(whole.joints, **{name: getattr(whole.joints, name)[:5] for name in per_joint})
    description = replace(
        whole, arm_joints=whole.arm_joints[:5], tool_link="wrist_2_link", joints=joints
    )
    return Robot.from_description(description), np.array([0.2, -1.6, 1.9, tilt - 0.3, 0.3])


@pytest.mark.parametrize("way", [[0.0, 0.1, 0.0], [0.05, 0.3, 0.0], [0.0, 0.001, 0.0]])
def test_an_arm_of_five_joints_goes_where_it_misses_little(way):
    """As a pose trajectory and as a stroke: with its tool upright to 0.7 degrees."""
    robot, q = five_joints(0.012)
    robot.update(q)
    start = robot.tool_pose().copy()
    checker, bounds = GoalChecker(robot, ControllerConfig()), bounds_of(6, (0.25, 2.0, 40.0))
    checker.check(Goal(PoseStream.straight(start, np.array(way), 0.1, bounds)), q)
    end = pin.SE3(start.rotation, start.translation + way)
    checker.check(Goal(PoseTrajectory([0.0, 5.0], [start, end])), q)


def test_what_five_joints_cannot_do_is_refused_with_the_reason():
    robot, q = five_joints(0.5)
    robot.update(q)
    start = robot.tool_pose().copy()
    end = pin.SE3(start.rotation, start.translation + np.array([0.0, 0.1, 0.0]))
    checker = GoalChecker(robot, ControllerConfig())
    reason = r"valid: <= 0.01 m and 0.0333 rad; with 5 joints it cannot choose position and rot"
    with pytest.raises(TrajectoryError, match=reason):
        checker.check(Goal(PoseTrajectory([0.0, 5.0], [start, end])), q)
    tilted = pin.SE3(start.rotation @ pin.exp3(np.array([0.35, 0.0, 0.0])), start.translation)
    with pytest.raises(TrajectoryError, match=reason):
        checker.check(Goal(PoseTrajectory([0.0, 5.0], [start, tilted])), q)


def checker_of(robot, **values):
    return GoalChecker(robot, from_mapping(ControllerConfig, values))


def test_goals_that_leave_the_workspace_are_refused(robot):
    checker = checker_of(robot, workspace={"highest": [2.0, 2.0, 0.7]})
    start = robot.tool_pose()
    up = start * pin.SE3(np.eye(3), np.array([0.0, 0.0, -0.8]))
    with pytest.raises(TrajectoryError, match="outside the workspace"):
        checker.check_space(PoseTrajectory([0.0, 1.0], [start, up]))
    with pytest.raises(TrajectoryError, match="outside the workspace"):
        checker.check_space(JointTrajectory([0.0, 1.0], np.array([Q, np.zeros(7)])))
    robot.update(Q)
    pose = robot.tool_pose().copy()
    lower = checker_of(robot, workspace={"highest": [2.0, 2.0, pose.translation[2] + 0.03]})
    lower.check(replace(line(Q), later=[[pose]]), Q)
    pose.translation[2] += 0.05
    with pytest.raises(TrajectoryError, match=r"later the tool would be 0\.020 m outside"):
        lower.check(replace(line(Q), later=[[pose]]), Q)
    below = pose * pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.05]))  # where the surface may be
    lower.check(replace(line(Q), later=[[pose], [below]]), Q)


def test_joint_goals_into_the_arm_itself_are_refused(robot):
    folded = np.array([0.0, 0.5, 0.0, -1.8, 0.0, 1.8, 0.0])
    target = folded + 0.3 * np.array([0.0, 0.0, 0.0, -1.0, 0.0, 1.0, 0.0])
    with pytest.raises(TrajectoryError, match="two links of the arm"):
        checker_of(robot).check_space(JointTrajectory([0.0, 1.0], np.array([folded, target])))
