"""The motions that experiments consist of, of the tool or of the joints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from contact_aware_control.reference import JointTrajectory, PoseTrajectory, Reference
from contact_core.robot import Robot


class Motion(ABC):
    """Something an action of the controller can be asked for."""

    @property
    @abstractmethod
    def reference(self) -> Reference:
        """The trajectory the controller makes of it."""

    @abstractmethod
    def tool(self, robot: Robot, time: float) -> pin.SE3:
        """Return the tool pose that is asked for.

        Args:
            robot: The arm; may be updated.
            time: Since the start of the motion [s].

        Returns:
            The pose, world frame.
        """


class PoseMotion(Motion):
    """A motion through tool poses, for ``follow_pose_trajectory``.

    Attributes:
        times: When each pose is reached [s].
        poses: Tool poses, world frame.
    """

    def __init__(self, times: tuple[float, ...], poses: tuple[pin.SE3, ...]) -> None:
        """Take the poses.

        Args:
            times: When each is reached [s], the first at 0.
            poses: Tool poses, world frame.
        """
        self.times, self.poses = times, poses
        self._reference = PoseTrajectory(times, poses)

    @property
    def reference(self) -> PoseTrajectory:
        """The trajectory of the tool."""
        return self._reference

    def tool(self, robot: Robot, time: float) -> pin.SE3:
        """Return the tool pose that is asked for, see :meth:`Motion.tool`."""
        return self._reference.sample(time)


@dataclass(frozen=True, eq=False)
class JointKnots:
    """Points of a joint trajectory.

    Attributes:
        times: (p) when each is reached [s].
        positions: (p, n) [rad].
        velocities: (p, n) [rad/s].
    """

    times: tuple[float, ...]
    positions: np.ndarray
    velocities: np.ndarray


class JointMotion(Motion):
    """A motion through joint positions, for ``follow_joint_trajectory``.

    Attributes:
        knots: Its points.
    """

    def __init__(self, knots: JointKnots) -> None:
        """Take the knots.

        Args:
            knots: The points, the first at time 0.
        """
        self.knots = knots
        self._reference = JointTrajectory(knots.times, knots.positions, knots.velocities)

    @property
    def reference(self) -> JointTrajectory:
        """The trajectory of the joints."""
        return self._reference

    def tool(self, robot: Robot, time: float) -> pin.SE3:
        """Return the tool pose that is asked for, see :meth:`Motion.tool`."""
        robot.update(self._reference.sample(time))
        return robot.tool_pose()
