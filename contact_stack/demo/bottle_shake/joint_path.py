"""Joint trajectories through keyframes of the tool, by Jacobian inverse kinematics."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline

from contact_aware_control.reference import PoseTrajectory
from contact_core.errors import TrajectoryError
from contact_core.inverse_kinematics import InverseKinematics, InverseKinematicsStatus
from contact_core.robot import Robot
from contact_stack.demo.bottle_shake.task import Keyframe

SPACING = 0.02
"""Time between two poses for which joint positions are searched [s]."""


@dataclass(frozen=True, eq=False)
class JointReference:
    """Where the joints should be, and how they should move.

    Attributes:
        position: (n) [rad].
        velocity: (n) [rad/s].
        acceleration: (n) [rad/s^2].
    """

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


class JointPath:
    """A motion of the joints whose tool moves straight from keyframe to keyframe.

    Attributes:
        duration: Time from start to end [s].
        end: (n) where it ends [rad].
    """

    def __init__(self, robot: Robot, q_start: np.ndarray, keyframes: Sequence[Keyframe]) -> None:
        """Search joint positions along the way, each near the one before.

        Args:
            robot: The arm; it is left at the start.
            q_start: (n) where the motion begins, at rest [rad].
            keyframes: Where it leads to; it rests at each.

        Raises:
            TrajectoryError: If a pose is out of reach, or a joint would move too fast.
        """
        robot.update(q_start)
        knots = list(itertools.accumulate((k.duration for k in keyframes), initial=0.0))
        tool = PoseTrajectory(knots, [robot.tool_pose(), *(k.pose for k in keyframes)])
        self.duration = knots[-1]
        times = np.linspace(0.0, self.duration, max(2, round(self.duration / SPACING)) + 1)
        search = InverseKinematics(robot)
        positions = [np.asarray(q_start)]
        for time in times[1:]:
            found = search.solve(tool.sample(float(time)), positions[-1])
            if found.status is not InverseKinematicsStatus.CONVERGED:
                raise TrajectoryError(f"keyframe motion, {time:.2f} s: {found.status.value}")
            positions.append(found.q)
        self.end = positions[-1]
        self._spline = CubicSpline(times, positions, bc_type="clamped")
        _check_speed(robot, self._spline, times)

    def sample(self, time: float) -> JointReference:
        """Return the reference at a time; beyond the end it rests there.

        Args:
            time: Since the start [s].
        """
        if time >= self.duration:
            return at_rest(self.end)
        return JointReference(*(self._spline(time, order) for order in range(3)))


def at_rest(q: np.ndarray) -> JointReference:
    """Return a reference that does not move.

    Args:
        q: (n) joint positions [rad].
    """
    return JointReference(q.copy(), np.zeros_like(q), np.zeros_like(q))


def tool_pose(robot: Robot, q: np.ndarray) -> pin.SE3:
    """Return the tool's pose at some joint positions, world frame.

    Args:
        robot: The arm; it is left there.
        q: (n) [rad].
    """
    robot.update(q)
    return robot.tool_pose()


def _check_speed(robot: Robot, spline: CubicSpline, times: np.ndarray) -> None:
    speed = np.abs(spline(times, 1)).max(axis=0)
    joint = int(np.argmax(speed - robot.velocity_limits))
    if speed[joint] > robot.velocity_limits[joint]:
        raise TrajectoryError(
            f"joint {robot.joint_names[joint]} would move at {speed[joint]:.3f} rad/s "
            f"(valid: <= {robot.velocity_limits[joint]:.3f} rad/s)"
        )
