"""The motions of experiments, and poses on their way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from contact_aware_control.reference import JointTrajectory, PoseTrajectory
from contact_core.base.errors import TrajectoryError
from contact_core.robot.inverse_kinematics import InverseKinematics, InverseKinematicsStatus
from contact_core.robot.robot import Robot

Motion = PoseTrajectory | JointTrajectory
"""Of the tool for ``follow_pose_trajectory``, or of the joints for ``follow_joint_trajectory``."""


def tool_at(motion: Motion, robot: Robot, time: float) -> pin.SE3:
    """Return the tool pose that a motion asks for, world frame.

    Args:
        motion: The motion.
        robot: The arm; may be updated.
        time: Since the start of the motion [s].
    """
    wanted = motion.sample(time)
    return wanted if isinstance(wanted, pin.SE3) else tool_pose(robot, wanted)


def tool_pose(robot: Robot, q: np.ndarray) -> pin.SE3:
    """Return the tool's pose at joint positions q (n) [rad], world frame; moves the robot there."""
    robot.update(q)
    return robot.tool_pose()


def tilt(pose: pin.SE3) -> float:
    """Return the angle between an object's z axis and the vertical [rad], from its pose."""
    return float(np.arccos(np.clip(pose.rotation[2, 2], -1.0, 1.0)))


def joints_along(
    robot: Robot, q_start: np.ndarray, times: np.ndarray, tool: Callable[[float], pin.SE3]
) -> list[np.ndarray]:
    """Return joint positions (n) [rad] along a motion of the tool, each near the one before.

    Args:
        robot: The arm.
        q_start: (n) at the first time [rad].
        times: When the others are wanted, after the first [s].
        tool: Returns the tool's pose at a time, world frame.

    Raises:
        TrajectoryError: If a pose is out of reach.
    """
    search = InverseKinematics(robot)
    positions = [np.asarray(q_start)]
    for time in times[1:]:
        found = search.solve(tool(float(time)), positions[-1])
        if found.status is not InverseKinematicsStatus.CONVERGED:
            raise TrajectoryError(f"keyframe motion, {time:.2f} s: {found.status.value}")
        positions.append(found.q)
    return positions
