"""Reference trajectories, checked before the arm moves."""

from contact_aware_control.reference.base import (
    Assignment,
    Goal,
    Guidance,
    JointReference,
    PoseReference,
    Reference,
)
from contact_aware_control.reference.joint_trajectory import JointTrajectory
from contact_aware_control.reference.pose_trajectory import PoseTrajectory
from contact_aware_control.reference.stream import JointStream, PoseStream

__all__ = [
    "Assignment",
    "Goal",
    "Guidance",
    "JointReference",
    "JointStream",
    "JointTrajectory",
    "PoseReference",
    "PoseStream",
    "PoseTrajectory",
    "Reference",
]
