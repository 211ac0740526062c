"""Goals of follow_pose_trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pinocchio as pin
from contact_stack_msgs.action import FollowPoseTrajectory
from geometry_msgs.msg import Pose

from contact_aware_control.goal import Goal
from contact_aware_control.node.trajectory_goal import Progress, TrajectoryGoal, Violation
from contact_aware_control.reference import PoseTrajectory
from contact_core.errors import TrajectoryError
from contact_core.robot import Robot
from contact_ros.geometry import quaternion_to_array, to_pose, to_se3
from contact_ros.stamps import to_nanoseconds, to_time

Result = FollowPoseTrajectory.Result


class PoseGoal(TrajectoryGoal):
    """A motion of the tool."""

    codes: ClassVar[Mapping[str, int]] = {
        "invalid": Result.INVALID_GOAL,
        "fault": Result.FAULT,
    }

    def __init__(self, request: FollowPoseTrajectory.Goal, robot: Robot, tool: pin.SE3) -> None:
        """Translate a goal.

        Args:
            request: The goal.
            robot: The arm, for this goal to measure with.
            tool: The commanded tool pose now, where the motion begins if the first pose
                of the trajectory lies in the future.

        Raises:
            TrajectoryError: If a name is unknown, or the points make no trajectory.
        """
        if request.tool_frame not in ("", robot.tool_link):
            raise TrajectoryError(
                f"unknown tool frame '{request.tool_frame}' (valid: {robot.tool_link})"
            )
        points = request.trajectory.points
        times = [1e-9 * to_nanoseconds(point.time_from_start) for point in points]
        poses = [_checked(point.pose, i) for i, point in enumerate(points)]
        self._reference = PoseTrajectory.from_start(tool, times, poses)
        self._robot = robot
        self._tolerance = request.position_tolerance, request.rotation_tolerance
        self.goal = Goal(
            self._reference, {limit.link: limit.force_limit for limit in request.planned_contact}
        )
        self.start = to_nanoseconds(request.trajectory.header.stamp)
        self.patience = self.patience_of(to_nanoseconds(request.goal_time_tolerance))

    def path_violation(self, progress: Progress) -> Violation | None:
        """The action has no path tolerance: contact may hold the tool off its path."""
        return None

    def goal_violation(self, progress: Progress) -> Violation | None:
        """Return the goal tolerance that is not met; see :class:`TrajectoryGoal`."""
        errors = self._errors(progress)
        for error, allowed, unit in zip(errors, self._tolerance, ("m", "rad"), strict=True):
            if 0.0 < allowed < error:
                return Violation(
                    Result.GOAL_TOLERANCE_VIOLATED,
                    f"the tool is {error:.3f} {unit} from the goal (tolerance {allowed:g} {unit})",
                )
        return None

    def feedback(self, progress: Progress) -> Any:
        """Return the feedback message; see :class:`TrajectoryGoal`."""
        position_error, rotation_error = self._errors(progress)
        feedback = FollowPoseTrajectory.Feedback(
            desired=to_pose(self._reference.sample(progress.reference_time)),
            actual=to_pose(self._robot.tool_pose()),
            position_error=position_error,
            rotation_error=rotation_error,
            progress=min(1.0, progress.reference_time / self._reference.duration),
            max_contact_force=progress.max_force,
        )
        feedback.header.stamp = to_time(progress.stamp)
        return feedback

    def result(self, progress: Progress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`TrajectoryGoal`."""
        position_error, rotation_error = self._errors(progress)
        return Result(
            error_code=violation.code if violation else Result.SUCCESSFUL,
            error_string=f"{violation.text}{note}" if violation else "",
            position_error=position_error,
            rotation_error=rotation_error,
        )

    def _errors(self, progress: Progress) -> tuple[float, float]:
        """Return distance [m] and angle [rad] between the measured tool and the reference."""
        self._robot.update(progress.position)
        error = self._robot.tool_pose().actInv(self._reference.sample(progress.reference_time))
        return (
            float(np.linalg.norm(error.translation)),
            float(np.linalg.norm(pin.log3(error.rotation))),
        )


def _checked(pose: Pose, index: int) -> pin.SE3:
    norm = float(np.linalg.norm(quaternion_to_array(pose.orientation)))
    if not abs(norm - 1.0) < 1e-3:
        raise TrajectoryError(f"pose {index}: its quaternion has norm {norm:.4g} instead of 1")
    return to_se3(pose)
