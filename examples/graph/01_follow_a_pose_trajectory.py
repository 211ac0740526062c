"""Move the tool along a triangle in the air; run `contact-stack launch sim` first.

Another robot than the default one is named as for the launch: `python 01_... fr3_wsg50`.
"""

import sys

import numpy as np
import pinocchio as pin
from contact_stack_msgs.action import FollowPoseTrajectory
from contact_stack_msgs.msg import ControllerStatus, PoseTrajectoryPoint
from sensor_msgs.msg import JointState

from contact_core import Robot, RobotDescription
from contact_ros import NANOSECONDS, GraphClient, to_duration, to_pose

CORNERS = [(2.0, (0.0, 0.03, 0.0)), (4.0, (0.0, 0.0, 0.03)), (6.0, (0.0, 0.0, 0.0))]

name = sys.argv[1] if len(sys.argv) > 1 else "iiwa14_wsg50"
robot = Robot.from_description(RobotDescription.load(name))
goal = FollowPoseTrajectory.Goal(position_tolerance=0.01)
with GraphClient() as client:
    client.wait_for(
        ControllerStatus, "controller_status", lambda s: s.mode == ControllerStatus.HOLD
    )
    robot.update(np.array(client.wait_for(JointState, "joint_states").position))
    start = robot.tool_pose()
    for time, offset in CORNERS:
        corner = pin.SE3(start.rotation, start.translation + np.array(offset))
        duration = to_duration(round(time * NANOSECONDS))
        goal.trajectory.points.append(
            PoseTrajectoryPoint(pose=to_pose(corner), time_from_start=duration)
        )
    result = client.run(FollowPoseTrajectory, "follow_pose_trajectory", goal)
print(result.error_string or f"{1e3 * result.position_error:.1f} mm from the last corner")
