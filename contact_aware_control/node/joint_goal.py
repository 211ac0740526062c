"""Goals of follow_joint_trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from trajectory_msgs.msg import JointTrajectoryPoint

from contact_aware_control.goal import Goal
from contact_aware_control.node.trajectory_goal import Progress, TrajectoryGoal, Violation
from contact_aware_control.reference import JointTrajectory
from contact_core.errors import TrajectoryError, choices
from contact_ros.stamps import to_duration, to_nanoseconds, to_time

Result = FollowJointTrajectory.Result

NOTEWORTHY = 0.01
"""Error at the end that a successful result mentions if something held the arm [rad]."""


class JointGoal(TrajectoryGoal):
    """A motion of the joints.

    Tolerances follow the action's convention: 0 is our default, which is not to check, and
    a negative one says the same explicitly.
    """

    codes: ClassVar[Mapping[str, int]] = {
        "invalid": Result.INVALID_GOAL,
        "fault": Result.PATH_TOLERANCE_VIOLATED,
    }

    def __init__(
        self,
        request: FollowJointTrajectory.Goal,
        joint_names: Sequence[str],
        command: np.ndarray,
    ) -> None:
        """Translate a goal.

        Args:
            request: The goal; its joints may be in any order.
            joint_names: The driver's names of the arm's joints, base to wrist.
            command: (n) commanded joint positions now, where the motion begins if the
                first point of the trajectory lies in the future [rad].

        Raises:
            TrajectoryError: If the joints are not the arm's, or the points make no
                trajectory.
        """
        trajectory = request.trajectory
        order = joint_order(trajectory.joint_names, joint_names)
        points = trajectory.points
        times = [1e-9 * to_nanoseconds(point.time_from_start) for point in points]
        self._names = tuple(joint_names)
        self._path_tolerance = _tolerances(request.path_tolerance, joint_names)
        self._goal_tolerance = _tolerances(request.goal_tolerance, joint_names)
        self._reference = JointTrajectory.from_start(
            command,
            times,
            _rows([point.positions for point in points], order, "positions"),
            _optional([point.velocities for point in points], order, "velocities"),
            _optional([point.accelerations for point in points], order, "accelerations"),
        )
        self.goal = Goal(self._reference)
        self.start = to_nanoseconds(trajectory.header.stamp)
        self.patience = self.patience_of(to_nanoseconds(request.goal_time_tolerance))

    def path_violation(self, progress: Progress) -> Violation | None:
        """Return the path tolerance that is violated; see :class:`TrajectoryGoal`."""
        return self._violation(
            progress, self._path_tolerance, Result.PATH_TOLERANCE_VIOLATED, "its path"
        )

    def goal_violation(self, progress: Progress) -> Violation | None:
        """Return the goal tolerance that is not met; see :class:`TrajectoryGoal`."""
        return self._violation(
            progress, self._goal_tolerance, Result.GOAL_TOLERANCE_VIOLATED, "the goal"
        )

    def feedback(self, progress: Progress) -> Any:
        """Return the feedback message; see :class:`TrajectoryGoal`."""
        time_from_start = to_duration(round(1e9 * progress.reference_time))
        desired = self._reference.sample(progress.reference_time)

        def point(positions: np.ndarray) -> JointTrajectoryPoint:
            return JointTrajectoryPoint(
                positions=positions.tolist(), time_from_start=time_from_start
            )

        feedback = FollowJointTrajectory.Feedback(
            joint_names=list(self._names),
            desired=point(desired),
            actual=point(progress.position),
            error=point(desired - progress.position),
        )
        feedback.header.stamp = to_time(progress.stamp)
        return feedback

    def result(self, progress: Progress, violation: Violation | None, note: str) -> Any:
        """Return the result message; see :class:`TrajectoryGoal`."""
        if violation is not None:
            return Result(error_code=violation.code, error_string=f"{violation.text}{note}")
        error = np.abs(self._reference.sample(progress.reference_time) - progress.position)
        joint = int(np.argmax(error))
        if not note or error[joint] < NOTEWORTHY:
            return Result(error_code=Result.SUCCESSFUL)
        text = f"joint {self._names[joint]} ended {error[joint]:.3f} rad from the goal{note}"
        return Result(error_code=Result.SUCCESSFUL, error_string=text)

    def _violation(
        self, progress: Progress, tolerance: np.ndarray, code: int, place: str
    ) -> Violation | None:
        error = np.abs(self._reference.sample(progress.reference_time) - progress.position)
        joint = int(np.argmax(error - tolerance))
        if error[joint] <= tolerance[joint]:
            return None
        return Violation(
            code,
            f"joint {self._names[joint]} is {error[joint]:.3f} rad from {place} "
            f"(tolerance {tolerance[joint]:g} rad)",
        )


class JointNamesError(TrajectoryError):
    """The joints of a trajectory are not those of the arm."""


def joint_order(given: Sequence[str], expected: Sequence[str]) -> list[int]:
    """Return where each joint of the arm stands in a trajectory.

    Args:
        given: The joint names of the trajectory.
        expected: Those of the arm.

    Returns:
        For each joint of the arm its index in ``given``.

    Raises:
        JointNamesError: If the two do not hold the same names.
    """
    if sorted(given) != sorted(expected):
        raise JointNamesError(f"joint names {list(given)} are not the arm's ({choices(expected)})")
    return [list(given).index(name) for name in expected]


def _rows(values: Sequence[Sequence[float]], order: list[int], name: str) -> np.ndarray:
    """Return (points, n) in the order of the arm."""
    for i, row in enumerate(values):
        if len(row) != len(order):
            raise TrajectoryError(f"point {i} has {len(row)} {name} instead of {len(order)}")
    return np.array([np.asarray(row, dtype=float)[order] for row in values])


def _optional(values: Sequence[Sequence[float]], order: list[int], name: str) -> np.ndarray | None:
    """Return (points, n), or None if no point has any."""
    if not any(len(row) for row in values):
        return None
    return _rows(values, order, name)


def _tolerances(tolerances: Sequence[JointTolerance], names: Sequence[str]) -> np.ndarray:
    """Return (n) position tolerances [rad], infinite where none is asked for."""
    values = np.full(len(names), np.inf)
    for tolerance in tolerances:
        if tolerance.name not in names:
            raise JointNamesError(f"tolerance of '{tolerance.name}' ({choices(names)})")
        if tolerance.velocity > 0.0 or tolerance.acceleration > 0.0:
            raise TrajectoryError(
                f"tolerance of '{tolerance.name}': only positions are checked, leave velocity and "
                "acceleration 0"
            )
        if tolerance.position > 0.0:
            values[list(names).index(tolerance.name)] = tolerance.position
    return values
