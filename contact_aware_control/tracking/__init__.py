"""The tracking terms of the objective (24a)."""

from __future__ import annotations

import numpy as np

from contact_aware_control.config import ControllerConfig
from contact_aware_control.reference.base import JointReference, PoseReference, Reference
from contact_aware_control.tracking.base import TrackingTask
from contact_aware_control.tracking.joint_tracking import JointTracking
from contact_aware_control.tracking.pose_tracking import PoseTracking
from contact_aware_control.tracking.reference_configuration import ReferenceConfiguration
from contact_core.errors import TrajectoryError
from contact_core.robot import Robot

__all__ = [
    "JointTracking",
    "PoseTracking",
    "ReferenceConfiguration",
    "TrackingTask",
    "make_tracking",
]


def make_tracking(
    robot: Robot, reference: Reference, posture: np.ndarray, config: ControllerConfig
) -> TrackingTask:
    """Create the tracking term for a reference.

    Args:
        robot: The arm.
        reference: The motion.
        posture: (n) joint positions to stay near where the reference leaves a choice [rad].
        config: Weights, error rate and period.

    Returns:
        The term.

    Raises:
        TrajectoryError: If there is none for this kind of reference.
    """
    if isinstance(reference, JointReference):
        return JointTracking(robot, reference, config.tracking, config.period)
    if isinstance(reference, PoseReference):
        return PoseTracking(robot, reference, posture, config.tracking, config.period)
    raise TrajectoryError(
        f"cannot track a {type(reference).__name__} (valid: JointReference, PoseReference)"
    )
