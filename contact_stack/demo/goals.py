"""Motions as goals of the controller's actions."""

from __future__ import annotations

from collections.abc import Sequence

from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import PoseTrajectoryPoint
from control_msgs.action import FollowJointTrajectory
from trajectory_msgs.msg import JointTrajectoryPoint

from contact_ros.geometry import to_pose
from contact_ros.stamps import NANOSECONDS, to_duration, to_time
from contact_stack.demo.motion import JointMotion, PoseMotion


def pose_goal(motion: PoseMotion, start: int) -> FollowPoseTrajectory.Goal:
    """Return the goal that asks for a motion of the tool.

    Args:
        motion: The motion.
        start: Stamp at which it begins [ns].
    """
    goal = FollowPoseTrajectory.Goal()
    goal.trajectory.header.stamp = to_time(start)
    goal.trajectory.points = [
        PoseTrajectoryPoint(
            pose=to_pose(pose), time_from_start=to_duration(round(time * NANOSECONDS))
        )
        for time, pose in zip(motion.times, motion.poses, strict=True)
    ]
    return goal


def joint_goal(motion: JointMotion, start: int, names: Sequence[str]) -> FollowJointTrajectory.Goal:
    """Return the goal that asks for a motion of the joints.

    Args:
        motion: The motion.
        start: Stamp at which it begins [ns].
        names: The driver's names of the joints, in the order of the motion.
    """
    knots = motion.knots
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.header.stamp = to_time(start)
    goal.trajectory.joint_names = list(names)
    goal.trajectory.points = [
        JointTrajectoryPoint(
            positions=position.tolist(),
            velocities=velocity.tolist(),
            time_from_start=to_duration(round(time * NANOSECONDS)),
        )
        for time, position, velocity in zip(
            knots.times, knots.positions, knots.velocities, strict=True
        )
    ]
    return goal
