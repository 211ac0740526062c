"""Tracking of a joint trajectory: |x - dq_ref|^2 of (24a)."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from contact_aware_control.config import TrackingConfig
from contact_aware_control.reference.base import JointReference
from contact_aware_control.tracking.base import TrackingTask
from contact_aware_control.tracking.pose_tracking import pose_distance
from contact_core.robot import Robot


class JointTracking(TrackingTask):
    """Follows a joint reference; every joint counts the same."""

    def __init__(
        self, robot: Robot, reference: JointReference, config: TrackingConfig, period: float
    ) -> None:
        """Take the reference.

        Args:
            robot: The arm.
            reference: q_ref(t).
            config: Has the error rate.
            period: Time between ticks [s].
        """
        self._robot = robot
        self._reference = reference
        self._error_gain = min(1.0, config.error_rate * period)
        self._period = period
        self._identity = np.eye(robot.n)
        self._data = robot.model.createData()
        self._tool = robot.model.getFrameId(robot.tool_link)

    def objective(self, q: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Return H = I, g = -dq_ref, see :meth:`TrackingTask.objective`."""
        now = self._reference.sample(time)
        following = self._reference.sample(time + self._period)
        wanted = self._error_gain * (now - q) + following - now
        return self._identity.copy(), -wanted

    def error(self, time: float) -> tuple[float, float]:
        """Return the error of the tool pose, see :meth:`TrackingTask.error`."""
        # The reference's tool pose, without disturbing the robot at the measured q.
        model, data = self._robot.model, self._data
        pin.forwardKinematics(model, data, self._reference.sample(time))
        wanted = pin.updateFramePlacement(model, data, self._tool)
        return pose_distance(self._robot.tool_pose(), wanted)
